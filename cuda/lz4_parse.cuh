/* LZ4 sequences, found by many lanes at once. SPDX-License-Identifier: Apache-2.0
 *
 * A stretch of the stream lies in shared memory, a segment of it for every lane. A lane
 * walks its segment backwards and notes for every byte where a chain of sequences that
 * starts there would leave the segment. The true chain then takes one step per segment,
 * and every lane knows where it enters its own: exact, whatever the stream holds. */
#ifndef HR_CUDA_LZ4_PARSE_CUH
#define HR_CUDA_LZ4_PARSE_CUH

#include "lz_parts.cuh"

/* A stretch of the stream: bytes before `end` are of the stream, those behind it may be
 * looked at and are nothing. */
struct lz4_stretch {
    const uint8_t *bytes;
    uint32_t begin, end;
    bool is_last; /* the stream ends at `end` */
};

struct lz4_sequence {
    uint32_t literals, nliterals;
    uint32_t offset, nmatch; /* 0 in the last sequence */
    uint32_t end;
};

enum lz4_kind { LZ4_NOT_INSIDE, LZ4_SEQUENCE, LZ4_LAST };

/* The sequence at `at`, if it lies inside the stretch and its runs are not longer than
 * LONGEST. at < end. Does not judge the offset. */
template <uint32_t LONGEST>
static __device__ __forceinline__ lz4_kind lz4_read(const lz4_stretch &s, uint32_t at,
                                                    lz4_sequence &q) {
    const uint32_t token = s.bytes[at++];
    uint32_t n = token >> 4;
    if (n == 15) {
        uint32_t more;
        do {
            more = s.bytes[at++];
            n += more;
        } while (more == 255 && n <= LONGEST && at < s.end);
        if (n > LONGEST || more == 255) {
            return LZ4_NOT_INSIDE;
        }
    }
    q.literals = at;
    q.nliterals = n;
    at += n;
    if (at + 2 > s.end) {
        q.offset = q.nmatch = 0;
        q.end = at;
        return s.is_last && at == s.end ? LZ4_LAST : LZ4_NOT_INSIDE;
    }
    q.offset = s.bytes[at] | (uint32_t)s.bytes[at + 1] << 8;
    at += 2;
    n = (token & 15) + 4;
    if (n == 19) {
        uint32_t more;
        do {
            more = s.bytes[at++];
            n += more;
        } while (more == 255 && n <= LONGEST && at < s.end);
        if (n > LONGEST || more == 255 || at > s.end) {
            return LZ4_NOT_INSIDE;
        }
    }
    q.nmatch = n;
    q.end = at;
    return LZ4_SEQUENCE;
}

/* Where the sequence at `at` ends if it is one that lz4_read takes; else anywhere behind
 * `at`. For sequences with runs of length bytes. */
template <uint32_t LONGEST>
static __device__ __forceinline__ uint32_t lz4_end_slowly(const lz4_stretch &s,
                                                          uint32_t at) {
    const uint32_t token = s.bytes[at++];
    uint32_t n = token >> 4;
    uint32_t more = n == 15 ? 255 : 0;
    for (uint32_t i = 0; more == 255 && i <= LONGEST / 255; i++) {
        more = at < s.end ? s.bytes[at] : 0;
        at++;
        n += more;
    }
    at += n + 2;
    more = (token & 15) == 15 ? 255 : 0;
    for (uint32_t i = 0; more == 255 && i <= LONGEST / 255; i++) {
        more = at < s.end ? s.bytes[at] : 0;
        at++;
    }
    return at;
}

/* exits[p] = where the chain from p leaves the segment, for the lane's own segment. Three
 * bytes at a time, as no chain steps from one of three to another. C::STRETCH bytes and
 * more may be looked at. */
template <class C>
static __device__ __forceinline__ void lz4_make_exits(const lz4_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
    const uint32_t segment_end = segment + C::SEGMENT;
    uint32_t word[4];
    word[3] = s.bytes[segment_end];
    HR_NO_UNROLL
    for (uint32_t twelve = segment_end; twelve > segment;) {
        twelve -= 12;
        HR_UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            word[i] = ((const uint32_t *)(s.bytes + twelve))[i];
        }
        HR_UNROLL
        for (int32_t group = 3; group >= 0; group--) {
            const uint32_t three = (uint32_t)group * 3;
            uint32_t end[3];
            bool is_long = false;
            HR_UNROLL
            for (uint32_t i = 0; i < 3; i++) {
                const uint32_t k = three + i;
                const uint32_t token = word[k / 4] >> (k % 4 * 8) & 255;
                const uint32_t next = word[(k + 1) / 4] >> ((k + 1) % 4 * 8) & 255;
                const bool has_more = token >= 0xF0, has_more_match = (token & 15) == 15;
                end[i] = twelve + k + 3 + (token >> 4) + (has_more ? next + 1 : 0);
                uint32_t more = 0;
                if (has_more_match) {
                    more = s.bytes[min(end[i], (uint32_t)C::STRETCH)];
                }
                is_long |= (has_more && next == 255) || more == 255;
                end[i] += has_more_match ? 1 : 0;
            }
            if (is_long) {
                HR_NO_UNROLL
                for (uint32_t i = 0; i < 3; i++) {
                    const uint32_t e = lz4_end_slowly<C::LONGEST>(s, twelve + three + i);
                    end[0] = i == 0 ? e : end[0];
                    end[1] = i == 1 ? e : end[1];
                    end[2] = i == 2 ? e : end[2];
                }
            }
            HR_UNROLL
            for (uint32_t i = 0; i < 3; i++) {
                if (end[i] < segment_end) {
                    end[i] = exits[end[i]];
                }
            }
            HR_UNROLL
            for (uint32_t i = 0; i < 3; i++) {
                exits[twelve + three + i] = (uint16_t)min(end[i], UINT32_C(0xFFFF));
            }
        }
        word[3] = word[0] & 255;
    }
}

#define LZ4_NO_ENTRY UINT32_C(0xFFFFFFFF)

/* Where the true chain, from s.begin, enters the lane's segment, or LZ4_NO_ENTRY, and
 * where it leaves the last segment. Each warp prepares its segments: where chains from
 * its first 32 bytes leave them. Then all walk over warps, then each over its segments.
 * exits and shortcuts (one per thread) lie in shared memory. */
template <class C, class Group>
static __device__ __forceinline__ uint32_t lz4_find_entry(const Group &group,
                                                          const lz4_stretch &s,
                                                          const uint16_t *exits,
                                                          uint16_t *shortcuts,
                                                          uint32_t &chain_end) {
    constexpr uint32_t WARP_SEGMENT = 32 * C::SEGMENT;
    uint32_t at = s.begin;
    if (Group::WARPS > 1) {
        const uint32_t mine_end = (group.warp + 1) * WARP_SEGMENT;
        uint32_t exit = group.warp * WARP_SEGMENT + group.lane;
        while (exit < mine_end) {
            exit = exits[exit];
        }
        shortcuts[group.rank] = (uint16_t)exit;
        group.sync();
        uint32_t enters = at;
        HR_NO_UNROLL
        for (uint32_t w = 0; w < Group::WARPS; w++) {
            const uint32_t begin = w * WARP_SEGMENT, end = begin + WARP_SEGMENT;
            enters = w == group.warp ? at : enters;
            if (at < begin + 32) {
                at = shortcuts[w * 32 + (at - begin)];
            }
            while (at < end) {
                at = exits[at];
            }
        }
        chain_end = at;
        at = enters;
    }
    const uint32_t segment = group.rank * C::SEGMENT;
    const uint32_t mine_end = (group.warp + 1) * WARP_SEGMENT;
    uint32_t entry = LZ4_NO_ENTRY;
    while (at < mine_end) {
        if (at >= segment && at < segment + C::SEGMENT) {
            entry = at;
        }
        at = exits[at];
    }
    if (Group::WARPS == 1) {
        chain_end = at;
    }
    return entry;
}

/* What a lane's part of the chain amounts to. */
struct lz4_count {
    uint32_t nparts, nbytes;
    uint32_t stop; /* a sequence that the tile cannot take, or LZ4_NO_ENTRY */
    int32_t reach; /* bytes needed before the lane's own output */
    bool is_last;
};

template <class C>
static __device__ __forceinline__ lz4_count lz4_count_parts(const lz4_stretch &s,
                                                            uint32_t entry,
                                                            uint32_t segment_end) {
    lz4_count c = {0, 0, LZ4_NO_ENTRY, 0, false};
    lz4_sequence q;
    for (uint32_t at = entry; at < segment_end; at = q.end) {
        lz4_kind kind = LZ4_NOT_INSIDE;
        if (at < s.end) {
            kind = lz4_read<C::LONGEST>(s, at, q);
        }
        if (kind == LZ4_NOT_INSIDE || (kind == LZ4_SEQUENCE && q.offset == 0)) {
            c.stop = at;
            break;
        }
        c.nparts += q.nliterals > 0;
        c.nbytes += q.nliterals;
        if (kind == LZ4_LAST) {
            c.is_last = true;
            c.stop = q.end;
            break;
        }
        const int32_t reach = (int32_t)(q.offset - c.nbytes);
        c.reach = reach > c.reach ? reach : c.reach;
        c.nparts += lz_count_pieces<C::SINGLES>(q.offset, q.nmatch);
        c.nbytes += q.nmatch;
    }
    return c;
}

/* Write down the parts of sequences known to be good, from `index` and the tile's `at` on
 * until its `end`. staged_at: the stretch in shared memory. */
template <class C>
static __device__ __forceinline__ void
lz4_put_parts(const lz4_stretch &s, uint32_t entry, uint32_t staged_at,
              const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
    for (uint32_t from = entry; at < end;) {
        const uint32_t token = s.bytes[from++];
        uint32_t n = token >> 4, more = n == 15 ? 255 : 0;
        while (more == 255) {
            more = s.bytes[from++];
            n += more;
        }
        if (n > 0) {
            lz_put_literals(tile, index++, at, staged_at + from);
            at += n;
            from += n;
        }
        if (at < end) {
            const uint32_t offset = s.bytes[from] | (uint32_t)s.bytes[from + 1] << 8;
            from += 2;
            n = (token & 15) + 4;
            more = n == 19 ? 255 : 0;
            while (more == 255) {
                more = s.bytes[from++];
                n += more;
            }
            index = lz_put_match<C::SINGLES>(tile, index, at, offset, n);
            at += n;
        }
    }
}

#endif
