/* Converting numbers, to the bit as the host does. SPDX-License-Identifier: Apache-2.0
 *
 * In registers a number is 64 bits: an integer extended by its sign or by zeros, or the
 * bits of a float. Up to four numbers go through a step together. */
#ifndef HR_CUDA_STORE_CONVERT_CUH
#define HR_CUDA_STORE_CONVERT_CUH

#include "kernel_abi.h"
#include "simt.h"
#include "store_float.cuh"

#define HR_K_GROUP 4

/* The same for every number x[i] of a group. */
#define EACH(expression)                                                                 \
    do {                                                                                 \
        HR_UNROLL                                                                        \
        for (uint32_t i = 0; i < HR_K_GROUP; i++) {                                      \
            x[i] = (uint64_t)(expression);                                               \
        }                                                                                \
    } while (0)

/* The same, one after the other: for what takes many registers. */
#define EACH_IN_TURN(expression)                                                         \
    do {                                                                                 \
        constexpr uint32_t i = 0;                                                        \
        HR_NO_UNROLL                                                                     \
        for (uint32_t turn = 0; turn < HR_K_GROUP; turn++) {                             \
            const uint64_t result = (uint64_t)(expression);                              \
            x[0] = x[1];                                                                 \
            x[1] = x[2];                                                                 \
            x[2] = x[3];                                                                 \
            x[3] = result;                                                               \
        }                                                                                \
    } while (0)

/* --- numbers --- */

static __device__ __forceinline__ bool is_integer(uint32_t number) {
    return number <= HR_K_U64;
}

static __device__ __forceinline__ bool is_double(uint32_t number) {
    return number == HR_K_F64 || number == HR_K_C128;
}

/* Any float but a double, as float, and back. */
static __device__ __forceinline__ void to_float(uint32_t number, uint64_t *x) {
    if (number == HR_K_F16) {
        EACH(half_to_float(x[i]));
    } else if (number == HR_K_BF16) {
        EACH(x[i] << 16);
    }
}

static __device__ __forceinline__ void from_float(uint32_t number, uint64_t *x) {
    if (number == HR_K_F16) {
        EACH(float_to_half(x[i]));
    } else if (number == HR_K_BF16) {
        EACH(float_to_bfloat(x[i]));
    }
}

/* Integers modulo 2^bits. */
static __device__ __forceinline__ void extend(uint32_t number, uint64_t *x) {
    switch (number) {
    case HR_K_I8:
        EACH((int8_t)x[i]);
        break;
    case HR_K_I16:
        EACH((int16_t)x[i]);
        break;
    case HR_K_I32:
        EACH((int32_t)x[i]);
        break;
    case HR_K_U8:
        EACH((uint8_t)x[i]);
        break;
    case HR_K_U16:
        EACH((uint16_t)x[i]);
        break;
    case HR_K_U32:
        EACH((uint32_t)x[i]);
        break;
    default:
        break;
    }
}

/* Saturating; NaN gives 0. */
static __device__ __forceinline__ uint64_t double_to_integer(uint32_t number, double v) {
    const bool is_signed = number <= HR_K_I64;
    const uint32_t nbits = 8U << ((number - HR_K_I8) & 3);
    const double past = as_double((uint64_t)(1023 + nbits - is_signed) << 52);
    const double lowest = is_signed ? -past : 0;
    if (v >= past) {
        return ~(uint64_t)0 >> (64 - nbits + is_signed);
    }
    if (v > lowest) {
        return number == HR_K_U64 ? (uint64_t)v : (uint64_t)(int64_t)v;
    }
    return v <= lowest && is_signed ? ~(uint64_t)0 << (nbits - 1) : 0;
}

static __device__ __forceinline__ void cast_to_bool(uint32_t from, uint64_t *x) {
    const uint64_t but_the_sign = is_integer(from)  ? ~(uint64_t)0
                                  : is_double(from) ? 0x7FFFFFFFFFFFFFFF
                                  : from < HR_K_F32 ? 0x7FFF
                                                    : 0x7FFFFFFF;
    EACH((x[i] & but_the_sign) != 0);
}

static __device__ __forceinline__ void cast_integers(uint32_t to, uint32_t from,
                                                     uint64_t *x) {
    const bool is_small = from <= HR_K_I32 || from == HR_K_U8 || from == HR_K_U16;
    if (is_integer(to)) {
        extend(to, x);
    } else if (is_double(to)) {
        if (from == HR_K_U64) {
            EACH(double_bits((double)x[i]));
        } else {
            EACH(double_bits((double)(int64_t)x[i]));
        }
    } else {
        if (is_small) { /* much the cheapest */
            EACH(float_bits((float)(int32_t)x[i]));
        } else if (from == HR_K_U64) {
            EACH(float_bits((float)x[i]));
        } else {
            EACH(float_bits((float)(int64_t)x[i]));
        }
        from_float(to, x);
    }
}

/* To another type. */
static __device__ __forceinline__ void cast(uint32_t to, uint32_t from, uint64_t *x) {
    if (to == HR_K_BOOL) {
        cast_to_bool(from, x);
    } else if (is_integer(from)) {
        cast_integers(to, from, x);
    } else if (is_double(from)) {
        if (is_integer(to)) {
            EACH(double_to_integer(to, as_double(x[i])));
        } else if (to == HR_K_F16) {
            EACH(double_to_half(x[i]));
        } else if (!is_double(to)) {
            EACH(double_to_float(x[i]));
            from_float(to, x);
        }
    } else {
        to_float(from, x);
        if (is_integer(to)) {
            EACH(double_to_integer(to, (double)as_float(x[i])));
        } else if (is_double(to)) {
            EACH(float_to_double(x[i]));
        } else {
            from_float(to, x);
        }
    }
}

/* The NaN of an operation on numbers, as x86 makes it; processors do not agree. */
static __device__ __forceinline__ uint64_t made_double(double r) {
    return is_nan64(double_bits(r)) ? (uint64_t)0xFFF8 << 48 : double_bits(r);
}

static __device__ __forceinline__ uint64_t made_float(float r) {
    return is_nan32(float_bits(r)) ? 0xFFC00000 : float_bits(r);
}

/* x / a + b or x · a + b; a NaN stays what it is. */
static __device__ __forceinline__ uint64_t scale_double(const hr_k_step &s, uint64_t x) {
    double v = as_double(x), a = as_double(s.a);
    double r = s.code == HR_K_DIV_ADD ? v / a : v * a;
    return is_nan64(x) ? x | (uint64_t)1 << 51 : made_double(r + as_double(s.b));
}

static __device__ __forceinline__ uint64_t multiply(const hr_k_step &s, uint64_t x) {
    float v = as_float(x), a = as_float(s.a);
    float r = s.code == HR_K_DIV_ADD ? v / a : v * a;
    return is_nan32(x) ? x | 0x400000 : made_float(r);
}

static __device__ __forceinline__ uint64_t add(const hr_k_step &s, uint64_t x) {
    return is_nan32(x) ? x : made_float(as_float(x) + as_float(s.b));
}

static __device__ __forceinline__ void scale(const hr_k_step &s, uint64_t *x) {
    if (is_double(s.number)) {
        EACH_IN_TURN(scale_double(s, x[i]));
        return;
    }
    to_float(s.number, x);
    EACH_IN_TURN(multiply(s, x[i]));
    from_float(s.number, x);
    to_float(s.number, x);
    EACH(add(s, x[i]));
    from_float(s.number, x);
}

/* A bit for each number that equals a. */
static __device__ __forceinline__ uint32_t find_equal(uint32_t number,
                                                      const uint64_t *all, uint64_t a) {
    uint64_t x[HR_K_GROUP + 1] = {all[0], all[1], all[2], all[3], a};
    uint32_t found = 0;
    if (number == HR_K_F16 || number == HR_K_BF16) {
        to_float(number, x);
        x[HR_K_GROUP] = number == HR_K_F16 ? half_to_float(a) : a << 16;
    }
    a = x[HR_K_GROUP];
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_GROUP; i++) {
        bool equal = x[i] == a;
        if (is_double(number)) {
            equal = is_nan64(x[i]) ? is_nan64(a) : as_double(x[i]) == as_double(a);
        } else if (!is_integer(number)) {
            equal = is_nan32(x[i]) ? is_nan32(a) : as_float(x[i]) == as_float(a);
        }
        found |= (uint32_t)equal << i;
    }
    return found;
}

/* --- slots --- */

/* The numbers in a slot; of complex ones the real part. */
static __device__ __forceinline__ void unpack(uint32_t from, bool either_part,
                                              const hr_u128 &slot, uint64_t *x) {
    const uint32_t *w = slot.word;
    const uint64_t low = w[0] | (uint64_t)w[1] << 32;
    const uint64_t high = w[2] | (uint64_t)w[3] << 32;
    switch (from) {
    case HR_K_BOOL:
        EACH((w[0] >> 8 * i & 0xFF) != 0);
        break;
    case HR_K_I8:
    case HR_K_U8:
        EACH(w[0] >> 8 * i & 0xFF);
        break;
    case HR_K_I16:
    case HR_K_U16:
    case HR_K_F16:
    case HR_K_BF16:
        EACH(w[i / 2] >> i % 2 * 16 & 0xFFFF);
        break;
    case HR_K_I32:
    case HR_K_U32:
    case HR_K_F32:
        EACH(w[i]);
        break;
    case HR_K_C64:
        EACH(i == 0 ? w[0] : w[2]);
        if (either_part) {
            EACH(as_float(x[i]) != 0 ? x[i] : i == 0 ? w[1] : w[3]);
        }
        break;
    case HR_K_C128:
        EACH(either_part && as_double(low) == 0 ? high : low);
        break;
    default:
        EACH(i == 0 ? low : high);
    }
    extend(from, x);
}

static __device__ __forceinline__ void pack(uint32_t to, const uint64_t *x,
                                            hr_u128 *slot) {
    uint32_t *w = slot->word;
    uint32_t low[HR_K_GROUP];
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_GROUP; i++) {
        low[i] = (uint32_t)x[i];
    }
    switch (to) {
    case HR_K_BOOL:
    case HR_K_I8:
    case HR_K_U8:
        w[0] =
            (low[0] & 0xFF) | (low[1] & 0xFF) << 8 | (low[2] & 0xFF) << 16 | low[3] << 24;
        break;
    case HR_K_I16:
    case HR_K_U16:
    case HR_K_F16:
    case HR_K_BF16:
        w[0] = (low[0] & 0xFFFF) | low[1] << 16;
        w[1] = (low[2] & 0xFFFF) | low[3] << 16;
        break;
    case HR_K_I32:
    case HR_K_U32:
    case HR_K_F32:
        w[0] = low[0];
        w[1] = low[1];
        w[2] = low[2];
        w[3] = low[3];
        break;
    case HR_K_C64:
        w[0] = low[0];
        w[1] = 0;
        w[2] = low[1];
        w[3] = 0;
        break;
    default:
        w[0] = low[0];
        w[1] = (uint32_t)(x[0] >> 32);
        w[2] = to == HR_K_C128 ? 0 : low[1];
        w[3] = to == HR_K_C128 ? 0 : (uint32_t)(x[1] >> 32);
    }
}

/* All steps of a task, for the numbers of one slot, or of two. */
static __device__ __forceinline__ void convert(const hr_k_store_task &t, hr_u128 *slots) {
    uint64_t x[HR_K_GROUP];
    uint32_t marked = 0, number = t.from;
    const uint32_t nsteps = t.nsteps;
    const bool by_pairs = t.by_pairs != 0;
    unpack(number, t.either_part, slots[0], x);
    if (by_pairs) {
        uint64_t y[HR_K_GROUP];
        unpack(number, t.either_part, slots[1], y);
        x[2] = y[0];
        x[3] = y[1];
    }
    HR_NO_UNROLL
    for (uint32_t k = 0; k < nsteps; k++) {
        const hr_k_step s = t.steps[k];
        switch (s.code) {
        case HR_K_CAST:
            cast(s.number, number, x);
            break;
        case HR_K_MARK:
            marked |= find_equal(number, x, s.a);
            break;
        case HR_K_REPLACE:
            EACH(marked >> i & 1 ? s.a : x[i]);
            marked = 0;
            break;
        default:
            scale(s, x);
        }
        number = s.number;
    }
    pack(t.to, x, &slots[0]);
    if (by_pairs) {
        x[0] = x[2];
        x[1] = x[3];
        pack(t.to, x, &slots[1]);
    }
}

/* --- direct casts --- */

template <uint32_t FROM, uint32_t TO>
static __device__ __forceinline__ void cast_slots(hr_u128 *slots) {
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        uint64_t x[HR_K_GROUP];
        unpack(FROM, false, slots[i], x);
        cast(TO, FROM, x);
        pack(TO, x, &slots[i]);
    }
}

/* All slots of a thread. */
static __device__ __forceinline__ void cast_directly(uint32_t direct, hr_u128 *slots) {
#define CAST_DIRECTLY(from, to)                                                          \
    case HR_K_DIRECT_##from##_##to:                                                      \
        cast_slots<HR_K_##from, HR_K_##to>(slots);                                       \
        break;
    switch (direct) { HR_K_DIRECT_CASTS(CAST_DIRECTLY) }
#undef CAST_DIRECTLY
}

#endif
