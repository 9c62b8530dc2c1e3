/* Headers of Deflate's blocks. SPDX-License-Identifier: Apache-2.0
 *
 * A group reads a header from shared memory, where zeros follow the stream's last byte.
 */
#ifndef HR_CUDA_DEFLATE_HEADER_CUH
#define HR_CUDA_DEFLATE_HEADER_CUH

#include "deflate_code.cuh"
#include "kernel_abi.h"

/* A header of the most bits, at any place in 16 bytes. */
#define DEFLATE_HEADER_NBYTES 704
#define DEFLATE_HEADER_MOST_NBITS 4864
/* Chunks of 32 symbols: 9 of literals and lengths, 1 of distances. */
#define DEFLATE_NCHUNKS 10

struct deflate_header {
    uint32_t code; /* 0: all is well */
    uint32_t end;  /* in bits: where the block's symbols or bytes begin */
    uint32_t is_last, is_stored;
    uint32_t nstored;
    uint32_t period; /* in bits: of the longest runs; see deflate_period */
};

/* Where a header is read, in shared memory; nothing of it is needed afterwards. */
template <uint32_t THREADS> struct deflate_header_room {
    static constexpr uint32_t WINDOW = THREADS > 256 ? 2048 : 1024; /* bits */
    static constexpr uint32_t MOST_AHEAD = 16;                      /* a symbol's bits */

    alignas(4) uint8_t lengths[DEFLATE_NLITERALS + DEFLATE_NDISTANCES];
    /* by 1, 2, 4, 8, 16 symbols; from behind the window by nothing */
    uint8_t steps[5][WINDOW + MOST_AHEAD];
    uint8_t symbols[128]; /* of the code of lengths, by bits; 0: none */
    uint8_t sorted[32];
    uint8_t found[DEFLATE_NLITERALS + DEFLATE_NDISTANCES]; /* symbols one by one */
    deflate_code code;
    uint32_t sums[THREADS / 32];
    uint32_t counts[DEFLATE_NCHUNKS][16];
    uint32_t is_code[2];
    uint32_t next, done, last; /* behind the symbols that were found */
    uint32_t end;              /* in bits, of all lengths; 0: not known yet */
};
#define DEFLATE_NO_END 0xFFFFFFFF

/* Of the code of lengths. */
struct deflate_lengths {
    typedef uint8_t type;
    static __device__ __forceinline__ uint8_t entry(uint32_t symbol, uint32_t nbits) {
        return (uint8_t)(symbol << 3 | nbits);
    }
};

/* How often a symbol of the code of lengths stands for its length. */
static __device__ __forceinline__ uint32_t deflate_repeats(uint32_t symbol,
                                                           uint32_t more) {
    return symbol < 16    ? 1
           : symbol == 16 ? 3 + (more & 3)
           : symbol == 17 ? 3 + (more & 7)
                          : 11 + (more & 127);
}
static __device__ __forceinline__ uint32_t deflate_repeat_nbits(uint32_t symbol) {
    return symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
}

/* The code in which lengths are written: 3 bits for each of its symbols, in an order. */
template <class Group, class Room>
static __device__ __forceinline__ bool
deflate_read_own_code(const Group &group, const uint32_t *input, uint32_t at, uint32_t n,
                      Room &room) {
    const uint32_t symbol = group.lane;
    if (group.warp == 0) {
        const uint32_t place = symbol >= 16  ? symbol - 16
                               : symbol == 0 ? 3
                               : symbol < 8  ? 19 - 2 * symbol
                                             : 2 * symbol - 12;
        const uint32_t bits = deflate_peek(input, at + 3 * min(place, 18));
        const uint32_t length = symbol < 19 && place < n ? bits & 7 : 0;
        uint32_t first, limit, base;
        const bool is_good = deflate_make_code(symbol, deflate_count(symbol, length),
                                               false, first, limit, base);
        deflate_put_entries<deflate_lengths>(symbol, symbol, length, first, room.sorted);
        if (symbol < 16) {
            room.code.limits[symbol] = limit;
            room.code.bases[symbol] = base;
            room.is_code[0] = is_good;
        }
    }
    group.sync();
    if (group.rank < 128) {
        const uint32_t number = deflate_number(group.rank);
        uint32_t nbits = 1;
        HR_UNROLL
        for (uint32_t i = 1; i < 8; i++) {
            nbits += number >= room.code.limits[i] ? 1 : 0;
        }
        room.symbols[group.rank] =
            nbits < 8 ? room.sorted[deflate_index(room.code, number, nbits) & 31] : 0;
    }
    group.sync();
    return room.is_code[0] != 0;
}

/* Note for every bit of a window how far it is to behind a symbol from there, two, four,
 * and so on. The group leaves in step. */
template <class Group, class Room>
static __device__ __forceinline__ void
deflate_note_steps(const Group &group, const uint32_t *input, uint32_t window, Room &r) {
    constexpr uint32_t N = sizeof r.steps / sizeof *r.steps;
    if (group.rank < Room::MOST_AHEAD) {
        HR_UNROLL
        for (uint32_t k = 0; k < N; k++) {
            r.steps[k][Room::WINDOW + group.rank] = 0;
        }
    }
    HR_UNROLL
    for (uint32_t i = group.rank; i < Room::WINDOW; i += Group::THREADS) {
        const uint32_t e = r.symbols[deflate_peek(input, window + i) & 127];
        r.steps[0][i] = (uint8_t)(e == 0 ? 0 : (e & 7) + deflate_repeat_nbits(e >> 3));
    }
    group.sync();
    HR_UNROLL
    for (uint32_t k = 1; k < N; k++) {
        HR_UNROLL
        for (uint32_t i = group.rank; i < Room::WINDOW; i += Group::THREADS) {
            const uint32_t step = r.steps[k - 1][i];
            r.steps[k][i] = (uint8_t)(step + r.steps[k - 1][i + step]);
        }
        group.sync();
    }
}

/* Where the rank's symbol begins, the first one at `at`. */
template <class Room>
static __device__ __forceinline__ uint32_t deflate_find_own(uint32_t rank, const Room &r,
                                                            uint32_t at) {
    HR_NO_UNROLL
    for (uint32_t k = rank >> 4; k > 0; k--) {
        at += r.steps[4][at];
    }
    HR_UNROLL
    for (uint32_t k = 4; k-- > 0;) {
        at += (rank >> k & 1) != 0 ? r.steps[k][at] : 0;
    }
    return at;
}

/* A thread for each of the next symbols, the first one at r.next of the window, with
 * r.done lengths of n before. The group leaves in step. */
template <class Group, class Room>
static __device__ __forceinline__ void
deflate_read_symbols(const Group &group, const uint32_t *input, uint32_t window,
                     uint32_t n, Room &r) {
    constexpr uint32_t MOST =
        Group::THREADS < sizeof r.found ? Group::THREADS : sizeof r.found;
    const uint32_t done = r.done, last = r.last;
    const uint32_t own = deflate_find_own(min(group.rank, MOST - 1), r, r.next);
    const bool is_mine = group.rank < MOST && own < Room::WINDOW;
    const uint32_t bits = deflate_peek(input, window + own);
    const uint32_t e = r.symbols[bits & 127], symbol = e >> 3;
    const uint32_t behind = own + (e & 7) + deflate_repeat_nbits(symbol);
    const bool is_bad = e == 0 || (symbol == 16 && done == 0 && group.rank == 0);
    uint32_t sum[1] = {!is_mine ? 0
                       : is_bad ? 1024 /* more than there can be */
                                : deflate_repeats(symbol, bits >> (e & 7))};
    const uint32_t repeats = sum[0];
    if (is_mine) {
        r.found[group.rank] = (uint8_t)symbol;
    }
    group.sum_up(sum, r.sums);
    group.sync();
    const uint32_t end = done + sum[0], begin = end - repeats;
    if (is_mine && begin < n) {
        uint32_t i = group.rank, value = symbol;
        HR_NO_UNROLL
        while (value == 16 && i > 0) {
            value = r.found[--i];
        }
        value = value == 16 ? last : value > 16 ? 0 : value;
        HR_NO_UNROLL
        for (uint32_t k = begin; end <= n && value != 0 && k < end; k++) {
            r.lengths[k] = (uint8_t)value;
        }
        if (end >= n) {
            r.end = end == n ? window + behind : DEFLATE_NO_END;
        } else if (group.rank == MOST - 1 || behind >= Room::WINDOW) {
            r.next = behind;
            r.done = end;
            r.last = value;
        }
    }
    group.sync();
}

/* n lengths. Where a symbol begins, only the one before tells: so steps from everywhere
 * come first, then the true ones. Returns where the lengths end, or 0. */
template <class Group, class Room>
static __device__ __forceinline__ uint32_t deflate_read_lengths(const Group &group,
                                                                const uint32_t *input,
                                                                uint32_t at, uint32_t n,
                                                                Room &r) {
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < sizeof r.lengths / 4; i += Group::THREADS) {
        ((uint32_t *)r.lengths)[i] = 0; /* no zeros are written later */
    }
    if (group.rank == 0) {
        r.next = r.done = r.last = r.end = 0;
    }
    uint32_t next = 0, end = 0;
    HR_NO_UNROLL
    while (end == 0 && at < DEFLATE_HEADER_MOST_NBITS) {
        deflate_note_steps(group, input, at, r);
        HR_NO_UNROLL
        while (end == 0 && next < Room::WINDOW) {
            deflate_read_symbols(group, input, at, n, r);
            next = r.next;
            end = r.end;
        }
        at += next;
        next = 0;
        group.sync();
        if (group.rank == 0) {
            r.next = 0;
        }
    }
    return end == DEFLATE_NO_END ? 0 : end;
}

/* In a run of one byte the longest match comes over and over, a code that never lets a
 * lane that is out of step fall into step: only if all lanes begin a whole number of
 * these apart do they begin in step. */
static __device__ __forceinline__ uint32_t deflate_period(uint32_t lane,
                                                          const uint8_t *lengths,
                                                          uint32_t nliterals,
                                                          uint32_t ndistances) {
    const uint32_t length = nliterals > 285 ? lengths[285] : 0;
    const uint32_t own = lane < ndistances && lane < 30 ? lengths[nliterals + lane] : 0;
    const uint32_t least = hr_warp_min(own > 0 ? own << 5 | lane : 0xFFFFFFFF);
    const uint32_t distance = least & 31, extra = distance < 4 ? 0 : (distance >> 1) - 1;
    const uint32_t period = length + (least >> 5) + extra;
    return length > 0 && least != 0xFFFFFFFF && period <= 24 ? period : 1;
}

/* The lengths of both codes, of which there are nliterals and ndistances. Returns where
 * they end, or 0. */
template <class Group, class Room>
static __device__ __forceinline__ uint32_t
deflate_read_description(const Group &group, const uint32_t *input, uint32_t at,
                         uint32_t &nliterals, uint32_t &ndistances, Room &room) {
    const uint32_t bits = deflate_peek(input, at);
    nliterals = (bits & 31) + 257;
    ndistances = (bits >> 5 & 31) + 1;
    const uint32_t nown = (bits >> 10 & 15) + 4;
    at += 14;
    const bool is_good = nliterals <= 286 && ndistances <= 30 &&
                         deflate_read_own_code(group, input, at, nown, room);
    return is_good ? deflate_read_lengths(group, input, at + 3 * nown,
                                          nliterals + ndistances, room)
                   : 0;
}

template <class Group>
static __device__ __forceinline__ void deflate_fixed_lengths(const Group &group,
                                                             uint8_t *lengths) {
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < DEFLATE_NLITERALS + DEFLATE_NDISTANCES;
         i += Group::THREADS) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    }
    group.sync();
}

/* A warp makes what is its own of a code: entries of 32 symbols from `symbol` on, and, if
 * those are the first, the code. chunk: of the code's n. */
template <class Entries>
static __device__ __forceinline__ void
deflate_make_chunk(uint32_t lane, uint32_t length, uint32_t chunk, uint32_t n,
                   const uint32_t (*counts)[16], typename Entries::type *entries,
                   deflate_code &code, uint32_t &is_code) {
    uint32_t all = 0, before = 0;
    HR_NO_UNROLL
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t count = lane < 16 ? counts[i][lane] : 0;
        all += count;
        before += i < chunk ? count : 0;
    }
    uint32_t first, limit, base;
    const bool is_good = deflate_make_code(lane, all, true, first, limit, base);
    if (chunk == 0 && lane < 16) {
        code.limits[lane] = limit;
        code.bases[lane] = base;
        is_code = is_good;
    }
    deflate_put_entries<Entries>(lane, chunk * 32 + lane, length, first + before,
                                 entries);
}

/* The group makes both codes. Returns whether they are. */
template <class Group, class Room, uint32_t LOG>
static __device__ __forceinline__ bool
deflate_make_codes(const Group &group, uint32_t nliterals, uint32_t ndistances,
                   Room &room, deflate_tables<LOG> &t) {
    constexpr uint32_t LAST = DEFLATE_NCHUNKS - 1, SHARE = LAST / Group::WARPS + 1;
    uint32_t lengths[SHARE];
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        const uint32_t chunk = group.warp + i * Group::WARPS;
        const uint32_t k = (chunk < LAST ? chunk * 32 : nliterals) + group.lane;
        const uint32_t end = chunk < LAST ? nliterals : nliterals + ndistances;
        lengths[i] = chunk <= LAST && k < end ? room.lengths[k] : 0;
        const uint32_t count = deflate_count(group.lane, lengths[i]);
        if (chunk <= LAST && group.lane < 16) {
            room.counts[chunk][group.lane] = count;
        }
    }
    group.sync();
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        const uint32_t chunk = group.warp + i * Group::WARPS;
        if (chunk < LAST) {
            deflate_make_chunk<deflate_literals>(group.lane, lengths[i], chunk, LAST,
                                                 room.counts, t.all_literals,
                                                 t.literal_code, room.is_code[0]);
        } else if (chunk == LAST) {
            deflate_make_chunk<deflate_distances>(group.lane, lengths[i], 0, 1,
                                                  room.counts + LAST, t.all_distances,
                                                  t.distance_code, room.is_code[1]);
        }
    }
    group.sync();
    return room.is_code[0] != 0 && room.is_code[1] != 0;
}

/* What decodes a block, where blocks are read; in shared memory. Lanes look at bits
 * before the input, and no one writes to tables then. */
template <uint32_t INPUT_NBYTES, uint32_t LOG> struct deflate_desk {
    deflate_tables<LOG> tables;
    alignas(16) uint32_t input[INPUT_NBYTES / 4];
    deflate_header header;
};

/* The header at `at`, of a stream that ends at `end`, both in bits of the input, and its
 * codes. desk_at, room_at: in shared memory. (A call, since nvcc 13.0 never ends where
 * this is part of a larger function.) */
template <class Group, class Desk>
static __device__ HR_NO_INLINE void
deflate_read_header(uint32_t desk_at, uint32_t room_at, uint32_t at, uint32_t end) {
    typedef deflate_header_room<Group::THREADS> header_room;
    const Group group;
    Desk &desk = *(Desk *)(hr_shared() + desk_at);
    header_room &room = *(header_room *)(hr_shared() + room_at);
    const uint32_t bits = deflate_peek(desk.input, at), kind = bits >> 1 & 3;
    uint32_t begin = at + 3, nstored = 0, period = 1;
    bool is_good = kind != 3;
    if (kind == 0) {
        begin = (begin + 7) & ~UINT32_C(7);
        const uint32_t sizes = deflate_peek(desk.input, begin);
        nstored = sizes & 0xFFFF;
        begin += 32;
        is_good = (sizes >> 16 ^ nstored) == 0xFFFF;
    } else if (kind != 3) {
        uint32_t nliterals = DEFLATE_NLITERALS, ndistances = DEFLATE_NDISTANCES;
        if (kind == 1) {
            deflate_fixed_lengths(group, room.lengths);
        } else {
            begin = deflate_read_description(group, desk.input, begin, nliterals,
                                             ndistances, room);
        }
        is_good = begin != 0 && room.lengths[DEFLATE_END] != 0 &&
                  deflate_make_codes(group, nliterals, ndistances, room, desk.tables);
        if (is_good && group.warp == 0) {
            period = deflate_period(group.lane, room.lengths, nliterals, ndistances);
        }
    }
    if (group.rank == 0) {
        deflate_header &h = desk.header;
        h.code = 0;
        if (!is_good) {
            h.code = HR_K_BAD_CODE;
        } else if (begin > end) {
            h.code = HR_K_TRUNCATED;
        }
        h.end = begin;
        h.is_last = bits & 1;
        h.is_stored = kind == 0;
        h.nstored = nstored;
        h.period = period;
    }
}

#endif
