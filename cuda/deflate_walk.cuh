/* One lane's way through symbols of a Deflate block. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_DEFLATE_WALK_CUH
#define HR_CUDA_DEFLATE_WALK_CUH

#include "deflate_code.cuh"
#include "kernel_abi.h"
#include "lz_parts.cuh"

enum deflate_stop {
    DEFLATE_RUNS_ON,
    DEFLATE_AT_END,  /* behind the end of the block */
    DEFLATE_AT_BAD,  /* before a symbol that is none */
    DEFLATE_IS_FULL, /* the tile can take no more */
};

/* Where a lane is, and what its symbols amount to. */
struct deflate_lane {
    uint32_t at;     /* in bits of the input */
    uint32_t counts; /* parts, and literals in the high half */
    uint32_t nbytes;
    uint32_t stop; /* deflate_stop */
};

/* Where the lane's parts and literals go: names in shared memory. */
struct deflate_sink {
    uint32_t part, literal, words;
    uint32_t at;       /* in the output, from the tile's base */
    uint32_t base;     /* the tile's */
    uint32_t shared;   /* the name of shared memory's begin */
    uint32_t farthest; /* what matches reach back at most, from the tile's base */
};

enum deflate_purpose { DEFLATE_FOLLOW, DEFLATE_COUNT, DEFLATE_PUT };

/* Parts and literals on the way. */
struct deflate_tally {
    uint32_t counts, nmatched; /* bytes of matches */
    uint32_t is_run;           /* 1 behind a literal, else 0 */
    int32_t farthest;
};

static __device__ __forceinline__ void deflate_put(deflate_sink &sink, uint32_t at,
                                                   uint32_t part) {
    hr_store_named(sink.part, part);
    hr_set_named(sink.words + (at >> 5) * (uint32_t)sizeof(lz_word), 1U << (at & 31));
    sink.part += 4;
}

template <deflate_purpose PURPOSE>
static __device__ __forceinline__ void deflate_take_literal(deflate_tally &y, uint32_t e,
                                                            deflate_sink &sink) {
    if (PURPOSE == DEFLATE_PUT) {
        if (y.is_run == 0) {
            deflate_put(sink, sink.at,
                        LZ_LITERAL + sink.literal - sink.shared - sink.base - sink.at);
        }
        hr_store_named_u8(sink.literal++, e >> DEFLATE_LITERAL_SHIFT);
        sink.at++;
    } else {
        y.counts += 0x10001 - y.is_run;
    }
    y.is_run = 1;
}

template <class C, deflate_purpose PURPOSE>
static __device__ __forceinline__ void
deflate_take_match(deflate_tally &y, uint32_t nbytes, uint32_t offset,
                   deflate_sink &sink) {
    constexpr uint32_t SHIFT = C::SINGLES ? 1 : 2;
    const bool is_single = C::SINGLES && offset == 1;
    if (PURPOSE == DEFLATE_PUT) {
        deflate_put(sink, sink.at, is_single ? sink.base + sink.at - 1 : 0 - offset);
        const int32_t reach = (int32_t)(offset - sink.at);
        y.farthest = reach > y.farthest ? reach : y.farthest;
    } else {
        y.counts++;
        y.nmatched += nbytes;
    }
    if (!is_single) {
        HR_NO_UNROLL
        for (uint32_t s = offset << SHIFT; s < nbytes; s <<= SHIFT) {
            if (PURPOSE == DEFLATE_PUT) {
                deflate_put(sink, sink.at + s, 0 - s);
            } else {
                y.counts++;
            }
        }
    }
    sink.at += PURPOSE == DEFLATE_PUT ? nbytes : 0;
    y.is_run = 0;
}

/* Entries by bits that are two bits early: of tables whose names these are. */
template <uint32_t LOG> struct deflate_lookup {
    uint32_t literals, distances;

    __device__ __forceinline__ uint32_t literal(uint32_t bits) const {
        return hr_load_named(literals + (bits & ((1U << LOG) - 1) << DEFLATE_BEFORE));
    }
    __device__ __forceinline__ uint32_t distance(uint32_t bits) const {
        constexpr uint32_t MASK = (1U << DEFLATE_DISTANCES_LOG) - 1;
        return hr_load_named(distances + (bits & MASK << DEFLATE_BEFORE));
    }
};

/* What the tables do not say of the symbol at the beginning of `low`, found by its entry
 * e: codes that are longer. False if it is no literal and no match. */
template <uint32_t LOG>
static __device__ __forceinline__ bool
deflate_look_closer(const deflate_tables<LOG> &t, uint32_t low, uint32_t high,
                    uint32_t &e, uint32_t &more, uint32_t &f) {
    if ((e & DEFLATE_IS_LONG) != 0) {
        e = deflate_long_literal(t, low);
        more = __funnelshift_r(low, high, e);
        f = deflate_is_literal(e) ? 0
                                  : t.distances[more >> DEFLATE_BEFORE &
                                                ((1U << DEFLATE_DISTANCES_LOG) - 1)];
    }
    if ((f & DEFLATE_IS_LONG_DISTANCE) != 0) {
        f = deflate_long_distance(t, more);
    }
    return (e & DEFLATE_IS_SPECIAL) == 0 && (f & DEFLATE_IS_NO_DISTANCE) == 0;
}

/* Symbols from k.at on that begin before `end`; k.stop says why no more. Bits behind
 * `end` must be there for one symbol, and two before the input. To FOLLOW only moves
 * k.at. First comes a literal alone, if there is one, since lanes seldom have matches
 * only. To PUT returns false if some match reaches too far. */
template <class C, deflate_purpose PURPOSE>
static __device__ __forceinline__ bool
deflate_walk(const uint32_t *input, const deflate_tables<C::LOG> &t, uint32_t end,
             deflate_lane &k, deflate_sink sink) {
    const deflate_lookup<C::LOG> look = {hr_shared_name(t.literals),
                                         hr_shared_name(t.distances)};
    const uint32_t origin = 8 * hr_shared_name(input) - DEFLATE_BEFORE;
    const uint32_t last = origin + end;
    uint32_t at = origin + k.at; /* in bits of shared memory */
    deflate_tally y = {0, 0, 0, INT32_MIN};
    k.stop = DEFLATE_RUNS_ON;
    HR_NO_UNROLL
    while (at < last) {
        const uint32_t word = at >> 3 & ~3U;
        const uint32_t middle = hr_load_named(word + 4);
        uint32_t low = __funnelshift_r(hr_load_named(word), middle, at);
        uint32_t high = __funnelshift_r(middle, hr_load_named(word + 8), at);
        uint32_t e = look.literal(low);
        const bool is_first = deflate_is_literal(e);
        const uint32_t nfirst = is_first ? e & 31 : 0;
        if (PURPOSE != DEFLATE_FOLLOW && is_first) {
            deflate_take_literal<PURPOSE>(y, e, sink);
        }
        at += nfirst;
        if (at >= last) {
            break;
        }
        low = __funnelshift_r(low, high, nfirst);
        high = hr_shift_right(high, nfirst);
        if (is_first) {
            e = look.literal(low);
        }
        uint32_t more = __funnelshift_r(low, high, e), f = 0;
        if (!deflate_is_literal(e)) {
            f = look.distance(more);
        }
        if (((e & DEFLATE_IS_SPECIAL) | (f & DEFLATE_IS_NO_DISTANCE)) != 0 &&
            !deflate_look_closer(t, low, high, e, more, f)) {
            const bool is_end = (e & DEFLATE_IS_END) != 0;
            at += is_end ? e & 31 : 0;
            k.stop = is_end ? DEFLATE_AT_END : DEFLATE_AT_BAD;
            break;
        }
        at += (e & 31) + (f & 31);
        if (PURPOSE == DEFLATE_FOLLOW) {
            continue;
        }
        if (deflate_is_literal(e)) {
            deflate_take_literal<PURPOSE>(y, e, sink);
        } else {
            deflate_take_match<C, PURPOSE>(y, deflate_length(e, low),
                                           deflate_distance(f, more), sink);
        }
        if (PURPOSE == DEFLATE_COUNT && y.nmatched > C::MOST_OF_LANE - C::BITS) {
            k.stop = DEFLATE_IS_FULL;
            break;
        }
    }
    k.at = at - origin;
    if (PURPOSE != DEFLATE_PUT) {
        k.counts = y.counts;
        k.nbytes = y.nmatched + (y.counts >> 16);
    }
    return y.farthest <= (int32_t)sink.farthest;
}

/* The next symbol, whatever it is, with every question asked. */
struct deflate_one {
    uint32_t code;   /* 0: all is well */
    uint32_t end;    /* in bits of the input */
    uint32_t is_end; /* of the block */
    uint32_t is_literal, literal;
    uint32_t nbytes, offset;
};

/* end: of the stream, with zeros behind it. reach: bytes that a match may reach back;
 * room: bytes that it may make. */
template <uint32_t LOG>
static __device__ __forceinline__ void
deflate_read_one(const uint32_t *input, const deflate_tables<LOG> &t, uint32_t at,
                 uint32_t end, uint32_t reach, uint32_t room, deflate_one &q) {
    uint32_t bits = deflate_peek(input, at) << DEFLATE_BEFORE;
    const uint32_t e = deflate_find_literal(t, bits);
    q.end = at + (e & 31);
    q.is_end = (e & DEFLATE_IS_END) != 0;
    q.is_literal = deflate_is_literal(e);
    q.literal = e >> DEFLATE_LITERAL_SHIFT & 255;
    q.nbytes = q.is_end ? 0 : q.is_literal ? 1 : deflate_length(e, bits);
    q.offset = 0;
    bool is_bad = (e & DEFLATE_IS_SPECIAL) != 0 && !q.is_end;
    bool is_far = false;
    if (!is_bad && !q.is_end && !q.is_literal) {
        bits = deflate_peek(input, q.end) << DEFLATE_BEFORE;
        const uint32_t f = deflate_find_distance(t, bits);
        is_bad = (f & DEFLATE_IS_NO_DISTANCE) != 0;
        q.offset = deflate_distance(f, bits);
        q.end += f & 31;
        is_far = q.offset > reach;
    }
    q.code = is_bad            ? HR_K_BAD_CODE
             : q.end > end     ? HR_K_TRUNCATED
             : is_far          ? HR_K_BAD_OFFSET
             : q.nbytes > room ? HR_K_TOO_LONG
                               : 0;
}

#endif
