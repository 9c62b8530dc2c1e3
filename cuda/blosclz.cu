/* BloscLZ streams. SPDX-License-Identifier: Apache-2.0
 *
 * A control byte c below 32: c + 1 literals. Else a match: c >> 5 and two is its length,
 * from 7 on with length bytes behind it; then comes the low byte of the distance less
 * one, whose high bits are c & 31; when all its bits are set, 16 more bits, the high ones
 * first, add to it. A stream begins and ends with literals. */
#include "kernel_abi.h"
#include "lz_elements.cuh"
#include "lz_teams.cuh"
#include "simt.h"

#define BLOSCLZ_NEAR 8192 /* the distance that more bits add to */

struct blosclz_format {
    static constexpr bool ENDS_ANYWHERE = false;
    static constexpr uint8_t FIRST_MASK = 31;

    /* For a match with a row of length bytes. */
    template <uint32_t LONGEST>
    static __device__ __forceinline__ uint32_t end_slowly(const lz_stretch &s,
                                                          uint32_t at) {
        static_assert(LONGEST < 9 + 8 * 255, "lz_read_more takes it");
        const uint32_t high = s.bytes[at++] & 31;
        uint32_t unused = 0;
        if (at <= s.end) {
            lz_read_more(s, at, unused);
        }
        const bool is_far = at < s.end && high == 31 && s.bytes[at] == 255;
        return at + (is_far ? 3 : 1);
    }

    template <uint32_t LONGEST>
    static __device__ __forceinline__ uint32_t end(const lz_stretch &s, uint32_t at,
                                                   uint32_t four) {
        const uint32_t control = four & 255, is_long = control >= 7 << 5;
        if (control < 32) {
            return at + 2 + control;
        }
        if (is_long && (four >> 8 & 255) == 255) {
            return end_slowly<LONGEST>(s, at);
        }
        const uint32_t low = four >> (is_long ? 16 : 8) & 255;
        const bool is_far = (control & 31) == 31 && low == 255;
        return at + 2 + is_long + (is_far ? 2 : 0);
    }

    template <uint32_t LONGEST>
    static __device__ __forceinline__ lz_element read(const lz_stretch &s, uint32_t at,
                                                      lz_sequence &q) {
        const uint32_t control = s.bytes[at++];
        q = {at, 0, 0, 0, at};
        if (control < 32) {
            q.nliterals = control + 1;
            q.end = at + q.nliterals;
            return q.end > s.end                 ? LZ_NOT_INSIDE
                   : s.is_last && q.end == s.end ? LZ_LAST
                                                 : LZ_SEQUENCE;
        }
        uint32_t n = (control >> 5) + 2;
        if (n == 9) {
            uint32_t more;
            do {
                more = s.bytes[at++];
                n += more;
            } while (more == 255 && n <= LONGEST && at < s.end);
            if (n > LONGEST || more == 255) {
                return n > LONGEST ? LZ_LONG : LZ_NOT_INSIDE;
            }
        }
        q.nmatch = n;
        q.offset = ((control & 31) << 8 | s.bytes[at++]) + 1;
        if (q.offset == BLOSCLZ_NEAR) {
            q.offset += (uint32_t)s.bytes[at] << 8 | s.bytes[at + 1];
            at += 2;
        }
        q.end = at;
        return q.end > s.end ? LZ_NOT_INSIDE : LZ_SEQUENCE;
    }

    template <class C>
    static __device__ __forceinline__ void make_exits(const lz_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
        lz_make_exits<C, blosclz_format>(s, exits, segment);
    }
    template <class C>
    static __device__ __forceinline__ void
    put_parts(const lz_stretch &s, uint32_t entry, uint32_t, uint32_t staged_at,
              const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
        lz_put_elements<C, blosclz_format>(s, entry, staged_at, tile, index, at, end);
    }

    static __device__ __forceinline__ uint32_t judge(const lz_input &in, uint32_t at,
                                                     uint32_t made, lz_sequence &q) {
        if (at == in.src_nbytes) {
            return HR_K_TRUNCATED;
        }
        const uint32_t control = in.byte(at) & (at == 0 ? FIRST_MASK : 255);
        at++;
        if (control < 32) {
            return lz_judge_literals(in, at, control + 1, made, q);
        }
        uint64_t n = (control >> 5) + 2;
        if ((n == 9 && !in.read_more(at, n)) || at == in.src_nbytes) {
            return HR_K_TRUNCATED;
        }
        uint32_t offset = ((control & 31) << 8 | in.byte(at++)) + 1;
        if (offset == BLOSCLZ_NEAR) {
            if (in.src_nbytes - at < 2) {
                return HR_K_TRUNCATED;
            }
            offset += in.byte(at) << 8 | in.byte(at + 1);
            at += 2;
        }
        return lz_judge_match(in, at, offset, n, made, q);
    }
};

#define BLOSCLZ_KERNEL(name, threads, shared_nbytes)                                     \
    LZ_KERNEL(blosclz, name, threads, shared_nbytes)

HR_K_LZ_TEAMS(BLOSCLZ_KERNEL)
