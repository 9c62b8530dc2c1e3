/* Headers of Deflate's blocks. SPDX-License-Identifier: Apache-2.0
 *
 * A warp reads a header from shared memory, where zeros follow the stream's last byte. */
#ifndef HR_CUDA_DEFLATE_HEADER_CUH
#define HR_CUDA_DEFLATE_HEADER_CUH

#include "deflate_code.cuh"
#include "kernel_abi.h"

/* A header of the most bits, at any place in 16 bytes, and a window behind it. */
#define DEFLATE_HEADER_NBYTES 704
#define DEFLATE_HEADER_MOST_NBITS 4864
#define DEFLATE_WINDOW_NBITS 512

struct deflate_header {
    uint32_t code; /* 0: all is well */
    uint32_t end;  /* in bits: where the block's symbols or bytes begin */
    uint32_t is_last, is_stored;
    uint32_t nstored;
    uint32_t period; /* in bits: of the longest runs; see deflate_period */
};

/* Where a header is read, in shared memory; nothing of it is needed afterwards. */
struct deflate_header_room {
    uint8_t lengths[DEFLATE_NLITERALS + DEFLATE_NDISTANCES];
    /* by one symbol, by two, by four; from behind the window by nothing */
    uint8_t steps[3][DEFLATE_WINDOW_NBITS + 32];
    uint8_t symbols[128]; /* of the code of lengths, by bits; 0: none */
    uint8_t own_lengths[32], sorted[32];
    deflate_code code;
};

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
static __device__ __forceinline__ bool deflate_read_own_code(uint32_t lane,
                                                             const uint32_t *input,
                                                             uint32_t at, uint32_t n,
                                                             deflate_header_room &room) {
    const uint32_t i = min(lane, 18);
    const uint32_t symbol = i < 3    ? 16 + i
                            : i == 3 ? 0
                            : i & 1  ? 8 - ((i - 3) >> 1)
                                     : 8 + ((i - 4) >> 1);
    const uint32_t length = deflate_peek(input, at + 3 * i) & 7;
    if (lane < 19) {
        room.own_lengths[symbol] = (uint8_t)(lane < n ? length : 0);
    }
    __syncwarp();
    const bool is_good = deflate_make_code<deflate_lengths>(
        lane, room.own_lengths, 19, false, room.sorted, room.code);
    for (uint32_t k = lane; k < 128; k += 32) {
        const uint32_t number = deflate_number(k);
        const uint32_t nbits = is_good ? deflate_code_nbits(room.code, number) : 16;
        room.symbols[k] =
            nbits < 8 ? room.sorted[deflate_index(room.code, number, nbits)] : 0;
    }
    __syncwarp();
    return is_good;
}

/* Note for every bit of a window how far it is to behind a symbol from there, two, four.
 */
static __device__ __forceinline__ void deflate_note_steps(uint32_t lane,
                                                          const uint32_t *input,
                                                          uint32_t window,
                                                          deflate_header_room &r) {
    HR_UNROLL
    for (uint32_t i = lane; i < DEFLATE_WINDOW_NBITS + 32; i += 32) {
        const uint32_t e = r.symbols[deflate_peek(input, window + i) & 127];
        const uint32_t step = e == 0 ? 0 : (e & 7) + deflate_repeat_nbits(e >> 3);
        r.steps[0][i] = (uint8_t)(i < DEFLATE_WINDOW_NBITS ? step : 0);
    }
    __syncwarp();
    HR_UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        HR_UNROLL
        for (uint32_t i = lane; i < DEFLATE_WINDOW_NBITS + 32; i += 32) {
            const uint32_t step = r.steps[k][i];
            r.steps[k + 1][i] = (uint8_t)(step + r.steps[k][i + step]);
        }
        __syncwarp();
    }
}

/* Where the lane's symbol begins, counted from `at`; that moves behind the last lane's.
 */
static __device__ __forceinline__ uint32_t deflate_find_own(uint32_t lane,
                                                            const deflate_header_room &r,
                                                            uint32_t &at) {
    uint32_t mine = at;
    HR_UNROLL
    for (uint32_t k = 0; k < 8; k++) {
        mine = lane >> 2 == k ? at : mine;
        at += r.steps[2][at];
    }
    mine += (lane & 2) != 0 ? r.steps[1][mine] : 0;
    return mine + ((lane & 1) != 0 ? r.steps[0][mine] : 0);
}

/* n lengths. Where a symbol begins, only the one before tells: so steps from everywhere
 * come first, then the true ones, and a lane treats each of 32. Returns where the lengths
 * end, or 0. */
static __device__ __forceinline__ uint32_t deflate_read_lengths(uint32_t lane,
                                                                const uint32_t *input,
                                                                uint32_t at, uint32_t n,
                                                                deflate_header_room &r) {
    uint32_t done = 0, last = 0, result = 0;
    bool is_over = false;
    HR_NO_UNROLL
    while (!is_over && at < DEFLATE_HEADER_MOST_NBITS) {
        const uint32_t window = at;
        uint32_t next = 0;
        deflate_note_steps(lane, input, window, r);
        HR_NO_UNROLL
        while (!is_over && next < DEFLATE_WINDOW_NBITS) {
            const uint32_t own = deflate_find_own(lane, r, next), mine = window + own;
            const bool is_mine = own < DEFLATE_WINDOW_NBITS;
            const uint32_t nsymbols =
                (uint32_t)__popc(__ballot_sync(0xFFFFFFFF, is_mine));
            const uint32_t bits = deflate_peek(input, mine);
            const uint32_t e = r.symbols[bits & 127], symbol = e >> 3;
            uint32_t value = symbol < 16 ? symbol : 0;
            uint32_t repeats = !is_mine ? 0
                               : e == 0 ? 1024 /* bad: more than there can be */
                                        : deflate_repeats(symbol, bits >> (e & 7));
            const uint32_t known = __ballot_sync(0xFFFFFFFF, is_mine && symbol != 16) &
                                   (0xFFFFFFFF >> (31 - lane));
            const uint32_t known_value = __shfl_sync(
                0xFFFFFFFF, value, known != 0 ? 31 - (uint32_t)__clz(known) : 0);
            value = symbol != 16 ? value : known != 0 ? known_value : last;
            uint32_t sum = repeats;
            HR_UNROLL
            for (uint32_t d = 1; d < 32; d <<= 1) {
                const uint32_t before = __shfl_up_sync(0xFFFFFFFF, sum, d);
                sum += lane >= d ? before : 0;
            }
            const uint32_t enough = __ballot_sync(0xFFFFFFFF, is_mine && done + sum >= n);
            const uint32_t final = enough != 0 ? (uint32_t)__ffs(enough) - 1 : 31;
            const uint32_t total = done + __shfl_sync(0xFFFFFFFF, sum, final);
            const uint32_t first = __shfl_sync(0xFFFFFFFF, symbol, 0);
            const uint32_t end = __shfl_sync(
                0xFFFFFFFF, mine + (e & 7) + deflate_repeat_nbits(symbol), final);
            const bool is_good = total <= n && (done > 0 || first != 16);
            if (is_good && is_mine && lane <= final) {
                HR_NO_UNROLL
                for (uint32_t i = 0; i < repeats; i++) {
                    r.lengths[done + sum - repeats + i] = (uint8_t)value;
                }
            }
            last = __shfl_sync(0xFFFFFFFF, value, nsymbols - 1);
            done = total;
            result = is_good && enough != 0 ? end : 0;
            is_over = !is_good || enough != 0;
            __syncwarp();
        }
        at = window + next;
    }
    return result;
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
static __device__ __forceinline__ uint32_t deflate_read_description(
    uint32_t lane, const uint32_t *input, uint32_t at, uint32_t &nliterals,
    uint32_t &ndistances, deflate_header_room &room) {
    const uint32_t bits = deflate_peek(input, at);
    nliterals = (bits & 31) + 257;
    ndistances = (bits >> 5 & 31) + 1;
    const uint32_t nown = (bits >> 10 & 15) + 4;
    at += 14;
    const bool is_good = nliterals <= 286 && ndistances <= 30 &&
                         deflate_read_own_code(lane, input, at, nown, room);
    return is_good ? deflate_read_lengths(lane, input, at + 3 * nown,
                                          nliterals + ndistances, room)
                   : 0;
}

static __device__ __forceinline__ void deflate_fixed_lengths(uint32_t lane,
                                                             uint8_t *lengths) {
    for (uint32_t i = lane; i < DEFLATE_NLITERALS + DEFLATE_NDISTANCES; i += 32) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    }
    __syncwarp();
}

/* What decodes a block, where blocks are read; in shared memory. Lanes look at bits
 * before the input, and no one writes to tables then. */
template <uint32_t INPUT_NBYTES, uint32_t LOG> struct deflate_desk {
    deflate_tables<LOG> tables;
    alignas(16) uint32_t input[INPUT_NBYTES / 4];
    deflate_header header;
};

/* A warp reads the header at `at`, of a stream that ends at `end`, both in bits of the
 * input, and makes the codes. desk_at, room_at: in shared memory. (A call, since
 * nvcc 13.0 never ends where this is part of a larger function.) */
template <class Desk>
static __device__ HR_NO_INLINE void deflate_read_header(uint32_t lane, uint32_t desk_at,
                                                        uint32_t room_at, uint32_t at,
                                                        uint32_t end) {
    Desk &desk = *(Desk *)(hr_shared() + desk_at);
    deflate_header_room &room = *(deflate_header_room *)(hr_shared() + room_at);
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
            deflate_fixed_lengths(lane, room.lengths);
        } else {
            begin = deflate_read_description(lane, desk.input, begin, nliterals,
                                             ndistances, room);
        }
        is_good = begin != 0 && room.lengths[DEFLATE_END] != 0;
        is_good = is_good && deflate_make_code<deflate_literals>(
                                 lane, room.lengths, nliterals, true,
                                 desk.tables.all_literals, desk.tables.literal_code);
        is_good = is_good && deflate_make_code<deflate_distances>(
                                 lane, room.lengths + nliterals, ndistances, true,
                                 desk.tables.all_distances, desk.tables.distance_code);
        if (is_good) {
            period = deflate_period(lane, room.lengths, nliterals, ndistances);
        }
    }
    if (lane == 0) {
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
