/* SPDX-License-Identifier: Apache-2.0
 *
 * Own declarations of the few entry points that are used. */
#include "device/nvcomp.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    OLDEST_MAJOR = 5,
    NEWEST_MAJOR = 6,
    CUDA_BACKEND = 2 /* the other, a part of some GPUs, does not look for wrong streams */
};

static const hr__nvcomp_options cuda_backend = {.backend = CUDA_BACKEND};
_Static_assert(sizeof(hr__nvcomp_options) == 64, "as nvCOMP's");

/* NULL where the library has none. */
static void *find_symbol(void *handle, const char *library, const char *symbol,
                         hr_error *err) {
    void *found = dlsym(handle, symbol);
    if (found == NULL) {
        (void)hr__fail(err, HR_ERR_UNSUPPORTED, "nvCOMP: %s has no %s", library, symbol);
    }
    return found;
}

/* nvcompBatched<format>Decompress<what>. */
static void *find_entry(void *handle, const char *library, const char *format,
                        const char *what, hr_error *err) {
    char symbol[64];
    (void)snprintf(symbol, sizeof symbol, "nvcompBatched%sDecompress%s", format, what);
    return find_symbol(handle, library, symbol, err);
}

static hr_status read_version(void *handle, const char *library, uint32_t *out,
                              hr_error *err) {
    int (*get_properties)(uint32_t * version_and_cuda);
    uint32_t properties[2] = {0};
    void *symbol = find_symbol(handle, library, "nvcompGetProperties", err);
    if (symbol == NULL) {
        return HR_ERR_UNSUPPORTED;
    }
    memcpy(&get_properties, &symbol, sizeof symbol);
    int status = get_properties(properties);
    uint32_t major = properties[0] / 1000;
    if (status != 0 || major < OLDEST_MAJOR || major > NEWEST_MAJOR) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "nvCOMP: %s is of version %u.%u, expected %d or %d", library,
                        major, properties[0] % 1000 / 100, OLDEST_MAJOR, NEWEST_MAJOR);
    }
    *out = properties[0];
    return HR_OK;
}

/* Streams lie at any address here. */
static hr_status check_alignment(void *handle, const char *library, const char *format,
                                 hr_error *err) {
    int (*get_alignments)(hr__nvcomp_options o, size_t * in_out_temp);
    size_t alignments[3] = {0};
    void *symbol = find_entry(handle, library, format, "GetRequiredAlignments", err);
    if (symbol == NULL) {
        return HR_ERR_UNSUPPORTED;
    }
    memcpy(&get_alignments, &symbol, sizeof symbol);
    int status = get_alignments(cuda_backend, alignments);
    if (status != 0 || alignments[0] != 1 || alignments[1] != 1) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "nvCOMP: %s wants %s streams aligned to %zu and %zu bytes, "
                        "expected 1",
                        library, format, alignments[0], alignments[1]);
    }
    return HR_OK;
}

static hr_status open_format(void *handle, const char *library, const char *format,
                             uint32_t version, hr__nvcomp_entry *out, hr_error *err) {
    const bool is_5 = version / 1000 == OLDEST_MAJOR;
    const char *temp_name = is_5 ? "GetTempSizeAsync" : "GetTempSize";
    void *temp = find_entry(handle, library, format, temp_name, err);
    void *decompress = find_entry(handle, library, format, "Async", err);
    if (temp == NULL || decompress == NULL) {
        return HR_ERR_UNSUPPORTED;
    }
    HR__TRY(check_alignment(handle, library, format, err));
    memcpy(&out->decompress, &decompress, sizeof decompress);
    if (is_5) {
        memcpy(&out->temp_nbytes_5, &temp, sizeof temp);
    } else {
        memcpy(&out->temp_nbytes, &temp, sizeof temp);
    }
    return HR_OK;
}

static void *load(const char *library, hr_error *err) {
    static const char *const usual[] = {"libnvcomp.so.6", "libnvcomp.so.5"};
    /* Never unloaded: the CUDA run-time in it does not outlive that. */
    const int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void *handle = dlopen(library[0] != '\0' ? library : usual[0], how);
    if (handle == NULL && library[0] == '\0') {
        handle = dlopen(usual[1], how);
    }
    if (handle == NULL) {
        const char *why = dlerror();
        (void)hr__fail(err, HR_ERR_UNSUPPORTED, "nvCOMP cannot be opened: %s",
                       why != NULL ? why : "no reason given");
    }
    return handle;
}

hr_status hr__nvcomp_open(const char *library, hr__nvcomp *out, hr_error *err) {
    static const char *const formats[HR__NVCOMP_NFORMATS] = {
        [HR__NVCOMP_LZ4] = "LZ4", [HR__NVCOMP_SNAPPY] = "Snappy"};
    const char *name = library[0] != '\0' ? library : "libnvcomp.so";
    hr__nvcomp n = {0};
    void *handle = load(library, err);
    if (handle == NULL) {
        return HR_ERR_UNSUPPORTED;
    }
    hr_status status = read_version(handle, name, &n.version, err);
    for (int f = 0; f < HR__NVCOMP_NFORMATS && status == HR_OK; f++) {
        status = open_format(handle, name, formats[f], n.version, &n.entries[f], err);
    }
    n.on_host = dlsym(handle, "hr_nvcomp_on_host") != NULL;
    (void)dlclose(handle);
    if (status == HR_OK) {
        *out = n;
    }
    return status;
}

bool hr__nvcomp_serves(const hr__nvcomp *n, int32_t device_type) {
    return n->version != 0 &&
           device_type == (n->on_host ? HR_DEVICE_SIMT : HR_DEVICE_CUDA);
}

static hr_status check(int status, const char *what, hr_error *err) {
    return status == 0
               ? HR_OK
               : hr__fail(err, HR_ERR_DEVICE, "nvCOMP: %s gives status %d", what, status);
}

hr_status hr__nvcomp_temp(const hr__nvcomp_batch *b, uint64_t *temp_nbytes,
                          hr_error *err) {
    const hr__nvcomp_entry *e = &b->library->entries[b->format];
    size_t nbytes = 0;
    int status = e->temp_nbytes != NULL
                     ? e->temp_nbytes(b->n, b->most_nbytes, cuda_backend, &nbytes,
                                      b->total_nbytes, NULL)
                     : e->temp_nbytes_5(b->n, b->most_nbytes, cuda_backend, &nbytes,
                                        b->total_nbytes);
    HR__TRY(check(status, "the size of its memory", err));
    *temp_nbytes = nbytes;
    return HR_OK;
}

hr_status hr__nvcomp_decode(const hr__nvcomp_batch *b, hr__stream s, hr_error *err) {
    const hr__nvcomp_entry *e = &b->library->entries[b->format];
    return check(e->decompress(b->srcs, b->src_nbytes, b->dst_nbytes, b->made_nbytes,
                               b->n, b->temp, b->temp_nbytes, b->dsts, cuda_backend,
                               b->statuses, s),
                 "decoding", err);
}
