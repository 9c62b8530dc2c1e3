/* Loading a chunk's items as they were before it was shuffled.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread fills up to four slots at once. A slot that is not wanted is loaded like the
 * first, which costs less than asking. Each function returns false where its way does not
 * serve: a block's end, a short last block, addresses that are not aligned. */
#ifndef HR_CUDA_STORE_LOAD_CUH
#define HR_CUDA_STORE_LOAD_CUH

#include "kernel_abi.h"
#include "tiles.cuh"

/* A byte of the unshuffled chunk, in its block. */
struct hr_spot {
    uint64_t block; /* the block's address */
    uint32_t at, shuffled_nbytes, stride;

    /* Do n bytes from here on lie in the shuffled part? */
    __device__ __forceinline__ bool has(uint32_t n) const {
        return (uint64_t)at + n <= shuffled_nbytes;
    }
};

static __device__ __forceinline__ hr_spot find_spot(const hr_k_source &s,
                                                    uint64_t offset) {
    uint32_t block = divide(s.block_nbytes, (uint32_t)offset);
    uint32_t start = block * s.block_nbytes.divisor;
    bool is_last = block == s.last_block;
    return {s.chunk + start, (uint32_t)offset - start,
            is_last ? s.shuffled_nbytes[1] : s.shuffled_nbytes[0],
            is_last ? s.stride[1] : s.stride[0]};
}

/* Four items of TS bytes from the word that each of their bytes' planes has. */
template <uint32_t TS>
static __device__ __forceinline__ void interleave(const uint32_t *rows, uint32_t *items) {
    if constexpr (TS == 1) {
        items[0] = rows[0];
    } else if constexpr (TS == 2) {
        items[0] = __byte_perm(rows[0], rows[1], 0x5140);
        items[1] = __byte_perm(rows[0], rows[1], 0x7362);
    } else {
        HR_UNROLL
        for (uint32_t j = 0; j < TS; j += 4) {
            uint32_t a = __byte_perm(rows[j], rows[j + 1], 0x5140);
            uint32_t b = __byte_perm(rows[j + 2], rows[j + 3], 0x5140);
            uint32_t c = __byte_perm(rows[j], rows[j + 1], 0x7362);
            uint32_t d = __byte_perm(rows[j + 2], rows[j + 3], 0x7362);
            items[j / 4] = __byte_perm(a, b, 0x5410);
            items[j / 4 + TS / 4] = __byte_perm(a, b, 0x7632);
            items[j / 4 + TS / 2] = __byte_perm(c, d, 0x5410);
            items[j / 4 + TS / 4 * 3] = __byte_perm(c, d, 0x7632);
        }
    }
}

template <uint32_t WIDTH>
static __device__ __forceinline__ uint32_t load_word(uint64_t address) {
    if constexpr (WIDTH == 1) {
        return *hr_global<const uint8_t>(address);
    } else if constexpr (WIDTH == 2) {
        return *hr_global<const uint16_t>(address);
    } else {
        return *hr_global<const uint32_t>(address);
    }
}

/* WIDTH items of TS bytes. */
template <uint32_t TS, uint32_t WIDTH>
static __device__ __forceinline__ void load_rows(uint64_t at, uint32_t stride,
                                                 hr_u128 *slot) {
    uint32_t rows[2][TS];
    HR_UNROLL
    for (uint32_t j = 0; j < TS; j++) {
        const uint64_t row = at + (uint64_t)j * stride;
        if constexpr (WIDTH == 8) {
            const hr_pair both = *hr_global<const hr_pair>(row);
            rows[0][j] = both.low;
            rows[1][j] = both.high;
        } else {
            rows[0][j] = load_word<WIDTH>(row);
        }
    }
    HR_UNROLL
    for (uint32_t part = 0; part < WIDTH; part += 4) {
        uint32_t items[TS < 4 ? 4 : TS] = {0};
        interleave<TS>(rows[part / 4], items);
        HR_UNROLL
        for (uint32_t w = 0; w < 4 && part * TS / 4 + w < 4; w++) {
            slot->word[part * TS / 4 + w] = items[w];
        }
    }
}

/* All slots: their loads under way together, unless these are very many. */
template <uint32_t TS, uint32_t WIDTH>
static __device__ __forceinline__ void load_all_rows(uint64_t *at, uint32_t *stride,
                                                     hr_u128 *slots) {
    if constexpr (TS <= 8) {
        HR_UNROLL
        for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
            load_rows<TS, WIDTH>(at[i], stride[i], &slots[i]);
        }
    } else {
        HR_NO_UNROLL
        for (uint32_t turn = 0; turn < HR_K_STORE_SLOTS; turn++) {
            hr_u128 slot;
            load_rows<TS, WIDTH>(at[0], stride[0], &slot);
            HR_UNROLL
            for (uint32_t i = 0; i + 1 < HR_K_STORE_SLOTS; i++) {
                at[i] = at[i + 1];
                stride[i] = stride[i + 1];
                slots[i] = slots[i + 1];
            }
            slots[HR_K_STORE_SLOTS - 1] = slot;
        }
    }
}

/* Whole items, byte-shuffled with a typesize of TS; slots are aligned to themselves. */
template <uint32_t TS>
static __device__ __forceinline__ bool load_planes(const hr_k_store_task &t, uint64_t src,
                                                   uint32_t nslots, hr_u128 *slots) {
    const uint64_t step = t.slot_src_step;
    const hr_k_source s = t.source; /* read once, not slot by slot */
    const uint32_t nbytes = t.slot_nbytes, width = nbytes / TS;
    uint64_t at[HR_K_STORE_SLOTS];
    uint32_t stride[HR_K_STORE_SLOTS];
    bool serves = true;
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        const hr_spot p = find_spot(s, src + (i < nslots ? i : 0) * step);
        at[i] = p.block + p.at / TS;
        stride[i] = p.stride;
        serves &= p.at % TS == 0;
        serves &= p.has(nbytes);
        serves &= (((uint32_t)at[i] | stride[i]) & (width - 1)) == 0;
    }
    if (!serves) {
        return false;
    }
    switch (width) {
    case 1:
        load_all_rows<TS, 1>(at, stride, slots);
        break;
    case 2:
        if constexpr (TS <= 8) {
            load_all_rows<TS, 2>(at, stride, slots);
        }
        break;
    case 4:
        if constexpr (TS <= 4) {
            load_all_rows<TS, 4>(at, stride, slots);
        }
        break;
    default:
        if constexpr (TS == 2) {
            load_all_rows<TS, 8>(at, stride, slots);
        }
    }
    return true;
}

/* Give words to slots of nbytes each. */
template <uint32_t NWORDS>
static __device__ __forceinline__ void deal_words(const uint32_t *words, uint32_t nbytes,
                                                  hr_u128 *slots) {
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        HR_UNROLL
        for (uint32_t w = 0; w < 4; w++) {
            uint32_t by16 = i * 4 + w < NWORDS ? words[i * 4 + w] : 0;
            uint32_t by8 = i * 2 + w < NWORDS ? words[i * 2 + w] : 0;
            uint32_t by4 = i < NWORDS ? words[i] : 0;
            uint32_t by2 = i / 2 < NWORDS ? words[i / 2] >> i % 2 * 16 : 0;
            slots[i].word[w] = nbytes == 16  ? by16
                               : nbytes == 8 ? by8
                               : nbytes == 4 ? by4
                                             : by2;
        }
    }
}

/* Four items, byte-shuffled with a typesize of TS, dealt to slots. */
template <uint32_t TS>
static __device__ __forceinline__ bool load_row_cell(const hr_k_store_task &t,
                                                     uint64_t src, hr_u128 *slots) {
    const hr_spot p = find_spot(t.source, src);
    if (p.at % (4 * TS) != 0 || !p.has(4 * TS)) {
        return false;
    }
    uint32_t rows[TS], words[TS];
    HR_UNROLL
    for (uint32_t j = 0; j < TS; j++) {
        rows[j] = load_word<4>(p.block + p.at / TS + (uint64_t)j * p.stride);
    }
    interleave<TS>(rows, words);
    deal_words<TS>(words, t.slot_nbytes, slots);
    return true;
}

template <uint32_t WIDTH>
static __device__ __forceinline__ void load_slots(uint64_t address, uint64_t step,
                                                  uint32_t nslots, hr_u128 *slots) {
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        const uint64_t at = address + (i < nslots ? i : 0) * step;
        if constexpr (WIDTH == 16) {
            slots[i] = *hr_global<const hr_u128>(at);
        } else if constexpr (WIDTH == 8) {
            uint64_t both = *hr_global<const uint64_t>(at);
            slots[i].word[0] = (uint32_t)both;
            slots[i].word[1] = (uint32_t)(both >> 32);
        } else {
            slots[i].word[0] = load_word<WIDTH>(at);
        }
    }
}

/* Not shuffled, and slots are aligned. */
static __device__ __forceinline__ bool load_plain(const hr_k_store_task &t, uint64_t src,
                                                  uint32_t nslots, hr_u128 *slots) {
    const uint64_t address = t.source.chunk + src, step = t.slot_src_step;
    switch (t.slot_nbytes) {
    case 1:
        load_slots<1>(address, step, nslots, slots);
        break;
    case 2:
        load_slots<2>(address, step, nslots, slots);
        break;
    case 4:
        load_slots<4>(address, step, nslots, slots);
        break;
    case 8:
        load_slots<8>(address, step, nslots, slots);
        break;
    default:
        load_slots<16>(address, step, nslots, slots);
        break;
    }
    return true;
}

/* The byte whose bits lie in eight rows. */
static __device__ __forceinline__ uint32_t gather_bits(uint64_t row, uint32_t stride,
                                                       uint32_t bit) {
    uint32_t bytes[8], value = 0;
    HR_UNROLL
    for (uint32_t k = 0; k < 8; k++) {
        bytes[k] = load_word<1>(row + (uint64_t)k * stride);
    }
    HR_UNROLL
    for (uint32_t k = 0; k < 8; k++) {
        value |= (bytes[k] >> bit & 1) << k;
    }
    return value;
}

/* One byte, whatever the shuffle. */
static __device__ __forceinline__ uint32_t load_byte(const hr_k_source &s,
                                                     uint64_t offset) {
    if (s.shuffle == HR_K_PLAIN) {
        return load_word<1>(s.chunk + offset);
    }
    const hr_spot p = find_spot(s, offset);
    if (!p.has(1)) {
        return load_word<1>(p.block + p.at);
    }
    const uint32_t item = divide(s.typesize, p.at);
    const uint32_t byte = p.at - item * s.typesize.divisor;
    if (s.shuffle == HR_K_BYTES_SHUFFLED) {
        return load_word<1>(p.block + (uint64_t)byte * p.stride + item);
    }
    return gather_bits(p.block + (uint64_t)byte * 8 * p.stride + item / 8, p.stride,
                       item % 8);
}

/* Every slot byte by byte: small code. */
static __device__ __forceinline__ void
load_anything(const hr_k_store_task &t, uint64_t src, uint32_t nslots, hr_u128 *slots) {
    const uint32_t nbytes = t.slot_nbytes;
    HR_NO_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        hr_u128 slot = {};
        HR_NO_UNROLL
        for (uint32_t at = 0; at < 16; at++) {
            uint32_t byte = i < nslots && at < nbytes ? load_byte(t.source, src + at) : 0;
            slot.word[0] = slot.word[0] >> 8 | slot.word[1] << 24;
            slot.word[1] = slot.word[1] >> 8 | slot.word[2] << 24;
            slot.word[2] = slot.word[2] >> 8 | slot.word[3] << 24;
            slot.word[3] = slot.word[3] >> 8 | byte << 24;
        }
        src += t.slot_src_step;
        slots[0] = slots[1];
        slots[1] = slots[2];
        slots[2] = slots[3];
        slots[3] = slot;
    }
}

#endif
