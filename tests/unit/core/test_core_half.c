/* Half and bfloat16 against slow exact references. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* What a finite half without sign is worth; 0x7C00 as the next power of two. */
static double half_value(uint32_t bits) {
    int exponent = (int)(bits >> 10);
    double mantissa = bits & 0x3FF;
    return exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
}

static void every_half_becomes_the_float_it_stands_for(void **state) {
    (void)state;
    for (uint32_t h = 0; h <= 0xFFFF; h++) {
        float f = hr__half_to_float((uint16_t)h);
        uint32_t x = h & 0x7FFF;
        assert_int_equal(!!signbit(f), h >> 15);
        if (x < 0x7C00) {
            assert_true(fabs((double)f) == half_value(x));
        } else if (x == 0x7C00) {
            assert_true(isinf(f));
        } else { /* the payload stays in the upper bits */
            assert_int_equal(float_bits(f) & 0x7FFFFFFF, 0x7F800000 | (x & 0x3FF) << 13);
        }
    }
}

static void every_half_survives_a_round_trip(void **state) {
    (void)state;
    for (uint32_t h = 0; h <= 0xFFFF; h++) {
        float f = hr__half_to_float((uint16_t)h);
        assert_int_equal(hr__float_to_half(f), h);
        if (!isnan(f)) { /* hardware may quieten a NaN on its way to double */
            assert_int_equal(hr__double_to_half((double)f), h);
        }
    }
    assert_int_equal(hr__double_to_half((double)NAN) & 0x7E00, 0x7E00);
    assert_int_equal(hr__float_to_half(bits_float(0x7F800001)), 0x7C01);
    assert_int_equal(hr__float_to_half(bits_float(0xFFC00000)), 0xFE00);
}

static void assert_rounds(double value, uint32_t half) {
    if (hr__double_to_half(value) != half ||
        hr__double_to_half(-value) != (half | 0x8000)) {
        fail_msg("double %a gives %#x and %#x, expected %#x", value,
                 hr__double_to_half(value), hr__double_to_half(-value), half);
    }
    if ((double)(float)value == value && hr__float_to_half((float)value) != half) {
        fail_msg("float %a gives %#x, expected %#x", value,
                 hr__float_to_half((float)value), half);
    }
}

/* Between each half and the next: at, just off and far from the middle. */
static void rounding_is_to_nearest_even_and_happens_once(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7C00; h++) {
        double lo = half_value(h);
        double hi = half_value(h + 1);
        double middle = (lo + hi) / 2;
        uint32_t even = h + (h & 1);
        assert_rounds(middle, even);
        assert_rounds(nextafter(middle, 0), h);
        assert_rounds(nextafter(middle, hi), h + 1);
        assert_rounds((double)nextafterf((float)middle, 0), h);
        assert_rounds((double)nextafterf((float)middle, (float)hi), h + 1);
        assert_rounds(nextafter(lo, hi), h);
        assert_rounds(nextafter(hi, lo), h + 1);
        assert_rounds(lo + (hi - lo) * 0.3, h);
        assert_rounds(lo + (hi - lo) * 0.7, h + 1);
    }
}

static void extremes_become_zero_or_infinity(void **state) {
    (void)state;
    static const double large[] = {65520,         65536, 0x1p17,   1e5,
                                   (double)3e38F, 1e300, INFINITY, 0x1.fp127};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_rounds(large[i], 0x7C00);
    }
    assert_rounds(nextafter(65520, 0), 0x7BFF);
    static const double small[] = {0,        0x1p-25,   0x1p-26, 0x1p-30, 0x1p-31,
                                   0x1p-149, 0x1p-1074, 1e-300,  0x1p-126};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        assert_rounds(small[i], 0);
    }
    assert_rounds(nextafter(0x1p-25, 1), 1);
}

static void bfloat_takes_the_nearest_upper_half_of_a_float(void **state) {
    (void)state;
    for (uint32_t b = 0; b <= 0xFFFF; b++) {
        float f = hr__bfloat_to_float((uint16_t)b);
        assert_int_equal(float_bits(f), b << 16);
        bool nan = (b & 0x7FFF) > 0x7F80;
        assert_int_equal(hr__float_to_bfloat(f), nan ? b | 0x40 : b);
        if ((b & 0x7FFF) < 0x7F80) {
            uint32_t x = b << 16;
            assert_int_equal(hr__float_to_bfloat(bits_float(x | 0x7FFF)), b);
            assert_int_equal(hr__float_to_bfloat(bits_float(x | 0x8000)), b + (b & 1));
            assert_int_equal(hr__float_to_bfloat(bits_float(x | 0x8001)), b + 1);
        }
    }
    assert_int_equal(hr__float_to_bfloat(bits_float(0x7FFFFFFF)), 0x7FFF);
    assert_int_equal(hr__float_to_bfloat(bits_float(0xFF800001)), 0xFFC0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_becomes_the_float_it_stands_for),
        cmocka_unit_test(every_half_survives_a_round_trip),
        cmocka_unit_test(rounding_is_to_nearest_even_and_happens_once),
        cmocka_unit_test(extremes_become_zero_or_infinity),
        cmocka_unit_test(bfloat_takes_the_nearest_upper_half_of_a_float),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
