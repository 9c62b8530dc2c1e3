/* PackBits as TIFF has it. SPDX-License-Identifier: Apache-2.0
 *
 * A head below 128 is followed by so many literals and one; a head above it, by a byte
 * that stands for 257 minus as many: one literal, and a match of the byte before. 128 is
 * nothing. The stream may be longer than it need be, and its last run, too. */
#include "kernel_abi.h"
#include "lz_elements.cuh"
#include "lz_teams.cuh"
#include "simt.h"

struct packbits_format {
    static constexpr bool ENDS_ANYWHERE = true;
    static constexpr uint8_t FIRST_MASK = 255;

    template <uint32_t LONGEST>
    static __device__ __forceinline__ uint32_t end(const lz_stretch &, uint32_t at,
                                                   uint32_t four) {
        const uint32_t head = four & 255;
        return at + 2 + (head < 128 ? head : 0);
    }

    template <uint32_t LONGEST>
    static __device__ __forceinline__ lz_element read(const lz_stretch &s, uint32_t at,
                                                      lz_sequence &q) {
        const uint32_t head = s.bytes[at];
        const bool is_run = head > 128;
        q.literals = at + 1;
        q.nliterals = is_run ? 1 : head + 1;
        q.offset = is_run ? 1 : 0;
        q.nmatch = is_run ? 256 - head : 0;
        q.end = at + 1 + q.nliterals;
        return head == 128 || q.end > s.end  ? LZ_NOT_INSIDE
               : s.is_last && q.end == s.end ? LZ_LAST
                                             : LZ_SEQUENCE;
    }

    template <class C>
    static __device__ __forceinline__ void make_exits(const lz_stretch &s,
                                                      uint16_t *exits, uint32_t segment) {
        lz_make_exits<C, packbits_format>(s, exits, segment);
    }
    template <class C>
    static __device__ __forceinline__ void
    put_parts(const lz_stretch &s, uint32_t entry, uint32_t, uint32_t staged_at,
              const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
        lz_sequence q;
        for (uint32_t from = entry; at < end; from = q.end) {
            (void)read<C::LONGEST>(s, from, q);
            lz_put_literals(tile, index++, at, staged_at + q.literals);
            at += q.nliterals;
            if (q.nmatch > 0) {
                index = lz_put_match<C::SINGLES>(tile, index, at, q.offset, q.nmatch);
                at += q.nmatch;
            }
        }
    }

    /* Never wrong: what is there as far as there is room, and then nothing else. */
    static __device__ __forceinline__ uint32_t judge(const lz_input &in, uint32_t at,
                                                     uint32_t made, lz_sequence &q) {
        const uint32_t room = in.dst_nbytes - made;
        q = {at, 0, 0, 0, in.src_nbytes};
        while (at < in.src_nbytes && in.byte(at) == 128) {
            at++;
        }
        if (room == 0 || in.src_nbytes - at < 2) {
            return 0;
        }
        const uint32_t head = in.byte(at);
        const uint32_t nbytes = min(head < 128 ? head + 1 : 257 - head, room);
        q.literals = at + 1;
        q.nliterals = head < 128 ? min(nbytes, in.src_nbytes - q.literals) : 1;
        q.offset = head < 128 ? 0 : 1;
        q.nmatch = head < 128 ? 0 : nbytes - 1;
        q.end = nbytes == room ? in.src_nbytes : q.literals + q.nliterals;
        return 0;
    }
};

#define PACKBITS_KERNEL(name, threads, shared_nbytes)                                    \
    LZ_KERNEL(packbits, name, threads, shared_nbytes)

HR_K_LZ_TEAMS(PACKBITS_KERNEL)
