/* What LZ parsers read: a stretch of the stream in shared memory, or the stream itself.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_LZ_INPUT_CUH
#define HR_CUDA_LZ_INPUT_CUH

#include "lz_team.cuh"

/* A stretch of the stream: bytes before `end` are of the stream, those behind it may be
 * looked at and are nothing. */
struct lz_stretch {
    const uint8_t *bytes;
    uint32_t begin, end;
    bool is_last; /* the stream ends at `end` */
};

struct lz_sequence {
    uint32_t literals, nliterals;
    uint32_t offset, nmatch; /* 0 in the last sequence */
    uint32_t end;
};

/* LZ_LONG: a run that is longer than tiles take; only read_one knows if it is right. */
enum lz_element { LZ_NOT_INSIDE, LZ_LONG, LZ_SEQUENCE, LZ_LAST };

/* The length bytes at `at` <= s.end, if no more than seven are 255; else `at` stays. */
static __device__ __forceinline__ void lz_read_more(const lz_stretch &s, uint32_t &at,
                                                    uint32_t &n) {
    const uint32_t *w = (const uint32_t *)(s.bytes + (at & ~3U));
    const uint32_t shift = at % 4 * 8;
    const uint32_t low = __funnelshift_r(w[0], w[1], shift);
    const uint32_t high = __funnelshift_r(w[1], w[2], shift);
    const uint32_t four = low == 0xFFFFFFFF ? high : low;
    if (four != 0xFFFFFFFF) {
        const uint32_t nfull = ((uint32_t)__ffs((int)~four) - 1) / 8;
        const uint32_t nmore = nfull + (low == 0xFFFFFFFF ? 4 : 0);
        n += nmore * 255 + (four >> (nfull * 8) & 255);
        at += nmore + 1;
    }
}

struct lz_input {
    uint64_t src;
    uint32_t src_nbytes, dst_nbytes;

    __device__ __forceinline__ uint32_t byte(uint32_t at) const {
        return lz_load_u8(src + at);
    }

    /* The length bytes at `at`, 16 a step while they are 255. False if the stream ends
     * before. (The lanes do the same: nvcc 13.0 never ends on a vote in this loop.) */
    __device__ __forceinline__ bool read_more(uint32_t &at, uint64_t &n) const {
        const lz_range stream = {src, src + src_nbytes};
        while (src_nbytes - at >= 16) {
            const hr_u128 v = lz_load_u128(src + at, stream);
            if ((v.word[0] & v.word[1] & v.word[2] & v.word[3]) != 0xFFFFFFFF) {
                break;
            }
            at += 16;
            n += 16 * 255;
        }
        uint32_t more = 255;
        while (more == 255 && at < src_nbytes) {
            more = lz_load_u8(src + at++);
            n += more;
        }
        return more != 255;
    }
};

#endif
