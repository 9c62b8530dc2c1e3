/* Zstandard's codes: bits, tables, offsets. SPDX-License-Identifier: Apache-2.0
 *
 * Everything here is done by one lane; many lanes work on as many blocks. */
#ifndef HR_CUDA_ZSTD_CODE_CUH
#define HR_CUDA_ZSTD_CODE_CUH

#include "kernel_abi.h"
#include "lz_copy.cuh"
#include "simt.h"

static __device__ __forceinline__ uint32_t zstd_log2(uint32_t x) {
    return 31 - (uint32_t)__clz(x);
}

/* Bits that were written last are read first; the highest bit set of the last byte only
 * ends them. Behind the first bit come zeros, and `left` goes below 0. */
struct zstd_bits {
    uint64_t begin; /* address */
    uint32_t at;    /* bytes that are not yet taken; 4 and more are whole words */
    int32_t left;   /* of the bits taken */
    uint64_t bits;  /* these, from the highest on */

    __device__ __forceinline__ void take_byte() {
        bits |= (uint64_t)lz_load_u8(begin + --at) << (56 - left);
        left += 8;
    }
    /* False if there is no end. nbytes > 0. */
    __device__ __forceinline__ bool open(uint64_t address, uint32_t nbytes) {
        const uint32_t last = lz_load_u8(address + nbytes - 1);
        const uint32_t n = zstd_log2(last | 1);
        begin = address;
        at = nbytes - 1;
        left = (int32_t)n;
        bits = (uint64_t)last << (63 - n) << 1;
        while (at > 0 && ((begin + at) & 3) != 0) {
            take_byte();
        }
        return last != 0;
    }
    /* 32 bits or more, if there are. */
    __device__ __forceinline__ void fill() {
        if (left <= 32 && at >= 4) {
            at -= 4;
            bits |= (uint64_t)*hr_global<const uint32_t>(begin + at) << (32 - left);
            left += 32;
        }
        while (left <= 32 && at > 0 && at < 4) {
            take_byte();
        }
    }
    /* n ≤ 32, all that are taken between two fills. */
    __device__ __forceinline__ uint32_t peek(uint32_t n) const {
        return (uint32_t)(bits >> 1 >> (63 - n));
    }
    __device__ __forceinline__ void skip(uint32_t n) {
        bits <<= n;
        left -= (int32_t)n;
    }
    __device__ __forceinline__ uint32_t take(uint32_t n) {
        const uint32_t value = peek(n);
        skip(n);
        return value;
    }
    __device__ __forceinline__ bool is_at_end() const {
        return at == 0 && left == 0;
    }
};

/* Bits from the lowest of the first byte on, for descriptions; zeros behind the last. */
struct zstd_forward {
    uint64_t at, end; /* addresses */
    uint32_t bit;     /* of the byte `at` */

    __device__ __forceinline__ uint32_t peek(uint32_t n) const {
        uint32_t value = 0;
        HR_UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            value |= at + i < end ? lz_load_u8(at + i) << (8 * i) : 0;
        }
        return value >> bit & ((1U << n) - 1);
    }
    __device__ __forceinline__ void skip(uint32_t n) {
        at += (bit + n) >> 3;
        bit = (bit + n) & 7;
    }
};

/* Entry of a table of states: in bits 0 to 4 how many bits lead to the next state; that
 * state without them from bit 23 on; between them what the symbol says. */
static __device__ __forceinline__ uint32_t zstd_entry(uint32_t nbits, uint32_t said,
                                                      uint32_t base) {
    return nbits | said | base << 23;
}
static __device__ __forceinline__ uint32_t zstd_nbits(uint32_t entry) {
    return entry & 31;
}
static __device__ __forceinline__ uint32_t zstd_base(uint32_t entry) {
    return entry >> 23;
}

/* Read normalised counts: 0xFFFF means less than one. Gives their log, or 0 if they are
 * wrong. Leaves `in` behind them. */
static __device__ __forceinline__ uint32_t zstd_read_counts(zstd_forward &in,
                                                            uint16_t *counts,
                                                            uint32_t max_symbol,
                                                            uint32_t max_log) {
    for (uint32_t i = 0; i <= max_symbol; i++) {
        counts[i] = 0;
    }
    const uint32_t log = in.peek(4) + 5;
    in.skip(4);
    uint32_t left = log <= max_log ? 1U << log : 0, symbol = 0;
    bool is_good = left > 0;
    while (left > 0 && symbol <= max_symbol && in.at < in.end) {
        const uint32_t width = zstd_log2(left + 1) + 1;
        const uint32_t nshort = (1U << width) - 2 - left;
        uint32_t value = in.peek(width);
        const uint32_t low = value & ((1U << (width - 1)) - 1);
        const bool is_short = low < nshort;
        value = is_short ? low : value >> (width - 1) != 0 ? value - nshort : value;
        in.skip(width - (is_short ? 1 : 0));
        const uint32_t count = value == 0 ? 1 : value - 1;
        if (count > left) {
            break;
        }
        left -= count;
        counts[symbol++] = (uint16_t)(value - 1);
        uint32_t more = value == 1 ? 3 : 0;
        while (more == 3 && in.at < in.end) {
            more = in.peek(2);
            in.skip(2);
            symbol += more;
        }
    }
    is_good = is_good && left == 0 && symbol <= max_symbol + 1;
    in.at += in.bit > 0 ? 1 : 0;
    in.bit = 0;
    return is_good && in.at <= in.end ? log : 0;
}

/* Places in the table that come by a step. */
static __device__ __forceinline__ uint32_t zstd_places(uint32_t count) {
    return count == 0xFFFF ? 0 : count;
}

/* Make the table of 2^log states; the counts, which add up to that, are used up. At first
 * each place is given a symbol, in the highest bits, and what that says. */
template <class Said>
static __device__ __forceinline__ void zstd_make_table(uint32_t *table, uint16_t *counts,
                                                       uint32_t max_symbol, uint32_t log,
                                                       const Said &said) {
    const uint32_t size = 1U << log, step = (size >> 1) + (size >> 3) + 3;
    uint32_t end = size;
    for (uint32_t s = 0; s <= max_symbol; s++) {
        if (counts[s] == 0xFFFF) {
            table[--end] = s << 26 | said(s);
        }
    }
    /* One loop for all symbols: lanes with other tables are to stay in step. */
    uint32_t at = 0, symbol = 0, left = zstd_places(counts[0]), is = said(0);
    HR_NO_UNROLL
    for (uint32_t i = 0; i < end;) {
        if (left == 0) {
            left = zstd_places(counts[++symbol]);
            is = symbol << 26 | said(symbol);
            continue;
        }
        table[at] = is;
        left--;
        i++;
        do {
            at = (at + step) & (size - 1);
        } while (at >= end);
    }
    for (uint32_t s = 0; s <= max_symbol; s++) {
        counts[s] = counts[s] == 0xFFFF ? 1 : counts[s];
    }
    HR_NO_UNROLL
    for (uint32_t i = 0; i < size; i += 4) { /* four loads at once */
        const uint32_t all[4] = {table[i], table[i + 1], table[i + 2], table[i + 3]};
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t s = all[k] >> 26, x = counts[s];
            const uint32_t nbits = log - zstd_log2(x);
            counts[s] = (uint16_t)(x + 1);
            table[i + k] = zstd_entry(nbits, all[k] & 0x03FFFFFF, (x << nbits) - size);
        }
    }
}

/* A decoded offset: a number of bytes; or, where it repeats one from before the block,
 * ZSTD_EARLIER | which of the three << 25 | (2^24 - how many less). */
#define ZSTD_EARLIER (UINT32_C(1) << 27)
#define ZSTD_NO_LESS (UINT32_C(1) << 24)
#define ZSTD_FAR (ZSTD_EARLIER - 1) /* farther than any output is long */

static __device__ __forceinline__ uint32_t zstd_earlier(uint32_t which) {
    return ZSTD_EARLIER | which << 25 | ZSTD_NO_LESS;
}
static __device__ __forceinline__ uint32_t zstd_offset(uint32_t offset,
                                                       const uint32_t (&earlier)[3]) {
    const uint32_t which = offset >> 25 & 3;
    const uint32_t before = which == 0   ? earlier[0]
                            : which == 1 ? earlier[1]
                                         : earlier[2];
    return (offset & ZSTD_EARLIER) == 0
               ? offset
               : before + (offset & (2 * ZSTD_NO_LESS - 1)) - ZSTD_NO_LESS;
}

static __device__ __forceinline__ const hr_k_zstd_block *zstd_block(const hr_k_zstd &p,
                                                                    uint32_t i) {
    return hr_global<const hr_k_zstd_block>(p.blocks) + i;
}
static __device__ __forceinline__ hr_k_zstd_result *zstd_result(const hr_k_zstd &p,
                                                                uint32_t i) {
    return hr_global<hr_k_zstd_result>(p.results) + i;
}

#endif
