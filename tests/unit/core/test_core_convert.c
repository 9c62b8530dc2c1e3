/* Conversion of numbers, against a slow reference and NumPy.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const types[] = {"|b1", "|i1", "<i2", "<i4",      "<i8",
                                    "|u1", "<u2", "<u4", "<u8",      "<f2",
                                    "<f4", "<f8", "<c8", "bfloat16", "<c16"};

static hr_dtype type_of(const char *text) {
    hr_dtype t;
    if (hr_dtype_parse(text, &t, NULL) != HR_OK) {
        fail_msg("%s", text);
    }
    return t;
}

/* A value with everything that an item can say: the reference goes through this. */
typedef struct value {
    bool is_integer;
    bool is_wide;     /* from double: half rounds from there */
    uint64_t integer; /* two's complement */
    bool is_negative; /* the integer, as signed */
    double real, imaginary;
} value;

static value read_float(double d, bool wide) {
    return (value){.real = d, .is_wide = wide};
}

static value read_item(const hr_dtype *t, const uint8_t *p) {
    uint8_t le[16];
    memcpy(le, p, t->itemsize);
    uint64_t u = 0;
    for (size_t i = 0; i < t->itemsize && i < 8; i++) {
        u |= (uint64_t)le[i] << (8 * i);
    }
    float f;
    double d;
    switch (t->kind) {
    case HR_KIND_BOOL:
        return (value){.is_integer = true, .integer = u != 0};
    case HR_KIND_UINT:
        return (value){.is_integer = true, .integer = u};
    case HR_KIND_INT: {
        unsigned shift = 64 - 8 * (unsigned)t->itemsize;
        int64_t i = (int64_t)(u << shift) >> shift;
        return (value){.is_integer = true, .integer = (uint64_t)i, .is_negative = i < 0};
    }
    case HR_KIND_BFLOAT:
        return read_float((double)hr__bfloat_to_float((uint16_t)u), false);
    case HR_KIND_FLOAT:
        if (t->itemsize == 2) {
            return read_float((double)hr__half_to_float((uint16_t)u), false);
        }
        break;
    default:
        break;
    }
    bool pair = t->kind == HR_KIND_COMPLEX;
    value v;
    if (t->itemsize == (pair ? 16 : 8)) {
        memcpy(&d, le, 8);
        v = read_float(d, true);
        if (pair) {
            memcpy(&v.imaginary, le + 8, 8);
        }
    } else {
        memcpy(&f, le, 4);
        v = read_float((double)f, false);
        if (pair) {
            memcpy(&f, le + 4, 4);
            v.imaginary = (double)f;
        }
    }
    return v;
}

static double as_double(const value *v) {
    if (!v->is_integer) {
        return v->real;
    }
    return v->is_negative ? (double)(int64_t)v->integer : (double)v->integer;
}

static float as_float(const value *v) {
    if (!v->is_integer) {
        return (float)v->real;
    }
    return v->is_negative ? (float)(int64_t)v->integer : (float)v->integer;
}

static uint64_t as_integer(const value *v, const hr_dtype *t) {
    if (v->is_integer) {
        return v->integer;
    }
    int bits = 8 * (int)t->itemsize;
    bool is_signed = t->kind == HR_KIND_INT;
    double past = ldexp(1, is_signed ? bits - 1 : bits);
    double lowest = is_signed ? -past : 0;
    uint64_t top = UINT64_MAX >> (64 - bits + is_signed);
    if (isnan(v->real)) {
        return 0;
    }
    if (v->real >= past) {
        return top;
    }
    if (v->real <= lowest) {
        return is_signed ? ~top : 0;
    }
    return v->real < 0 ? (uint64_t)(int64_t)v->real : (uint64_t)v->real;
}

static void write_item(const hr_dtype *t, const value *v, uint8_t *out) {
    uint64_t u;
    float f[2] = {as_float(v), (float)v->imaginary};
    double d[2] = {as_double(v), v->imaginary};
    switch (t->kind) {
    case HR_KIND_BOOL:
        u = v->is_integer ? v->integer != 0 : v->real != 0 || v->imaginary != 0;
        break;
    case HR_KIND_INT:
    case HR_KIND_UINT:
        u = as_integer(v, t);
        break;
    case HR_KIND_BFLOAT:
        u = hr__float_to_bfloat(f[0]);
        break;
    default:
        if (t->itemsize == 2) {
            u = v->is_wide ? hr__double_to_half(d[0]) : hr__float_to_half(f[0]);
            break;
        }
        if (t->itemsize == (t->kind == HR_KIND_COMPLEX ? 16 : 8)) {
            memcpy(out, d, t->itemsize);
        } else {
            memcpy(out, f, t->itemsize);
        }
        return;
    }
    for (size_t i = 0; i < t->itemsize; i++) {
        out[i] = (uint8_t)(u >> (8 * i));
    }
}

/* Source bytes: edges of every type, then noise. */
enum { N = 700 }; /* more than two blocks of the pipeline */

static void fill_source(const hr_dtype *t, uint8_t *src) {
    static const double edges[] = {0,
                                   -0.0,
                                   0.5,
                                   -0.5,
                                   1,
                                   -1,
                                   1.5,
                                   -1.5,
                                   127,
                                   127.5,
                                   128,
                                   -128,
                                   -128.5,
                                   -129,
                                   255,
                                   256,
                                   300,
                                   -300,
                                   32767.9,
                                   32768,
                                   -32768.9,
                                   65504,
                                   65519,
                                   65520,
                                   65535,
                                   65536,
                                   0x1p31,
                                   -0x1p31,
                                   0x1p32,
                                   0x1p53,
                                   0x1p63,
                                   -0x1p63,
                                   0x1p64,
                                   0x1p65,
                                   1e30,
                                   -1e30,
                                   1e300,
                                   -1e300,
                                   1e-300,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   0x1.fffffep30,
                                   0x1.fffffffffffffp62,
                                   1 + 0x1p-11,
                                   1 + 0x1p-11 + 0x1p-40,
                                   0x1.fffffffffffffp63};
    uint32_t seed = 12345;
    for (size_t i = 0; i < N; i++) {
        uint8_t *p = src + i * t->itemsize;
        if (i < COUNT(edges) && t->kind >= HR_KIND_FLOAT) {
            value v = {.is_wide = true, .real = edges[i], .imaginary = i % 3 ? 0 : 7};
            write_item(t, &v, p);
            continue;
        }
        for (size_t k = 0; k < t->itemsize; k++) {
            seed = seed * 1664525 + 1013904223;
            p[k] = i % 7 == 0 ? (uint8_t)(seed >> 31) : (uint8_t)(seed >> 24);
        }
        if (i % 11 == 0) {
            memset(p, i % 2 ? 0xFF : 0, t->itemsize);
        }
    }
}

/* Bits of a NaN are nobody's promise; make them all alike. */
static void settle_nans(const hr_dtype *t, uint8_t *data) {
    if (t->kind < HR_KIND_FLOAT) {
        return;
    }
    bool pair = t->kind == HR_KIND_COMPLEX;
    hr_dtype part = pair ? hr__dtype(HR_KIND_FLOAT, t->itemsize / 2) : *t;
    for (size_t i = 0; i < (size_t)N * (pair ? 2 : 1); i++) {
        uint8_t *p = data + i * part.itemsize;
        if (isnan(read_item(&part, p).real)) {
            memset(p, 0xFF, part.itemsize);
        }
    }
}

static void check_pair(const char *to_text, const char *from_text) {
    hr_dtype to = type_of(to_text);
    hr_dtype from = type_of(from_text);
    uint8_t *src = malloc(N * from.itemsize);
    uint8_t *want = malloc(N * to.itemsize);
    fill_source(&from, src);
    for (size_t i = 0; i < N; i++) {
        value v = read_item(&from, src + i * from.itemsize);
        write_item(&to, &v, want + i * to.itemsize);
    }
    settle_nans(&to, want);
    for (int orders = 0; orders < 4; orders++) {
        uint8_t *in = malloc(N * from.itemsize);
        uint8_t *got = malloc(N * to.itemsize);
        hr_dtype t = to;
        hr_dtype f = from;
        memcpy(in, src, N * from.itemsize);
        if (orders & 1) {
            f.byte_order = HR_BIG;
            hr__dtype_swap(&f, in, in, N);
        }
        t.byte_order = orders & 2 ? HR_BIG : HR_LITTLE;
        hr__dtype_convert(&t, got, &f, in, N);
        if (orders & 2) {
            hr__dtype_swap(&t, got, got, N);
        }
        settle_nans(&to, got);
        for (size_t i = 0; i < N * to.itemsize; i++) {
            if (got[i] != want[i]) {
                fail_msg("%s to %s, orders %d: byte %zu of item %zu is %#x, expected %#x",
                         from_text, to_text, orders, i % to.itemsize, i / to.itemsize,
                         got[i], want[i]);
            }
        }
        free(in);
        free(got);
    }
    free(src);
    free(want);
}

static void all_pairs_agree_with_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t k = 0; k < COUNT(types); k++) {
            check_pair(types[i], types[k]);
        }
    }
}

typedef struct known {
    const char *from;
    const char *to;
    uint32_t n;
    const char *src, *dst; /* hexadecimal, as NumPy's tobytes() gives them */
} known;

static const known numpy_says[] = {
    {"<i4", "|u1", 8, "0000000001000000ffffffffff00000000010000d4feffffffffff7f00000080",
     "0001ffff00d4ff00"},
    {"<u8", "<i4", 5,
     "00000000000000000000008000000000ffffffff000000000000000001000000ffffffffffffffff",
     "0000000000000080ffffffff00000000ffffffff"},
    {"|i1", ">u8", 5, "0001ff807f",
     "00000000000000000000000000000001ffffffffffffffffffffffffffffff80000000000000007f"},
    {"<f8", "<f2", 9,
     "000000000000f03f000000000002f03f001000000002f03fe17a14aefffdef400000000000feef403a8"
     "c30e28e79453e00000000000060be000000000000f07f48afbc9af2d76a3e",
     "003c003c013cff7b007c00000080007c0100"},
    {"<f8", "<f4", 5,
     "555555555555d53f9c7500883ce4377e59f3f8c21f6ea58161552c24ce4462369a9999999999b93f",
     "abaaaa3e0000807f0000008000000000cdcccc3d"},
    {"<f4", ">i2", 5, "3333f33f3333f3bfcdfeff46000000c70000003f", "0001ffff7fff80000000"},
    {"<c16", "<f4", 3,
     "000000000000f83f00000000000000409a9999999999b9bf0000000000001cc00000000000000000000"
     "000000000f03f",
     "0000c03fcdccccbd00000000"},
    {"<c8", "|b1", 5,
     "0000000000000000000000000000803f0000803f0000000000000080000000000000c07f00000000",
     "0001010001"},
    {"<f4", "<c16", 3, "cdcccc3d000000c00000807f",
     "000000a09999b93f000000000000000000000000000000c00000000000000000000000000000f07f000"
     "0000000000000"},
    {">c16", "<c8", 2, "3fb999999999999a3fc999999999999a7e37e43c8800759cfe37e43c8800759c",
     "cdcccc3dcdcc4c3e0000807f000080ff"},
    {"|b1", "<f2", 2, "0001", "0000003c"},
    {"<f4", "|b1", 5, "00000000000000800000c07fc216010000000040", "0000010101"},
    {"<i8", "<f4", 4, "0100000000002000000000000000008001000001000000000100000200000000",
     "0000005a000000df0000804b0000004c"},
    {"<u8", "<f8", 3, "ffffffffffffffff01040000000000800100000000002000",
     "000000000000f043010000000000e0430000000000004043"},
    {"<f2", "<i8", 3, "ff7b00c3fe3b", "e0ff000000000000fdffffffffffffff0000000000000000"},
    {"<i4", "<f2", 6, "0108000003080000e0ff0000efff0000f0ff000090eefeff",
     "00680268ff7bff7b007c00fc"},
};

static void unhex(const char *hex, uint8_t *out) {
    for (size_t i = 0; hex[2 * i] != '\0'; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static void numpy_gives_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(numpy_says); i++) {
        const known *k = &numpy_says[i];
        hr_dtype from = type_of(k->from);
        hr_dtype to = type_of(k->to);
        uint8_t src[256];
        uint8_t want[256] = {0};
        uint8_t got[256] = {0};
        unhex(k->src, src);
        unhex(k->dst, want);
        hr__dtype_convert(&to, got, &from, src, k->n);
        for (size_t b = 0; b < k->n * to.itemsize; b++) {
            if (got[b] != want[b]) {
                fail_msg("%s to %s: byte %zu is %#x, expected %#x", k->from, k->to, b,
                         got[b], want[b]);
            }
        }
    }
}

static void unaligned_memory_and_empty_runs_are_fine(void **state) {
    (void)state;
    uint8_t src[9];
    uint8_t dst[17];
    int32_t v = -5;
    memcpy(src + 1, &v, sizeof v);
    hr_dtype from = type_of("<i4");
    hr_dtype to = type_of("<f8");
    hr__dtype_convert(&to, dst + 3, &from, src + 1, 1);
    double d;
    memcpy(&d, dst + 3, sizeof d);
    assert_true(d == -5);
    hr__dtype_convert(&to, NULL, &from, NULL, 0);
    to.byte_order = HR_BIG;
    hr__dtype_convert(&to, NULL, &from, NULL, 0);
    hr__dtype_convert(&from, NULL, &from, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_agree_with_the_reference),
        cmocka_unit_test(numpy_gives_the_same),
        cmocka_unit_test(unaligned_memory_and_empty_runs_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
