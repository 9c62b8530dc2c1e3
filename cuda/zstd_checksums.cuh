/* Zstandard's checksums of frames: XXH64. SPDX-License-Identifier: Apache-2.0
 *
 * Four lanes take a frame, one for each of the sums that it is dealt to by 8 bytes. */
#ifndef HR_CUDA_ZSTD_CHECKSUMS_CUH
#define HR_CUDA_ZSTD_CHECKSUMS_CUH

#include "zstd_code.cuh"

#define ZSTD_PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define ZSTD_PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define ZSTD_PRIME_3 UINT64_C(0x165667B19E3779F9)
#define ZSTD_PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define ZSTD_PRIME_5 UINT64_C(0x27D4EB2F165667C5)

/* Loads of a lane that are under way at once. */
#define ZSTD_AHEAD 8

static __device__ __forceinline__ uint64_t zstd_rotate(uint64_t x, uint32_t n) {
    return x << n | x >> (64 - n);
}
static __device__ __forceinline__ uint64_t zstd_mix(uint64_t sum, uint64_t value) {
    return zstd_rotate(sum + value * ZSTD_PRIME_2, 31) * ZSTD_PRIME_1;
}

/* 8 bytes at any alignment, within the range. */
static __device__ __forceinline__ uint64_t zstd_load_u64(uint64_t at,
                                                         const lz_range &range) {
    if ((at & 7) == 0) {
        return *hr_global<const uint64_t>(at);
    }
    const uint64_t words = at & ~UINT64_C(3);
    if (words >= range.begin && words + 12 <= range.end) {
        const uint32_t *w = hr_global<const uint32_t>(words);
        const uint32_t shift = (uint32_t)(at & 3) * 8;
        return __funnelshift_r(w[0], w[1], shift) |
               (uint64_t)__funnelshift_r(w[1], w[2], shift) << 32;
    }
    uint64_t value = 0;
    HR_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        value |= (uint64_t)lz_load_u8(at + i) << (8 * i);
    }
    return value;
}

/* One of the four sums over n stripes of 32 bytes. */
static __device__ __forceinline__ uint64_t zstd_sum_up(uint64_t sum, uint64_t at,
                                                       uint32_t n,
                                                       const lz_range &range) {
    uint32_t i = 0;
    if (n >= ZSTD_AHEAD) {
        uint64_t next[ZSTD_AHEAD];
        HR_UNROLL
        for (uint32_t k = 0; k < ZSTD_AHEAD; k++) {
            next[k] = zstd_load_u64(at + k * 32, range);
        }
        HR_NO_UNROLL
        for (; n - i >= 2 * ZSTD_AHEAD; i += ZSTD_AHEAD) {
            HR_UNROLL
            for (uint32_t k = 0; k < ZSTD_AHEAD; k++) {
                const uint64_t value = next[k];
                next[k] = zstd_load_u64(at + (uint64_t)(i + ZSTD_AHEAD + k) * 32, range);
                sum = zstd_mix(sum, value);
            }
        }
        HR_UNROLL
        for (uint32_t k = 0; k < ZSTD_AHEAD; k++) {
            sum = zstd_mix(sum, next[k]);
        }
        i += ZSTD_AHEAD;
    }
    for (; i < n; i++) {
        sum = zstd_mix(sum, zstd_load_u64(at + (uint64_t)i * 32, range));
    }
    return sum;
}

/* What follows the stripes, and the end. */
static __device__ __forceinline__ uint64_t zstd_finish(uint64_t sum, uint64_t at,
                                                       const lz_range &range) {
    while (range.end - at >= 8) {
        sum ^= zstd_mix(0, zstd_load_u64(at, range));
        sum = zstd_rotate(sum, 27) * ZSTD_PRIME_1 + ZSTD_PRIME_4;
        at += 8;
    }
    if (range.end - at >= 4) {
        uint64_t value = 0;
        for (uint32_t i = 0; i < 4; i++) {
            value |= (uint64_t)lz_load_u8(at + i) << (8 * i);
        }
        sum ^= value * ZSTD_PRIME_1;
        sum = zstd_rotate(sum, 23) * ZSTD_PRIME_2 + ZSTD_PRIME_3;
        at += 4;
    }
    for (; at < range.end; at++) {
        sum ^= lz_load_u8(at) * ZSTD_PRIME_5;
        sum = zstd_rotate(sum, 11) * ZSTD_PRIME_1;
    }
    sum = (sum ^ sum >> 33) * ZSTD_PRIME_2;
    sum = (sum ^ sum >> 29) * ZSTD_PRIME_3;
    return sum ^ sum >> 32;
}

/* Frames of streams that went well so far. */
extern "C" __global__ void __launch_bounds__(32)
    hr_k_zstd_checksums_kernel(const __grid_constant__ hr_k_zstd p) {
    const uint32_t lane = threadIdx.x, part = lane % 4;
    const uint32_t *numbers = hr_global<const uint32_t>(p.with_checksums);
    uint64_t *statuses = hr_global<uint64_t>(p.streams.status);
    HR_NO_UNROLL
    for (uint32_t first = blockIdx.x * HR_K_ZSTD_SUMS; first < p.nwith_checksums;
         first += gridDim.x * HR_K_ZSTD_SUMS) {
        const bool is_there = first + lane / 4 < p.nwith_checksums;
        const uint32_t number = numbers[is_there ? first + lane / 4 : first];
        const hr_k_zstd_block *b = zstd_block(p, number);
        const hr_k_zstd_result *r = zstd_result(p, number);
        const hr_k_task *task = hr_global<const hr_k_task>(p.streams.tasks) + b->stream;
        const bool is_on = is_there && statuses[task->status_index] == 0;
        const uint32_t nbytes = is_on ? r->begin + r->nbytes - r->frame_begin : 0;
        const lz_range frame = {task->dst + r->frame_begin,
                                task->dst + r->frame_begin + nbytes};
        uint64_t sum = part == 0   ? ZSTD_PRIME_1 + ZSTD_PRIME_2
                       : part == 1 ? ZSTD_PRIME_2
                       : part == 2 ? 0
                                   : 0 - ZSTD_PRIME_1;
        sum = zstd_sum_up(sum, frame.begin + part * 8, nbytes / 32, frame);
        uint64_t sums[4];
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            sums[k] = __shfl_sync(0xFFFFFFFF, sum, (lane & ~3U) + k);
        }
        if (!is_on || part != 0) {
            continue;
        }
        uint64_t all = zstd_rotate(sums[0], 1) + zstd_rotate(sums[1], 7) +
                       zstd_rotate(sums[2], 12) + zstd_rotate(sums[3], 18);
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            all = (all ^ zstd_mix(0, sums[k])) * ZSTD_PRIME_1 + ZSTD_PRIME_4;
        }
        all = (nbytes >= 32 ? all : ZSTD_PRIME_5) + nbytes;
        all = zstd_finish(all, frame.begin + (nbytes & ~31U), frame);
        if ((uint32_t)all != b->checksum) {
            (void)hr_atomic_max(statuses + task->status_index,
                                (uint64_t)HR_K_BAD_CHECKSUM << 32 | b->at);
        }
    }
}

#endif
