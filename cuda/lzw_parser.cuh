/* LZW as TIFF has it, parsed by many lanes at once. SPDX-License-Identifier: Apache-2.0
 *
 * The width of a code depends on how many there were since the table was emptied, and on
 * nothing else: so every lane finds its codes by arithmetic. The string of a code is what
 * an earlier one made and the byte behind it, a match with one part; its length follows
 * from that one's, by looking back code by code as far as the tile reaches, and in a
 * table of starts from there on. */
#ifndef HR_CUDA_LZW_PARSER_CUH
#define HR_CUDA_LZW_PARSER_CUH

#include "lz_team.cuh"

static constexpr uint32_t LZW_CLEAR = 256, LZW_END = 257;
static constexpr uint32_t LZW_NOTHING = 0; /* behind a tile, for that code is a string */
/* The code of what the first code since a Clear made; strings that there can be, and
 * bytes of the longest. */
static constexpr uint32_t LZW_FIRST = 258;
static constexpr uint32_t LZW_STRINGS = 4096 - LZW_FIRST, LZW_LONGEST = LZW_STRINGS + 1;
/* Where strings are long, few fit in a tile, and each takes as many steps to measure as
 * it has bytes: not many more are looked at than fitted in the tile before, but so many.
 */
static constexpr uint32_t LZW_REACH = 64;
/* From so many codes since a Clear on all is alike: they are counted no further. */
static constexpr uint32_t LZW_WIDE = 4096;

/* What a team agrees on beside an LZ team. CODES: of a lane and tile, each of 12 bits at
 * most. */
template <uint32_t PARSE, uint32_t MAKE, uint32_t CODES_, uint32_t WINDOW_,
          uint32_t RING_, uint32_t OUTPUT_, uint32_t BLOCKS_>
struct lzw_team : lz_team<PARSE, MAKE, CODES_ * 3 / 2, WINDOW_, RING_,
                          PARSE * 32 * CODES_, OUTPUT_, false, BLOCKS_> {
    static constexpr uint32_t CODES = CODES_, MOST = OUTPUT_ - LZ_ROW;
    static_assert(CODES % 2 == 0, "of whole bytes");
    static_assert(MOST >= LZW_LONGEST, "any code fits in a tile");
};

/* Where codes lie. Files of before 1992 have the lowest bit first and no code left out
 * where widths change. */
struct lzw_order {
    bool is_old;

    /* Bits of the codes before the i-th since a Clear, and of that one. */
    __device__ __forceinline__ uint32_t before(uint32_t i) const {
        const uint32_t wider = is_old ? 255 : 254;
        const uint32_t beyond = max(i, wider) - wider;
        return 9 * i + beyond + (max(beyond, 512) - 512) + (max(beyond, 1536) - 1536);
    }
    __device__ __forceinline__ uint32_t width(uint32_t i) const {
        const uint32_t wider = is_old ? 255 : 254;
        return 9 + (i >= wider) + (i >= wider + 512) + (i >= wider + 1536);
    }
    /* words: aligned. */
    __device__ __forceinline__ uint32_t code(const uint8_t *words, uint32_t bit,
                                             uint32_t nbits) const {
        const uint32_t *w = (const uint32_t *)words + (bit >> 5);
        if (is_old) {
            return __funnelshift_r(w[0], w[1], bit & 31) & ((1U << nbits) - 1);
        }
        const uint32_t high = __byte_perm(w[0], 0, 0x0123);
        const uint32_t low = __byte_perm(w[1], 0, 0x0123);
        const uint32_t bits = __funnelshift_l(low, high, bit & 31);
        return bits >> (32 - nbits);
    }
};

template <class C> class lzw_parser {
    typedef typename C::Parsers Group;

    /* What the threads of the group tell each other. */
    struct board {
        uint32_t task;
        uint32_t stop;   /* the tile's first code that is no string, or a wrong one */
        uint32_t cut;    /* its first string that does not fit */
        uint32_t nbytes; /* of the tile */
        uint32_t sums[Group::WARPS], index_sums[Group::WARPS];
        uint32_t literals[64];            /* each byte there is */
        uint32_t starts[LZW_STRINGS + 1]; /* in the output, of codes since a Clear */
    };

    const Group group;
    const hr_k_decode &params;
    board *const shared;
    const uint32_t literals_at;

    bool is_over;
    lzw_order order;
    uint32_t task, produced, code;
    uint32_t index;    /* codes since a Clear */
    uint32_t reach;    /* codes to look at for the next tile */
    uint64_t consumed; /* bits */
    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;

  public:
    static constexpr uint32_t SCRATCH = sizeof(board);

    __device__ __forceinline__ lzw_parser(const hr_k_decode &p, uint8_t *scratch)
        : params(p), shared((board *)scratch),
          literals_at((uint32_t)((uint8_t *)shared->literals - hr_shared())) {
        for (uint32_t i = group.rank; i < 64; i += Group::THREADS) {
            shared->literals[i] = 0x03020100 + i * 0x04040404;
        }
    }

    __device__ __forceinline__ bool take() {
        group.sync();
        if (group.rank == 0) {
            shared->task = atomicAdd(hr_global<uint32_t>(params.counter), 1);
            shared->starts[0] = 0;
        }
        group.sync();
        task = shared->task;
        if (task >= params.ntasks) {
            return false;
        }
        const hr_k_task *t = lz_task(params, task);
        src = t->src;
        dst = t->dst;
        src_nbytes = t->src_nbytes;
        dst_nbytes = t->dst_nbytes;
        produced = code = index = 0;
        consumed = 0;
        reach = C::PARTS;
        is_over = dst_nbytes == 0;
        order.is_old =
            src_nbytes > 1 && lz_load_u8(src) == 0 && (lz_load_u8(src + 1) & 1) != 0;
        return true;
    }

    /* A step may be a copy of nothing. */
    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        step = {};
        step.task = task;
        step.at = produced;
        step.kind = is_over ? LZ_FINISH : LZ_COPY;
        if (!is_over) {
            read(buffer, step);
        }
        step.code = code;
        step.where = (uint32_t)(consumed >> 3);
    }

  private:
    /* Bring the next stretch of the stream. Returns the bit of it that is next. */
    __device__ __forceinline__ uint32_t stage(const lz_buffer &buffer) {
        const uint64_t first = src + (consumed >> 3), base = first & ~UINT64_C(15);
        const lz_range stream = {src, src + src_nbytes};
        HR_NO_UNROLL
        for (uint32_t i = group.rank * 16; i < C::STRETCH + 16;
             i += Group::THREADS * 16) {
            *(hr_u128 *)(buffer.bytes + i) = lz_load_aligned(base + i, stream);
        }
        for (uint32_t i = group.rank; i < C::WORDS; i += Group::THREADS) {
            buffer.words[i] = {0, 0};
        }
        if (group.rank == 0) {
            shared->stop = shared->cut = C::PARTS;
        }
        group.sync();
        return (uint32_t)(first - base) * 8 + (uint32_t)(consumed & 7);
    }

    /* The least of all threads' values and what is there: theirs once in step. */
    __device__ __forceinline__ void tell_least(uint32_t *place, uint32_t value) const {
        value = hr_warp_min(value);
        if (group.lane == 0 && value < C::PARTS) {
            atomicMin(place, value);
        }
        group.sync();
    }

    /* Each lane's codes, for all to see: END where the stream has no more. Returns how
     * many of the tile come before one that is no string, or a wrong one. */
    __device__ __forceinline__ uint32_t read_codes(uint32_t begin, const uint8_t *bytes,
                                                   uint16_t *codes,
                                                   uint32_t (&own)[C::CODES]) {
        const uint32_t first = group.rank * C::CODES, base = order.before(index);
        const uint64_t left = (uint64_t)src_nbytes * 8 - consumed;
        uint32_t stop = C::PARTS;
        HR_UNROLL
        for (uint32_t q = 0; q < C::CODES; q++) {
            const uint32_t k = first + q, i = index + k;
            const uint32_t at = order.before(i) - base, nbits = order.width(i);
            own[q] = at + nbits <= left ? order.code(bytes, begin + at, nbits) : LZW_END;
            codes[k] = (uint16_t)own[q];
            const bool is_string =
                own[q] < LZW_CLEAR || (own[q] >= LZW_FIRST && own[q] - LZW_FIRST < i);
            stop = is_string ? stop : min(stop, k);
        }
        tell_least(&shared->stop, stop);
        return shared->stop;
    }

    /* Of a code's string. lengths: those of each lane's first code, once they are there.
     */
    template <bool ARE_THERE>
    __device__ __forceinline__ uint32_t measure(uint32_t c, const uint16_t *codes,
                                                const uint16_t *lengths) const {
        uint32_t nbytes = 1;
        while (c >= LZW_FIRST && c - LZW_FIRST >= index) {
            const uint32_t k = c - LZW_FIRST - index;
            if (ARE_THERE && k % C::CODES == 0) {
                return nbytes + lengths[k / C::CODES];
            }
            c = codes[k];
            nbytes++;
        }
        if (c >= LZW_FIRST) {
            const uint32_t *start = shared->starts + (c - LZW_FIRST);
            nbytes += start[1] - start[0];
        }
        return nbytes;
    }

    /* A tile of what the stream has next, if that is any string. */
    __device__ __forceinline__ void read(const lz_buffer &buffer, lz_step &step) {
        uint32_t own[C::CODES], nbytes[C::CODES], sum[1] = {0};
        const uint32_t begin = stage(buffer);
        const uint32_t nread = read_codes(begin, buffer.bytes, buffer.exits, own);
        const uint32_t nstrings = min(nread, reach);
        const uint32_t stop =
            nread < C::PARTS && nread == nstrings ? buffer.exits[nstrings] : LZW_NOTHING;
        const uint32_t first = group.rank * C::CODES;
        uint16_t *lengths = buffer.exits + C::PARTS;
        nbytes[0] = first < nstrings ? measure<false>(own[0], buffer.exits, lengths) : 0;
        lengths[group.rank] = (uint16_t)nbytes[0];
        group.sync();
        HR_UNROLL
        for (uint32_t q = 0; q < C::CODES; q++) {
            nbytes[q] = q == 0 ? nbytes[0]
                        : first + q < nstrings
                            ? measure<true>(own[q], buffer.exits, lengths)
                            : 0;
            sum[0] += nbytes[q];
        }
        __syncwarp();
        group.sum_up(sum, shared->sums);

        const uint32_t room = dst_nbytes - produced;
        const uint32_t most = room <= C::MOST ? room : C::MOST;
        uint32_t end = sum[0], cut = C::PARTS;
        HR_UNROLL
        for (uint32_t q = C::CODES; q-- > 0;) {
            const uint32_t k = first + q;
            const uint32_t before = end - nbytes[q];
            if (k < nstrings && index + k < LZW_STRINGS) {
                shared->starts[index + k + 1] = produced + end;
            }
            /* the output's last string may be longer than what is left of it */
            const bool fits = room <= C::MOST ? before < room : end <= C::MOST;
            cut = k < nstrings && !fits ? k : cut;
            end = before;
        }
        tell_least(&shared->cut, cut);
        cut = min(shared->cut, nstrings);
        reach = cut < nstrings ? max(2 * cut, LZW_REACH) : min(2 * reach, C::PARTS);
        put(buffer, own, nbytes, end, cut, most);
        group.sync();
        finish(buffer, step, cut, cut == nstrings ? stop : LZW_NOTHING);
    }

    /* Write down the parts of the strings before `cut`. at: of the lane's first one. */
    __device__ __forceinline__ void put(const lz_buffer &buffer,
                                        const uint32_t (&own)[C::CODES],
                                        const uint32_t (&nbytes)[C::CODES], uint32_t at,
                                        uint32_t cut, uint32_t most) {
        const uint32_t position = lz_position(dst + produced), base = lz_base(position);
        const lz_tile tile = {buffer.parts, buffer.words, base};
        const uint32_t first = group.rank * C::CODES;
        HR_UNROLL
        for (uint32_t q = 0; q < C::CODES; q++) {
            const uint32_t k = first + q;
            if (k < cut) {
                const uint32_t place = position - base + at;
                if (own[q] < LZW_CLEAR) {
                    lz_put_literals(tile, k, place, literals_at + own[q]);
                } else {
                    const uint32_t start = shared->starts[own[q] - LZW_FIRST];
                    lz_put(tile, k, place, start - (produced + at));
                }
            }
            at += nbytes[q];
            if (k + 1 == cut) {
                shared->nbytes = min(at, most);
            }
        }
    }

    /* After a tile of n strings, maybe none, with `stop` behind them. */
    __device__ __forceinline__ void finish(const lz_buffer &buffer, lz_step &step,
                                           uint32_t n, uint32_t stop) {
        if (n > 0) {
            const uint32_t position = lz_position(dst + produced);
            const uint32_t base = lz_base(position);
            const lz_tile tile = {buffer.parts, buffer.words, base};
            step.kind = LZ_TILE;
            step.nbytes = shared->nbytes;
            lz_index<C::WORDS>(group, tile, position - base + step.nbytes,
                               shared->index_sums);
            produced += step.nbytes;
            consumed += order.before(index + n) - order.before(index);
            index = min(index + n, LZW_WIDE);
        }
        if (produced == dst_nbytes) {
            is_over = true;
        } else if (stop == LZW_CLEAR) {
            consumed += order.width(index);
            index = 0;
            if (group.rank == 0) {
                shared->starts[0] = produced;
            }
        } else if (stop != LZW_NOTHING) {
            is_over = true;
            code = stop == LZW_END ? HR_K_TOO_SHORT : HR_K_NO_STRING;
        }
    }
};

#endif
