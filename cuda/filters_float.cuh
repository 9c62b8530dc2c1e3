/* Running sums of floats. SPDX-License-Identifier: Apache-2.0
 *
 * Each sum is rounded, so they are made one after the other, by one thread for each part
 * of a number; its block brings it the items. A sum that is NaN stays that NaN. */
#ifndef HR_CUDA_FILTERS_FLOAT_CUH
#define HR_CUDA_FILTERS_FLOAT_CUH

#include "filters_slot.cuh"
#include "store_float.cuh"

struct hr_sum_f16 {
    typedef uint16_t Bits;
    typedef float Value;
    static constexpr Bits INFINITE = 0x7C00, QUIET = 0x200, NO_NUMBER = 0xFE00;
    static __device__ __forceinline__ Value value(Bits x) {
        return as_float(half_to_float(x));
    }
    static __device__ __forceinline__ Bits bits(Value x) {
        return (Bits)float_to_half(float_bits(x));
    }
};

struct hr_sum_bf16 {
    typedef uint16_t Bits;
    typedef float Value;
    static constexpr Bits INFINITE = 0x7F80, QUIET = 0x40, NO_NUMBER = 0xFFC0;
    static __device__ __forceinline__ Value value(Bits x) {
        return as_float((uint32_t)x << 16);
    }
    static __device__ __forceinline__ Bits bits(Value x) {
        return (Bits)float_to_bfloat(float_bits(x));
    }
};

struct hr_sum_f32 {
    typedef uint32_t Bits;
    typedef float Value;
    static constexpr Bits INFINITE = 0x7F800000, QUIET = 0x400000, NO_NUMBER = 0xFFC00000;
    static __device__ __forceinline__ Value value(Bits x) {
        return as_float(x);
    }
    static __device__ __forceinline__ Bits bits(Value x) {
        return (Bits)float_bits(x);
    }
};

struct hr_sum_f64 {
    typedef uint64_t Bits;
    typedef double Value;
    static constexpr Bits INFINITE = (Bits)0x7FF0 << 48, QUIET = (Bits)1 << 51,
                          NO_NUMBER = (Bits)0xFFF8 << 48;
    static __device__ __forceinline__ Value value(Bits x) {
        return as_double(x);
    }
    static __device__ __forceinline__ Bits bits(Value x) {
        return double_bits(x);
    }
};

template <class F> static __device__ __forceinline__ bool is_nan(typename F::Bits x) {
    constexpr typename F::Bits MAGNITUDE =
        (typename F::Bits)(F::INFINITE | (F::INFINITE - 1));
    return (x & MAGNITUDE) > F::INFINITE;
}

/* Where one of three is a NaN, what the host makes of it. */
template <class F>
static __device__ __forceinline__ typename F::Bits add_nan(typename F::Bits a,
                                                           typename F::Bits b) {
    return is_nan<F>(a)   ? (typename F::Bits)(a | F::QUIET)
           : is_nan<F>(b) ? (typename F::Bits)(b | F::QUIET)
                          : F::NO_NUMBER;
}

template <class F>
static __device__ __forceinline__ typename F::Bits add_bits(typename F::Bits a,
                                                            typename F::Bits b) {
    const typename F::Bits sum = F::bits(F::value(a) + F::value(b));
    return is_nan<F>(sum) ? add_nan<F>(a, b) : sum;
}

template <class Bits>
static __device__ __forceinline__ void take_four(const Bits *x, uint32_t step,
                                                 Bits *four) {
    HR_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        four[k] = x[k * step];
    }
}

/* n numbers, `step` apart, from the block's shared memory, four at a time, the next four
 * under way meanwhile. NaNs, which stay, are looked for at the end of four. */
template <class F>
static __device__ __forceinline__ typename F::Bits
sum_chain(typename F::Bits *x, uint32_t n, uint32_t step, typename F::Bits sum) {
    typedef typename F::Bits Bits;
    Bits four[4], next[4] = {};
    uint32_t i = 0;
    if (n >= 4) {
        take_four(x, step, next);
    }
    HR_NO_UNROLL
    for (; i + 4 <= n; i += 4) {
        Bits sums[5] = {sum};
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            four[k] = next[k];
        }
        if (i + 8 <= n) {
            take_four(x + (i + 4) * step, step, next);
        }
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            sums[k + 1] = F::bits(F::value(sums[k]) + F::value(four[k]));
        }
        if (is_nan<F>(sums[4])) {
            HR_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                sums[k + 1] = add_bits<F>(sums[k], four[k]);
            }
        }
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            x[(i + k) * step] = sums[k + 1];
        }
        sum = sums[4];
    }
    HR_NO_UNROLL
    for (; i < n; i++) {
        sum = add_bits<F>(sum, x[i * step]);
        x[i * step] = sum;
    }
    return sum;
}

/* Items of NPARTS numbers, which are summed apart. */
template <class F, uint32_t NPARTS>
static __device__ __forceinline__ void sum_floats(const hr_k_filter_task &t) {
    typedef typename F::Bits Bits;
    constexpr uint32_t TURN_NBYTES = HR_K_SUM_THREADS * 16;
    constexpr uint32_t TURN_NITEMS = TURN_NBYTES / (sizeof(Bits) * NPARTS);
    const uint64_t end = t.dst + t.nitems * sizeof(Bits) * NPARTS;
    hr_u128 *own = (hr_u128 *)hr_shared() + threadIdx.x;
    Bits sum = 0;
    uint64_t at = t.dst + threadIdx.x * 16, left = t.nitems;
    HR_NO_UNROLL
    for (uint64_t turn = t.dst; turn < end; turn += TURN_NBYTES) {
        *own = load_slot(at, end);
        __syncthreads();
        if (threadIdx.x < NPARTS) {
            Bits *x = (Bits *)hr_shared() + threadIdx.x;
            const uint32_t n = left < TURN_NITEMS ? (uint32_t)left : TURN_NITEMS;
            const uint32_t first = turn == t.dst ? 1 : 0; /* the first stands as it is */
            sum = sum_chain<F>(x + first * NPARTS, n - first, NPARTS,
                               first != 0 ? x[0] : sum);
        }
        __syncthreads();
        store_slot(at, end, *own);
        at += TURN_NBYTES;
        left -= TURN_NITEMS;
    }
}

#endif
