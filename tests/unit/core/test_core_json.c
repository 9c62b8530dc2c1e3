/* JSON access: limits, strictness, exact integers. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/json_number.h"

/* The text lies at the end of its own allocation, so that a sanitizer sees overreads. */
static hr_status parse(const char *text, size_t n, json_object **out, hr_error *err) {
    char *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, text, n);
    hr_status s = hr__json_parse(exact, n, out, err);
    free(exact);
    return s;
}

static json_object *good(const char *text) {
    json_object *v = NULL;
    hr_error err = HR_ERROR_INIT;
    if (parse(text, strlen(text), &v, &err) != HR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return v;
}

static void assert_bad(const char *text, size_t n) {
    json_object *untouched = (json_object *)&n;
    json_object *v = untouched;
    hr_error err = HR_ERROR_INIT;
    if (parse(text, n, &v, &err) != HR_ERR_METADATA) {
        fail_msg("accepted: %s", text);
    }
    assert_ptr_equal(v, untouched);
    assert_non_null(strstr(err.message, "byte "));
}

static void malformed_documents_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "   ",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":1",
                                      "[1,2",
                                      "[1,]",
                                      "{}x",
                                      "{} {}",
                                      "1 2",
                                      "\"a",
                                      "{'a':1}",
                                      "nul",
                                      "tru",
                                      "Nan",
                                      "-",
                                      "01",
                                      "[1 2]",
                                      "{a:1}",
                                      "NULL",
                                      "/*c*/1",
                                      "infinity",
                                      "{\"a\":1,}",
                                      "1e",
                                      "{\"\":}",
                                      "\"\xff\"",
                                      "\"\\q\"",
                                      "[01]",
                                      "[\"\\u12\"]",
                                      "]",
                                      "Infinit",
                                      "-Inf",
                                      "+1",
                                      "1.5.5",
                                      "[1]]",
                                      "{\"a\":\"b\"}}",
                                      "- 1",
                                      "--1",
                                      "nullx",
                                      "truefalse",
                                      "[99999999999999999999,01]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_bad(bad[i], strlen(bad[i]));
    }
    assert_bad("{}\0{}", 5);
    assert_bad("1\0", 2);
    assert_bad("\"a\0b\"", 5);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    const char *text =
        "{\"a\": [1.5, NaN, true, null, \"\\u00e9\\n\"], \"b\": {\"c\": -7}}";
    for (size_t n = 0; n < strlen(text); n++) {
        assert_bad(text, n);
    }
    json_object_put(good(text));
}

static void errors_carry_the_offset(void **state) {
    (void)state;
    json_object *v;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(parse("[1, 2, x]", 9, &v, &err), HR_ERR_METADATA);
    assert_int_equal(err.offset, 7);
    assert_int_equal(hr__json_parse("", (size_t)INT_MAX + 1, &v, &err), HR_ERR_METADATA);
    assert_int_equal(hr__json_parse("", 0, &v, NULL), HR_ERR_METADATA);
}

static void white_space_around_is_allowed(void **state) {
    (void)state;
    json_object *v = good(" \r\n\t{\"a\" : 1 }\n \t\r");
    assert_true(hr__json_has(v, "a"));
    json_object_put(v);
    assert_null(good(" null\n"));
    int64_t i = 0;
    v = good("\n42 ");
    assert_true(hr__json_i64(v, &i));
    assert_int_equal(i, 42);
    json_object_put(v);
}

static void depth_is_bounded(void **state) {
    (void)state;
    enum { N = 100000 };
    char *bomb = malloc(N + 1);
    memset(bomb, '[', N);
    bomb[N] = '\0';
    assert_bad(bomb, N);
    for (size_t i = 0; i + 6 <= N; i += 6) {
        memcpy(bomb + i, "{\"a\":[", 6);
    }
    assert_bad(bomb, N);
    memset(bomb, '[', 60);
    memset(bomb + 60, ']', 60);
    bomb[120] = '\0';
    json_object_put(good(bomb));
    free(bomb);
}

static void the_last_of_duplicate_keys_counts(void **state) {
    (void)state;
    json_object *v = good("{\"a\": 1, \"b\": 0, \"a\": 2}");
    int64_t i = 0;
    assert_true(hr__json_i64(hr__json_get(v, "a"), &i));
    assert_int_equal(i, 2);
    json_object_put(v);
}

static void members_are_found(void **state) {
    (void)state;
    json_object *v =
        good("{\"s\": \"text\", \"n\": null, \"z\": \"a\\u0000b\", \"l\": [1]}");
    assert_string_equal(hr__json_str(hr__json_get(v, "s")), "text");
    assert_true(hr__json_is(hr__json_get(v, "s"), "text"));
    assert_false(hr__json_is(hr__json_get(v, "s"), "tex"));
    assert_true(hr__json_has(v, "n"));
    assert_null(hr__json_get(v, "n"));
    assert_false(hr__json_has(v, "absent"));
    assert_null(hr__json_get(v, "absent"));
    assert_null(hr__json_str(hr__json_get(v, "z"))); /* no C string says that */
    assert_false(hr__json_is(hr__json_get(v, "z"), "a"));
    assert_null(hr__json_str(hr__json_get(v, "l")));
    assert_null(hr__json_get(hr__json_get(v, "l"), "s"));
    assert_false(hr__json_has(hr__json_get(v, "s"), "s"));
    assert_null(hr__json_get(NULL, "s"));
    assert_false(hr__json_has(NULL, "s"));
    json_object_put(v);
}

typedef struct number {
    const char *text;
    bool is_i64, is_u64, is_lenient, is_double;
    int64_t i;
    uint64_t u;
    double d;
} number;

static void integers_are_exact_or_not_integers(void **state) {
    (void)state;
    static const number cases[] = {
        {"0", 1, 1, 1, 1, 0, 0, 0},
        {"-0", 1, 1, 1, 1, 0, 0, 0},
        {"-0.0", 1, 1, 1, 1, 0, 0, 0},
        {"1.0", 1, 1, 1, 1, 1, 1, 1},
        {"1e3", 1, 1, 1, 1, 1000, 1000, 1000},
        {"1.5", 0, 0, 0, 1, 0, 0, 1.5},
        {"-1", 1, 0, 1, 1, -1, 0, -1},
        {"9223372036854775807", 1, 1, 1, 1, INT64_MAX, INT64_MAX, 0x1p63},
        {"9223372036854775808", 0, 1, 0, 1, 0, 1ULL << 63, 0x1p63},
        {"18446744073709551615", 0, 1, 0, 1, 0, UINT64_MAX, 0x1p64},
        {"18446744073709551616", 0, 0, 0, 1, 0, 0, 0x1p64},
        {"-9223372036854775808", 1, 0, 1, 1, INT64_MIN, 0, -0x1p63},
        {"-9223372036854775809", 0, 0, 0, 1, 0, 0, -0x1p63},
        {"100000000000000000000000", 0, 0, 0, 1, 0, 0, 1e23},
        {"9007199254740992.0", 1, 1, 1, 1, 1LL << 53, 1ULL << 53, 0x1p53},
        {"9007199254740994.0", 0, 0, 0, 1, 0, 0, 0x1p53 + 2},
        {"1e19", 0, 0, 0, 1, 0, 0, 1e19},
        {"1e400", 0, 0, 0, 1, 0, 0, INFINITY},
        {"NaN", 0, 0, 0, 1, 0, 0, NAN},
        {"Infinity", 0, 0, 0, 1, 0, 0, INFINITY},
        {"-Infinity", 0, 0, 0, 1, 0, 0, -INFINITY},
        {"\"1\"", 0, 0, 1, 0, 1, 0, 0},
        {"\"-9223372036854775808\"", 0, 0, 1, 0, INT64_MIN, 0, 0},
        {"\"9223372036854775807\"", 0, 0, 1, 0, INT64_MAX, 0, 0},
        {"\"9223372036854775808\"", 0, 0, 0, 0, 0, 0, 0},
        {"\"\"", 0, 0, 0, 0, 0, 0, 0},
        {"\"-\"", 0, 0, 0, 0, 0, 0, 0},
        {"\" 1\"", 0, 0, 0, 0, 0, 0, 0},
        {"\"1.0\"", 0, 0, 0, 0, 0, 0, 0},
        {"true", 0, 0, 0, 0, 0, 0, 0},
        {"null", 0, 0, 0, 0, 0, 0, 0},
        {"[1]", 0, 0, 0, 0, 0, 0, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const number *c = &cases[k];
        json_object *v = good(c->text);
        int64_t i = 7;
        uint64_t u = 7;
        double d = 7;
        if (hr__json_i64(v, &i) != c->is_i64 || i != (c->is_i64 ? c->i : 7)) {
            fail_msg("%s as int64: %lld", c->text, (long long)i);
        }
        i = 7;
        if (hr__json_i64_lenient(v, &i) != c->is_lenient ||
            i != (c->is_lenient ? c->i : 7)) {
            fail_msg("%s as lenient int64: %lld", c->text, (long long)i);
        }
        if (hr__json_u64(v, &u) != c->is_u64 || u != (c->is_u64 ? c->u : 7)) {
            fail_msg("%s as uint64: %llu", c->text, (unsigned long long)u);
        }
        if (hr__json_double(v, &d) != c->is_double ||
            (isnan(c->d) ? !isnan(d) : d != (c->is_double ? c->d : 7))) {
            fail_msg("%s as double: %g", c->text, d);
        }
        json_object_put(v);
    }
}

static void huge_integers_do_not_disturb_their_neighbours(void **state) {
    (void)state;
    json_object *v = good("{\"a\\\"99999999999999999999\": \"99999999999999999999\","
                          " \"b\": [99999999999999999999, 1.99999999999999999999,"
                          " -99999999999999999999e0, 18446744073709551615]}");
    assert_true(
        hr__json_is(hr__json_get(v, "a\"99999999999999999999"), "99999999999999999999"));
    json_object *b = hr__json_get(v, "b");
    double d = 0;
    assert_true(hr__json_double(json_object_array_get_idx(b, 0), &d) && d == 1e20);
    assert_true(hr__json_double(json_object_array_get_idx(b, 1), &d) && d == 2);
    assert_true(hr__json_double(json_object_array_get_idx(b, 2), &d) && d == -1e20);
    uint64_t u = 0;
    assert_true(hr__json_u64(json_object_array_get_idx(b, 3), &u) && u == UINT64_MAX);
    json_object_put(v);
}

static void integer_members_are_checked(void **state) {
    (void)state;
    json_object *v = good("{\"level\": 5, \"text\": \"5\", \"bad\": [5], \"n\": null}");
    hr_error err = HR_ERROR_INIT;
    int64_t i = 7;
    assert_int_equal(hr__json_member_i64(v, "zstd", "level", 0, 5, 1, &i, &err), HR_OK);
    assert_int_equal(i, 5);
    assert_int_equal(hr__json_member_i64(v, "zstd", "text", 0, 9, 1, &i, &err), HR_OK);
    assert_int_equal(i, 5);
    assert_int_equal(hr__json_member_i64(v, "zstd", "n", 0, 9, 1, &i, &err), HR_OK);
    assert_int_equal(i, 1);
    assert_int_equal(hr__json_member_i64(NULL, "zstd", "level", 0, 9, -3, &i, &err),
                     HR_OK);
    assert_int_equal(i, -3);
    assert_int_equal(hr__json_member_i64(v, "zstd", "level", 0, 4, 1, &i, &err),
                     HR_ERR_METADATA);
    assert_string_equal(err.message, "zstd: \"level\" is 5, expected 0 to 4");
    assert_int_equal(hr__json_member_i64(v, "zstd", "bad", 0, 9, 1, &i, &err),
                     HR_ERR_METADATA);
    assert_non_null(strstr(err.message, "\"bad\""));
    assert_int_equal(i, -3);
    json_object_put(v);
}

static bool reads(const char *json, const char *dtype, uint8_t *item) {
    json_object *value = good(json);
    hr_dtype t;
    assert_int_equal(hr_dtype_parse(dtype, &t, NULL), HR_OK);
    bool ok = hr__json_number(value, &t, item);
    json_object_put(value);
    return ok;
}

static void numbers_become_items_of_their_type(void **state) {
    (void)state;
    static const struct {
        const char *json, *dtype, *item;
    } items[] = {
        {"-128", "|i1", "\x80"},
        {"255", "|u1", "\xff"},
        {"258", ">u2", "\x01\x02"},
        {"-2", "<m8[s]", "\xfe\xff\xff\xff\xff\xff\xff\xff"},
        {"1.5", "<f4", "\0\0\xc0\x3f"},
        {"1.5", "bfloat16", "\xc0\x3f"},
        {"\"NaN\"", "<f2", "\0\x7e"},
        {"\"-Infinity\"", ">f4", "\xff\x80\0\0"},
        {"\"0x7fc00001\"", "<f4", "\x01\0\xc0\x7f"},
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        hr_dtype t;
        uint8_t item[8];
        assert_true(reads(items[i].json, items[i].dtype, item));
        assert_int_equal(hr_dtype_parse(items[i].dtype, &t, NULL), HR_OK);
        assert_memory_equal(item, items[i].item, t.itemsize);
    }
}

static void what_a_type_does_not_hold_is_no_number_of_it(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"128", "|i1"},        {"-1", "|u1"},
        {"256", "|u1"},        {"1.5", "<i4"},
        {"\"1\"", "<i4"},      {"\"nan\"", "<f4"},
        {"\"0x7fc0\"", "<f4"}, {"\"0x7g\"", "|u1"},
        {"true", "<f8"},       {"\"0x7fc0000g\"", "<f4"},
        {"[1, 2]", "<c8"},     {"null", "<f4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t item[8] = {0xAA};
        assert_false(reads(bad[i][0], bad[i][1], item));
        assert_int_equal(item[0], 0xAA);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_documents_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(errors_carry_the_offset),
        cmocka_unit_test(white_space_around_is_allowed),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(the_last_of_duplicate_keys_counts),
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(integers_are_exact_or_not_integers),
        cmocka_unit_test(huge_integers_do_not_disturb_their_neighbours),
        cmocka_unit_test(integer_members_are_checked),
        cmocka_unit_test(numbers_become_items_of_their_type),
        cmocka_unit_test(what_a_type_does_not_hold_is_no_number_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
