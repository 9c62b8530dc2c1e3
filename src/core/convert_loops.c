/* The loops that conversions are made of. SPDX-License-Identifier: Apache-2.0 */
#include "core/convert_loops.h"

#include <string.h>

#include "core/half.h"

#define LOOP(name, in_type, out_type, expression)                                        \
    void name(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t n) {          \
        for (uint64_t i = 0; i < n; i++) {                                               \
            in_type v;                                                                   \
            memcpy(&v, src + i * sizeof v, sizeof v);                                    \
            out_type r = expression;                                                     \
            memcpy(dst + i * sizeof r, &r, sizeof r);                                    \
        }                                                                                \
    }

#define STATIC_LOOP(name, in_type, out_type, expression)                                 \
    static LOOP(name, in_type, out_type, expression)

/* Saturating. The upper bound is the first float that is too large: the largest integer
 * itself may not be a float. */
#define TO_INT(type, lo, hi, past)                                                       \
    (type)(v >= past ? hi : v > lo ? (type)v : v <= lo ? lo : (type)0)

#define INT_FROM(in, in_type, id, type, lo, hi, past)                                    \
    STATIC_LOOP(in##_to_##id, in_type, type, (type)v)
#define INT_FROM_FLOAT(in, in_type, id, type, lo, hi, past)                              \
    STATIC_LOOP(in##_to_##id, in_type, type, TO_INT(type, lo, hi, (in_type)past))

/* X(in, in_type, id, type, lowest, highest, first float that is too large) */
#define INTEGERS(X, in, in_type)                                                         \
    X(in, in_type, i8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)                                \
    X(in, in_type, i16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)                           \
    X(in, in_type, i32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)                           \
    X(in, in_type, i64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)                           \
    X(in, in_type, u8, uint8_t, 0, UINT8_MAX, 0x1p8)                                     \
    X(in, in_type, u16, uint16_t, 0, UINT16_MAX, 0x1p16)                                 \
    X(in, in_type, u32, uint32_t, 0, UINT32_MAX, 0x1p32)                                 \
    X(in, in_type, u64, uint64_t, 0, UINT64_MAX, 0x1p64)

#define FROM(in, in_type, X)                                                             \
    INTEGERS(X, in, in_type)                                                             \
    STATIC_LOOP(in##_to_f32, in_type, float, (float)v)                                   \
    STATIC_LOOP(in##_to_f64, in_type, double, (double)v)                                 \
    STATIC_LOOP(in##_to_bool, in_type, uint8_t, v != 0)

FROM(i8, int8_t, INT_FROM)
FROM(i16, int16_t, INT_FROM)
FROM(i32, int32_t, INT_FROM)
FROM(i64, int64_t, INT_FROM)
FROM(u8, uint8_t, INT_FROM)
FROM(u16, uint16_t, INT_FROM)
FROM(u32, uint32_t, INT_FROM)
FROM(u64, uint64_t, INT_FROM)
FROM(f32, float, INT_FROM_FLOAT)
FROM(f64, double, INT_FROM_FLOAT)

#define ROW(in)                                                                          \
    {                                                                                    \
        in##_to_i8, in##_to_i16, in##_to_i32, in##_to_i64, in##_to_u8, in##_to_u16,      \
            in##_to_u32, in##_to_u64, in##_to_f32, in##_to_f64, in##_to_bool             \
    }

/* By hr__number; the last column is bool. */
static const hr__convert_loop loops[HR__NNUMBERS][HR__NNUMBERS + 1] = {
    ROW(i8),  ROW(i16), ROW(i32), ROW(i64), ROW(u8),
    ROW(u16), ROW(u32), ROW(u64), ROW(f32), ROW(f64)};

hr__convert_loop hr__loop_convert(hr__number to, hr__number from) {
    return loops[from][to];
}

hr__convert_loop hr__loop_to_bool(hr__number from) {
    return loops[from][HR__NNUMBERS];
}

typedef struct pair32 {
    float real, imaginary;
} pair32;

typedef struct pair64 {
    double real, imaginary;
} pair64;

STATIC_LOOP(pair32_to_bool, pair32, uint8_t, v.real != 0 || v.imaginary != 0)
STATIC_LOOP(pair64_to_bool, pair64, uint8_t, v.real != 0 || v.imaginary != 0)
STATIC_LOOP(real_part32, pair32, float, v.real)
STATIC_LOOP(real_part64, pair64, double, v.real)
STATIC_LOOP(pad_imaginary32, float, pair32, {.real = v})
STATIC_LOOP(pad_imaginary64, double, pair64, {.real = v})

hr__convert_loop hr__loop_pair_to_bool(hr__number part) {
    return part == HR__F32 ? pair32_to_bool : pair64_to_bool;
}

hr__convert_loop hr__loop_real_part(hr__number part) {
    return part == HR__F32 ? real_part32 : real_part64;
}

hr__convert_loop hr__loop_pad_imaginary(hr__number part) {
    return part == HR__F32 ? pad_imaginary32 : pad_imaginary64;
}

LOOP(hr__loop_half_to_float, uint16_t, float, hr__half_to_float_inline(v))
LOOP(hr__loop_float_to_half, float, uint16_t, hr__float_to_half_inline(v))
LOOP(hr__loop_double_to_half, double, uint16_t, hr__double_to_half(v))
LOOP(hr__loop_bfloat_to_float, uint16_t, float, hr__bfloat_to_float_inline(v))
LOOP(hr__loop_float_to_bfloat, float, uint16_t, hr__float_to_bfloat_inline(v))
