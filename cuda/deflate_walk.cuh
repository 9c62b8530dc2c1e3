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
    uint32_t at; /* in bits of the input */
    uint32_t nparts, nbytes, nliterals;
    uint32_t stop; /* deflate_stop */
};

/* Where the lane's parts and literals go. */
struct deflate_sink {
    lz_tile tile;
    uint8_t *literals;
    uint32_t literals_at; /* in shared memory */
    uint32_t index, at;   /* of its first part; `at` counts from the tile's base */
    uint32_t before;      /* `at` + this: bytes that a match there may reach back */
    bool reaches_too_far; /* some match did */
};

enum deflate_purpose { DEFLATE_FOLLOW, DEFLATE_COUNT, DEFLATE_PUT };

/* More pieces of a match than one. */
template <class C, deflate_purpose PURPOSE>
static __device__ __forceinline__ void
deflate_more_pieces(deflate_lane &k, const deflate_sink &sink, uint32_t offset,
                    uint32_t nbytes) {
    constexpr uint32_t SHIFT = C::SINGLES ? 1 : 2;
    uint32_t s = offset << SHIFT;
    if (s < nbytes && (!C::SINGLES || offset > 1)) {
        HR_NO_UNROLL
        do {
            if (PURPOSE == DEFLATE_PUT) {
                lz_put(sink.tile, sink.index + k.nparts, sink.at + k.nbytes + s, 0 - s);
            }
            k.nparts++;
            s <<= SHIFT;
        } while (s < nbytes);
    }
}

/* Symbols from k.at on that begin before `end`; k.stop says why no more. Bits behind
 * `end` must be there for one symbol. To FOLLOW only moves k.at. A literal is treated as
 * a match of one byte, from afar, so that lanes with either go the same way; but first
 * comes a literal alone, if there is one, since lanes seldom have matches only. */
template <class C, deflate_purpose PURPOSE>
static __device__ __forceinline__ void
deflate_walk(const uint32_t *input, const deflate_tables<C::LOG> &t, uint32_t end,
             deflate_lane &k, deflate_sink &sink) {
    constexpr uint32_t MASK = (1U << C::LOG) - 1;
    constexpr uint32_t DISTANCE_MASK = (1U << DEFLATE_DISTANCES_LOG) - 1;
    deflate_bits in(input, k.at);
    uint32_t before = 0; /* the last entry: are literals being run through? */
    k.nparts = k.nbytes = k.nliterals = 0;
    k.stop = DEFLATE_RUNS_ON;
    HR_NO_UNROLL
    while (in.at < end) {
        uint32_t bits = in.peek(), e = t.literals[bits & MASK];
        if ((e & DEFLATE_IS_LITERAL) != 0) {
            in.skip(e & 31);
            if (PURPOSE != DEFLATE_FOLLOW) {
                const bool is_new = (before & DEFLATE_IS_LITERAL) == 0;
                before = e;
                if (PURPOSE == DEFLATE_PUT) {
                    if (is_new) {
                        lz_put_literals(sink.tile, sink.index + k.nparts,
                                        sink.at + k.nbytes,
                                        sink.literals_at + k.nliterals);
                    }
                    sink.literals[k.nliterals] = (uint8_t)(e >> DEFLATE_LITERAL_SHIFT);
                }
                k.nparts += is_new ? 1 : 0;
                k.nliterals++;
                k.nbytes++;
            }
            if (in.at >= end) {
                break;
            }
            bits = in.peek();
            e = t.literals[bits & MASK];
        }
        const uint32_t begin = in.at;
        if ((e & DEFLATE_IS_SPECIAL) != 0) {
            if ((e & DEFLATE_IS_LONG) != 0) {
                e = deflate_long_literal(t.literal_code, t.literal_symbols, bits,
                                         C::LOG + 1);
            }
            if ((e & DEFLATE_IS_SPECIAL) != 0) {
                const bool is_end = (e & DEFLATE_IS_END) != 0;
                in.at += is_end ? e & 31 : 0;
                k.stop = is_end ? DEFLATE_AT_END : DEFLATE_AT_BAD;
                break;
            }
        }
        in.skip(e & 31);
        const bool is_literal = (e & DEFLATE_IS_LITERAL) != 0;
        const uint32_t more = in.peek();
        uint32_t f = DEFLATE_FAR;
        if (!is_literal) {
            f = t.distances[more & DISTANCE_MASK];
        }
        if ((f & DEFLATE_IS_NO_DISTANCE) != 0) {
            if ((f & DEFLATE_IS_LONG_DISTANCE) != 0) {
                f = deflate_long_distance(t.distance_code, t.distance_symbols, more);
            }
            if ((f & DEFLATE_IS_NO_DISTANCE) != 0) {
                in.at = begin;
                k.stop = DEFLATE_AT_BAD;
                break;
            }
        }
        in.skip(f & 31);
        if (PURPOSE == DEFLATE_FOLLOW) {
            continue;
        }
        const uint32_t nbytes = deflate_length(e, bits);
        const uint32_t offset = deflate_distance(f, more);
        const bool is_new = (e & before & DEFLATE_IS_LITERAL) == 0;
        before = e;
        if (PURPOSE == DEFLATE_PUT) {
            const uint32_t at = sink.at + k.nbytes;
            if (is_new) {
                const uint32_t position = sink.tile.base + at;
                const uint32_t match =
                    C::SINGLES && offset == 1 ? position - 1 : 0 - offset;
                const uint32_t literal =
                    LZ_LITERAL + sink.literals_at + k.nliterals - position;
                lz_put(sink.tile, sink.index + k.nparts, at,
                       is_literal ? literal : match);
            }
            if (is_literal) {
                sink.literals[k.nliterals] = (uint8_t)(e >> DEFLATE_LITERAL_SHIFT);
            } else if (offset > at + sink.before) {
                sink.reaches_too_far = true;
            }
        }
        k.nparts += is_new ? 1 : 0;
        k.nliterals += is_literal ? 1 : 0;
        deflate_more_pieces<C, PURPOSE>(k, sink, offset, nbytes);
        k.nbytes += nbytes;
        if (PURPOSE == DEFLATE_COUNT && k.nbytes > C::MOST_OF_LANE) {
            k.stop = DEFLATE_IS_FULL;
            break;
        }
    }
    k.at = in.at;
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
    uint32_t bits = deflate_peek(input, at);
    const uint32_t e = deflate_find_literal(t, bits);
    q.end = at + (e & 31);
    q.is_end = (e & DEFLATE_IS_END) != 0;
    q.is_literal = (e & DEFLATE_IS_LITERAL) != 0;
    q.literal = e >> DEFLATE_LITERAL_SHIFT & 255;
    q.nbytes = q.is_end ? 0 : deflate_length(e, bits);
    q.offset = 0;
    bool is_bad = (e & DEFLATE_IS_SPECIAL) != 0 && !q.is_end;
    bool is_far = false;
    if (!is_bad && !q.is_end && !q.is_literal) {
        bits = deflate_peek(input, q.end);
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
