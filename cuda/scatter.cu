/* Strided copy, the last step of every read. SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads takes a tile of x × y items at a time; where the tile lies is worked
 * out once per tile, so that an item costs two multiplications and no division. A fill
 * is a copy whose source stands still. */
#include "kernel_abi.h"
#include "simt.h"

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

template <class Item, uint32_t LOG_ITEMS, bool LISTS>
static __device__ __forceinline__ void copy_tile(const hr_k_tiles &p, uint32_t tile) {
    constexpr uint32_t ITEMS = 1U << LOG_ITEMS;
    const uint32_t rest = tile / p.tiles_x;
    uint32_t outer = rest / p.tiles_y;
    const uint64_t x = ((uint64_t)(tile - rest * p.tiles_x) << p.log_tile_x) +
                       (threadIdx.x & ((1U << p.log_threads_x) - 1));
    const uint64_t y = ((uint64_t)(rest - outer * p.tiles_y) << p.log_tile_y) +
                       (threadIdx.x >> p.log_threads_x);
    const uint64_t first = p.items_along_y ? y : x, fixed = p.items_along_y ? x : y;
    const uint32_t count =
        fixed < p.across.n ? count_items(p.along.n, first, p.log_item_step, ITEMS) : 0;
    if (count == 0) {
        return;
    }

    uint64_t src = p.src, dst = p.dst;
    HR_NO_UNROLL
    for (uint32_t i = p.nouter; i-- > 0;) {
        const hr_k_axis &a = p.outer[i];
        uint32_t n = (uint32_t)a.n;
        uint32_t k = outer % n;
        outer /= n;
        src += place(a.src_list, k) * a.src_step;
        dst += place(a.dst_list, k) * a.dst_step;
    }
    src += place(LISTS ? p.across.src_list : 0, fixed) * p.across.src_step;
    dst += place(LISTS ? p.across.dst_list : 0, fixed) * p.across.dst_step;
    if (!LISTS) {
        src += first * p.along.src_step;
        dst += first * p.along.dst_step;
    }

    Item items[ITEMS];
    HR_UNROLL
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (i < count) {
            uint64_t k = first + ((uint64_t)i << p.log_item_step);
            uint64_t at = LISTS ? place(p.along.src_list, k) * p.along.src_step
                                : i * p.src_item_step;
            items[i] = *hr_global<const Item>(src + at);
        }
    }
    HR_UNROLL
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (i < count) {
            uint64_t k = first + ((uint64_t)i << p.log_item_step);
            uint64_t at = LISTS ? place(p.along.dst_list, k) * p.along.dst_step
                                : i * p.dst_item_step;
            *hr_global<Item>(dst + at) = items[i];
        }
    }
}

template <class Item, uint32_t LOG_ITEMS>
static __device__ __forceinline__ void copy_tiles(const hr_k_tiles &p) {
    for (uint32_t tile = blockIdx.x; tile < p.ntiles; tile += gridDim.x) {
        if (p.has_lists) {
            copy_tile<Item, LOG_ITEMS, true>(p, tile);
        } else {
            copy_tile<Item, LOG_ITEMS, false>(p, tile);
        }
        if (p.ntiles - tile <= gridDim.x) { /* tile + gridDim.x may not fit 32 bits */
            break;
        }
    }
}

/* One entry per width, so that narrow items do not pay for the registers of wide ones. */
#define SCATTER(width, Item)                                                             \
    extern "C" __global__ void __launch_bounds__(HR_K_THREADS)                           \
        hr_k_scatter_##width##_kernel(const __grid_constant__ hr_k_tiles p) {            \
        copy_tiles<Item, HR_K_LOG_ITEMS(width)>(p);                                      \
    }

SCATTER(1, uint8_t)
SCATTER(2, uint16_t)
SCATTER(4, uint32_t)
SCATTER(8, uint64_t)
SCATTER(16, hr_u128)
