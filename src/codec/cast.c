/* Casts of single numbers, by way of sign, integer and exponent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codec/cast.h"

#include <string.h>

#include "core/dtype.h"

/* A number as (−1)^negative × m × 2^e, or one of the special values. */
typedef struct number {
    bool negative, is_infinite, is_nan;
    uint64_t m;
    int e;
} number;

/* A binary floating format: sign, exponent, precision − 1 bits of fraction. */
typedef struct format {
    int precision, exponent_bits;
} format;

static format format_of(const hr_dtype *type) {
    if (type->kind == HR_KIND_BFLOAT) {
        return (format){8, 8};
    }
    return type->itemsize == 2   ? (format){11, 5}
           : type->itemsize == 4 ? (format){24, 8}
                                 : (format){53, 11};
}

static int bias(format f) {
    return (1 << (f.exponent_bits - 1)) - 1;
}

static int bits_of(const hr_dtype *type) {
    return (int)type->itemsize * 8;
}

static number load_float(format f, uint64_t bits) {
    uint64_t fraction = bits & ((1ULL << (f.precision - 1)) - 1);
    int mask = (1 << f.exponent_bits) - 1;
    int exponent = (int)(bits >> (f.precision - 1)) & mask;
    number x = {.negative = bits >> (f.precision - 1 + f.exponent_bits) & 1};
    if (exponent == mask) {
        x.is_nan = fraction != 0;
        x.is_infinite = fraction == 0;
        return x;
    }
    x.m = exponent == 0 ? fraction : fraction | 1ULL << (f.precision - 1);
    x.e = (exponent == 0 ? 1 : exponent) - bias(f) - (f.precision - 1);
    return x;
}

static number load(const hr_dtype *type, const uint8_t *item) {
    uint64_t bits = 0;
    memcpy(&bits, item, type->itemsize);
    if (!hr__dtype_is_integer(type)) {
        return load_float(format_of(type), bits);
    }
    int spare = 64 - bits_of(type);
    bool negative = type->kind == HR_KIND_INT && bits >> (bits_of(type) - 1) != 0;
    if (negative) {
        bits = -(bits << spare) >> spare;
    }
    return (number){.negative = negative, .m = bits};
}

/* m / 2^shift as an integer, shift > 0. */
static uint64_t round_shift(const number *x, int shift, hr__rounding rounding) {
    uint64_t quotient = shift > 63 ? 0 : x->m >> shift;
    uint64_t rest = shift > 63 ? x->m : x->m & ((1ULL << shift) - 1);
    uint64_t half = shift > 64 ? 0 : 1ULL << (shift - 1); /* 0: more than any rest */
    bool above = half != 0 && rest > half, tie = half != 0 && rest == half;
    bool up = false;
    switch (rounding) {
    case HR__NEAREST_EVEN:
        up = above || (tie && (quotient & 1) != 0);
        break;
    case HR__NEAREST_AWAY:
        up = above || tie;
        break;
    case HR__TOWARDS_POSITIVE:
        up = !x->negative && rest != 0;
        break;
    case HR__TOWARDS_NEGATIVE:
        up = x->negative && rest != 0;
        break;
    case HR__TOWARDS_ZERO:
        break;
    }
    return quotient + up;
}

/* The magnitude as an integer, its lowest 64 bits where there are more. */
static uint64_t to_magnitude(const number *x, hr__rounding rounding, bool *is_huge) {
    *is_huge = false;
    if (x->e < 0) {
        return round_shift(x, -x->e, rounding);
    }
    *is_huge = x->m != 0 && x->e > __builtin_clzll(x->m);
    return x->e > 63 ? 0 : x->m << x->e;
}

static bool store_integer(const hr__cast *c, const number *x, uint8_t *to) {
    int spare = 64 - bits_of(&c->to);
    bool is_signed = c->to.kind == HR_KIND_INT, is_huge;
    if (x->is_nan || x->is_infinite) {
        return false;
    }
    uint64_t magnitude = to_magnitude(x, c->rounding, &is_huge);
    uint64_t most = UINT64_MAX >> (spare + is_signed);
    uint64_t limit = !x->negative ? most : is_signed ? most + 1 : 0;
    if (is_huge || magnitude > limit) {
        if (c->out_of_range == HR__RANGE_FAIL) {
            return false;
        }
        magnitude = c->out_of_range == HR__RANGE_CLAMP ? limit : magnitude;
    }
    uint64_t bits = x->negative ? -magnitude : magnitude;
    memcpy(to, &bits, c->to.itemsize);
    return true;
}

static bool store_float(const hr__cast *c, const number *x, uint8_t *to) {
    format f = format_of(&c->to);
    uint64_t infinity = ((1ULL << f.exponent_bits) - 1) << (f.precision - 1);
    uint64_t bits = 0;
    if (x->is_nan || x->is_infinite) {
        bits = infinity | (x->is_nan ? 1ULL << (f.precision - 2) : 0);
    } else if (x->m != 0) {
        int top = x->e + 63 - __builtin_clzll(x->m), smallest = 1 - bias(f);
        int unit = (top > smallest ? top : smallest) - (f.precision - 1);
        uint64_t q = unit > x->e ? round_shift(x, unit - x->e, c->rounding)
                                 : x->m << (x->e - unit);
        /* adding the fraction carries into the exponent where rounding made it longer */
        uint64_t field = (uint64_t)(unit + f.precision - 1 + bias(f) - 1);
        bits = (field << (f.precision - 1)) + q;
        if (bits >= infinity) {
            if (c->out_of_range != HR__RANGE_CLAMP) {
                return false;
            }
            bits = infinity;
        }
    }
    if (x->negative) {
        bits |= infinity + (1ULL << (f.precision - 1)); /* the bit above the exponent */
    }
    memcpy(to, &bits, c->to.itemsize);
    return true;
}

bool hr__cast_item(const hr__cast *c, uint8_t *to, const uint8_t *from) {
    number x = load(&c->from, from);
    return hr__dtype_is_integer(&c->to) ? store_integer(c, &x, to)
                                        : store_float(c, &x, to);
}

bool hr__cast_is_exact(const hr__cast *c) {
    bool from_signed = c->from.kind == HR_KIND_INT, to_signed = c->to.kind == HR_KIND_INT;
    int magnitude = bits_of(&c->from) - from_signed;
    if (hr__dtype_is_integer(&c->from) && hr__dtype_is_integer(&c->to)) {
        return (to_signed || !from_signed) && magnitude <= bits_of(&c->to) - to_signed;
    }
    if (hr__dtype_is_integer(&c->to)) {
        return false;
    }
    format to = format_of(&c->to);
    if (hr__dtype_is_integer(&c->from)) {
        return magnitude <= to.precision && magnitude <= bias(to);
    }
    format from = format_of(&c->from);
    return from.precision <= to.precision && from.exponent_bits <= to.exponent_bits;
}

bool hr__cast_same(const hr_dtype *type, const uint8_t *a, const uint8_t *b) {
    number x = load(type, a), y = load(type, b);
    if (x.is_nan || y.is_nan) {
        return x.is_nan && y.is_nan;
    }
    bool both_zero = x.m == 0 && y.m == 0 && !x.is_infinite && !y.is_infinite;
    return both_zero || (x.negative == y.negative && x.is_infinite == y.is_infinite &&
                         x.m == y.m && x.e == y.e);
}
