/* nvCOMP as the peer, opened at run time. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_GPU_NVCOMP_H
#define HR_BENCH_GPU_NVCOMP_H

#include <stdint.h>

#include "kern/device_run.h"

typedef struct nvcomp nvcomp;

/* codec: its name in the library's functions. NULL with a message if the library or a
 * function is missing. */
nvcomp *nvcomp_open(const char *path, const char *codec);

/* A batch of streams, made ready: device addresses and sizes. */
typedef struct nvcomp_batch {
    hr__devptr srcs, src_nbytes, dsts, dst_nbytes, made_nbytes, statuses, scratch;
    uint64_t n, most_nbytes, scratch_nbytes;
} nvcomp_batch;

void nvcomp_prepare(const nvcomp *c, nvcomp_batch *b, runner *r, const uint64_t *srcs,
                    const uint32_t *src_nbytes, const uint64_t *dsts, uint32_t dst_nbytes,
                    uint32_t n);
void nvcomp_launch(const nvcomp *c, const nvcomp_batch *b, runner *r);
void nvcomp_batch_free(nvcomp_batch *b, runner *r);

#endif
