/* Deflate's codes: tables, and symbols found by them. SPDX-License-Identifier: Apache-2.0
 *
 * An entry of a table holds all that its bits say: how many bits the symbol takes, those
 * of its code among them, and what it stands for. Codes longer than the table's log are
 * searched for among the limits of the canonical code. */
#ifndef HR_CUDA_DEFLATE_CODE_CUH
#define HR_CUDA_DEFLATE_CODE_CUH

#include "simt.h"

#define DEFLATE_NLITERALS 288 /* and lengths */
#define DEFLATE_NDISTANCES 32
#define DEFLATE_END 256 /* of a block */
#define DEFLATE_DISTANCES_LOG 8
#define DEFLATE_SYMBOL_NBITS 48 /* the most that a match takes */
#define DEFLATE_FARTHEST 32768

/* Bits are looked at with two others before them, whatever those are, so that the bits
 * that an entry is found by say where it lies, in bytes. */
#define DEFLATE_BEFORE 2

/* Entries. Bits 0 … 4: bits of the symbol; 5 … 9: of its code, which come first, and
 * those before it. SPECIAL: neither literal nor length, or no distance. LONG: the code is
 * longer. */
#define DEFLATE_IS_END (UINT32_C(1) << 19)
#define DEFLATE_IS_LONG (UINT32_C(1) << 20)
#define DEFLATE_IS_SPECIAL (UINT32_C(1) << 21)
#define DEFLATE_IS_LITERAL (UINT32_C(1) << 31)
#define DEFLATE_LENGTH_SHIFT 22 /* above it the least length, unless LITERAL */
#define DEFLATE_LITERAL_SHIFT 10
/* Of distances: */
#define DEFLATE_IS_LONG_DISTANCE (UINT32_C(1) << 15)
#define DEFLATE_IS_NO_DISTANCE (UINT32_C(1) << 16)
#define DEFLATE_DISTANCE_SHIFT 17 /* above it the least distance */

static __device__ __forceinline__ bool deflate_is_literal(uint32_t e) {
    return (int32_t)e < 0; /* one instruction */
}
static __device__ __forceinline__ uint32_t deflate_nbits(uint32_t nbits) {
    return (nbits + DEFLATE_BEFORE) << 5 | nbits;
}
struct deflate_literals {
    typedef uint32_t type;
    static __device__ __forceinline__ uint32_t entry(uint32_t symbol, uint32_t nbits) {
        const uint32_t code = deflate_nbits(nbits);
        if (symbol < DEFLATE_END) {
            return DEFLATE_IS_LITERAL | symbol << DEFLATE_LITERAL_SHIFT | code;
        }
        const uint32_t s = symbol - DEFLATE_END - 1;
        const uint32_t extra = s >= 8 && s < 28 ? (s >> 2) - 1 : 0;
        const uint32_t least = s == 28  ? 258
                               : s >= 8 ? 3 + ((4 + (s & 3)) << extra)
                                        : 3 + s;
        return symbol == DEFLATE_END ? DEFLATE_IS_SPECIAL | DEFLATE_IS_END | code
               : s > 28              ? DEFLATE_IS_SPECIAL
                                     : least << DEFLATE_LENGTH_SHIFT | (code + extra);
    }
};

struct deflate_distances {
    typedef uint32_t type;
    static __device__ __forceinline__ uint32_t entry(uint32_t symbol, uint32_t nbits) {
        const uint32_t extra = symbol >= 4 ? (symbol >> 1) - 1 : 0;
        const uint32_t least =
            symbol >= 4 ? 1 + ((2 + (symbol & 1)) << extra) : 1 + symbol;
        return symbol > 29
                   ? DEFLATE_IS_NO_DISTANCE
                   : least << DEFLATE_DISTANCE_SHIFT | (deflate_nbits(nbits) + extra);
    }
};

/* A canonical code. Codes are compared as numbers of 15 bits, the first bit highest:
 * those of up to n bits lie below limits[n], and the one of n bits is the
 * (number >> (15 - n)) + bases[n]-th of all. */
struct deflate_code {
    uint32_t limits[16], bases[16];
};

static __device__ __forceinline__ uint32_t deflate_number(uint32_t bits) {
    return __brev(bits) >> 17;
}
static __device__ __forceinline__ uint32_t deflate_index(const deflate_code &code,
                                                         uint32_t number,
                                                         uint32_t nbits) {
    return (number >> (15 - nbits)) + code.bases[nbits];
}

/* Lanes whose four bits, of which each ballot has one, are `value`. */
static __device__ __forceinline__ uint32_t
deflate_lanes_with(const uint32_t (&ballots)[4], uint32_t value) {
    uint32_t lanes = 0xFFFFFFFF;
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        lanes &= (value >> i & 1) != 0 ? ballots[i] : ~ballots[i];
    }
    return lanes;
}
static __device__ __forceinline__ void deflate_vote(uint32_t value,
                                                    uint32_t (&ballots)[4]) {
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        ballots[i] = __ballot_sync(0xFFFFFFFF, (value >> i & 1) != 0);
    }
}

/* Of a length a lane, up to 15: how many are the lane's number. */
static __device__ __forceinline__ uint32_t deflate_count(uint32_t lane, uint32_t length) {
    uint32_t ballots[4];
    deflate_vote(length, ballots);
    const uint32_t lanes = deflate_lanes_with(ballots, lane & 15);
    return lane > 0 && lane < 16 ? (uint32_t)__popc(lanes) : 0;
}

/* A warp finds the code of which `count` symbols have as many bits as the lane's number:
 * the lane's limit and base. first: of those symbols, in the code's order. Returns
 * whether it is one: complete, or without any symbol, or, if allowed, of one symbol of
 * one bit. */
static __device__ __forceinline__ bool deflate_make_code(uint32_t lane, uint32_t count,
                                                         bool may_be_single,
                                                         uint32_t &first, uint32_t &limit,
                                                         uint32_t &base) {
    uint32_t space = lane < 16 ? count << (15 - lane) : 0, index = count;
    HR_UNROLL
    for (uint32_t d = 1; d < 32; d <<= 1) {
        const uint32_t more_space = __shfl_up_sync(0xFFFFFFFF, space, d);
        const uint32_t more_symbols = __shfl_up_sync(0xFFFFFFFF, index, d);
        space += lane >= d ? more_space : 0;
        index += lane >= d ? more_symbols : 0;
    }
    const uint32_t below = __shfl_up_sync(0xFFFFFFFF, space, 1);
    first = index - count;
    limit = lane > 0 ? min(space, 0x10000) : 0;
    base = first - ((lane > 0 ? below : 0) >> (lane < 16 ? 15 - lane : 0));
    const uint32_t all = __shfl_sync(0xFFFFFFFF, space, 15);
    const uint32_t nsingles = __shfl_sync(0xFFFFFFFF, count, 1);
    return all == 0x8000 || all == 0 || (may_be_single && all == 0x4000 && nsingles == 1);
}

/* A warp puts the entries of a symbol a lane, if it has a length, in the code's order:
 * Entries::entry(symbol, length). first: of all symbols with as many bits as the lane's
 * number. */
template <class Entries>
static __device__ __forceinline__ void
deflate_put_entries(uint32_t lane, uint32_t symbol, uint32_t length, uint32_t first,
                    typename Entries::type *entries) {
    uint32_t ballots[4];
    deflate_vote(length, ballots);
    const uint32_t at = __shfl_sync(0xFFFFFFFF, first, length);
    const uint32_t before = deflate_lanes_with(ballots, length) & ((1U << lane) - 1);
    if (length > 0) {
        entries[at + (uint32_t)__popc(before)] = Entries::entry(symbol, length);
    }
}

/* What decodes a block, in shared memory: entries by bits, and in the codes' order. */
template <uint32_t LOG> struct deflate_tables {
    uint32_t literals[1 << LOG], distances[1 << DEFLATE_DISTANCES_LOG];
    deflate_code literal_code, distance_code;
    uint32_t all_literals[DEFLATE_NLITERALS], all_distances[DEFLATE_NDISTANCES];
};

/* The group fills a table from its code. It must be in step before and after. */
template <uint32_t LOG, class Group>
static __device__ __forceinline__ void
deflate_fill(const Group &group, const deflate_code &code, const uint32_t *all,
             uint32_t longer, uint32_t *table) {
    uint32_t limits[LOG];
    HR_UNROLL
    for (uint32_t n = 1; n <= LOG; n++) {
        limits[n - 1] = code.limits[n];
    }
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < 1U << LOG; i += Group::THREADS) {
        const uint32_t number = deflate_number(i);
        uint32_t n = 1;
        HR_UNROLL
        for (uint32_t k = 0; k < LOG; k++) {
            n += number >= limits[k] ? 1 : 0;
        }
        table[i] = n > LOG ? longer : all[deflate_index(code, number, n)];
    }
}
template <uint32_t LOG, class Group>
static __device__ __forceinline__ void deflate_fill_tables(const Group &group,
                                                           deflate_tables<LOG> &t) {
    deflate_fill<LOG>(group, t.literal_code, t.all_literals,
                      DEFLATE_IS_SPECIAL | DEFLATE_IS_LONG, t.literals);
    deflate_fill<DEFLATE_DISTANCES_LOG>(group, t.distance_code, t.all_distances,
                                        DEFLATE_IS_NO_DISTANCE | DEFLATE_IS_LONG_DISTANCE,
                                        t.distances);
}

/* The entry of a code longer than its table's log, or `none`. (All limits are compared:
 * lanes would leave the search one by one.) */
template <uint32_t LOG>
static __device__ __forceinline__ uint32_t deflate_long(const deflate_code &code,
                                                        const uint32_t *all,
                                                        uint32_t bits, uint32_t none) {
    const uint32_t number = deflate_number(bits >> DEFLATE_BEFORE);
    uint32_t n = LOG + 1;
    HR_UNROLL
    for (uint32_t i = LOG + 1; i < 16; i++) {
        n += number >= code.limits[i] ? 1 : 0;
    }
    return n > 15 ? none : all[deflate_index(code, number, n)];
}
template <uint32_t LOG>
static __device__ __forceinline__ uint32_t
deflate_long_literal(const deflate_tables<LOG> &t, uint32_t bits) {
    return deflate_long<LOG>(t.literal_code, t.all_literals, bits, DEFLATE_IS_SPECIAL);
}
template <uint32_t LOG>
static __device__ __forceinline__ uint32_t
deflate_long_distance(const deflate_tables<LOG> &t, uint32_t bits) {
    return deflate_long<DEFLATE_DISTANCES_LOG>(t.distance_code, t.all_distances, bits,
                                               DEFLATE_IS_NO_DISTANCE);
}

template <uint32_t LOG>
static __device__ __forceinline__ uint32_t
deflate_find_literal(const deflate_tables<LOG> &t, uint32_t bits) {
    const uint32_t e = t.literals[bits >> DEFLATE_BEFORE & ((1U << LOG) - 1)];
    return (e & DEFLATE_IS_LONG) != 0 ? deflate_long_literal(t, bits) : e;
}
template <uint32_t LOG>
static __device__ __forceinline__ uint32_t
deflate_find_distance(const deflate_tables<LOG> &t, uint32_t bits) {
    const uint32_t e =
        t.distances[bits >> DEFLATE_BEFORE & ((1U << DEFLATE_DISTANCES_LOG) - 1)];
    return (e & DEFLATE_IS_LONG_DISTANCE) != 0 ? deflate_long_distance(t, bits) : e;
}

/* What an entry says, given the bits that it was found by. */
static __device__ __forceinline__ uint32_t deflate_more(uint32_t e, uint32_t bits) {
    return hr_shift_right(bits & hr_bits(DEFLATE_BEFORE, e), e >> 5);
}
static __device__ __forceinline__ uint32_t deflate_length(uint32_t e, uint32_t bits) {
    return deflate_more(e, bits) + (e >> DEFLATE_LENGTH_SHIFT);
}
static __device__ __forceinline__ uint32_t deflate_distance(uint32_t e, uint32_t bits) {
    return deflate_more(e, bits) + (e >> DEFLATE_DISTANCE_SHIFT);
}

/* 32 bits of words whose lowest bits come first. */
static __device__ __forceinline__ uint32_t deflate_peek(const uint32_t *input,
                                                        uint32_t at) {
    return __funnelshift_r(input[at >> 5], input[(at >> 5) + 1], at);
}

#endif
