/* LZ streams whose elements are either literals or a match.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No element is shorter than two bytes, so chains never step from a byte to the next. F,
 * beside what lz_parser.cuh asks for:
 *   end<LONGEST>(s, at, four)   where the element at `at` ends if read takes it, else
 *                               anywhere behind; four: the bytes at `at`, lowest first */
#ifndef HR_CUDA_LZ_ELEMENTS_CUH
#define HR_CUDA_LZ_ELEMENTS_CUH

#include "lz_parser.cuh"

template <class C, class F>
static __device__ __forceinline__ void lz_make_exits(const lz_stretch &s, uint16_t *exits,
                                                     uint32_t segment) {
    static_assert(C::SEGMENT % 4 == 0, "whole words");
    const uint32_t segment_end = segment + C::SEGMENT;
    uint32_t next = *(const uint32_t *)(s.bytes + segment_end);
    HR_NO_UNROLL
    for (uint32_t at = segment_end; at > segment;) {
        at -= 4;
        const uint32_t word = *(const uint32_t *)(s.bytes + at);
        HR_UNROLL
        for (int32_t k = 2; k >= 0; k -= 2) {
            uint32_t end[2];
            HR_UNROLL
            for (uint32_t i = 0; i < 2; i++) {
                const uint32_t p = (uint32_t)k + i;
                end[i] = F::template end<C::LONGEST>(s, at + p,
                                                     __funnelshift_r(word, next, p * 8));
            }
            HR_UNROLL
            for (uint32_t i = 0; i < 2; i++) {
                if (end[i] < segment_end) {
                    end[i] = exits[end[i]];
                }
            }
            HR_UNROLL
            for (uint32_t i = 0; i < 2; i++) {
                exits[at + (uint32_t)k + i] = (uint16_t)min(end[i], UINT32_C(0xFFFF));
            }
        }
        next = word;
    }
}

/* Write down the parts of elements known to be good. */
template <class C, class F>
static __device__ __forceinline__ void
lz_put_elements(const lz_stretch &s, uint32_t entry, uint32_t staged_at,
                const lz_tile &tile, uint32_t index, uint32_t at, uint32_t end) {
    lz_sequence q;
    for (uint32_t from = entry; at < end; from = q.end) {
        (void)F::template read<C::LONGEST>(s, from, q);
        if (q.nmatch == 0) {
            lz_put_literals(tile, index++, at, staged_at + q.literals);
            at += q.nliterals;
        } else {
            index = lz_put_match<C::SINGLES>(tile, index, at, q.offset, q.nmatch);
            at += q.nmatch;
        }
    }
}

/* What an element is, once its length and offset are known: 0, or what is wrong. at: of
 * its literals, or behind it. */
static __device__ __forceinline__ uint32_t lz_judge_literals(const lz_input &in,
                                                             uint32_t at, uint64_t n,
                                                             uint32_t made,
                                                             lz_sequence &q) {
    if (n > in.src_nbytes - at) {
        return HR_K_TRUNCATED;
    }
    if (n > in.dst_nbytes - made) {
        return HR_K_TOO_LONG;
    }
    q = {at, (uint32_t)n, 0, 0, at + (uint32_t)n};
    return 0;
}
static __device__ __forceinline__ uint32_t lz_judge_match(const lz_input &in, uint32_t at,
                                                          uint32_t offset, uint64_t n,
                                                          uint32_t made, lz_sequence &q) {
    if (offset == 0 || offset > made) {
        return HR_K_BAD_OFFSET;
    }
    if (n > in.dst_nbytes - made) {
        return HR_K_TOO_LONG;
    }
    q = {at, 0, offset, (uint32_t)n, at};
    return 0;
}

#endif
