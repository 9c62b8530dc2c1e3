/* CUDA's functions, on the host. SPDX-License-Identifier: Apache-2.0
 *
 * Of warps: by meetings of lanes (simt_lanes.h). Atomics are plain: a fiber is only left
 * where it waits. Included by simt.h. */
#ifndef HR_CUDA_SIMT_INTRINSICS_H
#define HR_CUDA_SIMT_INTRINSICS_H

#include "simt_lanes.h"

static inline void __syncthreads(hr_site site = hr_site::here()) {
    hr_simt_wait_at(0, hr_simt_block_now.nlanes, site);
}
static inline void __syncwarp(uint32_t mask = 0xFFFFFFFF,
                              hr_site site = hr_site::here()) {
    (void)hr_simt_meet(mask, 0, site);
}
static inline void hr_sync_block(hr_site site) {
    __syncthreads(site);
}
static inline void hr_sync_warp(hr_site site) {
    __syncwarp(0xFFFFFFFF, site);
}

/* What the lane `from` brought; it must be one of those who meet. */
template <class T>
static inline T hr_simt_shuffle(uint32_t mask, T value, uint32_t from, hr_site site) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves up to 8 bytes");
    uint64_t brought = 0;
    memcpy(&brought, &value, sizeof value);
    const uint64_t *all = hr_simt_meet(mask, brought, site);
    if ((mask >> from & 1) == 0) {
        hr_simt_fail("a shuffle from a lane that is not in the mask");
    }
    memcpy(&value, &all[from], sizeof value);
    return value;
}
static inline uint32_t hr_simt_lane_index() {
    return hr_simt_block_now.current % HR_SIMT_WARP;
}
template <class T>
static inline T __shfl_sync(uint32_t mask, T value, uint32_t from,
                            hr_site site = hr_site::here()) {
    return hr_simt_shuffle(mask, value, from % HR_SIMT_WARP, site);
}
template <class T>
static inline T __shfl_up_sync(uint32_t mask, T value, uint32_t distance,
                               hr_site site = hr_site::here()) {
    uint32_t lane = hr_simt_lane_index();
    return hr_simt_shuffle(mask, value, lane >= distance ? lane - distance : lane, site);
}
template <class T>
static inline T __shfl_down_sync(uint32_t mask, T value, uint32_t distance,
                                 hr_site site = hr_site::here()) {
    uint32_t to = hr_simt_lane_index() + distance;
    return hr_simt_shuffle(mask, value, to < HR_SIMT_WARP ? to : to - distance, site);
}
template <class T>
static inline T __shfl_xor_sync(uint32_t mask, T value, uint32_t distance,
                                hr_site site = hr_site::here()) {
    return hr_simt_shuffle(mask, value, hr_simt_lane_index() ^ distance, site);
}
static inline uint32_t __ballot_sync(uint32_t mask, bool vote,
                                     hr_site site = hr_site::here()) {
    const uint64_t *all = hr_simt_meet(mask, vote, site);
    uint32_t votes = 0;
    for (uint32_t i = 0; i < HR_SIMT_WARP; i++) {
        votes |= (mask >> i & 1) != 0 && all[i] != 0 ? 1U << i : 0;
    }
    return votes;
}
static inline bool __any_sync(uint32_t mask, bool vote, hr_site site = hr_site::here()) {
    return __ballot_sync(mask, vote, site) != 0;
}
static inline bool __all_sync(uint32_t mask, bool vote, hr_site site = hr_site::here()) {
    return __ballot_sync(mask, vote, site) == mask;
}

/* Of all lanes of the warp. */
static inline uint32_t hr_warp_sum(uint32_t value, hr_site site = hr_site::here()) {
    const uint64_t *all = hr_simt_meet(0xFFFFFFFF, value, site);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < HR_SIMT_WARP; i++) {
        sum += (uint32_t)all[i];
    }
    return sum;
}
static inline uint32_t hr_warp_min(uint32_t value, hr_site site = hr_site::here()) {
    const uint64_t *all = hr_simt_meet(0xFFFFFFFF, value, site);
    uint32_t least = value;
    for (uint32_t i = 0; i < HR_SIMT_WARP; i++) {
        least = all[i] < least ? (uint32_t)all[i] : least;
    }
    return least;
}

/* Barriers 1 … 15 of a block, each for the number of threads that all its users give. */
static inline uint32_t hr_warp_max(uint32_t value, hr_site site = hr_site::here()) {
    return ~hr_warp_min(~value, site);
}
static inline void hr_copy_ahead(uint8_t *shared, uint64_t address, bool is_wanted) {
    if (is_wanted) {
        *(hr_u128 *)shared = *hr_global<const hr_u128>(address);
    }
}
static inline void hr_let_next_begin() {}
static inline void hr_wait_for_last() {}
static inline void hr_copies_commit() {}
template <int N> static inline void hr_copies_wait_but() {}
static inline void hr_copies_wait() {}
static inline uint32_t hr_shift_right_all(uint32_t x, uint32_t n) {
    return n > 31 ? 0 : x >> n;
}
static inline uint32_t hr_shift_left_all(uint32_t x, uint32_t n) {
    return n > 31 ? 0 : x << n;
}
static inline void hr_barrier_sync(uint32_t barrier, uint32_t nthreads,
                                   hr_site site = hr_site::here()) {
    hr_simt_wait_at(barrier, nthreads, site);
}
static inline void hr_barrier_arrive(uint32_t barrier, uint32_t nthreads) {
    hr_simt_arrive(barrier, nthreads);
}

static inline uint8_t *hr_shared() {
    return hr_simt_block_now.shared;
}

static inline int __popc(uint32_t x) {
    return __builtin_popcount(x);
}
static inline int __ffs(uint32_t x) {
    return __builtin_ffs((int)x);
}
static inline int __clz(uint32_t x) {
    return x == 0 ? 32 : __builtin_clz(x);
}
static inline uint32_t __brev(uint32_t x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
    return __builtin_bswap32(x);
}
static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift) {
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t from = selector >> (4 * i) & 7;
        result |= (uint32_t)(bytes >> (8 * from) & 0xFF) << (8 * i);
    }
    return result;
}
static inline uint32_t min(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
static inline uint32_t max(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static inline uint32_t atomicAdd(uint32_t *at, uint32_t value) {
    uint32_t old = *at;
    *at = old + value;
    return old;
}
static inline uint32_t atomicOr(uint32_t *at, uint32_t bits) {
    uint32_t old = *at;
    *at = old | bits;
    return old;
}
static inline uint32_t atomicMin(uint32_t *at, uint32_t value) {
    uint32_t old = *at;
    *at = min(old, value);
    return old;
}
static inline uint64_t hr_atomic_max(uint64_t *at, uint64_t value) {
    uint64_t old = *at;
    *at = old > value ? old : value;
    return old;
}

static inline uint32_t hr_shared_name(const void *place) {
    return (uint32_t)((const uint8_t *)place - hr_shared());
}
static inline uint32_t hr_load_named(uint32_t name) {
    return *(const uint32_t *)(hr_shared() + name);
}
static inline void hr_store_named(uint32_t name, uint32_t word) {
    *(uint32_t *)(hr_shared() + name) = word;
}
static inline void hr_store_named_u8(uint32_t name, uint32_t byte) {
    hr_shared()[name] = (uint8_t)byte;
}
static inline void hr_set_named(uint32_t name, uint32_t bits) {
    *(uint32_t *)(hr_shared() + name) |= bits;
}
static inline uint32_t hr_load_named_word(uint32_t name, uint32_t index) {
    return hr_load_named(name + index * 4);
}
static inline hr_pair hr_load_named_pair(uint32_t name, uint32_t index) {
    return *(const hr_pair *)(hr_shared() + (uint32_t)(name + index * sizeof(hr_pair)));
}
static inline uint32_t hr_load_u8_of(const uint8_t *shared, uint32_t near,
                                     uint64_t address, bool is_far) {
    return is_far ? *(const uint8_t *)address : shared[near];
}
/* n bits from the `first` on; the low five bits of n count. */
static inline uint32_t hr_bits(uint32_t first, uint32_t n) {
    return ((1U << (n & 31)) - 1) << first;
}
static inline uint32_t hr_shift_right(uint32_t x, uint32_t n) {
    return x >> (n & 31);
}
/* The four products of bytes, added to a sum. */
static inline uint32_t hr_dot4(uint32_t a, uint32_t b, uint32_t sum) {
    for (uint32_t i = 0; i < 32; i += 8) {
        sum += (a >> i & 255) * (b >> i & 255);
    }
    return sum;
}
static inline uint32_t hr_load_late(uint64_t address) {
    return *(const uint32_t *)address;
}
static inline void hr_prefetch(uint64_t) {}

#endif
