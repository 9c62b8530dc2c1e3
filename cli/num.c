/* Elements as numbers. SPDX-License-Identifier: Apache-2.0 */
#include "num.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are loaded as stored");

bool cli_is_number(const hr_dtype *dtype) {
    return dtype->kind >= HR_KIND_BOOL && dtype->kind <= HR_KIND_TIMEDELTA;
}

float cli_bfloat_to_float(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value = 0;
    memcpy(&value, &wide, sizeof value);
    return value;
}

float cli_half_to_float(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    float value = 0;
    if (exponent == 31) {
        value = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        value = ldexpf((float)fraction, -24);
    } else {
        value = ldexpf((float)(1024 + fraction), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

static long double from_bool(uint8_t x) {
    return x != 0;
}
static long double from_half(uint16_t x) {
    return (long double)cli_half_to_float(x);
}
static long double from_bfloat(uint16_t x) {
    return (long double)cli_bfloat_to_float(x);
}
static long double from_time(int64_t x) {
    return x == INT64_MIN ? (long double)NAN : (long double)x;
}

typedef struct complex64 {
    float re, im;
} complex64;
typedef struct complex128 {
    double re, im;
} complex128;

static long double from_complex64(complex64 x) {
    return hypotl((long double)x.re, (long double)x.im);
}
static long double from_complex128(complex128 x) {
    return hypotl((long double)x.re, (long double)x.im);
}

/* One loop per element type, the conversion chosen outside of it. */
#define LOAD(type, convert)                                                              \
    for (size_t i = 0; i < n; i++) {                                                     \
        type x;                                                                          \
        memcpy(&x, (const char *)data + i * sizeof x, sizeof x);                         \
        out[i] = convert(x);                                                             \
    }                                                                                    \
    break

#define NUMBER(x) ((long double)(x))
#define TYPE(kind, itemsize) ((unsigned)(kind) << 8 | (unsigned)(itemsize))

void cli_num_load(const hr_dtype *dtype, const void *data, size_t n, long double *out) {
    switch (TYPE(dtype->kind, dtype->itemsize)) {
    case TYPE(HR_KIND_BOOL, 1):
        LOAD(uint8_t, from_bool);
    case TYPE(HR_KIND_INT, 1):
        LOAD(int8_t, NUMBER);
    case TYPE(HR_KIND_INT, 2):
        LOAD(int16_t, NUMBER);
    case TYPE(HR_KIND_INT, 4):
        LOAD(int32_t, NUMBER);
    case TYPE(HR_KIND_INT, 8):
        LOAD(int64_t, NUMBER);
    case TYPE(HR_KIND_UINT, 1):
        LOAD(uint8_t, NUMBER);
    case TYPE(HR_KIND_UINT, 2):
        LOAD(uint16_t, NUMBER);
    case TYPE(HR_KIND_UINT, 4):
        LOAD(uint32_t, NUMBER);
    case TYPE(HR_KIND_UINT, 8):
        LOAD(uint64_t, NUMBER);
    case TYPE(HR_KIND_FLOAT, 2):
        LOAD(uint16_t, from_half);
    case TYPE(HR_KIND_BFLOAT, 2):
        LOAD(uint16_t, from_bfloat);
    case TYPE(HR_KIND_FLOAT, 4):
        LOAD(float, NUMBER);
    case TYPE(HR_KIND_FLOAT, 8):
        LOAD(double, NUMBER);
    case TYPE(HR_KIND_COMPLEX, 8):
        LOAD(complex64, from_complex64);
    case TYPE(HR_KIND_COMPLEX, 16):
        LOAD(complex128, from_complex128);
    case TYPE(HR_KIND_DATETIME, 8):
    case TYPE(HR_KIND_TIMEDELTA, 8):
        LOAD(int64_t, from_time);
    default:
        for (size_t i = 0; i < n; i++) {
            out[i] = (long double)NAN;
        }
    }
}
