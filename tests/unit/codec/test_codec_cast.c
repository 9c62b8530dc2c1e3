/* cast_value and scale_offset. SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>

#include "codec/cast.h"
#include "support/chain_run.h"

#define CAST(members) "{\"name\":\"cast_value\",\"configuration\":{" members "}}"
#define SCALE(members) "{\"name\":\"scale_offset\",\"configuration\":{" members "}}"
#define BYTES(order) "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"" order "\"}}"

static void bytes_after_a_cast_hold_the_other_type(void **state) {
    (void)state;
    chain_runner r = {0};
    const int16_t stored[] = {-128, 0, 5, 127};
    const uint8_t big[] = {0xff, 0x80, 0, 0, 0, 5, 0, 127};
    const int8_t want[] = {-128, 0, 5, 127};
    CHUNK(&r, "|i1", 4);
    assert_opens(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\"") "," BYTES("little") "]"),
        &r);
    assert_int_equal(r.chain.encoded.nbytes, 8);
    assert_chain_gives(&r, stored, 8, want, 4);
    assert_opens(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\"") "," BYTES("big") "]"), &r);
    assert_chain_gives(&r, big, 8, want, 4);
    chain_survives_mutants(&r, big, 8);
    /* the bytes need their order now */
    assert_int_equal(chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\"") ",\"bytes\"]"),
                     HR_ERR_METADATA);
    chain_close(&r);
}

static void values_without_a_counterpart_are_errors(void **state) {
    (void)state;
    chain_runner r = {0};
    const int16_t stored[] = {1, 128, -129};
    CHUNK(&r, "|i1", 3);
    assert_opens(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\"") "," BYTES("little") "]"),
        &r);
    assert_chain_refuses(&r, stored, 6, HR_ERR_DATA, "item 1 has no value in |i1");
    assert_string_equal(r.err.codec, "cast_value");
    const int8_t clamped[] = {1, 127, -128}, wrapped[] = {1, -128, 127};
    assert_opens(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\","
                                   "\"out_of_range\":\"clamp\"") "," BYTES("little") "]"),
        &r);
    assert_chain_gives(&r, stored, 6, clamped, 3);
    assert_opens(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"int16\","
                                   "\"out_of_range\":\"wrap\"") "," BYTES("little") "]"),
        &r);
    assert_chain_gives(&r, stored, 6, wrapped, 3);
    chain_close(&r);
}

static void nan_comes_back_through_the_scalar_map(void **state) {
    (void)state;
    chain_runner r = {0};
    const double fill = NAN, want[] = {NAN, 0.0, 2540.0};
    const uint8_t stored[] = {0, 1, 255};
    CHUNK(&r, "<f8", 3);
    r.chunk.fill = &fill;
    assert_opens(
        chain_open_v3(&r, "[" SCALE("\"offset\":-10,\"scale\":0.1") "," CAST(
                              "\"data_type\":\"uint8\",\"rounding\":\"nearest-even\","
                              "\"scalar_map\":{\"encode\":[[\"NaN\",0]],"
                              "\"decode\":[[0,\"NaN\"]]}") ",\"bytes\"]"),
        &r);
    assert_memory_equal(r.chain.codecs[1].encoded.fill, "\0", 1);
    assert_opens(chain_decode(&r, stored, 3), &r);
    double got[3];
    memcpy(got, r.out, sizeof got);
    assert_true(isnan(got[0]) && got[1] == want[1] && got[2] == want[2]);
    chain_close(&r);
}

static void fill_values_pass_through_the_codecs(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint16_t fill = 1007;
    CHUNK(&r, "<u2", 1);
    r.chunk.fill = &fill;
    assert_opens(chain_open_v3(&r, "[" SCALE("\"offset\":1000") "," CAST(
                                       "\"data_type\":\"uint8\"") ",\"bytes\"]"),
                 &r);
    assert_int_equal(*(const uint8_t *)r.chain.codecs[1].encoded.fill, 7);
    const uint8_t stored = 255;
    const uint16_t want = 1255;
    assert_chain_gives(&r, &stored, 1, &want, 2);
    /* 1007 is no uint8 by itself */
    assert_open_refused(
        chain_open_v3(&r, "[" CAST("\"data_type\":\"uint8\"") ",\"bytes\"]"), &r,
        HR_ERR_METADATA, "the fill value cannot be cast");
    const uint16_t small = 999;
    r.chunk.fill = &small;
    assert_open_refused(
        chain_open_v3(&r, "[" SCALE("\"offset\":1000") "," BYTES("big") "]"), &r,
        HR_ERR_METADATA, "the fill value has no (x - offset) * scale in its type");
    chain_close(&r);
}

static void configurations_are_checked(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<f4", 1);
    const char *const bad[] = {
        CAST(""),
        CAST("\"data_type\":\"complex64\""),
        CAST("\"data_type\":\"string\""),
        CAST("\"data_type\":3"),
        CAST("\"data_type\":\"uint8\",\"more\":1"),
        CAST("\"data_type\":\"uint8\",\"rounding\":\"up\""),
        CAST("\"data_type\":\"uint8\",\"out_of_range\":\"\""),
        CAST("\"data_type\":\"float64\",\"out_of_range\":\"wrap\""),
        CAST("\"data_type\":\"uint8\",\"scalar_map\":{\"decode\":[[256,0]]}"),
        CAST("\"data_type\":\"uint8\",\"scalar_map\":{\"decode\":[[1]]}"),
        CAST("\"data_type\":\"uint8\",\"scalar_map\":{\"encode\":[[\"x\",1]]}"),
        SCALE("\"scale\":\"1\""),
        SCALE("\"bias\":1"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char json[400];
        (void)snprintf(json, sizeof json, "[%s," BYTES("little") "]", bad[i]);
        hr_status status = chain_open_v3(&r, json);
        if (status != HR_ERR_METADATA && status != HR_ERR_UNSUPPORTED) {
            fail_msg("%s: %s", json, hr_status_name(status));
        }
    }
    CHUNK(&r, "<i4", 1);
    assert_open_refused(chain_open_v3(&r, "[" SCALE("\"scale\":0") "," BYTES("big") "]"),
                        &r, HR_ERR_METADATA, "scale is 0, which has no inverse");
    assert_int_equal(chain_open_v3(&r, "[" SCALE("\"scale\":0.5") "," BYTES("big") "]"),
                     HR_ERR_METADATA);
    CHUNK(&r, "|b1", 1);
    assert_int_equal(chain_open_v3(&r, "[\"scale_offset\",\"bytes\"]"),
                     HR_ERR_UNSUPPORTED);
    chain_close(&r);
}

static void integers_scale_exactly_or_not_at_all(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t stored[] = {0, 9, 30}, want[] = {200, 203, 210};
    CHUNK(&r, "|u1", 3);
    const uint8_t fill = 200;
    r.chunk.fill = &fill;
    assert_opens(chain_open_v3(&r, "[" SCALE("\"offset\":200,\"scale\":3") ",\"bytes\"]"),
                 &r);
    assert_chain_gives(&r, stored, 3, want, 3);
    const uint8_t remainder[] = {0, 3, 4}, large[] = {0, 0, 171};
    assert_chain_refuses(&r, remainder, 3, HR_ERR_DATA,
                         "item 2 has no exact x / scale + offset in its type");
    assert_int_equal(chain_decode(&r, large, 3), HR_ERR_DATA); /* 257 */

    const int64_t lowest = INT64_MIN;
    int64_t one = -1;
    CHUNK(&r, "<i8", 1);
    assert_opens(chain_open_v3(&r, "[" SCALE("\"scale\":-1") "," BYTES("little") "]"),
                 &r);
    assert_int_equal(chain_decode(&r, &lowest, 8), HR_ERR_DATA);
    const int64_t want_one = 1;
    assert_chain_gives(&r, &one, 8, &want_one, 8);

    const uint64_t big = UINT64_MAX, third = UINT64_MAX / 3 + 1;
    CHUNK(&r, "<u8", 1);
    const uint64_t one_fill = 1;
    r.chunk.fill = &one_fill;
    assert_opens(
        chain_open_v3(&r, "[" SCALE("\"offset\":1,\"scale\":3") "," BYTES("little") "]"),
        &r);
    assert_chain_gives(&r, &big, 8, &third, 8);
    chain_close(&r);
}

static void floats_scale_in_their_own_type(void **state) {
    (void)state;
    chain_runner r = {0};
    const float stored = 0.3F, want = 0.3F / 0.1F + 5.0F;
    CHUNK(&r, "<f4", 1);
    assert_opens(chain_open_v3(
                     &r, "[" SCALE("\"offset\":5,\"scale\":0.1") "," BYTES("little") "]"),
                 &r);
    assert_chain_gives(&r, &stored, 4, &want, 4);
    /* half: 0x3666 / 3 + 0.1 as NumPy computes it, rounded after each step */
    const uint16_t half = 0x3666, half_want = 0x3377;
    CHUNK(&r, "<f2", 1);
    assert_opens(chain_open_v3(
                     &r, "[" SCALE("\"offset\":0.1,\"scale\":3") "," BYTES("little") "]"),
                 &r);
    assert_chain_gives(&r, &half, 2, &half_want, 2);
    assert_opens(chain_open_v3(&r, "[\"scale_offset\"," BYTES("little") "]"), &r);
    assert_chain_gives(&r, &half, 2, &half, 2);
    /* the bits of a number are a number too */
    CHUNK(&r, "<f4", 1);
    assert_opens(
        chain_open_v3(&r, "[" SCALE("\"offset\":\"0x40a00000\",\"scale\":0.1") "," BYTES(
                              "little") "]"),
        &r);
    assert_chain_gives(&r, &stored, 4, &want, 4);
    chain_close(&r);
}

/* --- single casts against the processor's rounding --- */

static const struct {
    int mode;
    hr__rounding rounding;
} modes[] = {{FE_TONEAREST, HR__NEAREST_EVEN},
             {FE_TOWARDZERO, HR__TOWARDS_ZERO},
             {FE_UPWARD, HR__TOWARDS_POSITIVE},
             {FE_DOWNWARD, HR__TOWARDS_NEGATIVE}};

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return *seed >> 11 ^ *seed << 30;
}

static double some_double(uint64_t *seed, int i) {
    double x;
    uint64_t bits = next_random(seed);
    if (i % 2 == 0) { /* of moderate size, often a tie */
        return ldexp((double)(int64_t)(bits % 4096) - 2048,
                     (int)(bits >> 20 % 40) % 64 - 12);
    }
    memcpy(&x, &bits, sizeof x);
    return isnan(x) ? 0 : x;
}

static void doubles_round_to_floats_as_the_processor_rounds(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 200000; i++) {
        double x = some_double(&seed, i);
        int m = i % 4;
        hr__cast c = {.from = hr__dtype(HR_KIND_FLOAT, 8),
                      .to = hr__dtype(HR_KIND_FLOAT, 4),
                      .rounding = modes[m].rounding,
                      .out_of_range = HR__RANGE_CLAMP};
        float got;
        assert_true(hr__cast_item(&c, (uint8_t *)&got, (uint8_t *)&x));
        (void)fesetround(modes[m].mode);
        volatile double v = x;
        volatile float want = (float)v;
        (void)fesetround(FE_TONEAREST);
        if (fabs(x) > 3.4e38) {
            continue; /* directed rounding stops at the largest float; ours clamps */
        }
        float w = want;
        if (memcmp(&got, &w, 4) != 0) {
            fail_msg("%a: %a, expected %a (mode %d)", x, (double)got, (double)w, m);
        }
    }
}

static void integers_round_to_floats_as_the_processor_rounds(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 100000; i++) {
        int64_t x = (int64_t)(next_random(&seed) << 20) >> (next_random(&seed) % 63);
        int m = i % 4;
        hr__cast c = {.from = hr__dtype(HR_KIND_INT, 8),
                      .to = hr__dtype(HR_KIND_FLOAT, 4),
                      .rounding = modes[m].rounding};
        float got;
        assert_true(hr__cast_item(&c, (uint8_t *)&got, (uint8_t *)&x));
        (void)fesetround(modes[m].mode);
        volatile int64_t v = x;
        volatile float want = (float)v;
        (void)fesetround(FE_TONEAREST);
        assert_true(got == want);
    }
}

static void doubles_round_to_integers(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        double x = some_double(&seed, 2 * i);
        int m = i % 5;
        hr__cast c = {.from = hr__dtype(HR_KIND_FLOAT, 8),
                      .to = hr__dtype(HR_KIND_INT, 4),
                      .rounding = m < 4 ? modes[m].rounding : HR__NEAREST_AWAY};
        (void)fesetround(m < 4 ? modes[m].mode : FE_TONEAREST);
        volatile double v = x;
        volatile double rounded = m < 4 ? (double)llrint(v) : round(v);
        (void)fesetround(FE_TONEAREST);
        double want = rounded;
        int32_t got = 77;
        bool fits = want >= INT32_MIN && want <= INT32_MAX;
        assert_int_equal(hr__cast_item(&c, (uint8_t *)&got, (uint8_t *)&x), fits);
        if (fits ? got != want : got != 77) {
            fail_msg("%a: %d, expected %a (mode %d)", x, got, want, m);
        }
        c.out_of_range = HR__RANGE_CLAMP;
        assert_true(hr__cast_item(&c, (uint8_t *)&got, (uint8_t *)&x));
        assert_true(fits || got == (x < 0 ? INT32_MIN : INT32_MAX));
        c.out_of_range = HR__RANGE_WRAP;
        assert_true(hr__cast_item(&c, (uint8_t *)&got, (uint8_t *)&x));
        assert_true(fabs(want) > 9e18 || got == (int32_t)(uint32_t)(int64_t)want);
    }
}

/* A cast that never rounds is what hr__dtype_convert does, which is much faster. */
static void exact_casts_convert(void **state) {
    (void)state;
    const hr_dtype types[] = {hr__dtype(HR_KIND_INT, 1),   hr__dtype(HR_KIND_INT, 2),
                              hr__dtype(HR_KIND_INT, 4),   hr__dtype(HR_KIND_INT, 8),
                              hr__dtype(HR_KIND_UINT, 1),  hr__dtype(HR_KIND_UINT, 2),
                              hr__dtype(HR_KIND_UINT, 4),  hr__dtype(HR_KIND_UINT, 8),
                              hr__dtype(HR_KIND_FLOAT, 2), hr__dtype(HR_KIND_FLOAT, 4),
                              hr__dtype(HR_KIND_FLOAT, 8), hr__dtype(HR_KIND_BFLOAT, 2)};
    const size_t n = sizeof types / sizeof *types;
    size_t nexact = 0;
    uint64_t seed = 6;
    for (size_t pair = 0; pair < n * n; pair++) {
        hr__cast c = {.from = types[pair / n], .to = types[pair % n]};
        bool is_exact = hr__cast_is_exact(&c), fails = false;
        nexact += is_exact;
        for (int i = 0; i < 3000; i++) {
            uint64_t x = next_random(&seed), a = 0, b = 0;
            x |= i == 0 ? UINT64_MAX : 0;
            bool done = hr__cast_item(&c, (uint8_t *)&a, (uint8_t *)&x);
            hr__dtype_convert(&c.to, (uint8_t *)&b, &c.from, (uint8_t *)&x, 1);
            fails = fails || !done || !hr__cast_same(&c.to, (uint8_t *)&a, (uint8_t *)&b);
        }
        assert_true(!is_exact || !fails);
    }
    assert_int_equal(nexact, 49);
}

static void special_values_cast(void **state) {
    (void)state;
    hr__cast c = {.from = hr__dtype(HR_KIND_FLOAT, 8), .to = hr__dtype(HR_KIND_FLOAT, 2)};
    double x = -0.0;
    uint16_t half = 1;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 0x8000);
    x = -INFINITY;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 0xfc00);
    x = NAN;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half & 0x7e00, 0x7e00);
    x = 65519.99;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 0x7bff);
    x = 65520;
    assert_false(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    c.out_of_range = HR__RANGE_CLAMP;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 0x7c00);
    x = 0x1p-25; /* half the smallest */
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 0);
    c.rounding = HR__NEAREST_AWAY;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 1);
    x = 5e-324;
    c.rounding = HR__TOWARDS_POSITIVE;
    assert_true(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    assert_int_equal(half, 1);
    c.to = hr__dtype(HR_KIND_INT, 1);
    x = NAN;
    assert_false(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
    x = INFINITY;
    assert_false(hr__cast_item(&c, (uint8_t *)&half, (uint8_t *)&x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_after_a_cast_hold_the_other_type),
        cmocka_unit_test(values_without_a_counterpart_are_errors),
        cmocka_unit_test(nan_comes_back_through_the_scalar_map),
        cmocka_unit_test(fill_values_pass_through_the_codecs),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(integers_scale_exactly_or_not_at_all),
        cmocka_unit_test(floats_scale_in_their_own_type),
        cmocka_unit_test(doubles_round_to_floats_as_the_processor_rounds),
        cmocka_unit_test(integers_round_to_floats_as_the_processor_rounds),
        cmocka_unit_test(doubles_round_to_integers),
        cmocka_unit_test(exact_casts_convert),
        cmocka_unit_test(special_values_cast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
