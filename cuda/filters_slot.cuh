/* Slots of 16 bytes, at the ends of an array just what belongs to it; sums over lanes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_FILTERS_SLOT_CUH
#define HR_CUDA_FILTERS_SLOT_CUH

#include "kernel_abi.h"
#include "simt.h"

/* Nothing before `begin` and from `end` on is touched, and read as zeros. */
static __device__ __forceinline__ hr_u128 load_slot(uint64_t at, uint64_t end,
                                                    uint64_t begin = 0) {
    hr_u128 slot = {};
    if (at >= begin && at + 16 <= end) {
        slot = *hr_global<const hr_u128>(at);
    } else if (at < end) {
        HR_UNROLL
        for (uint32_t k = 0; k < 16; k++) {
            if (at + k >= begin && at + k < end) {
                slot.word[k / 4] |= (uint32_t)*hr_global<const uint8_t>(at + k)
                                    << 8 * (k % 4);
            }
        }
    }
    return slot;
}

static __device__ __forceinline__ void
store_slot(uint64_t at, uint64_t end, const hr_u128 &slot, uint64_t begin = 0) {
    if (at >= begin && at + 16 <= end) {
        *hr_global<hr_u128>(at) = slot;
    } else if (at < end) {
        HR_UNROLL
        for (uint32_t k = 0; k < 16; k++) {
            if (at + k >= begin && at + k < end) {
                *hr_global<uint8_t>(at + k) = (uint8_t)(slot.word[k / 4] >> 8 * (k % 4));
            }
        }
    }
}

/* Over the lanes up to this one. */
template <class Sum>
static __device__ __forceinline__ Sum sum_lanes(Sum value, uint32_t lane) {
    HR_UNROLL
    for (uint32_t d = 1; d < 32; d <<= 1) {
        const Sum below = __shfl_up_sync(0xFFFFFFFF, value, d);
        value += lane >= d ? below : 0;
    }
    return value;
}

/* An item of nbytes into a slot of zeros: the i-th of it. */
static __device__ __forceinline__ void put_item(uint32_t nbytes, uint32_t i,
                                                uint64_t bits, hr_u128 *slot) {
    const uint32_t nbits = 8 * nbytes, at = i * nbits;
    const uint64_t kept = nbits == 64 ? bits : bits & (((uint64_t)1 << nbits) - 1);
    HR_UNROLL
    for (uint32_t w = 0; w < 4; w++) {
        slot->word[w] |= at / 32 == w ? (uint32_t)kept << at % 32 : 0;
        slot->word[w] |= nbits == 64 && at / 32 + 1 == w ? (uint32_t)(kept >> 32) : 0;
    }
}

#endif
