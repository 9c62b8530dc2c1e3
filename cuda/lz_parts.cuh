/* From a table of parts to output bytes: the second half of every LZ decoder.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A codec's parser cuts the next stretch of output, a tile, into parts: runs of literals
 * and pieces of matches. One word per part says where its bytes come from, one bit per
 * byte of output where a part starts. Then every lane makes output bytes: it finds the
 * part of a byte and with it the byte's source, and as long as the source lies where
 * output is being made too, the source of the source. So lanes follow the table, never
 * bytes that others have yet to write, and need no order among them.
 *
 * Output is made in windows with a barrier after each; everything before a window is
 * final. Of that, the last bytes also lie in a ring in shared memory, for teams with one.
 *
 * Positions are 32-bit names of output addresses: their low 16 bits are the address's, so
 * that alignment and place in the ring show, and LZ_REACH bytes before the tile have
 * names. */
#ifndef HR_CUDA_LZ_PARTS_CUH
#define HR_CUDA_LZ_PARTS_CUH

#include "group.cuh"

/* Sources farther back than this are not for parts. */
#define LZ_REACH (UINT32_C(1) << 29)

static __device__ __forceinline__ uint32_t lz_position(uint64_t address) {
    return LZ_REACH + (uint32_t)(address & 0xFFFF);
}

/* What a part says, by the sign of things: the source of a position is
 *   position + part    for a match: part = -offset;
 *   position + part    for literals: part = LZ_LITERAL + address - position, address in
 *                      shared memory, so that the source has bit 31 set;
 *   part               for one byte over and over: part = its position. */
#define LZ_LITERAL UINT32_C(0x80000000)
#define LZ_SINGLE_END UINT32_C(0x40000000)

/* 32 positions. While a tile is built: bit k, a part starts at the k-th. Then: one starts
 * at the one behind it; and the name of the part of the last position, so that the part
 * of the k-th lies as many words before it as bits are set from k on. */
struct alignas(8) lz_word {
    uint32_t starts, last;
};

/* How a codec's tile is laid out; a tile is at most OUTPUT - LZ_ROW bytes of at most
 * PARTS parts, and LZ_ROW - 1 positions may lie before it in its first row.
 * SINGLES: matches at offset 1 are one byte over and over, and pieces double; else pieces
 * grow fourfold: less to write down, longer ways to follow. */
#define LZ_ROW 128

struct lz_tile {
    uint32_t *parts; /* [0]: for positions before the tile; then as they come */
    lz_word *words;
    uint32_t base; /* position of words[0]; a multiple of LZ_ROW */
};

static __device__ __forceinline__ uint32_t lz_base(uint32_t position) {
    return position & ~(uint32_t)(LZ_ROW - 1);
}

/* Building a tile. A match that overlaps itself is cut, so that the ways to follow stay
 * short: its piece from n * offset on repeats what lies n * offset before. */
template <bool SINGLES>
static __device__ __forceinline__ uint32_t lz_count_pieces(uint32_t offset,
                                                           uint32_t nbytes) {
    uint32_t n = 1;
    if (!SINGLES || offset > 1) {
        for (uint32_t s = offset << (SINGLES ? 1 : 2); s < nbytes;
             s <<= (SINGLES ? 1 : 2)) {
            n++;
        }
    }
    return n;
}

static __device__ __forceinline__ void lz_put(const lz_tile &tile, uint32_t index,
                                              uint32_t at, uint32_t part) {
    tile.parts[index + 1] = part;
    atomicOr(&tile.words[at >> 5].starts, 1U << (at & 31));
}

/* at: of the tile, from its base. shared_at: of the block's shared memory. */
static __device__ __forceinline__ void
lz_put_literals(const lz_tile &tile, uint32_t index, uint32_t at, uint32_t shared_at) {
    lz_put(tile, index, at, LZ_LITERAL + shared_at - (tile.base + at));
}

template <bool SINGLES>
static __device__ __forceinline__ uint32_t lz_put_match(const lz_tile &tile,
                                                        uint32_t index, uint32_t at,
                                                        uint32_t offset,
                                                        uint32_t nbytes) {
    const bool is_single = SINGLES && offset == 1;
    lz_put(tile, index++, at, is_single ? tile.base + at - 1 : 0 - offset);
    if (!is_single) {
        for (uint32_t s = offset << (SINGLES ? 1 : 2); s < nbytes;
             s <<= (SINGLES ? 1 : 2)) {
            lz_put(tile, index++, at + s, 0 - s);
        }
    }
    return index;
}

/* The last step of building: count starts, of positions up to `end` from the base. Parts
 * and starts must be there, and the group in step. */
template <uint32_t NWORDS, class Group>
static __device__ __forceinline__ void lz_index(const Group &group, const lz_tile &tile,
                                                uint32_t end, uint32_t *room) {
    constexpr uint32_t SHARE = (NWORDS + Group::THREADS - 1) / Group::THREADS;
    const uint32_t nwords = (end + 31) / 32, first = group.rank * SHARE;
    uint32_t sum[1] = {0};
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        if (first + i < nwords) {
            sum[0] += (uint32_t)__popc(tile.words[first + i].starts);
        }
    }
    uint32_t last = hr_shared_name(tile.parts) - 4 * sum[0];
    group.sum_up(sum, room);
    last += 4 * sum[0];
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        if (first + i < nwords) {
            const uint32_t starts = tile.words[first + i].starts;
            last += 4 * (uint32_t)__popc(starts);
            tile.words[first + i] = {starts >> 1, last};
        }
    }
    if (group.rank == 0) { /* never used, but looked up: anything inside shared memory */
        tile.parts[0] = LZ_LITERAL - tile.base;
    }
}

/* Making the output. The ring is the first RING bytes of shared memory: worth it for
 * teams that have a multiprocessor for themselves; many small ones are better off with
 * more room and fewer steps. */
struct lz_output {
    uint8_t *shared;
    uint32_t words;      /* their name, if there were one for position 0 */
    uint64_t origin;     /* address of position 0 */
    uint32_t ring_begin; /* the ring has nothing from before this */
};

static __device__ __forceinline__ hr_pair lz_load_word(const lz_output &o,
                                                       uint32_t position) {
    static_assert(sizeof(lz_word) == sizeof(hr_pair), "loaded as such");
    return hr_load_named_pair(o.words, position >> 5);
}

template <bool SINGLES>
static __device__ __forceinline__ uint32_t lz_source(uint32_t part, uint32_t position) {
    return SINGLES && part < LZ_SINGLE_END ? part : part + position;
}

/* Literals and what is final are below; as signed numbers. */
static __device__ __forceinline__ bool lz_is_open(uint32_t source, uint32_t window) {
    return (int32_t)source >= (int32_t)window;
}

/* The sources of four positions. EDGE: some of them may lie outside the tile; their
 * sources are of no use but may be looked up. */
template <class C, bool EDGE>
static __device__ __forceinline__ void lz_first_sources(const lz_output &o,
                                                        uint32_t position, uint32_t end,
                                                        uint32_t (&source)[4]) {
    const uint32_t known = EDGE ? min(position, end - 1) : position;
    const hr_pair word = lz_load_word(o, known);
    const uint32_t starts = word.low >> (EDGE && position >= end ? 31 : position & 31);
    uint32_t name = word.high - 4 * (uint32_t)__popc(starts);
    uint32_t part = hr_load_named(name);
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        if (i > 0 && (starts >> (i - 1) & 1) != 0) {
            name += 4;
            part = hr_load_named(name);
        }
        source[i] =
            lz_source<C::SINGLES>(part, EDGE ? min(position + i, end - 1) : position + i);
    }
}

/* One step back for every source that still lies in the window. No branches: loads of
 * four ways overlap. */
template <class C>
static __device__ __forceinline__ void lz_step_back(const lz_output &o, uint32_t window,
                                                    uint32_t (&source)[4]) {
    uint32_t name[4], at[4];
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        at[i] = lz_is_open(source[i], window) ? source[i] : window;
        const hr_pair word = lz_load_word(o, at[i]);
        name[i] = word.high - 4 * (uint32_t)__popc(word.low >> (at[i] & 31));
    }
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t next = lz_source<C::SINGLES>(hr_load_named(name[i]), source[i]);
        source[i] = lz_is_open(source[i], window) ? next : source[i];
    }
}

static __device__ __forceinline__ bool lz_any_open(const uint32_t (&source)[4],
                                                   uint32_t window) {
    bool open = false;
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        open |= lz_is_open(source[i], window);
    }
    return __any_sync(0xFFFFFFFF, open);
}

/* The bytes at four sources. */
template <class C>
static __device__ __forceinline__ void
lz_load_sources(const lz_output &o, const uint32_t (&source)[4], uint32_t ring_begin,
                uint32_t (&byte)[4]) {
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_literal = (int32_t)source[i] < 0;
        const uint32_t near = is_literal    ? source[i] - LZ_LITERAL
                              : C::RING > 0 ? source[i] & (C::RING - 1)
                                            : 0;
        const bool is_far = C::RING > 0 ? source[i] < ring_begin : !is_literal;
        byte[i] = hr_load_u8_of(o.shared, near, o.origin + source[i], is_far);
    }
}

/* A lane's four bytes of a row. Everything before `window` is final. */
template <class C, bool EDGE>
static __device__ __forceinline__ void
lz_look_up(const lz_output &o, uint32_t position, uint32_t window, uint32_t end,
           uint32_t ring_begin, uint32_t (&byte)[4]) {
    uint32_t source[4];
    lz_first_sources<C, EDGE>(o, position, end, source);
    while (lz_any_open(source, window)) {
        lz_step_back<C>(o, window, source);
    }
    lz_load_sources<C>(o, source, ring_begin, byte);
}

/* Those of them in [begin, end). */
template <class C, bool EDGE>
static __device__ __forceinline__ void lz_put(const lz_output &o, uint32_t position,
                                              uint32_t begin, uint32_t end,
                                              const uint32_t (&byte)[4]) {
    uint32_t bytes = __byte_perm(__byte_perm(byte[0], byte[1], 0x0040),
                                 __byte_perm(byte[2], byte[3], 0x0040), 0x5410);
    const uint64_t address = o.origin + position;
    uint8_t *ring = o.shared + (C::RING > 0 ? position & (C::RING - 1) : 0);
    if (!EDGE || (position >= begin && position + 4 <= end)) {
        if (C::RING > 0) {
            *(uint32_t *)ring = bytes;
        }
        *hr_global<uint32_t>(address) = bytes;
    } else {
        HR_NO_UNROLL
        for (uint32_t i = 0; i < 4; i++, bytes >>= 8) {
            if (position + i >= begin && position + i < end) {
                if (C::RING > 0) {
                    ring[i] = (uint8_t)bytes;
                }
                *hr_global<uint8_t>(address + i) = (uint8_t)bytes;
            }
        }
    }
}

/* A warp makes LZ_ROW bytes from `row` on, or those of them in [begin, end). */
template <class C>
static __device__ __forceinline__ void
lz_make_row(const lz_output &o, uint32_t lane, uint32_t row, uint32_t window,
            uint32_t begin, uint32_t end, uint32_t ring_begin) {
    const uint32_t position = row + lane * 4;
    uint32_t byte[4];
    if (row >= begin && row + LZ_ROW <= end) {
        lz_look_up<C, false>(o, position, window, end, ring_begin, byte);
        lz_put<C, false>(o, position, begin, end, byte);
    } else if (row + LZ_ROW > begin && row < end) {
        lz_look_up<C, true>(o, position, window, end, ring_begin, byte);
        lz_put<C, true>(o, position, begin, end, byte);
    }
}

/* Two rows at once, if both are whole: what one waits for overlaps with the other. */
template <class C>
static __device__ __forceinline__ bool
lz_make_two_rows(const lz_output &o, uint32_t lane, uint32_t row, uint32_t other,
                 uint32_t window, uint32_t begin, uint32_t end, uint32_t ring_begin) {
    if (row < begin || other + LZ_ROW > end) {
        return false;
    }
    uint32_t byte[2][4];
    lz_look_up<C, false>(o, row + lane * 4, window, end, ring_begin, byte[0]);
    lz_look_up<C, false>(o, other + lane * 4, window, end, ring_begin, byte[1]);
    lz_put<C, false>(o, row + lane * 4, begin, end, byte[0]);
    lz_put<C, false>(o, other + lane * 4, begin, end, byte[1]);
    return true;
}

/* Make the tile's output, [begin, end). The group leaves in step. */
template <class C, class Group>
static __device__ __forceinline__ void
lz_make_tile(const Group &group, const lz_output &o, uint32_t begin, uint32_t end) {
    static_assert((C::RING & (C::RING - 1)) == 0 && C::RING <= 65536, "of positions");
    static_assert(C::WINDOW % (LZ_ROW * Group::WARPS) == 0, "a share for every warp");
    static_assert((C::WINDOW & (C::WINDOW - 1)) == 0, "a multiple is where bits are 0");
    static_assert(C::RING == 0 || C::WINDOW <= C::RING, "what is made at a time stays");
    HR_NO_UNROLL
    for (uint32_t base = begin & ~(C::WINDOW - 1); base < end; base += C::WINDOW) {
        const uint32_t window = max(base, begin);
        const uint32_t ring_begin = max(base + C::WINDOW - C::RING, o.ring_begin);
        constexpr uint32_t ALL = Group::WARPS * LZ_ROW; /* a row of each warp */
        HR_NO_UNROLL
        for (uint32_t k = 0; k < C::WINDOW; k += 2 * ALL) {
            const uint32_t row = base + k + group.warp * LZ_ROW;
            const bool has_two = C::WINDOW % (2 * ALL) == 0;
            if (!has_two || !lz_make_two_rows<C>(o, group.lane, row, row + ALL, window,
                                                 begin, end, ring_begin)) {
                HR_NO_UNROLL
                for (uint32_t i = 0; i < (has_two ? 2 : 1); i++) {
                    lz_make_row<C>(o, group.lane, row + i * ALL, window, begin, end,
                                   ring_begin);
                }
            }
        }
        group.sync();
    }
}

#endif
