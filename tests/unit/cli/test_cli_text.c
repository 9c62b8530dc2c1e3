/* What the command prints and writes. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "moments.h"
#include "npy.h"
#include "num.h"
#include "show.h"
#include "text.h"

/* Collects what is printed. */
typedef struct sink {
    char *text;
    size_t length;
    FILE *file;
} sink;

static FILE *begin(sink *s) {
    s->file = open_memstream(&s->text, &s->length);
    assert_non_null(s->file);
    return s->file;
}

static void expect_text(sink *s, const char *expected) {
    assert_int_equal(fclose(s->file), 0);
    assert_string_equal(s->text, expected);
    free(s->text);
}

static void expect_element(hr_dtype dtype, const void *element, const char *expected) {
    sink s;
    cli_element_print(begin(&s), &dtype, element);
    expect_text(&s, expected);
}

static hr_dtype dtype_of(const char *text) {
    hr_dtype dtype;
    assert_int_equal(hr_dtype_parse(text, &dtype, NULL), HR_OK);
    return dtype;
}

static void floats_are_the_shortest_that_read_back(void **state) {
    (void)state;
    char text[40];
    assert_string_equal(cli_double_text(0.1, text), "0.1");
    assert_string_equal(cli_double_text(1, text), "1.0");
    assert_string_equal(cli_double_text(1e300, text), "1e+300");
    assert_string_equal(cli_double_text(0.1 + 0.2, text), "0.30000000000000004");
    assert_string_equal(cli_double_text(-__builtin_inf(), text), "-inf");
    assert_string_equal(cli_double_text(-__builtin_nan(""), text), "nan");
    assert_string_equal(cli_float_text(0.1F, text), "0.1");
    assert_string_equal(cli_float_text(16777216, text), "16777216.0");
    assert_string_equal(cli_float_text(-0.0F, text), "-0.0");
}

static void small_floats_have_their_values(void **state) {
    (void)state;
    assert_true(cli_half_to_float(0x3C00) == 1);
    assert_true(cli_half_to_float(0xC000) == -2);
    assert_true(cli_half_to_float(0x7BFF) == 65504);
    assert_true(cli_half_to_float(0x0001) == 0x1p-24F);
    assert_true(cli_half_to_float(0x7C00) == __builtin_inff());
    assert_true(cli_half_to_float(0x7E00) != cli_half_to_float(0x7E00));
    assert_true(cli_bfloat_to_float(0x3F80) == 1);
}

static void elements_look_as_in_python(void **state) {
    (void)state;
    expect_element(dtype_of("|b1"), "\1", "True");
    expect_element(dtype_of("|i1"), "\xff", "-1");
    expect_element(dtype_of("<i2"), "\xfe\xff", "-2");
    expect_element(dtype_of("<u8"), "\xff\xff\xff\xff\xff\xff\xff\xff",
                   "18446744073709551615");
    expect_element(dtype_of("<f2"), "\x00\x3e", "1.5");
    float z[2] = {1, -2.5F};
    expect_element(dtype_of("<c8"), z, "1.0-2.5j");
    expect_element(dtype_of("|S4"), "a'\n\0", "b'a\\'\\n'");
    uint32_t u[4] = {'a', 0xDF, 0x1F701, 0};
    expect_element(dtype_of("<U4"), u, "'aß🜁'");
    expect_element(dtype_of("|V2"), "\x01z", "b'\\x01z'");
    hr_vlen vlen = {.data = "h\xc3\xa9", .nbytes = 3};
    expect_element(dtype_of("string"), &vlen, "'h\xc3\xa9'");
}

static void dates_look_as_in_numpy(void **state) {
    (void)state;
    static const struct {
        const char *dtype;
        int64_t count;
        const char *text;
    } cases[] = {
        {"<M8[D]", 0, "1970-01-01"},
        {"<M8[D]", 11016, "2000-02-29"},
        {"<M8[D]", -1, "1969-12-31"},
        {"<M8[D]", -719529, "-001-12-31"},
        {"<M8[ns]", -1, "1969-12-31T23:59:59.999999999"},
        {"<M8[10s]", 6, "1970-01-01T00:01:00"},
        {"<M8[h]", 25, "1970-01-02T01"},
        {"<M8[m]", 61, "1970-01-01T01:01"},
        {"<M8[M]", -1, "1969-12"},
        {"<M8[Y]", 54, "2024"},
        {"<M8[W]", 1, "1970-01-08"},
        {"<M8[as]", INT64_MAX, "1970-01-01T00:00:09.223372036854775807"},
        {"<M8[us]", INT64_MIN, "NaT"},
        {"<M8[D]", INT64_MAX, "9223372036854775807 D"},
        {"<m8[10ms]", 3, "30 ms"},
        {"<m8[W]", INT64_MIN, "NaT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_element(dtype_of(cases[i].dtype), &cases[i].count, cases[i].text);
    }
}

static void arrays_are_nested_and_cut(void **state) {
    (void)state;
    hr_dtype dtype = dtype_of("<i4");
    int32_t data[2000];
    for (int32_t i = 0; i < 2000; i++) {
        data[i] = i;
    }
    sink s;
    cli_array_print(begin(&s), &dtype, 2, (const int64_t[]){2, 3}, data + 8);
    expect_text(&s, "[[ 8  9 10]\n [11 12 13]]");
    cli_array_print(begin(&s), &dtype, 1, (const int64_t[]){2000}, data);
    expect_text(&s, "[   0    1    2 ... 1997 1998 1999]");
    cli_array_print(begin(&s), &dtype, 0, NULL, data);
    expect_text(&s, "0");
    cli_array_print(begin(&s), &dtype, 2, (const int64_t[]){5, 0}, data);
    expect_text(&s, "[]");
}

static void sizes_are_in_powers_of_1024(void **state) {
    (void)state;
    char text[24];
    assert_string_equal(cli_nbytes_text(1023, text), "1023 B");
    assert_string_equal(cli_nbytes_text(1536, text), "1.5 KiB");
    assert_string_equal(cli_nbytes_text(UINT64_MAX, text), "16.0 EiB");
}

static const int64_t pair[] = {2};
static const hr_field fields[] = {
    {.name = "a", .dtype = {.kind = HR_KIND_INT, .itemsize = 1}, .offset_nbytes = 0},
    {.name = "it's",
     .dtype = {.kind = HR_KIND_FLOAT, .itemsize = 4, .byte_order = HR_BIG},
     .offset_nbytes = 4,
     .ndim = 1,
     .shape = pair},
};
static const hr_dtype record = {.kind = HR_KIND_STRUCT,
                                .byte_order = HR_BIG,
                                .itemsize = 16,
                                .fields = fields,
                                .nfields = 2};

static void npy_headers_spell_structures_with_their_gaps(void **state) {
    (void)state;
    hr_dtype little;
    assert_true(cli_layout_little(&record, &little));
    assert_null(cli_npy_refusal(&little));
    sink s;
    assert_true(cli_npy_write_header(begin(&s), &little, 1, (const int64_t[]){7}));
    assert_int_equal(fclose(s.file), 0);
    assert_memory_equal(s.text, "\x93NUMPY\1\0", 8);
    assert_int_equal(s.length % 64, 0);
    assert_int_equal((unsigned char)s.text[8] + 256 * (unsigned char)s.text[9],
                     s.length - 10);
    assert_int_equal(s.text[s.length - 1], '\n');
    const char *expected = "{'descr': [('a', '|i1'), ('', '|V3'), "
                           "('it\\'s', '<f4', (2,)), ('', '|V4'), ], "
                           "'fortran_order': False, 'shape': (7,), } ";
    assert_memory_equal(s.text + 10, expected, strlen(expected));
    free(s.text);
    cli_layout_free(&little);
}

static void npy_has_no_form_for_some_types(void **state) {
    (void)state;
    hr_dtype string = dtype_of("string");
    assert_non_null(cli_npy_refusal(&string));
    hr_dtype small = record;
    small.itemsize = 11;
    assert_non_null(cli_npy_refusal(&small));
}

static void plain_bytes_have_no_gaps(void **state) {
    (void)state;
    hr_dtype little;
    assert_true(cli_layout_little(&record, &little));
    sink s;
    assert_true(
        cli_layout_write(begin(&s), &little, "A---bbbbcccc----D---eeeeffff----", 2));
    expect_text(&s, "AbbbbccccDeeeeffff");
    cli_layout_free(&little);
    hr_dtype string = dtype_of("string");
    const hr_vlen texts[] = {{.data = "abc", .nbytes = 3}, {.data = NULL, .nbytes = 0}};
    assert_true(cli_layout_write(begin(&s), &string, texts, 2));
    assert_int_equal(fclose(s.file), 0);
    assert_int_equal(s.length, 11);
    assert_memory_equal(s.text, "\3\0\0\0abc\0\0\0\0", 11);
    free(s.text);
}

static void moments_are_exact_where_doubles_are_not(void **state) {
    (void)state;
    cli_moments m = CLI_MOMENTS_INIT;
    const long double first[] = {1e18L, 1, __builtin_nanl("")};
    const long double second[] = {-1e18L, 2};
    cli_moments_add(&m, first, 3);
    cli_moments_add(&m, second, 2);
    assert_int_equal(m.n, 4);
    assert_int_equal(m.nnan, 1);
    assert_true(cli_moments_mean(&m) == 0.75L);
    assert_true(m.min == -1e18L && m.max == 1e18L);

    cli_moments far = CLI_MOMENTS_INIT;
    for (int i = 0; i < 1000; i++) {
        const long double pair_of[] = {1e12L, 1e12L + 2};
        cli_moments_add(&far, pair_of, 2);
    }
    assert_true(cli_moments_std(&far) == 1);
    cli_moments none = CLI_MOMENTS_INIT;
    assert_true(cli_moments_mean(&none) != cli_moments_mean(&none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_the_shortest_that_read_back),
        cmocka_unit_test(small_floats_have_their_values),
        cmocka_unit_test(elements_look_as_in_python),
        cmocka_unit_test(dates_look_as_in_numpy),
        cmocka_unit_test(arrays_are_nested_and_cut),
        cmocka_unit_test(sizes_are_in_powers_of_1024),
        cmocka_unit_test(npy_headers_spell_structures_with_their_gaps),
        cmocka_unit_test(npy_has_no_form_for_some_types),
        cmocka_unit_test(plain_bytes_have_no_gaps),
        cmocka_unit_test(moments_are_exact_where_doubles_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
