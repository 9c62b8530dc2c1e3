/* Warps of a block that work together. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_GROUP_CUH
#define HR_CUDA_GROUP_CUH

#include "simt.h"

/* NWARPS warps from FIRST_WARP on. BARRIER is theirs alone; 0: they are the block. */
template <uint32_t NWARPS, uint32_t FIRST_WARP, uint32_t BARRIER> struct hr_group {
    static constexpr uint32_t WARPS = NWARPS, THREADS = NWARPS * 32;
    static_assert(NWARPS <= 32, "one lane per warp adds up what the warps found");

    uint32_t rank, lane, warp;

    __device__ __forceinline__ hr_group()
        : rank(threadIdx.x - FIRST_WARP * 32), lane(rank & 31), warp(rank >> 5) {}

    __device__ __forceinline__ void sync(hr_site site = hr_site::here()) const {
        hr_sync_warp(site); /* lanes that diverged come together first */
        if (NWARPS > 1) {
            if (BARRIER == 0) {
                hr_sync_block(site);
            } else {
                hr_barrier_sync(BARRIER, THREADS, site);
            }
        }
    }

    /* Each value becomes its sum over the ranks up to this one. room: N * NWARPS words,
     * free again after the next sync. */
    template <uint32_t N>
    __device__ __forceinline__ void sum_up(uint32_t (&values)[N], uint32_t *room) const {
        HR_UNROLL
        for (uint32_t d = 1; d < 32; d <<= 1) {
            HR_UNROLL
            for (uint32_t i = 0; i < N; i++) {
                uint32_t below = __shfl_up_sync(0xFFFFFFFF, values[i], d);
                values[i] += lane >= d ? below : 0;
            }
        }
        if (NWARPS > 1) {
            HR_UNROLL
            for (uint32_t i = 0; i < N; i++) {
                if (lane == 31) {
                    room[i * NWARPS + warp] = values[i];
                }
            }
            sync();
            HR_UNROLL
            for (uint32_t i = 0; i < N; i++) {
                values[i] += hr_warp_sum(lane < warp ? room[i * NWARPS + lane] : 0);
            }
        }
    }
};

#endif
