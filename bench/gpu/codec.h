/* The codec of a bench: one for each program. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_GPU_CODEC_H
#define HR_BENCH_GPU_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/lz_regime.h"

typedef struct bench_codec {
    hr__kernel kernel;
    const char *nvcomp; /* its name in nvCOMP's functions, or NULL */
    /* The most bytes that `nbytes` become. */
    uint32_t (*bound)(uint32_t nbytes);
    /* Of the stream in `dst`, which has room for so many, or 0: leave the block out. Any
     * thread. */
    uint32_t (*compress)(const uint8_t *src, uint32_t nbytes, uint8_t *dst,
                         uint32_t bound);
    uint32_t (*choose_team)(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                            const hr__lz_machine *machine);
} bench_codec;

extern const bench_codec codec;

#endif
