/* Dtypes and devices as text; byte order. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/error.h"

static hr_dtype parse(const char *text) {
    hr_dtype t;
    hr_error err = HR_ERROR_INIT;
    if (hr_dtype_parse(text, &t, &err) != HR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return t;
}

typedef struct good {
    const char *text;
    hr_kind kind;
    uint32_t itemsize;
    hr_byte_order order;
    const char *formatted; /* NULL: as it was */
} good;

static void numpy_type_strings_are_understood(void **state) {
    (void)state;
    static const good cases[] = {
        {"|b1", HR_KIND_BOOL, 1, HR_LITTLE, NULL},
        {"|i1", HR_KIND_INT, 1, HR_LITTLE, NULL},
        {">i1", HR_KIND_INT, 1, HR_LITTLE, "|i1"},
        {"<i2", HR_KIND_INT, 2, HR_LITTLE, NULL},
        {">i4", HR_KIND_INT, 4, HR_BIG, NULL},
        {"<i8", HR_KIND_INT, 8, HR_LITTLE, NULL},
        {"i8", HR_KIND_INT, 8, HR_LITTLE, "<i8"},
        {"=i8", HR_KIND_INT, 8, HR_LITTLE, "<i8"},
        {"|u1", HR_KIND_UINT, 1, HR_LITTLE, NULL},
        {">u8", HR_KIND_UINT, 8, HR_BIG, NULL},
        {"<f2", HR_KIND_FLOAT, 2, HR_LITTLE, NULL},
        {"<f4", HR_KIND_FLOAT, 4, HR_LITTLE, NULL},
        {">f8", HR_KIND_FLOAT, 8, HR_BIG, NULL},
        {"<c8", HR_KIND_COMPLEX, 8, HR_LITTLE, NULL},
        {">c16", HR_KIND_COMPLEX, 16, HR_BIG, NULL},
        {"|S5", HR_KIND_STRING, 5, HR_LITTLE, NULL},
        {"<U4", HR_KIND_UNICODE, 16, HR_LITTLE, NULL},
        {">U1", HR_KIND_UNICODE, 4, HR_BIG, NULL},
        {"|V3", HR_KIND_VOID, 3, HR_LITTLE, NULL},
        {"|V2147483647", HR_KIND_VOID, INT32_MAX, HR_LITTLE, NULL},
        {"bool", HR_KIND_BOOL, 1, HR_LITTLE, "|b1"},
        {"int8", HR_KIND_INT, 1, HR_LITTLE, "|i1"},
        {"int32", HR_KIND_INT, 4, HR_LITTLE, "<i4"},
        {"uint16", HR_KIND_UINT, 2, HR_LITTLE, "<u2"},
        {"float64", HR_KIND_FLOAT, 8, HR_LITTLE, "<f8"},
        {"complex128", HR_KIND_COMPLEX, 16, HR_LITTLE, "<c16"},
        {"bfloat16", HR_KIND_BFLOAT, 2, HR_LITTLE, NULL},
        {"string", HR_KIND_VLEN_UTF8, sizeof(hr_vlen), HR_LITTLE, NULL},
        {"bytes", HR_KIND_VLEN_BYTES, sizeof(hr_vlen), HR_LITTLE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const good *c = &cases[i];
        hr_dtype t = parse(c->text);
        assert_int_equal(t.kind, c->kind);
        assert_int_equal(t.itemsize, c->itemsize);
        assert_int_equal(t.byte_order, c->order);
        assert_int_equal(t.time_scale, 0);
        char text[32];
        size_t n = hr_dtype_format(&t, text, sizeof text);
        assert_int_equal(n, strlen(text));
        assert_string_equal(text, c->formatted != NULL ? c->formatted : c->text);
    }
}

typedef struct time_case {
    const char *text;
    hr_kind kind;
    hr_time_unit unit;
    int32_t scale;
    const char *formatted;
} time_case;

static void time_units_are_understood(void **state) {
    (void)state;
    static const time_case cases[] = {
        {"<M8[ns]", HR_KIND_DATETIME, HR_TIME_ns, 1, NULL},
        {"<M8[10s]", HR_KIND_DATETIME, HR_TIME_s, 10, NULL},
        {">m8[25us]", HR_KIND_TIMEDELTA, HR_TIME_us, 25, NULL},
        {"<M8[\xCE\xBCs]", HR_KIND_DATETIME, HR_TIME_us, 1, "<M8[us]"},
        {"<M8", HR_KIND_DATETIME, HR_TIME_GENERIC, 1, NULL},
        {"<m8[generic]", HR_KIND_TIMEDELTA, HR_TIME_GENERIC, 1, "<m8"},
        {"<M8[Y]", HR_KIND_DATETIME, HR_TIME_Y, 1, NULL},
        {"<M8[M]", HR_KIND_DATETIME, HR_TIME_M, 1, NULL},
        {"<M8[W]", HR_KIND_DATETIME, HR_TIME_W, 1, NULL},
        {"<M8[D]", HR_KIND_DATETIME, HR_TIME_D, 1, NULL},
        {"<M8[h]", HR_KIND_DATETIME, HR_TIME_h, 1, NULL},
        {"<M8[m]", HR_KIND_DATETIME, HR_TIME_m, 1, NULL},
        {"<M8[ms]", HR_KIND_DATETIME, HR_TIME_ms, 1, NULL},
        {"<M8[2147483647ps]", HR_KIND_DATETIME, HR_TIME_ps, INT32_MAX, NULL},
        {"<M8[fs]", HR_KIND_DATETIME, HR_TIME_fs, 1, NULL},
        {"<M8[1as]", HR_KIND_DATETIME, HR_TIME_as, 1, "<M8[as]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const time_case *c = &cases[i];
        hr_dtype t = parse(c->text);
        assert_int_equal(t.kind, c->kind);
        assert_int_equal(t.itemsize, 8);
        assert_int_equal(t.time_unit, c->unit);
        assert_int_equal(t.time_scale, c->scale);
        char text[32];
        (void)hr_dtype_format(&t, text, sizeof text);
        assert_string_equal(text, c->formatted != NULL ? c->formatted : c->text);
    }
}

static void other_text_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "<",
                                      "<f",
                                      "f3",
                                      "<f16",
                                      "<i3",
                                      "|b2",
                                      "<c4",
                                      "|O",
                                      "<x4",
                                      "<f4 ",
                                      " <f4",
                                      "<<f4",
                                      "<f4[s]",
                                      "|S",
                                      "|S0",
                                      "|S-1",
                                      "<U0",
                                      "|V0",
                                      "|S5x",
                                      "<M4[s]",
                                      "<M8[",
                                      "<M8[]",
                                      "<M8[s",
                                      "<M8[s]x",
                                      "<M8[0s]",
                                      "<M8[-1s]",
                                      "<M8[x]",
                                      "<M8[10]",
                                      "<M8s",
                                      "int128",
                                      "Bytes",
                                      "<U536870912",
                                      "|S2147483648",
                                      "<f44444444444",
                                      "<M8[99999999999s]",
                                      "[('a', '<i4')]",
                                      "<M8[10generic]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr_dtype t = {.itemsize = 77};
        hr_error err = HR_ERROR_INIT;
        if (hr_dtype_parse(bad[i], &t, &err) != HR_ERR_DTYPE) {
            fail_msg("accepted: %s", bad[i]);
        }
        assert_int_equal(t.itemsize, 77);
        assert_non_null(strstr(err.message, bad[i]));
    }
    hr_dtype t;
    assert_int_equal(hr_dtype_parse(NULL, &t, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_dtype_parse("<f4", NULL, NULL), HR_ERR_ARGUMENT);
}

static const int64_t pair[] = {2, 3};

static void nested_types_are_written_as_numpy_does(void **state) {
    (void)state;
    hr_field inner[] = {{.name = "x'\\", .dtype = parse("|u1")},
                        {.name = "s", .dtype = parse("<U2"), .offset_nbytes = 1}};
    hr_dtype record = hr__dtype(HR_KIND_STRUCT, 9);
    record.fields = inner;
    record.nfields = 2;
    hr_field outer[] = {{.name = "a", .dtype = parse(">i4"), .ndim = 2, .shape = pair},
                        {.name = "b", .dtype = record, .offset_nbytes = 24},
                        {.name = "c",
                         .dtype = parse("<f8"),
                         .offset_nbytes = 33,
                         .ndim = 1,
                         .shape = pair}};
    hr_dtype t = hr__dtype(HR_KIND_STRUCT, 49);
    t.fields = outer;
    t.nfields = 3;
    const char *expected = "[('a', '>i4', (2, 3)), ('b', [('x\\'\\\\', '|u1'), "
                           "('s', '<U2')]), ('c', '<f8', (2,))]";
    char text[128];
    assert_int_equal(hr_dtype_format(&t, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);

    hr_dtype base = parse("<f4");
    hr_dtype ragged = hr__dtype(HR_KIND_VLEN_ARRAY, sizeof(hr_vlen));
    ragged.base = &base;
    (void)hr_dtype_format(&ragged, text, sizeof text);
    assert_string_equal(text, "vlen-array(<f4)");

    memset(text, 'x', sizeof text);
    assert_int_equal(hr_dtype_format(&t, text, 6), strlen(expected));
    assert_memory_equal(text, "[('a'\0xx", 8);
    assert_int_equal(hr_dtype_format(&t, NULL, 0), strlen(expected));
}

static void equality_sees_what_memory_sees(void **state) {
    (void)state;
    hr_dtype little = parse("<f4");
    hr_dtype big = parse(">f4");
    assert_true(hr__dtype_equal(&little, &little));
    assert_false(hr__dtype_equal(&little, &big));
    assert_true(hr__dtype_same_kind(&little, &big));
    hr_dtype a = parse("<M8[s]");
    hr_dtype b = parse("<M8[10s]");
    hr_dtype c = parse("<M8[ms]");
    assert_false(hr__dtype_equal(&a, &b));
    assert_false(hr__dtype_same_kind(&a, &c));
    hr_dtype byte = parse("|u1");
    hr_dtype odd = byte;
    odd.byte_order = HR_BIG; /* means nothing for one byte */
    assert_true(hr__dtype_equal(&byte, &odd));

    hr_field f = {.name = "a", .dtype = little, .ndim = 1, .shape = pair};
    hr_field g = {.name = "a", .dtype = big, .ndim = 1, .shape = pair};
    hr_dtype s = hr__dtype(HR_KIND_STRUCT, 8);
    s.fields = &f;
    s.nfields = 1;
    hr_dtype u = s;
    u.fields = &g;
    assert_false(hr__dtype_equal(&s, &u));
    assert_true(hr__dtype_same_kind(&s, &u));
    g.name = "b";
    assert_false(hr__dtype_same_kind(&s, &u));
    g.name = "a";
    g.shape = pair + 1;
    assert_false(hr__dtype_same_kind(&s, &u));

    hr_dtype v = hr__dtype(HR_KIND_VLEN_ARRAY, sizeof(hr_vlen));
    hr_dtype w = v;
    v.base = &a;
    w.base = &b;
    assert_true(hr__dtype_equal(&v, &v));
    assert_false(hr__dtype_equal(&v, &w));
    assert_true(hr__dtype_is_vlen(&v));
    assert_false(hr__dtype_is_vlen(&a));
    assert_true(hr__dtype_is_number(&big));
    assert_false(hr__dtype_is_number(&a));
}

static void assert_swap(const hr_dtype *t, const char *from, const char *to, uint64_t n) {
    uint8_t out[64];
    memset(out, 0xEE, sizeof out);
    size_t nbytes = n * t->itemsize;
    hr__dtype_swap(t, out, (const uint8_t *)from, n);
    assert_memory_equal(out, to, nbytes);
    assert_int_equal(out[nbytes], 0xEE);
    memcpy(out, from, nbytes); /* in place */
    hr__dtype_swap(t, out, out, n);
    assert_memory_equal(out, to, nbytes);
    assert_int_equal(out[nbytes], 0xEE);
}

static void swaps_reverse_the_right_units(void **state) {
    (void)state;
    const char *from = "abcdefghijklmnopqrstuvwxyz0123456789";
    hr_dtype t = parse("<i2");
    assert_swap(&t, from, "badcfehgji", 5);
    t = parse(">f4");
    assert_swap(&t, from, "dcbahgfe", 2);
    t = parse("<M8[s]");
    assert_swap(&t, from, "hgfedcba", 1);
    t = parse("<c8");
    assert_swap(&t, from, "dcbahgfelkjiponm", 2);
    t = parse("<c16");
    assert_swap(&t, from, "hgfedcbaponmlkji", 1);
    t = parse("<U2");
    assert_swap(&t, from, "dcbahgfe", 1);
    t = parse("|S3");
    assert_swap(&t, from, "abcdef", 2);
    assert_false(hr__dtype_needs_swap(&t));
    t = parse("|u1");
    assert_swap(&t, from, "abc", 3);
    t = parse("bfloat16");
    assert_swap(&t, from, "badc", 2);
    assert_true(hr__dtype_needs_swap(&t));
}

static void swaps_of_structures_touch_big_endian_fields(void **state) {
    (void)state;
    hr_field nested[] = {{.name = "x", .dtype = parse(">u2")},
                         {.name = "y", .dtype = parse("|u1"), .offset_nbytes = 2}};
    hr_dtype record = hr__dtype(HR_KIND_STRUCT, 3);
    record.fields = nested;
    record.nfields = 2;
    hr_field fields[] = {
        {.name = "a", .dtype = parse("<u2")},
        {.name = "b",
         .dtype = parse(">u2"),
         .offset_nbytes = 2,
         .ndim = 1,
         .shape = pair},
        {.name = "c", .dtype = record, .offset_nbytes = 6, .ndim = 1, .shape = pair}};
    hr_dtype t = hr__dtype(HR_KIND_STRUCT, 13); /* one byte of padding at the end */
    t.fields = fields;
    t.nfields = 3;
    assert_true(hr__dtype_needs_swap(&t));
    assert_swap(&t, "abcdefghijklmABCDEFGHIJKLM", "abdcfehgikjlmABDCFEHGIKJLM", 2);

    fields[0].dtype = parse("|S2");
    t.nfields = 1;
    assert_false(hr__dtype_needs_swap(&t));
}

static void orders_reach_into_structures(void **state) {
    (void)state;
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr_field inner[] = {{.name = "x", .dtype = parse("<i4")}};
    hr_dtype record = hr__dtype(HR_KIND_STRUCT, 4);
    record.fields = inner;
    record.nfields = 1;
    hr_field fields[] = {{.name = "text", .dtype = parse("|S4")},
                         {.name = "record", .dtype = record, .offset_nbytes = 4}};
    hr_dtype t = hr__dtype(HR_KIND_STRUCT, 8);
    t.fields = fields;
    t.nfields = 2;
    hr_dtype big, little;
    assert_true(hr__dtype_in_order(&t, HR_BIG, &arena, &big));
    assert_int_equal(big.byte_order, HR_BIG);
    assert_int_equal(big.fields[0].dtype.byte_order, HR_LITTLE); /* no order applies */
    assert_int_equal(big.fields[1].dtype.fields[0].dtype.byte_order, HR_BIG);
    assert_int_equal(inner[0].dtype.byte_order, HR_LITTLE);
    assert_true(hr__dtype_in_order(&big, HR_LITTLE, &arena, &little));
    assert_true(hr__dtype_equal(&little, &t));
    hr__arena_free(&arena);
}

static void devices_are_understood(void **state) {
    (void)state;
    hr_device d;
    assert_int_equal(hr_device_parse("cpu", &d, NULL), HR_OK);
    assert_int_equal(d.type, HR_DEVICE_CPU);
    assert_int_equal(hr_device_parse("simt", &d, NULL), HR_OK);
    assert_int_equal(d.type, HR_DEVICE_SIMT);
    assert_int_equal(hr_device_parse("cuda", &d, NULL), HR_OK);
    assert_int_equal(d.type, HR_DEVICE_CUDA);
    assert_int_equal(d.index, 0);
    assert_int_equal(hr_device_parse("cuda:11", &d, NULL), HR_OK);
    assert_int_equal(d.index, 11);
    static const char *const bad[] = {
        "", "CPU", "cpu:1", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr_device_parse(bad[i], &d, &err), HR_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, bad[i]));
    }
    assert_int_equal(d.index, 11);
    assert_int_equal(hr_device_parse(NULL, &d, NULL), HR_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_type_strings_are_understood),
        cmocka_unit_test(time_units_are_understood),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(nested_types_are_written_as_numpy_does),
        cmocka_unit_test(equality_sees_what_memory_sees),
        cmocka_unit_test(swaps_reverse_the_right_units),
        cmocka_unit_test(swaps_of_structures_touch_big_endian_fields),
        cmocka_unit_test(orders_reach_into_structures),
        cmocka_unit_test(devices_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
