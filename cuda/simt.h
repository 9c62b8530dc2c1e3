/* The words kernels are written in: CUDA's under nvcc, a host's otherwise.
 * SPDX-License-Identifier: Apache-2.0
 *
 * On the host the same file compiles as C++. hr_simt_run calls the kernel once for each
 * thread, one after the other; hr_simt_run_lanes runs kernels whose threads wait for each
 * other. Blocks and threads come in an order drawn from a seed, so a kernel may not lean
 * on an order, nor on threads running in lockstep. */
#ifndef HR_CUDA_SIMT_H
#define HR_CUDA_SIMT_H

#include <stdint.h>

/* 16 bytes that move in one access. */
struct alignas(16) hr_u128 {
    uint32_t word[4];
};

/* Eight that do. */
struct alignas(8) hr_pair {
    uint32_t low, high;
};

#ifdef __CUDACC__

/* What a multiprocessor can hold. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HR_MOST_BLOCKS 16
#define HR_MOST_THREADS 1024
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900
#define HR_MOST_BLOCKS 16
#define HR_MOST_THREADS 1536
#else
#define HR_MOST_BLOCKS 32
#define HR_MOST_THREADS 2048
#endif

#define HR_UNROLL _Pragma("unroll")
#define HR_NO_UNROLL _Pragma("unroll 1")
#define HR_NO_INLINE __noinline__

/* An address in device memory: the compiler need not ask which memory it is. */
template <class T> static __device__ __forceinline__ T *hr_global(uint64_t address) {
    return (T *)__cvta_global_to_generic(address);
}

/* Where a thread waits: told on the host only. */
struct hr_site {
    static __device__ __forceinline__ hr_site here() {
        return {};
    }
};

/* The dynamic shared memory. */
static __device__ __forceinline__ uint8_t *hr_shared() {
    extern __shared__ hr_u128 hr_shared_memory[];
    return (uint8_t *)hr_shared_memory;
}

/* For functions that pass on where they are called from. */
static __device__ __forceinline__ void hr_sync_warp(hr_site) {
    __syncwarp();
}
static __device__ __forceinline__ void hr_sync_block(hr_site) {
    __syncthreads();
}

/* Barriers 1 … 15 of a block, each for the number of threads that all its users give. */
static __device__ __forceinline__ void
hr_barrier_sync(uint32_t barrier, uint32_t nthreads, hr_site = hr_site::here()) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(nthreads) : "memory");
}
static __device__ __forceinline__ void hr_barrier_arrive(uint32_t barrier,
                                                         uint32_t nthreads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(nthreads) : "memory");
}

/* Of all lanes of the warp. */
static __device__ __forceinline__ uint32_t hr_warp_sum(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFF, value);
#else
    HR_UNROLL
    for (uint32_t d = 16; d > 0; d >>= 1) {
        value += __shfl_xor_sync(0xFFFFFFFF, value, d);
    }
    return value;
#endif
}
static __device__ __forceinline__ uint32_t hr_warp_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xFFFFFFFF, value);
#else
    HR_UNROLL
    for (uint32_t d = 16; d > 0; d >>= 1) {
        value = min(value, __shfl_xor_sync(0xFFFFFFFF, value, d));
    }
    return value;
#endif
}

static __device__ __forceinline__ uint32_t hr_warp_max(uint32_t value) {
    return ~hr_warp_min(~value);
}

/* A kernel that the next one on the stream need not wait for says so; a launch of the
 * next may then be one that does not, and waits before it ends. */
static __device__ __forceinline__ void hr_let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
static __device__ __forceinline__ void hr_wait_for_last() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* If so wanted, 16 aligned bytes to aligned shared memory, there once the thread has
 * waited. No branch. */
static __device__ __forceinline__ void hr_copy_ahead(uint8_t *shared, uint64_t address,
                                                     bool is_wanted) {
#if __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0;\n"
                 "  @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(address), "r"((uint32_t)is_wanted)
                 : "memory");
#else
    if (is_wanted) {
        *(hr_u128 *)shared = *hr_global<const hr_u128>(address);
    }
#endif
}
/* Of those since the last commit, another group; wait for all groups but the last N. */
static __device__ __forceinline__ void hr_copies_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> static __device__ __forceinline__ void hr_copies_wait_but() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
/* By any n: beyond 31 nothing is left. */
static __device__ __forceinline__ uint32_t hr_shift_right_all(uint32_t x, uint32_t n) {
    return __funnelshift_rc(x, 0, n);
}
static __device__ __forceinline__ uint32_t hr_shift_left_all(uint32_t x, uint32_t n) {
    return __funnelshift_lc(0, x, n);
}
static __device__ __forceinline__ void hr_copies_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

static __device__ __forceinline__ uint64_t hr_atomic_max(uint64_t *at, uint64_t value) {
    return atomicMax((unsigned long long *)at, (unsigned long long)value);
}

/* A 32-bit name of a place in the block's shared memory, and loads by it. */
static __device__ __forceinline__ uint32_t hr_shared_name(const void *place) {
    return (uint32_t)__cvta_generic_to_shared(place);
}
static __device__ __forceinline__ uint32_t hr_load_named(uint32_t name) {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(name) : "memory");
    return word;
}
static __device__ __forceinline__ void hr_store_named(uint32_t name, uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(name), "r"(word) : "memory");
}
static __device__ __forceinline__ void hr_store_named_u8(uint32_t name, uint32_t byte) {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(name), "r"(byte) : "memory");
}
static __device__ __forceinline__ void hr_set_named(uint32_t name, uint32_t bits) {
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(name), "r"(bits) : "memory");
}
/* The index-th word, or pair, behind a name. (The compiler would take an instruction
 * more.) */
static __device__ __forceinline__ uint32_t hr_load_named_word(uint32_t name,
                                                              uint32_t index) {
    uint32_t word;
    asm volatile("{ .reg .u32 at; mad.lo.u32 at, %2, 4, %1;\n"
                 "  ld.shared.u32 %0, [at]; }"
                 : "=r"(word)
                 : "r"(name), "r"(index)
                 : "memory");
    return word;
}
static __device__ __forceinline__ hr_pair hr_load_named_pair(uint32_t name,
                                                             uint32_t index) {
    hr_pair pair;
    asm volatile("{ .reg .u32 at; mad.lo.u32 at, %3, 8, %2;\n"
                 "  ld.shared.v2.u32 {%0, %1}, [at]; }"
                 : "=r"(pair.low), "=r"(pair.high)
                 : "r"(name), "r"(index)
                 : "memory");
    return pair;
}

/* The byte at an address in device memory if it is far, else at `near` of the block's
 * dynamic shared memory: one load for either. (Shared memory does not cross a multiple of
 * 4 GiB.) */
static __device__ __forceinline__ uint32_t hr_load_u8_of(const uint8_t *shared,
                                                         uint32_t near, uint64_t address,
                                                         bool is_far) {
    const uint64_t base = (uint64_t)shared;
    const uint32_t low = is_far ? (uint32_t)address : (uint32_t)base + near;
    const uint32_t high = (uint32_t)((is_far ? address : base) >> 32);
    return *(const uint8_t *)((uint64_t)high << 32 | low);
}
/* n bits from the `first` on; the low five bits of n count. */
static __device__ __forceinline__ uint32_t hr_bits(uint32_t first, uint32_t n) {
    uint32_t mask;
    asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(mask) : "r"(first), "r"(n));
    return mask;
}
static __device__ __forceinline__ uint32_t hr_shift_right(uint32_t x, uint32_t n) {
    return __funnelshift_r(x, 0, n);
}
/* The four products of bytes, added to a sum. */
static __device__ __forceinline__ uint32_t hr_dot4(uint32_t a, uint32_t b, uint32_t sum) {
    return __dp4a(a, b, sum);
}
/* What other blocks may change, as it is by now. */
static __device__ __forceinline__ uint32_t hr_load_late(uint64_t address) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(address)
                 : "memory");
    return word;
}
static __device__ __forceinline__ void hr_prefetch(uint64_t address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

#else

#define HR_MOST_BLOCKS 32
#define HR_MOST_THREADS 2048
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define HR_UNROLL
#define HR_NO_UNROLL
#define HR_NO_INLINE __attribute__((noinline))

template <class T> static inline T *hr_global(uint64_t address) {
    return (T *)address;
}

#define HR_SIMT_MAX_THREADS 1024

struct hr_simt_dim3 {
    uint32_t x, y, z;
};

/* Static: the kernels and their runner are one translation unit. */
static thread_local hr_simt_dim3 threadIdx, blockIdx, blockDim, gridDim;

static inline uint64_t hr_simt_random(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15U;
    uint64_t z = (*state ^ (*state >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

/* k -> a number below n, every one once. */
struct hr_simt_order {
    uint64_t n, factor, shift;

    hr_simt_order(uint32_t count, uint64_t *random)
        : n(count), factor(hr_simt_random(random) % n),
          shift(hr_simt_random(random) % n) {
        while (!coprime(factor, n)) {
            factor = (factor + 1) % n;
        }
    }
    static bool coprime(uint64_t a, uint64_t b) {
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        return a == 1;
    }
    uint32_t operator()(uint32_t k) const {
        return (uint32_t)((k * factor + shift) % n);
    }
};

template <class Params>
static void hr_simt_run(void (*kernel)(Params), const Params &params, uint32_t nblocks,
                        uint32_t nthreads, uint64_t seed) {
    gridDim = {nblocks, 1, 1};
    blockDim = {nthreads, 1, 1};
    hr_simt_order block_order(nblocks, &seed);
    for (uint32_t b = 0; b < nblocks; b++) {
        blockIdx = {block_order(b), 0, 0};
        hr_simt_order thread_order(nthreads, &seed);
        for (uint32_t t = 0; t < nthreads; t++) {
            threadIdx = {thread_order(t), 0, 0};
            kernel(params);
        }
    }
}

#include "simt_intrinsics.h"

#endif
#endif
