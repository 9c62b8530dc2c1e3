/* Strided copy, the last step of every read. SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads takes a tile of x × y items at a time; where the tile lies is worked
 * out once per tile, so that an item costs two multiplications and no division. A fill
 * is a copy whose source stands still. */
#include "tiles.cuh"

template <class Item, uint32_t LOG_ITEMS, bool LISTS>
static __device__ __forceinline__ void copy_tile(const hr_k_tiles &p, uint32_t tile) {
    constexpr uint32_t ITEMS = 1U << LOG_ITEMS;
    const hr_items it = find_items<LISTS>(p, tile, ITEMS);
    if (it.count == 0) {
        return;
    }
    uint64_t src = it.src, dst = it.dst;
    if (!LISTS) {
        src += it.first * p.along.src_step;
        dst += it.first * p.along.dst_step;
    }

    Item items[ITEMS];
    HR_UNROLL
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (i < it.count) {
            uint64_t k = it.first + ((uint64_t)i << p.log_item_step);
            uint64_t at = LISTS ? place(p.along.src_list, k) * p.along.src_step
                                : i * p.src_item_step;
            items[i] = *hr_global<const Item>(src + at);
        }
    }
    HR_UNROLL
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (i < it.count) {
            uint64_t k = it.first + ((uint64_t)i << p.log_item_step);
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
