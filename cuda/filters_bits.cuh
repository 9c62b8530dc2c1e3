/* Items of any width in rows of bits, the highest first. SPDX-License-Identifier: Apache-2.0
 */
#ifndef HR_CUDA_FILTERS_BITS_CUH
#define HR_CUDA_FILTERS_BITS_CUH

#include "filters_slot.cuh"

/* `width` ≤ 64 bits from this one on, with others above them. They are in nine bytes at
 * most, and no other is read. */
static __device__ __forceinline__ uint64_t take_high_bits(uint64_t row, uint64_t bit,
                                                          uint32_t width) {
    const uint64_t at = row + bit / 8;
    const uint32_t nbits = (uint32_t)(bit % 8) + width, nwhole = min((nbits + 7) / 8, 8u);
    uint64_t bits = 0;
    HR_NO_UNROLL
    for (uint32_t k = 0; k < nwhole; k++) {
        bits = bits << 8 | *hr_global<const uint8_t>(at + k);
    }
    if (nbits > 64) {
        return bits << (nbits - 64) | *hr_global<const uint8_t>(at + 8) >> (72 - nbits);
    }
    return bits >> (nwhole * 8 - nbits);
}

static __device__ __forceinline__ hr_u128 unpack_high_first(const hr_k_filter_task &t,
                                                            uint64_t first) {
    const uint32_t width = t.width, nbytes = t.nbytes;
    const uint64_t mask = ~(uint64_t)0 >> (64 - width);
    const uint64_t sign = t.is_signed ? (uint64_t)1 << (width - 1) : 0;
    const uint64_t length = t.row != 0 ? t.row : t.nitems;
    const uint64_t row_nbytes = (length * width + 7) / 8;
    const uint32_t n = (uint32_t)min((uint64_t)(16 / nbytes), t.nitems - first);
    uint64_t row = t.src + first / length * row_nbytes, column = first % length;
    hr_u128 slot = {};
    HR_NO_UNROLL
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t bits = take_high_bits(row, column * width, width) & mask;
        put_item(nbytes, i, (bits ^ sign) - sign, &slot);
        if (++column == length) {
            column = 0;
            row += row_nbytes;
        }
    }
    return slot;
}

#endif
