/* Long runs of an LZ stream, straight from memory to memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All threads of a group write 16 aligned bytes at a time; where they come from is a
 * `source`: byte(k) and chunk(k), the 16 bytes at k of the run. */
#ifndef HR_CUDA_LZ_COPY_CUH
#define HR_CUDA_LZ_COPY_CUH

#include "simt.h"

/* Memory that may be read. */
struct lz_range {
    uint64_t begin, end;
};

static __device__ __forceinline__ uint32_t lz_load_u8(uint64_t at) {
    return *hr_global<const uint8_t>(at);
}

/* 16 bytes of the range, at any alignment: by whole words if those lie in it too. */
static __device__ __forceinline__ hr_u128 lz_load_u128(uint64_t at,
                                                       const lz_range &range) {
    const uint64_t words = at & ~UINT64_C(3);
    const uint32_t shift = (uint32_t)(at & 3) * 8;
    hr_u128 v = {};
    if (words >= range.begin && words + (shift != 0 ? 20 : 16) <= range.end) {
        const uint32_t *w = hr_global<const uint32_t>(words);
        const uint32_t last = shift != 0 ? w[4] : 0;
        v.word[0] = __funnelshift_r(w[0], w[1], shift);
        v.word[1] = __funnelshift_r(w[1], w[2], shift);
        v.word[2] = __funnelshift_r(w[2], w[3], shift);
        v.word[3] = __funnelshift_r(w[3], last, shift);
    } else {
        HR_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            v.word[i / 4] |= lz_load_u8(at + i) << (i % 4 * 8);
        }
    }
    return v;
}

/* 16 aligned bytes, zeros where the range is not. */
static __device__ __forceinline__ hr_u128 lz_load_aligned(uint64_t at,
                                                          const lz_range &range) {
    if (at >= range.begin && at + 16 <= range.end) {
        return *hr_global<const hr_u128>(at);
    }
    hr_u128 v = {};
    HR_UNROLL
    for (uint32_t i = 0; i < 16; i++) {
        if (at + i >= range.begin && at + i < range.end) {
            v.word[i / 4] |= lz_load_u8(at + i) << (i % 4 * 8);
        }
    }
    return v;
}

struct lz_zeros {
    __device__ __forceinline__ uint32_t byte(uint32_t) const {
        return 0;
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t) const {
        return {};
    }
};

/* What lies at an address. */
struct lz_straight {
    uint64_t at;
    lz_range range;

    __device__ __forceinline__ uint32_t byte(uint32_t k) const {
        return lz_load_u8(at + k);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t k) const {
        return lz_load_u128(at + k, range);
    }
};

/* The `period` bytes at an address over and over: a match that overlaps itself reads only
 * what was there before it, so no thread waits for another. */
struct lz_periodic {
    uint64_t at;
    uint32_t period;
    lz_range range;

    __device__ __forceinline__ uint32_t byte(uint32_t k) const {
        return lz_load_u8(at + k % period);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t k) const {
        uint32_t phase = k % period;
        if (phase + 16 <= period) {
            return lz_load_u128(at + phase, range);
        }
        hr_u128 v = {};
        HR_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            v.word[i / 4] |= lz_load_u8(at + phase) << (i % 4 * 8);
            phase = phase + 1 == period ? 0 : phase + 1;
        }
        return v;
    }
};

/* A period that divides 16: every chunk is the same. */
struct lz_pattern {
    lz_periodic bytes;
    hr_u128 all;

    __device__ __forceinline__ uint32_t byte(uint32_t k) const {
        return bytes.byte(k);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t) const {
        return all;
    }
};

/* Bytes of a run before its first aligned chunk. */
static __device__ __forceinline__ uint32_t lz_head(uint64_t dst, uint32_t nbytes) {
    return min((uint32_t)(0 - dst) & 15, nbytes);
}

template <class Group, class Source>
static __device__ __forceinline__ void lz_write(const Group &group, uint64_t dst,
                                                uint32_t nbytes, const Source &source) {
    const uint32_t head = lz_head(dst, nbytes);
    const uint32_t nchunks = (nbytes - head) / 16, body = head + nchunks * 16;
    if (group.rank < head) {
        *hr_global<uint8_t>(dst + group.rank) = (uint8_t)source.byte(group.rank);
    }
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < nchunks; i += Group::THREADS) {
        const uint32_t k = head + i * 16;
        *hr_global<hr_u128>(dst + k) = source.chunk(k);
    }
    if (group.rank < nbytes - body) {
        const uint32_t k = body + group.rank;
        *hr_global<uint8_t>(dst + k) = (uint8_t)source.byte(k);
    }
}

/* nbytes to dst from `offset` before it, which is not before `begin`. */
template <class Group>
static __device__ __forceinline__ void lz_write_match(const Group &group, uint64_t begin,
                                                      uint64_t dst, uint32_t offset,
                                                      uint32_t nbytes) {
    const lz_periodic bytes = {dst - offset, offset, {begin, dst}};
    if (offset <= 16 && 16 % offset == 0 && nbytes >= 16) {
        const lz_pattern pattern = {bytes, bytes.chunk(lz_head(dst, nbytes))};
        lz_write(group, dst, nbytes, pattern);
    } else {
        lz_write(group, dst, nbytes, bytes);
    }
}

#endif
