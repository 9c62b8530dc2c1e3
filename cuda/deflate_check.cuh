/* Checksums of what was made: Adler-32 and CRC-32. SPDX-License-Identifier: Apache-2.0
 *
 * A group reads 16 bytes a thread, in rows. A thread's sum over its places of all rows
 * says what they add to the whole. */
#ifndef HR_CUDA_DEFLATE_CHECK_CUH
#define HR_CUDA_DEFLATE_CHECK_CUH

#include "group.cuh"
#include "lz_copy.cuh"

#define DEFLATE_ADLER_MODULUS 65521
#define DEFLATE_AT_ONCE 4 /* rows */

/* [begin, end) of memory, in aligned chunks of 16 bytes; of those that lie across its
 * ends other bytes are 0. */
struct deflate_chunks {
    uint64_t begin, end, first;
    uint32_t n;

    __device__ __forceinline__ deflate_chunks(uint64_t from, uint64_t to)
        : begin(from), end(to), first(from & ~UINT64_C(15)),
          n((uint32_t)((to - (from & ~UINT64_C(15)) + 15) / 16)) {}
    __device__ __forceinline__ hr_u128 load(uint32_t i) const {
        return lz_load_aligned(first + UINT64_C(16) * i, {begin, end});
    }
};

static __device__ __forceinline__ uint64_t deflate_warp_sum(uint64_t value) {
    HR_UNROLL
    for (uint32_t d = 16; d > 0; d >>= 1) {
        value += __shfl_xor_sync(0xFFFFFFFF, value, d);
    }
    return value;
}

/* room: two words of 64 bits for each warp. Only the first thread's result is right. */
template <class Group>
static __device__ __forceinline__ uint32_t deflate_adler(const Group &group,
                                                         uint64_t begin, uint32_t nbytes,
                                                         uint64_t *room) {
    const deflate_chunks chunks(begin, begin + nbytes);
    uint64_t plain = 0, weighted = 0;
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < chunks.n; i += DEFLATE_AT_ONCE * Group::THREADS) {
        hr_u128 v[DEFLATE_AT_ONCE];
        HR_UNROLL
        for (uint32_t k = 0; k < DEFLATE_AT_ONCE; k++) {
            const uint32_t at = i + k * Group::THREADS;
            v[k] = {};
            if (at < chunks.n) {
                v[k] = chunks.load(at);
            }
        }
        HR_UNROLL
        for (uint32_t k = 0; k < DEFLATE_AT_ONCE; k++) {
            /* A byte counts once for every byte from it to the end. */
            const uint64_t at = chunks.first + UINT64_C(16) * (i + k * Group::THREADS);
            const uint64_t left = chunks.end - at;
            const uint32_t weight = (uint32_t)(left >> 4) % DEFLATE_ADLER_MODULUS * 16 +
                                    (uint32_t)(left & 15) + DEFLATE_ADLER_MODULUS;
            uint32_t sum = 0, before = 0;
            HR_UNROLL
            for (uint32_t w = 0; w < 4; w++) {
                sum = hr_dot4(v[k].word[w], 0x01010101, sum);
                before = hr_dot4(v[k].word[w], 0x03020100 + w * 0x04040404, before);
            }
            if (at < chunks.end) {
                plain += sum;
                weighted += (uint64_t)weight * sum - before;
            }
        }
    }
    plain = deflate_warp_sum(plain);
    weighted = deflate_warp_sum(weighted % DEFLATE_ADLER_MODULUS);
    if (group.lane == 0) {
        room[2 * group.warp] = plain;
        room[2 * group.warp + 1] = weighted;
    }
    group.sync();
    plain = 1;
    weighted = nbytes;
    for (uint32_t w = 0; w < Group::WARPS; w++) {
        plain += room[2 * w];
        weighted += room[2 * w + 1];
    }
    return (uint32_t)(weighted % DEFLATE_ADLER_MODULUS) << 16 |
           (uint32_t)(plain % DEFLATE_ADLER_MODULUS);
}

/* Polynomials over two elements, modulo CRC-32's: the highest bit is x^0. */
#define DEFLATE_CRC_X0 UINT32_C(0x80000000)

static __device__ __forceinline__ constexpr uint32_t deflate_crc_times_x(uint32_t a) {
    return a >> 1 ^ ((a & 1) != 0 ? UINT32_C(0xEDB88320) : 0);
}
static __device__ __forceinline__ constexpr uint32_t deflate_crc_times(uint32_t a,
                                                                       uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = DEFLATE_CRC_X0; bit != 0; bit >>= 1) {
        product ^= (a & bit) != 0 ? b : 0;
        b = deflate_crc_times_x(b);
    }
    return product;
}
/* x^(32 · n) */
static __device__ __forceinline__ constexpr uint32_t deflate_crc_words(uint32_t n) {
    uint32_t power = DEFLATE_CRC_X0;
    uint32_t square = UINT32_C(0xEDB88320); /* x^32 */
    for (; n > 0; n >>= 1) {
        power = (n & 1) != 0 ? deflate_crc_times(power, square) : power;
        square = deflate_crc_times(square, square);
    }
    return power;
}

/* Tables by which a word is multiplied: the product of each of its bytes. */
struct deflate_crc_tables {
    uint32_t products[4][256];

    __device__ __forceinline__ uint32_t times(uint32_t word) const {
        return products[0][word & 255] ^ products[1][word >> 8 & 255] ^
               products[2][word >> 16 & 255] ^ products[3][word >> 24];
    }
};

static __device__ __forceinline__ uint32_t deflate_crc_byte(uint32_t crc, uint32_t byte) {
    crc ^= byte;
    HR_NO_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        crc = deflate_crc_times_x(crc);
    }
    return crc;
}

/* The first four bytes are complemented. */
static __device__ __forceinline__ hr_u128 deflate_crc_load(const deflate_chunks &chunks,
                                                           uint32_t i) {
    hr_u128 v = chunks.load(i);
    if (i < 2) {
        HR_UNROLL
        for (uint32_t b = 0; b < 16; b++) {
            const uint64_t at = chunks.first + 16 * i + b - chunks.begin;
            v.word[b / 4] ^= at < 4 ? UINT32_C(255) << (b % 4 * 8) : 0;
        }
    }
    return v;
}

/* What the rows of whole chunks come to. Rows end with the
 * last chunk; before the first ones there is nothing. */
template <class Group>
static __device__ __forceinline__ uint32_t deflate_crc_rows(const Group &group,
                                                            uint64_t begin, uint64_t end,
                                                            deflate_crc_tables &tables,
                                                            uint32_t *room) {
    constexpr uint32_t ROW = deflate_crc_words(4 * Group::THREADS);
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < 1024; i += Group::THREADS) {
        tables.products[i >> 8][i & 255] =
            deflate_crc_times(ROW, (i & 255) << (i >> 8) * 8);
    }
    group.sync();
    const deflate_chunks chunks(begin, end);
    constexpr uint32_t STEP = DEFLATE_AT_ONCE * Group::THREADS;
    const uint32_t nsteps = (chunks.n + STEP - 1) / STEP;
    uint32_t i = group.rank - (nsteps * STEP - chunks.n); /* below 0: nothing */
    uint32_t sums[4] = {0, 0, 0, 0};
    HR_NO_UNROLL
    for (uint32_t step = 0; step < nsteps; step++, i += STEP) {
        hr_u128 v[DEFLATE_AT_ONCE];
        HR_UNROLL
        for (uint32_t k = 0; k < DEFLATE_AT_ONCE; k++) {
            v[k] = {};
            if (i + k * Group::THREADS < chunks.n) {
                v[k] = deflate_crc_load(chunks, i + k * Group::THREADS);
            }
        }
        HR_UNROLL
        for (uint32_t k = 0; k < 4 * DEFLATE_AT_ONCE; k++) {
            sums[k % 4] = tables.times(sums[k % 4]) ^ v[k / 4].word[k % 4];
        }
    }
    constexpr uint32_t WORD = deflate_crc_words(1);
    uint32_t sum = sums[0];
    HR_UNROLL
    for (uint32_t w = 1; w < 4; w++) {
        sum = deflate_crc_times(WORD, sum) ^ sums[w];
    }
    uint32_t distance = deflate_crc_words(4);
    HR_NO_UNROLL
    for (uint32_t d = 1; d < 32; d <<= 1) {
        const uint32_t below = __shfl_up_sync(0xFFFFFFFF, sum, d);
        sum ^= group.lane >= d ? deflate_crc_times(distance, below) : 0;
        distance = deflate_crc_times(distance, distance);
    }
    if (group.lane == 31) {
        room[group.warp] = sum;
    }
    group.sync();
    sum = 0;
    HR_NO_UNROLL
    for (uint32_t w = 0; w < Group::WARPS && group.rank == 0; w++) {
        sum = deflate_crc_times(distance, sum) ^ room[w];
    }
    return deflate_crc_times(WORD, sum);
}

/* room: a word for each warp. Only the first thread's result is right. */
template <class Group>
static __device__ __forceinline__ uint32_t deflate_crc(const Group &group, uint64_t begin,
                                                       uint32_t nbytes,
                                                       deflate_crc_tables &tables,
                                                       uint32_t *room) {
    const uint64_t end = begin + nbytes, whole_end = end & ~UINT64_C(15);
    uint32_t crc = 0xFFFFFFFF;
    uint64_t at = begin;
    if (whole_end >= begin + 4) {
        crc = deflate_crc_rows(group, begin, whole_end, tables, room);
        at = whole_end;
    }
    HR_NO_UNROLL
    for (; at < end && group.rank == 0; at++) {
        crc = deflate_crc_byte(crc, lz_load_u8(at));
    }
    return ~crc;
}

#endif
