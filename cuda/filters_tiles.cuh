/* The tasks of a launch, dealt to its blocks. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_FILTERS_TILES_CUH
#define HR_CUDA_FILTERS_TILES_CUH

#include "kernel_abi.h"
#include "simt.h"

static __device__ __forceinline__ const hr_k_filter_task *find_task(const hr_k_filter &p,
                                                                    uint32_t i) {
    const hr_k_filter_task *tasks = (const hr_k_filter_task *)p.tasks;
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(tasks));
#endif
    return tasks + i;
}

/* The last task that begins with this tile or before it. */
static __device__ __forceinline__ uint32_t find_by_tile(const hr_k_filter &p,
                                                        uint32_t tile) {
    uint32_t low = 0, high = p.ntasks;
    HR_NO_UNROLL
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (find_task(p, middle)->first_tile <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Each block takes about as many tiles, one after the other, so that it looks for their
 * task only once. A task has at least one tile. Filter: which tasks it takes, and how it
 * makes a tile of one. */
template <class Filter>
static __device__ __forceinline__ void make_tiles(const hr_k_filter &p) {
    uint32_t tile = (uint32_t)((uint64_t)p.ntiles * blockIdx.x / gridDim.x);
    const uint32_t end = (uint32_t)((uint64_t)p.ntiles * (blockIdx.x + 1) / gridDim.x);
    uint32_t task = tile < end ? find_by_tile(p, tile) : 0;
    HR_NO_UNROLL
    for (; tile < end; tile++) {
        if (task + 1 < p.ntasks && find_task(p, task + 1)->first_tile <= tile) {
            task++;
        }
        const hr_k_filter_task &t = *find_task(p, task);
        if (Filter::takes(t)) {
            Filter::make(p, t, tile - t.first_tile);
        }
    }
}

#endif
