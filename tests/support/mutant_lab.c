/* Reading files that were changed a little. SPDX-License-Identifier: Apache-2.0 */
#include "support/mutant_lab.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "support/sanitizers.h"

enum { READ_MAX_NBYTES = 1 << 16 };
#define ALLOC_MAX_NBYTES ((size_t)256 << 20)
#define CPU_MAX_SECONDS (HR_TEST_IS_SLOW ? 10.0 : 1.0)

static void check_error(hr_status status, const hr_error *err, const char *what,
                        const char *mutant) {
    bool expected_kind = status == HR_ERR_UNSUPPORTED || status == HR_ERR_METADATA ||
                         status == HR_ERR_DATA || status == HR_ERR_CHECKSUM ||
                         status == HR_ERR_NOT_FOUND || status == HR_ERR_OVERFLOW ||
                         status == HR_ERR_MEMORY;
    if (!expected_kind || err->status != status || err->message[0] == '\0' ||
        err->url[0] == '\0' || (status != HR_ERR_NOT_FOUND && err->key[0] == '\0')) {
        fail_msg("%s: %s gives %s: \"%s\" (url \"%s\", key \"%s\")", mutant, what,
                 hr_status_name(status), err->message, err->url, err->key);
    }
}

/* Where the array is large, its first corner. */
static hr_status read_corner(mutant_lab *l, hr_node *array, const hr_node_info *info,
                             hr_error *err) {
    hr_axis axes[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    double nbytes = (double)info->dtype.itemsize;
    for (int32_t k = 0; k < info->ndim; k++) {
        nbytes *= (double)info->shape[k];
    }
    for (int32_t k = 0; k < info->ndim; k++) {
        int64_t most = nbytes <= READ_MAX_NBYTES ? info->shape[k]
                       : info->ndim > 4          ? 2
                                                 : 16;
        shape[k] = info->shape[k] < most ? info->shape[k] : most;
        axes[k] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = shape[k], .step = 1};
    }
    uint64_t n = info->dtype.itemsize;
    for (int32_t k = 0; k < info->ndim; k++) {
        n *= (uint64_t)shape[k];
    }
    if (n > 1024 * READ_MAX_NBYTES) {
        return HR_OK;
    }
    void *out = malloc(n + 1);
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.selection =
        (hr_selection){.kind = HR_SELECT_AXES, .naxes = info->ndim, .axes = axes};
    r.dst = (hr_tensor){.data = out,
                        .device = {.type = l->device_type},
                        .dtype = info->dtype,
                        .ndim = info->ndim,
                        .shape = shape};
    hr_batch *b = NULL;
    hr_status status = hr_read_submit(l->context, &r, 1, NULL, NULL, &b, err);
    assert_int_equal(status, HR_OK); /* it is well-formed, whatever the array is */
    status = hr_batch_wait(b, -1, err);
    hr_batch_unref(b);
    free(out);
    return status;
}

/* The members as the group says they are, which consolidated metadata may make up. */
static hr_status open_members(hr_node *group, hr_error *err) {
    hr_member_list *list = NULL;
    hr_status status = hr_node_list(group, 0, &list, err);
    for (size_t i = 0; status == HR_OK && i < 3 && i < hr_member_list_size(list); i++) {
        hr_node *member = NULL;
        hr_member m = hr_member_list_get(list, i);
        status = hr_node_open(group, m.path, &member, err);
        hr_node_unref(member);
    }
    hr_member_list_free(list);
    return status;
}

static void use_node(mutant_lab *l, const char *path, const char *mutant) {
    hr_error err = HR_ERROR_INIT;
    hr_node *node = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_status status = hr_open_store(l->store, path, NULL, &node, &err);
    if (status != HR_OK) {
        check_error(status, &err, "open", mutant);
        l->nerrors++;
        return;
    }
    assert_int_equal(hr_node_describe(node, &info, &err), HR_OK);
    if (info.kind == HR_NODE_ARRAY) {
        status = read_corner(l, node, &info, &err);
    } else {
        status = open_members(node, &err);
    }
    if (status != HR_OK) {
        check_error(status, &err, "read", mutant);
        l->nerrors++;
    }
    hr_node_unref(node);
}

static double cpu_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void try_mutant(mutant_lab *l, const char *node, const test_file *f,
                       const uint8_t *data, size_t nbytes, const char *kind, size_t at) {
    char mutant[256];
    (void)snprintf(mutant, sizeof mutant, "%s, %s %zu", f->key, kind, at);
    assert_int_equal(hr_store_set(l->store, f->key, data, nbytes, NULL), HR_OK);
    double before = cpu_seconds();
    atomic_store(&l->probe.largest, 0);
    use_node(l, node, mutant);
    double used = cpu_seconds() - before;
    if (used > CPU_MAX_SECONDS) {
        fail_msg("%s takes %.2f s", mutant, used);
    }
    if (atomic_load(&l->probe.largest) > ALLOC_MAX_NBYTES) {
        fail_msg("%s asks for %zu bytes", mutant, atomic_load(&l->probe.largest));
    }
    l->nmutants++;
}

static void try_cut(mutant_lab *l, const char *node, const test_file *f, size_t at) {
    uint8_t *cut = malloc(at + 1); /* no longer, so that a sanitizer sees the end */
    memcpy(cut, f->data, at);
    try_mutant(l, node, f, cut, at, "cut to", at);
    free(cut);
}

static void try_bytes(mutant_lab *l, const char *node, const test_file *f,
                      const uint8_t *bytes, size_t n, const char *kind, size_t at) {
    uint8_t were[4];
    memcpy(were, f->data + at, n);
    if (memcmp(were, bytes, n) != 0) {
        memcpy(f->data + at, bytes, n);
        try_mutant(l, node, f, f->data, f->nbytes, kind, at);
        memcpy(f->data + at, were, n);
    }
}

void lab_try(mutant_lab *l, const char *node, const test_file *f, size_t i) {
    static const char *const kinds[] = {"0 at", "255 at", "lowest bit at",
                                        "highest bit at"};
    const size_t at = i / LAB_NKINDS, kind = i % LAB_NKINDS;
    if (kind == LAB_NKINDS - 1) {
        try_cut(l, node, f, at);
        return;
    }
    const uint8_t was = f->data[at];
    const uint8_t is[] = {0, 255, was ^ 1, was ^ 0x80};
    try_bytes(l, node, f, &is[kind], 1, kinds[kind], at);
}

void lab_try_word(mutant_lab *l, const char *node, const test_file *f, size_t i) {
    static const struct {
        const char *kind;
        size_t nbytes;
        uint8_t bytes[4];
    } words[LAB_NWORDS] = {{"0xFFFF at", 2, {0xFF, 0xFF}},
                           {"0x00000000 at", 4, {0}},
                           {"0xFFFFFFFF at", 4, {0xFF, 0xFF, 0xFF, 0xFF}},
                           {"0xFFFFFF7F at", 4, {0xFF, 0xFF, 0xFF, 0x7F}},
                           {"0x7FFFFFFF at", 4, {0x7F, 0xFF, 0xFF, 0xFF}},
                           {"0x00000080 at", 4, {0, 0, 0, 0x80}},
                           {"0x80000000 at", 4, {0x80, 0, 0, 0}}};
    const size_t at = i / LAB_NWORDS, k = i % LAB_NWORDS;
    if (at + words[k].nbytes <= f->nbytes) {
        try_bytes(l, node, f, words[k].bytes, words[k].nbytes, words[k].kind, at);
    }
}

/* Memory of devices and what is pinned for them, watched likewise. */
static void *device_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)device;
    (void)stream;
    return probe_alloc(user, nbytes);
}

static void device_free(void *user, hr_device device, void *ptr, size_t nbytes,
                        void *stream) {
    (void)device;
    (void)stream;
    probe_free(user, ptr, nbytes);
}

static void *pinned_alloc(void *user, hr_device device, size_t nbytes) {
    (void)device;
    return probe_alloc(user, nbytes);
}

static void pinned_free(void *user, hr_device device, void *ptr, size_t nbytes) {
    (void)device;
    probe_free(user, ptr, nbytes);
}

void lab_open(mutant_lab *l, const test_files *files) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_allocator a = probe_allocator(&l->probe);
    const hr_device_allocator device = {.struct_size = sizeof device,
                                        .user = &l->probe,
                                        .alloc = device_alloc,
                                        .free = device_free,
                                        .alloc_pinned = pinned_alloc,
                                        .free_pinned = pinned_free};
    *l = (mutant_lab){.probe = {.refuse_from = -1, .max_nbytes = ALLOC_MAX_NBYTES},
                      .device_type = HR_DEVICE_CPU};
    o.allocator = &a;
    o.device_allocator = &device;
    o.nthreads = 1;
    assert_int_equal(hr_context_create(&o, &l->context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(l->context, &l->store, NULL), HR_OK);
    assert_int_equal(files_store(files, l->store, NULL), HR_OK);
}

void lab_close(mutant_lab *l) {
    hr_store_unref(l->store);
    hr_context_unref(l->context);
    assert_int_equal(atomic_load(&l->probe.nlive), 0);
}

void lab_allow_no_threads(void) {
    pthread_attr_t attr;
    assert_int_equal(pthread_getattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
}
