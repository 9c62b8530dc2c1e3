/* Loading items of a bit-shuffled chunk. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_STORE_BITS_CUH
#define HR_CUDA_STORE_BITS_CUH

#include "store_load.cuh"

/* Rows of bits 8 items long: byte k of both words is bit k of those items. They become
 * the items' bytes. */
static __device__ __forceinline__ void transpose_bits(uint32_t *low, uint32_t *high) {
    uint32_t words[2] = {*low, *high};
    HR_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t x = words[i];
        uint32_t t = (x ^ x >> 7) & 0x00AA00AA;
        x ^= t ^ t << 7;
        t = (x ^ x >> 14) & 0x0000CCCC;
        words[i] = x ^ t ^ t << 14;
    }
    uint32_t t = (words[0] ^ words[1] << 4) & 0xF0F0F0F0;
    *low = words[0] ^ t;
    *high = words[1] ^ t >> 4;
}

/* Eight rows of bits, each in a byte c of a word. */
static __device__ __forceinline__ void gather_rows(const uint32_t *rows, uint32_t c,
                                                   uint32_t *low, uint32_t *high) {
    const uint32_t both = c | (4 + c) << 4;
    *low = __byte_perm(__byte_perm(rows[0], rows[1], both),
                       __byte_perm(rows[2], rows[3], both), 0x5410);
    *high = __byte_perm(__byte_perm(rows[4], rows[5], both),
                        __byte_perm(rows[6], rows[7], both), 0x5410);
    transpose_bits(low, high);
}

/* 8·WIDTH items, bit-shuffled with a typesize of TS, dealt to slots. */
template <uint32_t TS, uint32_t WIDTH>
static __device__ __forceinline__ bool load_bits(const hr_k_store_task &t, uint64_t src,
                                                 hr_u128 *slots) {
    constexpr uint32_t CELL = 8 * WIDTH * TS;
    const hr_spot p = find_spot(t.source, src);
    if (p.at % CELL != 0 || !p.has(CELL)) {
        return false;
    }
    const uint64_t row = p.block + p.at / (8 * TS);
    uint32_t low[WIDTH][TS], high[WIDTH][TS], words[CELL / 4];
    HR_UNROLL
    for (uint32_t j = 0; j < TS; j++) {
        uint32_t rows[8];
        HR_UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            rows[k] = load_word<WIDTH>(row + (uint64_t)(j * 8 + k) * p.stride);
        }
        HR_UNROLL
        for (uint32_t c = 0; c < WIDTH; c++) {
            gather_rows(rows, c, &low[c][j], &high[c][j]);
        }
    }
    HR_UNROLL
    for (uint32_t c = 0; c < WIDTH; c++) {
        interleave<TS>(low[c], words + 2 * c * TS);
        interleave<TS>(high[c], words + 2 * c * TS + TS);
    }
    deal_words<CELL / 4>(words, t.slot_nbytes, slots);
    return true;
}

/* As many items as the cell has. */
template <uint32_t TS, uint32_t MOST>
static __device__ __forceinline__ bool load_bit_cell(const hr_k_store_task &t,
                                                     uint64_t src, hr_u128 *slots) {
    const uint32_t cell_nbytes = t.slot_nbytes * t.nslots;
    return MOST == 1 || cell_nbytes == 8 * TS ? load_bits<TS, 1>(t, src, slots)
                                              : load_bits<TS, MOST>(t, src, slots);
}

/* One item, bit-shuffled with a typesize of TS, for each slot; the loads of an item are
 * under way together. */
template <uint32_t TS>
static __device__ __forceinline__ bool
load_bit_items(const hr_k_store_task &t, uint64_t src, uint32_t nslots, hr_u128 *slots) {
    bool serves = true;
    HR_NO_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        const hr_spot p =
            find_spot(t.source, src + (i < nslots ? i : 0) * t.slot_src_step);
        const uint32_t item = p.at / TS, bit = item % 8;
        hr_u128 slot = {};
        serves = serves && p.at % TS == 0 && p.has(TS);
        if (serves && i < nslots) {
            const uint64_t row = p.block + item / 8;
            uint32_t bytes[8 * TS];
            HR_UNROLL
            for (uint32_t k = 0; k < 8 * TS; k++) {
                bytes[k] = load_word<1>(row + (uint64_t)k * p.stride);
            }
            HR_UNROLL
            for (uint32_t k = 0; k < 8 * TS; k++) {
                slot.word[k / 32] |= (bytes[k] >> bit & 1) << k % 32;
            }
        }
        slots[0] = slots[1];
        slots[1] = slots[2];
        slots[2] = slots[3];
        slots[3] = slot;
    }
    return serves;
}

#endif
