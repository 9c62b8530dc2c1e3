/* Snappy's raw format, behind its size. SPDX-License-Identifier: Apache-2.0
 *
 * The low two bits of a tag say what it is: 0, literals, as many as its other bits plus
 * one, or, from 60 on, as the one to four bytes behind it say; 1, 2, 3, a copy with an
 * offset of eleven, 16 or 32 bits. */
#include "kernel_abi.h"
#include "lz_elements.cuh"
#include "lz_teams.cuh"
#include "simt.h"

struct snappy_format {
    static constexpr bool ENDS_ANYWHERE = true;
    static constexpr uint8_t FIRST_MASK = 255;

    template <uint32_t LONGEST>
    static __device__ __forceinline__ uint32_t end(const lz_stretch &, uint32_t at,
                                                   uint32_t four) {
        const uint32_t kind = four & 3, n = four >> 2 & 63;
        const uint32_t literals = n < 60    ? n
                                  : n == 60 ? (four >> 8 & 255) + 1
                                  : n == 61 ? (four >> 8 & 0xFFFF) + 2
                                            : 0;
        const uint32_t copy = UINT32_C(0x05030200) >> (kind * 8) & 255;
        return at + (kind == 0 ? literals + 2 : copy);
    }

    template <uint32_t LONGEST>
    static __device__ __forceinline__ lz_element read(const lz_stretch &s, uint32_t at,
                                                      lz_sequence &q) {
        const uint8_t *b = s.bytes + at;
        const uint32_t kind = b[0] & 3, n = b[0] >> 2;
        const uint32_t low = b[1], two = low | (uint32_t)b[2] << 8;
        q.literals = q.nliterals = q.offset = q.nmatch = 0;
        if (kind == 0) {
            const uint32_t nmore = n < 60 ? 0 : n - 59;
            q.nliterals = (nmore == 0 ? n : nmore == 1 ? low : two) + 1;
            q.literals = at + 1 + nmore;
            q.end = q.literals + q.nliterals;
            if (nmore > 2 || q.nliterals > LONGEST) {
                return LZ_LONG;
            }
        } else {
            q.nmatch = kind == 1 ? (n & 7) + 4 : n + 1;
            q.offset = kind == 1   ? (n >> 3) << 8 | low
                       : kind == 2 ? two
                                   : two | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 24;
            q.end = at + (kind == 1 ? 2 : kind == 2 ? 3 : 5);
            if (q.offset == 0 || q.offset > LZ_FARTHEST) {
                return LZ_NOT_INSIDE;
            }
        }
        return q.end > s.end                 ? LZ_NOT_INSIDE
               : s.is_last && q.end == s.end ? LZ_LAST
                                             : LZ_SEQUENCE;
    }

    template <class C>
    static __device__ __forceinline__ void make_exits(const lz_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
        lz_make_exits<C, snappy_format>(s, exits, segment);
    }
    template <class C>
    static __device__ __forceinline__ void
    put_parts(const lz_stretch &s, uint32_t entry, uint32_t, uint32_t staged_at,
              const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
        lz_put_elements<C, snappy_format>(s, entry, staged_at, tile, index, at, end);
    }

    static __device__ __forceinline__ uint32_t judge(const lz_input &in, uint32_t at,
                                                     uint32_t made, lz_sequence &q) {
        if (at == in.src_nbytes) {
            return HR_K_TRUNCATED;
        }
        const uint32_t tag = in.byte(at++), kind = tag & 3;
        uint64_t n = tag >> 2;
        const uint32_t nmore = kind == 0   ? (n < 60 ? 0 : (uint32_t)n - 59)
                               : kind == 3 ? 4
                                           : kind;
        if (nmore > in.src_nbytes - at) {
            return HR_K_TRUNCATED;
        }
        uint32_t more = 0;
        for (uint32_t i = 0; i < nmore; i++) {
            more |= in.byte(at++) << (8 * i);
        }
        if (kind == 0) {
            n = (nmore == 0 ? n : more) + 1;
            return lz_judge_literals(in, at, n, made, q);
        }
        const uint32_t offset = kind == 1 ? (tag >> 5) << 8 | more : more;
        return lz_judge_match(in, at, offset, kind == 1 ? (n & 7) + 4 : n + 1, made, q);
    }
};

#define SNAPPY_KERNEL(name, threads, shared_nbytes)                                      \
    LZ_KERNEL(snappy, name, threads, shared_nbytes)

HR_K_LZ_TEAMS(SNAPPY_KERNEL)
