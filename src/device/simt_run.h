/* The kernels as host functions. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_SIMT_RUN_H
#define HR_DEVICE_SIMT_RUN_H

#include <stdint.h>

#include "cuda/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run nblocks blocks to their end, in an order drawn from the seed. */
void hr__simt_run_tiles(const hr_k_tiles *tiles, uint32_t nblocks, uint64_t seed);
void hr__simt_run_store(const hr_k_store_batch *batch, uint32_t max_blocks,
                        uint64_t seed);
void hr__simt_run_sum(const hr_k_filter *filter, uint32_t nblocks, uint64_t seed);
void hr__simt_run_unpack(const hr_k_filter *filter, uint32_t nblocks, uint64_t seed);
/* team: a number in hr__teams. */
void hr__simt_run_team(uint32_t team, const hr_k_decode *params, uint32_t nblocks,
                       uint64_t seed);

/* All kernels of the decoder, one after the other. */
void hr__simt_run_whole(const hr_k_whole *params, uint64_t seed);
void hr__simt_run_zstd(const hr_k_zstd *params, uint32_t nblocks, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
