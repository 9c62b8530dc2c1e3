/* SPDX-License-Identifier: Apache-2.0
 *
 * Own declarations, of nvCOMP 6. */
#include "nvcomp.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of any codec. All zeros: the default backend, no bit shuffling. */
typedef struct options {
    int backend, sort_before_hardware, type, bitshuffle;
    char reserved[48];
} options;

_Static_assert(sizeof(options) == 64, "as nvCOMP's");

struct nvcomp {
    int (*temp_nbytes)(size_t n, size_t most_nbytes, options o, size_t *temp_nbytes,
                       size_t total_nbytes, void *stream);
    int (*decompress)(const void *const *srcs, const size_t *src_nbytes,
                      const size_t *dst_nbytes, size_t *made_nbytes, size_t n, void *temp,
                      size_t temp_nbytes, void *const *dsts, options o, int *statuses,
                      void *stream);
};

static nvcomp peer;

static void *find(void *library, const char *codec, const char *function) {
    char name[64];
    (void)snprintf(name, sizeof name, "nvcompBatched%s%s", codec, function);
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("no nvCOMP: it has no %s\n", name);
    }
    return found;
}

nvcomp *nvcomp_open(const char *path, const char *codec) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        printf("no nvCOMP: %s\n", dlerror());
        return NULL;
    }
    void *temp = find(library, codec, "DecompressGetTempSize");
    void *decompress = find(library, codec, "DecompressAsync");
    if (temp == NULL || decompress == NULL) {
        return NULL;
    }
    memcpy(&peer.temp_nbytes, &temp, sizeof temp);
    memcpy(&peer.decompress, &decompress, sizeof decompress);
    return &peer;
}

static hr__devptr upload(runner *r, const uint64_t *values, uint32_t n) {
    hr__devptr p = runner_alloc(r, n * sizeof *values);
    runner_upload(r, p, values, n * sizeof *values);
    runner_sync(r);
    return p;
}

static void must(int status, const char *what) {
    if (status != 0) {
        printf("nvCOMP: %s gives %d\n", what, status);
        exit(EXIT_FAILURE);
    }
}

void nvcomp_prepare(const nvcomp *c, nvcomp_batch *b, runner *r, const uint64_t *srcs,
                    const uint32_t *src_nbytes, const uint64_t *dsts, uint32_t dst_nbytes,
                    uint32_t n) {
    uint64_t *values = calloc(n, sizeof *values);
    size_t scratch_nbytes = 0;
    if (values == NULL) {
        must(-1, "no memory");
    }
    *b = (nvcomp_batch){.n = n, .most_nbytes = dst_nbytes};
    b->srcs = upload(r, srcs, n);
    b->dsts = upload(r, dsts, n);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = src_nbytes[i];
    }
    b->src_nbytes = upload(r, values, n);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = dst_nbytes;
    }
    b->dst_nbytes = upload(r, values, n);
    b->made_nbytes = upload(r, values, n);
    b->statuses = upload(r, values, n);
    free(values);
    must(c->temp_nbytes(n, dst_nbytes, (options){0}, &scratch_nbytes,
                        (uint64_t)n * dst_nbytes, r->stream),
         "GetTempSize");
    b->scratch_nbytes = scratch_nbytes;
    b->scratch = runner_alloc(r, scratch_nbytes);
}

void nvcomp_launch(const nvcomp *c, const nvcomp_batch *b, runner *r) {
    must(c->decompress((const void *const *)b->srcs, (const size_t *)b->src_nbytes,
                       (const size_t *)b->dst_nbytes, (size_t *)b->made_nbytes, b->n,
                       (void *)b->scratch, b->scratch_nbytes, (void *const *)b->dsts,
                       (options){0}, (int *)b->statuses, r->stream),
         "DecompressAsync");
}

void nvcomp_batch_free(nvcomp_batch *b, runner *r) {
    const hr__devptr all[] = {b->srcs,        b->src_nbytes, b->dsts,   b->dst_nbytes,
                              b->made_nbytes, b->statuses,   b->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        r->ops->free(r->device, all[i]);
    }
}
