/* Strided copy, the last step of every read. SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads takes a tile of x × y items at a time; where the tile lies is worked
 * out once per tile, so that an item costs two multiplications and no division. A fill
 * is a copy whose source stands still. */
#include "tiles.cuh"

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
