/* Filters whose items may have no value: integers scaled, casts with a say in rounding
 * and range. SPDX-License-Identifier: Apache-2.0
 *
 * To the same bits as codec/scale.c and codec/cast.c. */
#ifndef HR_CUDA_FILTERS_EXACT_CUH
#define HR_CUDA_FILTERS_EXACT_CUH

#include "filters_slot.cuh"
#include "store_float.cuh"

static __device__ __forceinline__ bool is_signed_number(uint32_t number) {
    return number <= HR_K_I64;
}

static __device__ __forceinline__ bool is_whole_number(uint32_t number) {
    return number <= HR_K_U64;
}

static __device__ __forceinline__ uint32_t count_leading_zeros(uint64_t x) {
    const uint32_t high = (uint32_t)(x >> 32);
    return high != 0 ? (uint32_t)__clz(high) : 32 + (uint32_t)__clz((uint32_t)x);
}

/* --- x / a + b of integers --- */

/* Do 32 bits do for a quotient? They cost much less. */
static __device__ __forceinline__ bool is_narrow(uint32_t spare, int64_t divisor) {
    return spare >= 32 && (int64_t)(int32_t)divisor == divisor;
}

static __device__ __forceinline__ bool scale_signed(uint64_t scale, uint64_t offset,
                                                    uint32_t spare, uint64_t *x) {
    const int64_t a = (int64_t)scale, lowest = (int64_t)((uint64_t)1 << 63);
    const int64_t item = (int64_t)(*x << spare) >> spare;
    const bool fits = a != -1 || item != lowest;
    const int64_t quotient = a == 1                ? item
                             : a == -1             ? fits ? -item : 0
                             : is_narrow(spare, a) ? (int32_t)item / (int32_t)a
                                                   : item / a;
    const uint64_t sum = (uint64_t)quotient + offset;
    const bool wraps = ((((uint64_t)quotient ^ sum) & (offset ^ sum)) >> 63) != 0;
    const bool is_inside = (int64_t)(sum << spare) >> spare == (int64_t)sum;
    *x = sum;
    return fits && (uint64_t)quotient * scale == (uint64_t)item && !wraps && is_inside;
}

static __device__ __forceinline__ bool scale_unsigned(uint64_t scale, uint64_t offset,
                                                      uint32_t spare, uint64_t *x) {
    const uint64_t quotient = scale == 1 ? *x
                              : spare >= 32 && scale <= UINT32_MAX
                                  ? (uint32_t)*x / (uint32_t)scale
                                  : *x / scale;
    const uint64_t sum = quotient + offset;
    const bool is_exact = quotient * scale == *x && sum >= quotient;
    *x = sum;
    return is_exact && sum <= ~(uint64_t)0 >> spare;
}

/* --- casts --- */

/* (−1)^negative × m × 2^e, or a special value. */
struct hr_parts {
    bool negative, is_infinite, is_nan;
    uint64_t m;
    int e;
};

struct hr_float_format {
    int precision, exponent_bits, bias;
};

static __device__ __forceinline__ void find_format(uint32_t number, hr_float_format *f) {
    f->precision = number == HR_K_F16    ? 11
                   : number == HR_K_BF16 ? 8
                   : number == HR_K_F32  ? 24
                                         : 53;
    f->exponent_bits = number == HR_K_F16 ? 5 : number == HR_K_F64 ? 11 : 8;
    f->bias = (1 << (f->exponent_bits - 1)) - 1;
}

static __device__ __forceinline__ void take_apart(uint32_t number, uint32_t nbytes,
                                                  uint64_t bits, hr_parts *x) {
    *x = {};
    if (is_whole_number(number)) {
        const uint32_t spare = 64 - 8 * nbytes;
        x->negative = is_signed_number(number) && bits >> (8 * nbytes - 1) != 0;
        x->m = x->negative ? (0 - (bits << spare)) >> spare : bits;
    } else {
        hr_float_format f;
        find_format(number, &f);
        const uint64_t fraction = bits & (((uint64_t)1 << (f.precision - 1)) - 1);
        const int mask = (1 << f.exponent_bits) - 1;
        const int exponent = (int)(bits >> (f.precision - 1)) & mask;
        x->negative = (bits >> (f.precision - 1 + f.exponent_bits) & 1) != 0;
        x->is_nan = exponent == mask && fraction != 0;
        x->is_infinite = exponent == mask && fraction == 0;
        if (exponent != mask) {
            x->m = exponent == 0 ? fraction : fraction | (uint64_t)1 << (f.precision - 1);
            x->e = (exponent == 0 ? 1 : exponent) - f.bias - (f.precision - 1);
        }
    }
}

/* m / 2^shift as an integer, shift > 0. */
static __device__ __forceinline__ uint64_t round_shift(const hr_parts &x, int shift,
                                                       uint32_t rounding) {
    const uint64_t quotient = shift > 63 ? 0 : x.m >> shift;
    const uint64_t rest = shift > 63 ? x.m : x.m & (((uint64_t)1 << shift) - 1);
    const uint64_t half = shift > 64 ? 0 : (uint64_t)1 << (shift - 1);
    const bool above = half != 0 && rest > half, tie = half != 0 && rest == half;
    const bool up = rounding == HR_K_NEAREST_EVEN ? above || (tie && (quotient & 1) != 0)
                    : rounding == HR_K_NEAREST_AWAY     ? above || tie
                    : rounding == HR_K_TOWARDS_POSITIVE ? !x.negative && rest != 0
                    : rounding == HR_K_TOWARDS_NEGATIVE ? x.negative && rest != 0
                                                        : false;
    return quotient + (up ? 1 : 0);
}

static __device__ __forceinline__ bool make_integer(const hr_k_filter_task &t,
                                                    const hr_parts &x, uint64_t *out) {
    const uint32_t spare = 64 - 8 * t.nbytes;
    const uint32_t is_signed = is_signed_number(t.number) ? 1 : 0;
    const bool is_huge = x.e > 0 && x.m != 0 && x.e > (int)count_leading_zeros(x.m);
    const uint64_t most = ~(uint64_t)0 >> (spare + is_signed);
    const uint64_t limit = !x.negative ? most : is_signed != 0 ? most + 1 : 0;
    uint64_t magnitude = x.e < 0    ? round_shift(x, -x.e, t.rounding)
                         : x.e > 63 ? 0
                                    : x.m << x.e;
    const bool is_outside = is_huge || magnitude > limit;
    if (is_outside && t.out_of_range == HR_K_RANGE_CLAMP) {
        magnitude = limit;
    }
    *out = x.negative ? 0 - magnitude : magnitude;
    return !x.is_nan && !x.is_infinite &&
           (!is_outside || t.out_of_range != HR_K_RANGE_FAIL);
}

static __device__ __forceinline__ bool make_float(const hr_k_filter_task &t,
                                                  const hr_parts &x, uint64_t *out) {
    hr_float_format f;
    find_format(t.number, &f);
    const uint64_t infinity = (((uint64_t)1 << f.exponent_bits) - 1) << (f.precision - 1);
    uint64_t bits = 0;
    bool has_value = true;
    if (x.is_nan || x.is_infinite) {
        bits = infinity | (x.is_nan ? (uint64_t)1 << (f.precision - 2) : 0);
    } else if (x.m != 0) {
        const int top = x.e + 63 - (int)count_leading_zeros(x.m), smallest = 1 - f.bias;
        const int unit = (top > smallest ? top : smallest) - (f.precision - 1);
        const uint64_t q =
            unit > x.e ? round_shift(x, unit - x.e, t.rounding) : x.m << (x.e - unit);
        const uint64_t field = (uint64_t)(unit + f.precision - 1 + f.bias - 1);
        bits = (field << (f.precision - 1)) + q;
        if (bits >= infinity) {
            bits = infinity;
            has_value = t.out_of_range == HR_K_RANGE_CLAMP;
        }
    }
    if (x.negative) {
        bits |= infinity + ((uint64_t)1 << (f.precision - 1));
    }
    *out = bits;
    return has_value;
}

static __device__ __forceinline__ bool is_same(const hr_parts &x, const hr_parts &y) {
    const bool both_zero = x.m == 0 && y.m == 0 && !x.is_infinite && !y.is_infinite;
    const bool equal = x.negative == y.negative && x.is_infinite == y.is_infinite &&
                       x.m == y.m && x.e == y.e;
    return x.is_nan || y.is_nan ? x.is_nan && y.is_nan : both_zero || equal;
}

/* Any number but a huge one as an integer and what is left of it. */
static __device__ __forceinline__ bool take_whole(uint32_t number, uint32_t nbytes,
                                                  uint64_t bits, int64_t *whole,
                                                  double *rest) {
    *rest = 0;
    if (is_whole_number(number)) {
        const uint32_t spare = is_signed_number(number) ? 64 - 8 * nbytes : 0;
        *whole = (int64_t)(bits << spare) >> spare;
        return is_signed_number(number) || *whole >= 0;
    }
    const double x = number == HR_K_F64    ? as_double(bits)
                     : number == HR_K_BF16 ? (double)as_float(bits << 16)
                     : number == HR_K_F16  ? (double)as_float(half_to_float(bits))
                                           : (double)as_float(bits);
    if (!(x > -0x1p62 && x < 0x1p62)) {
        return false;
    }
    *whole = (int64_t)x;
    *rest = x - (double)*whole;
    return true;
}

/* To an integer whose type has it. Most are: the others take the long way. */
static __device__ __forceinline__ bool cast_inside(const hr_k_filter_task &t,
                                                   uint32_t from_nbytes, uint64_t *bits) {
    const uint32_t is_signed = is_signed_number(t.number) ? 1 : 0,
                   spare = 64 - 8 * t.nbytes;
    const int64_t most =
        (int64_t)(~(uint64_t)0 >> 1 >> (spare > 0 ? spare - 1 + is_signed : 0));
    int64_t x;
    double rest;
    if (!take_whole(t.from, from_nbytes, *bits, &x, &rest)) {
        return false;
    }
    const double size = rest < 0 ? -rest : rest;
    const bool away = t.rounding == HR_K_NEAREST_EVEN
                          ? size > 0.5 || (size == 0.5 && (x & 1) != 0)
                      : t.rounding == HR_K_NEAREST_AWAY     ? size >= 0.5
                      : t.rounding == HR_K_TOWARDS_POSITIVE ? rest > 0
                      : t.rounding == HR_K_TOWARDS_NEGATIVE ? rest < 0
                                                            : false;
    x += !away ? 0 : rest < 0 ? -1 : 1;
    if (x > most || x < (is_signed != 0 ? -most - 1 : 0)) {
        return false;
    }
    *bits = (uint64_t)x;
    return true;
}

static __device__ __forceinline__ bool cast_item(const hr_k_filter_task &t,
                                                 uint32_t from_nbytes, uint64_t *bits) {
    if (t.nmapped == 0 && is_whole_number(t.number) &&
        cast_inside(t, from_nbytes, bits)) {
        return true;
    }
    hr_parts x;
    take_apart(t.from, from_nbytes, *bits, &x);
    HR_NO_UNROLL
    for (uint32_t i = 0; i < t.nmapped; i++) {
        hr_parts y;
        take_apart(t.from, from_nbytes, t.mapped[i][0], &y);
        if (is_same(x, y)) {
            *bits = t.mapped[i][1];
            return true;
        }
    }
    return is_whole_number(t.number) ? make_integer(t, x, bits) : make_float(t, x, bits);
}

/* --- both --- */

static __device__ __forceinline__ bool filter_item(const hr_k_filter_task &t,
                                                   uint64_t *x) {
    const uint32_t spare = 64 - t.width;
    if (t.kind == HR_K_FILTER_CAST) {
        return cast_item(t, t.width / 8, x);
    }
    return is_signed_number(t.number) ? scale_signed(t.a, t.b, spare, x)
                                      : scale_unsigned(t.a, t.b, spare, x);
}

template <class Item, uint32_t N>
static __device__ __forceinline__ void load_as(const hr_k_filter_task &t, uint64_t first,
                                               uint64_t *x) {
    HR_UNROLL
    for (uint32_t i = 0; i < N; i++) {
        const uint64_t k = first + i < t.nitems ? first + i : t.nitems - 1;
        x[i] = *hr_global<const Item>(t.src + k * sizeof(Item));
    }
}

/* N items under way together; behind the last one it stands for the others. */
template <uint32_t N>
static __device__ __forceinline__ void load_items(const hr_k_filter_task &t,
                                                  uint64_t first, uint64_t *x) {
    switch (t.width) {
    case 8:
        load_as<uint8_t, N>(t, first, x);
        break;
    case 16:
        load_as<uint16_t, N>(t, first, x);
        break;
    case 32:
        load_as<uint32_t, N>(t, first, x);
        break;
    default:
        load_as<uint64_t, N>(t, first, x);
    }
}

/* Slots are filled from above: what is there moves down. */
template <uint32_t NBYTES, uint32_t N>
static __device__ __forceinline__ void push_items(const uint64_t *x, hr_u128 *slot) {
    constexpr uint32_t NWORDS = N * NBYTES / 4;
    uint32_t *w = slot->word;
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        w[i] = i + NWORDS < 4 ? w[(i + NWORDS) % 4] : 0;
    }
    HR_UNROLL
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t at = 4 - NWORDS + i * NBYTES / 4;
        if constexpr (NBYTES == 8) {
            w[at] = (uint32_t)x[i];
            w[at + 1] = (uint32_t)(x[i] >> 32);
        } else {
            const uint32_t item = (uint32_t)x[i] & 0xFFFFFFFF >> (32 - 8 * NBYTES);
            w[at] |= item << i * NBYTES % 4 * 8;
        }
    }
}

/* The items of one slot from `first` on. A bad one leaves its number in the status. */
template <uint32_t NBYTES>
static __device__ __forceinline__ hr_u128 filter_slot(const hr_k_filter &p,
                                                      const hr_k_filter_task &t,
                                                      uint64_t first) {
    constexpr uint32_t N = 16 / NBYTES, GROUP = N < 4 ? N : 4;
    hr_u128 slot = {};
    HR_NO_UNROLL
    for (uint32_t at = 0; at < N; at += GROUP) {
        uint64_t x[GROUP];
        load_items<GROUP>(t, first + at, x);
        HR_NO_UNROLL
        for (uint32_t i = 0; i < GROUP; i++) {
            const bool is_right = filter_item(t, &x[0]);
            const uint64_t done = is_right ? x[0] : 0;
            if (!is_right && first + at + i < t.nitems) {
                uint64_t *status = (uint64_t *)p.status + t.status_index;
                (void)hr_atomic_max(status, (uint64_t)HR_K_NO_VALUE << 32 |
                                                ((first + at + i) & 0xFFFFFFFF));
            }
            HR_UNROLL
            for (uint32_t k = 0; k + 1 < GROUP; k++) {
                x[k] = x[k + 1];
            }
            x[GROUP - 1] = done;
        }
        push_items<NBYTES, GROUP>(x, &slot);
    }
    return slot;
}

static __device__ __forceinline__ hr_u128 filter_items(const hr_k_filter &p,
                                                       const hr_k_filter_task &t,
                                                       uint64_t first) {
    switch (t.nbytes) {
    case 1:
        return filter_slot<1>(p, t, first);
    case 2:
        return filter_slot<2>(p, t, first);
    case 4:
        return filter_slot<4>(p, t, first);
    default:
        return filter_slot<8>(p, t, first);
    }
}

#endif
