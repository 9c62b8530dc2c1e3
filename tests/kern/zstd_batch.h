/* zstd streams decoded by the kernels, next to libzstd. SPDX-License-Identifier: Apache-2.0
 */
#ifndef HR_KERN_ZSTD_BATCH_H
#define HR_KERN_ZSTD_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/zstd_frame.h"
#include "kern/device_run.h"

/* A stream and the size it should decode to. Owns its memory. */
typedef struct zstd_case {
    uint8_t *src, *want; /* want: libzstd's bytes; NULL: it refuses the stream */
    uint32_t src_nbytes, dst_nbytes;
    bool is_mutant; /* libzstd may take it where the format is broken */
    hr__zstd_stream walked;
    uint64_t room; /* beside the output */
    hr__devptr device_src, device_dst, scratch;
    uint64_t dst_at; /* of the output in device_dst */
} zstd_case;

#define ZSTD_BATCH_CAPACITY 256

typedef struct zstd_batch {
    runner *runner;
    uint64_t random;
    uint64_t ndrawn; /* teams that take each batch, drawn anew; 0: all */
    uint64_t nfirst; /* of these first ones alone; 0: all */
    uint32_t ncases, nblocks;
    uint64_t nchecked, nwalked, naccepted, nstricter, nfailures;
    zstd_case cases[ZSTD_BATCH_CAPACITY];
} zstd_batch;

/* Copies src. Streams that the walk refuses are only counted, and compared with what
 * libzstd says. */
void zstd_batch_add(zstd_batch *b, const uint8_t *src, uint32_t src_nbytes,
                    uint32_t dst_nbytes, bool is_mutant);
/* Run what is left by the teams, with two patterns in the output beforehand. */
void zstd_batch_run(zstd_batch *b);

#endif
