/* A thread's place in a tile, for the kernels that walk tiles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_TILES_CUH
#define HR_CUDA_TILES_CUH

#include "kernel_abi.h"
#include "simt.h"

static __device__ __forceinline__ uint32_t divide(const hr_k_divisor &d, uint32_t n) {
    uint32_t t = (uint32_t)((uint64_t)n * d.factor >> 32);
    return (t + ((n - t) >> d.shift1)) >> d.shift2;
}

/* How many of a thread's items lie inside a loop of n: at k, k + step, … below end. */
static __device__ __forceinline__ uint32_t count_items(uint64_t n, uint64_t k,
                                                       uint32_t log_step,
                                                       uint32_t nitems) {
    uint64_t count = k < n ? ((n - 1 - k) >> log_step) + 1 : 0;
    return count < nitems ? (uint32_t)count : nitems;
}

static __device__ __forceinline__ uint64_t place(uint64_t list, uint64_t k) {
    return list == 0 ? k : (uint64_t)hr_global<const int64_t>(list)[k];
}

/* A thread's items of a tile: first, first + 2^log_item_step, … along one axis. */
struct hr_items {
    uint64_t src, dst; /* where that axis begins */
    uint64_t first;
    uint32_t count;
};

template <bool LISTS>
static __device__ __forceinline__ hr_items find_items(const hr_k_tiles &p, uint32_t tile,
                                                      uint32_t nitems) {
    const uint32_t rest = divide(p.tiles_x, tile);
    uint32_t outer = divide(p.tiles_y, rest);
    const uint64_t x = ((uint64_t)(tile - rest * p.tiles_x.divisor) << p.log_tile_x) +
                       (threadIdx.x & ((1U << p.log_threads_x) - 1));
    const uint64_t y = ((uint64_t)(rest - outer * p.tiles_y.divisor) << p.log_tile_y) +
                       (threadIdx.x >> p.log_threads_x);
    const uint64_t fixed = p.items_along_y ? x : y;
    hr_items it = {p.src, p.dst, p.items_along_y ? y : x, 0};
    if (fixed < p.across.n) {
        it.count = count_items(p.along.n, it.first, p.log_item_step, nitems);
    }
    if (it.count == 0) {
        return it;
    }
    HR_NO_UNROLL
    for (uint32_t i = p.nouter; i-- > 0;) {
        const hr_k_axis &a = p.outer[i];
        uint32_t n = (uint32_t)a.n;
        uint32_t k = outer % n;
        outer /= n;
        it.src += place(a.src_list, k) * a.src_step;
        it.dst += place(a.dst_list, k) * a.dst_step;
    }
    it.src += place(LISTS ? p.across.src_list : 0, fixed) * p.across.src_step;
    it.dst += place(LISTS ? p.across.dst_list : 0, fixed) * p.across.dst_step;
    return it;
}

#endif
