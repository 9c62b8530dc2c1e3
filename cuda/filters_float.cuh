/* Running sums of floats. SPDX-License-Identifier: Apache-2.0
 *
 * Each sum is rounded, so they are made one after the other, by one thread; its block
 * brings it the items. A sum that is NaN stays that NaN. */
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

/* The numbers of a slot, from `begin` to `end`, in their order. */
template <class F, uint32_t NPARTS>
static __device__ __forceinline__ void
sum_with_care(uint32_t begin, uint32_t end, hr_u128 *slot, typename F::Bits *sums) {
    typedef typename F::Bits Bits;
    constexpr uint32_t N = 16 / sizeof(Bits);
    Bits x[N];
    memcpy(x, slot, sizeof x);
    HR_UNROLL
    for (uint32_t k = 0; k < N; k++) {
        if (k >= begin && k < end) {
            x[k] = add_bits<F>(sums[k % NPARTS], x[k]);
        }
        if (k < end) {
            sums[k % NPARTS] = x[k];
        }
    }
    memcpy(slot, x, sizeof x);
}

/* All of a slot; a NaN, which stays, is looked for at the end. */
template <class F, uint32_t NPARTS>
static __device__ __forceinline__ void sum_slot(hr_u128 *slot, typename F::Bits *sums) {
    typedef typename F::Bits Bits;
    constexpr uint32_t N = 16 / sizeof(Bits);
    Bits x[N], last[NPARTS];
    bool has_nan = false;
    memcpy(x, slot, sizeof x);
    HR_UNROLL
    for (uint32_t p = 0; p < NPARTS; p++) {
        last[p] = sums[p];
    }
    HR_UNROLL
    for (uint32_t k = 0; k < N; k++) {
        x[k] = F::bits(F::value(last[k % NPARTS]) + F::value(x[k]));
        last[k % NPARTS] = x[k];
    }
    HR_UNROLL
    for (uint32_t p = 0; p < NPARTS; p++) {
        has_nan |= is_nan<F>(last[p]);
    }
    if (has_nan) {
        sum_with_care<F, NPARTS>(0, N, slot, sums);
        return;
    }
    memcpy(slot, x, sizeof x);
    HR_UNROLL
    for (uint32_t p = 0; p < NPARTS; p++) {
        sums[p] = last[p];
    }
}

/* n numbers in the block's shared memory, slot by slot. The first item of all stands as
 * it is. */
template <class F, uint32_t NPARTS>
static __device__ __forceinline__ void sum_chain(hr_u128 *slots, uint32_t n,
                                                 bool is_first, typename F::Bits *sums) {
    constexpr uint32_t N = 16 / sizeof(typename F::Bits);
    const uint32_t nslots = n / N;
    uint32_t i = 0;
    if (is_first) {
        sum_with_care<F, NPARTS>(NPARTS, n < N ? n : N, &slots[0], sums);
        i = 1;
    }
    hr_u128 next = slots[i < nslots ? i : 0];
    for (; i < nslots; i++) {
        hr_u128 slot = next;
        next = slots[i + 1 < nslots ? i + 1 : i];
        sum_slot<F, NPARTS>(&slot, sums);
        slots[i] = slot;
    }
    if (i * N < n) {
        sum_with_care<F, NPARTS>(0, n - i * N, &slots[i], sums);
    }
}

/* Items of NPARTS numbers, which are summed apart. */
template <class F, uint32_t NPARTS>
static __device__ __forceinline__ void sum_floats(const hr_k_filter_task &t) {
    typedef typename F::Bits Bits;
    constexpr uint32_t TURN_NBYTES = HR_K_SUM_THREADS * 16;
    constexpr uint32_t TURN_NUMBERS = TURN_NBYTES / sizeof(Bits);
    const uint64_t end = t.dst + t.nitems * sizeof(Bits) * NPARTS;
    hr_u128 *slots = (hr_u128 *)hr_shared();
    Bits sums[NPARTS] = {};
    uint64_t at = t.dst + threadIdx.x * 16, left = t.nitems * NPARTS;
    HR_NO_UNROLL
    for (uint64_t turn = t.dst; turn < end; turn += TURN_NBYTES) {
        slots[threadIdx.x] = load_slot(at, end);
        __syncthreads();
        if (threadIdx.x == 0) {
            const uint32_t n = left < TURN_NUMBERS ? (uint32_t)left : TURN_NUMBERS;
            sum_chain<F, NPARTS>(slots, n, turn == t.dst, sums);
        }
        __syncthreads();
        store_slot(at, end, slots[threadIdx.x]);
        at += TURN_NBYTES;
        left -= TURN_NUMBERS;
    }
}

#endif
