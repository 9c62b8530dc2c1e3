/* LZ4 sequences, found by many lanes at once. SPDX-License-Identifier: Apache-2.0
 *
 * A stretch of the stream lies in shared memory, a segment of it for every lane. A lane
 * walks its segment backwards and notes for every byte where a chain of sequences that
 * starts there would leave the segment. The true chain then takes one step per segment,
 * and every lane knows where it enters its own: exact, whatever the stream holds. */
#ifndef HR_CUDA_LZ4_PARSE_CUH
#define HR_CUDA_LZ4_PARSE_CUH

#include "lz_parser.cuh"

/* The sequence at `at`, if it lies inside the stretch and its runs are not longer than
 * LONGEST. at < end. */
template <uint32_t LONGEST>
static __device__ __forceinline__ lz_element lz4_read(const lz_stretch &s, uint32_t at,
                                                      lz_sequence &q) {
    const uint32_t token = s.bytes[at++];
    uint32_t n = token >> 4;
    if (n == 15) {
        uint32_t more;
        do {
            more = s.bytes[at++];
            n += more;
        } while (more == 255 && n <= LONGEST && at < s.end);
        if (n > LONGEST || more == 255) {
            return n > LONGEST ? LZ_LONG : LZ_NOT_INSIDE;
        }
    }
    q.literals = at;
    q.nliterals = n;
    at += n;
    if (at + 2 > s.end) {
        q.offset = q.nmatch = 0;
        q.end = at;
        return s.is_last && at == s.end ? LZ_LAST : LZ_NOT_INSIDE;
    }
    q.offset = s.bytes[at] | (uint32_t)s.bytes[at + 1] << 8;
    if (q.offset == 0) {
        return LZ_NOT_INSIDE;
    }
    at += 2;
    n = (token & 15) + 4;
    if (n == 19) {
        uint32_t more;
        do {
            more = s.bytes[at++];
            n += more;
        } while (more == 255 && n <= LONGEST && at < s.end);
        if (n > LONGEST || more == 255 || at > s.end) {
            return n > LONGEST ? LZ_LONG : LZ_NOT_INSIDE;
        }
    }
    q.nmatch = n;
    q.end = at;
    return LZ_SEQUENCE;
}

/* Where the sequence at `at` ends if it is one that lz4_read takes; else anywhere behind
 * `at`. For sequences with runs of length bytes. */
template <uint32_t LONGEST>
static __device__ __forceinline__ uint32_t lz4_end_slowly(const lz_stretch &s,
                                                          uint32_t at) {
    static_assert(LONGEST < 15 + 8 * 255, "lz_read_more takes it");
    const uint32_t token = s.bytes[at++];
    uint32_t n = token >> 4, unused = 0;
    if (n == 15 && at <= s.end) {
        lz_read_more(s, at, n);
    }
    at += n + 2;
    if ((token & 15) == 15 && at <= s.end) {
        lz_read_more(s, at, unused);
    }
    return at;
}

/* exits[p] = where the chain from p leaves the segment, for the lane's own segment. Three
 * bytes at a time, as no chain steps from one of three to another. C::STRETCH bytes and
 * more may be looked at. */
template <class C>
static __device__ __forceinline__ void lz4_make_exits(const lz_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
    static_assert(C::STRETCH + C::LONGEST < 60000, "ends are 16-bit numbers");
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
                exits[twelve + three + i] = (uint16_t)end[i];
            }
        }
        word[3] = word[0] & 255;
    }
}

/* Write down the parts of sequences known to be good, from `index` and the tile's `at` on
 * until its `end`. staged_at: the stretch in shared memory. */
template <class C>
static __device__ __forceinline__ void
lz4_put_parts(const lz_stretch &s, uint32_t entry, uint32_t staged_at,
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

struct lz4_format {
    static constexpr bool ENDS_ANYWHERE = false;
    static constexpr uint8_t FIRST_MASK = 255;

    template <uint32_t LONGEST>
    static __device__ __forceinline__ lz_element read(const lz_stretch &s, uint32_t at,
                                                      lz_sequence &q) {
        return lz4_read<LONGEST>(s, at, q);
    }
    template <class C>
    static __device__ __forceinline__ void make_exits(const lz_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
        lz4_make_exits<C>(s, exits, segment);
    }
    template <class C>
    static __device__ __forceinline__ void
    put_parts(const lz_stretch &s, uint32_t entry, uint32_t, uint32_t staged_at,
              const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
        lz4_put_parts<C>(s, entry, staged_at, tile, index, at, end);
    }

    /* The next sequence, of any length, or what is wrong with it. */
    static __device__ __forceinline__ uint32_t judge(const lz_input &in, uint32_t at,
                                                     uint32_t produced, lz_sequence &q) {
        if (at == in.src_nbytes) {
            return HR_K_TRUNCATED;
        }
        const uint32_t token = in.byte(at++);
        uint64_t n = token >> 4;
        if ((n == 15 && !in.read_more(at, n)) || n > in.src_nbytes - at) {
            return HR_K_TRUNCATED;
        }
        if (n > in.dst_nbytes - produced) {
            return HR_K_TOO_LONG;
        }
        q.literals = at;
        q.nliterals = (uint32_t)n;
        q.end = at += q.nliterals;
        q.offset = q.nmatch = 0;
        if (at == in.src_nbytes) {
            return 0;
        }
        if (in.src_nbytes - at < 2) {
            return HR_K_TRUNCATED;
        }
        q.offset = in.byte(at) | in.byte(at + 1) << 8;
        at += 2;
        n = token & 15;
        if (n == 15 && !in.read_more(at, n)) {
            return HR_K_TRUNCATED;
        }
        n += 4;
        const uint32_t made = produced + q.nliterals;
        if (q.offset == 0 || q.offset > made) {
            return HR_K_BAD_OFFSET;
        }
        if (n > in.dst_nbytes - made) {
            return HR_K_TOO_LONG;
        }
        q.nmatch = (uint32_t)n;
        q.end = at;
        return 0;
    }
};

#endif
