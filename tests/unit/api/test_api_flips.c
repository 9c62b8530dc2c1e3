/* Small changes to files that others wrote. SPDX-License-Identifier: Apache-2.0
 *
 * Each byte of a small file is set to 0, to 255, and has its lowest and its highest bit
 * flipped; each file is cut at each length. What comes of it is an array, or an error
 * that names something: no crash, no long computation, no great amount of memory.
 *
 * A sample is taken. With the argument "all" every mutant is; with "all i n" the i-th
 * part of n, and with "all i n zarr/gdal" of one folder. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"
#include "support/files.h"

enum { FILE_MAX_NBYTES = 4096, READ_MAX_NBYTES = 1 << 16 };
enum { NKINDS = 5 };
#define ALLOC_MAX_NBYTES ((size_t)256 << 20)
#define CPU_MAX_SECONDS 1.0

static struct {
    bool is_all;
    size_t part, nparts;
    const char *folder; /* NULL: all of them */
} plan = {.nparts = 1};

/* A folder with nodes in it, as one store. */
typedef struct folder {
    test_files files;
    char **nodes; /* paths of the nodes, each once */
    size_t nnodes;
} folder;

static bool ends_in(const char *key, const char *name) {
    size_t n = strlen(key);
    size_t k = strlen(name);
    return n >= k && strcmp(key + n - k, name) == 0 && (n == k || key[n - k - 1] == '/');
}

static bool is_document(const char *key) {
    return ends_in(key, "zarr.json") || ends_in(key, ".zarray") ||
           ends_in(key, ".zgroup") || ends_in(key, ".zattrs") ||
           ends_in(key, ".zmetadata");
}

/* Path of the node that a document describes. */
static char *node_of(const char *key) {
    const char *slash = strrchr(key, '/');
    return slash == NULL ? strdup("") : strndup(key, (size_t)(slash - key));
}

static void find_nodes(folder *f) {
    for (size_t i = 0; i < f->files.n; i++) {
        const char *key = f->files.files[i].key;
        if (!is_document(key) || ends_in(key, ".zattrs") || ends_in(key, ".zmetadata")) {
            continue;
        }
        char *path = node_of(key);
        f->nodes = realloc(f->nodes, (f->nnodes + 1) * sizeof *f->nodes);
        f->nodes[f->nnodes++] = path;
    }
}

/* The node that a file belongs to: the longest path that begins its key. */
static const char *owner(const folder *f, const char *key) {
    const char *best = NULL;
    for (size_t i = 0; i < f->nnodes; i++) {
        size_t n = strlen(f->nodes[i]);
        bool below = n == 0 || (strncmp(key, f->nodes[i], n) == 0 && key[n] == '/');
        if (below && (best == NULL || n > strlen(best))) {
            best = f->nodes[i];
        }
    }
    return best;
}

typedef struct lab {
    probe probe;
    hr_context *context;
    hr_store *store;
    uint64_t nmutants, nerrors;
} lab;

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
static hr_status read_corner(lab *l, hr_node *array, const hr_node_info *info,
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
    r.dst = (hr_tensor){
        .data = out, .dtype = info->dtype, .ndim = info->ndim, .shape = shape};
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

static void use_node(lab *l, const char *path, const char *mutant) {
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

static void try_mutant(lab *l, const char *node, const test_file *f, const uint8_t *data,
                       size_t nbytes, int kind, size_t at) {
    char mutant[256];
    (void)snprintf(mutant, sizeof mutant, "%s, %s %zu", f->key,
                   kind == 0   ? "0 at"
                   : kind == 1 ? "255 at"
                   : kind == 2 ? "lowest bit at"
                   : kind == 3 ? "highest bit at"
                               : "cut to",
                   at);
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

/* Mutant number i of a file: its byte i / NKINDS changed, or all from there on away. */
static void make_mutant(lab *l, const char *node, const test_file *f, size_t i) {
    size_t at = i / NKINDS;
    int kind = (int)(i % NKINDS);
    if (kind == NKINDS - 1) {
        uint8_t *cut = malloc(at + 1); /* no longer, so that a sanitizer sees the end */
        memcpy(cut, f->data, at);
        try_mutant(l, node, f, cut, at, kind, at);
        free(cut);
        return;
    }
    uint8_t was = f->data[at];
    uint8_t is = kind == 0 ? 0 : kind == 1 ? 255 : kind == 2 ? was ^ 1 : was ^ 0x80;
    if (is != was) {
        f->data[at] = is;
        try_mutant(l, node, f, f->data, f->nbytes, kind, at);
        f->data[at] = was;
    }
}

static void open_lab(lab *l, const test_files *files) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_allocator a = probe_allocator(&l->probe);
    *l = (lab){.probe = {.refuse_from = -1, .max_nbytes = ALLOC_MAX_NBYTES}};
    o.allocator = &a;
    o.nthreads = 1;
    assert_int_equal(hr_context_create(&o, &l->context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(l->context, &l->store, NULL), HR_OK);
    assert_int_equal(files_store(files, l->store, NULL), HR_OK);
}

static void close_lab(lab *l) {
    hr_store_unref(l->store);
    hr_context_unref(l->context);
    assert_int_equal(atomic_load(&l->probe.nlive), 0);
}

/* Mutants are numbered through all files; every step-th is made. */
static size_t flip_folder(const char *path, size_t first, size_t step,
                          uint64_t *nmutants) {
    folder f = {.nnodes = 0};
    lab l;
    files_load(path, &f.files);
    find_nodes(&f);
    open_lab(&l, &f.files);
    for (size_t i = 0; i < f.files.n; i++) {
        const test_file *file = &f.files.files[i];
        const char *node = owner(&f, file->key);
        size_t n = file->nbytes * NKINDS;
        if (file->nbytes > FILE_MAX_NBYTES || node == NULL) {
            continue;
        }
        for (; first < n; first += step) {
            make_mutant(&l, node, file, first);
        }
        first -= n;
        assert_int_equal(hr_store_set(l.store, file->key, file->data, file->nbytes, NULL),
                         HR_OK);
        if (plan.is_all) {
            print_message("%s/%s\n", path, file->key);
        }
    }
    assert_true(l.nerrors <= l.nmutants);
    *nmutants += l.nmutants;
    close_lab(&l);
    for (size_t i = 0; i < f.nnodes; i++) {
        free(f.nodes[i]);
    }
    free(f.nodes);
    files_free(&f.files);
    return first;
}

/* A folder is one store: the files of a writer. */
static const char *const corpus_folders[] = {
    "zarr/gdal",      "zarr/jzarr",        "zarr/n5-zarr",
    "zarr/netcdf-c",  "zarr/neuroglancer", "zarr/ome-zarr-py",
    "zarr/rio-tiler", "zarr/zarr-java",    "zarr/zarr-python-2.18.3",
    "zarr/zarrita",   "zarr/zarrs",        "zarr/zarr_implementations",
    "bad/zarr",
};

/* Without threads all work is done by the caller: its time is that of the mutant. */
static void allow_no_threads(void) {
    pthread_attr_t attr;
    assert_int_equal(pthread_getattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
}

static void no_small_change_does_harm(void **state) {
    (void)state;
    allow_no_threads();
    uint64_t nmutants = 0;
    struct stat st;
    bool has_corpus = stat(HR_CORPUS "/zarr", &st) == 0;
    size_t step = plan.is_all ? plan.nparts : has_corpus ? 997 : 1;
    size_t at = plan.part;
    if (!has_corpus) {
        print_message("no corpus at %s: the example data alone\n", HR_CORPUS);
        at = flip_folder(HR_TEST_DATA "/../../examples/data/jacksboro_v2.zarr", at, 7,
                         &nmutants);
    }
    for (size_t i = 0; has_corpus && i < sizeof corpus_folders / sizeof(char *); i++) {
        char path[1024];
        if (plan.folder != NULL && strcmp(plan.folder, corpus_folders[i]) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, HR_CORPUS "/%s", corpus_folders[i]);
        at = flip_folder(path, at, step, &nmutants);
    }
    print_message("%" PRIu64 " mutants\n", nmutants);
    assert_true(nmutants > 100);
}

int main(int argc, char **argv) {
    plan.is_all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 3) {
        plan.part = strtoul(argv[2], NULL, 10);
        plan.nparts = strtoul(argv[3], NULL, 10);
        plan.folder = argc > 4 ? argv[4] : NULL;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_small_change_does_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
