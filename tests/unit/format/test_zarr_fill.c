/* Fill values in every encoding. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "support/zarr_docs.h"

/* The fill as hexadecimal digits; text of vlen kinds likewise. */
static void show(const hr__array *a, char *text, size_t capacity) {
    const uint8_t *item = a->fill;
    uint64_t n = a->dtype.itemsize;
    hr_vlen v;
    if (hr__dtype_is_vlen(&a->dtype)) {
        memcpy(&v, a->fill, sizeof v);
        item = v.data;
        n = v.nbytes;
    }
    text[0] = '\0';
    for (uint64_t i = 0; i < n && 2 * i + 3 < capacity; i++) {
        (void)snprintf(text + 2 * i, capacity - 2 * i, "%02x", item[i]);
    }
}

typedef struct row {
    const char *dtype, *fill;
    const char *expected; /* hexadecimal digits, or NULL: HR_ERR_METADATA */
} row;

static void check(zarr_opened *o, const row *r) {
    char got[256];
    if (r->expected == NULL) {
        if (o->status != HR_ERR_METADATA ||
            strstr(o->err.message, "fill_value") == NULL) {
            fail_msg("fill %s of %s: %s %s", r->fill, r->dtype, hr_status_name(o->status),
                     o->err.message);
        }
    } else if (o->status != HR_OK) {
        fail_msg("fill %s of %s: %s", r->fill, r->dtype, o->err.message);
    } else {
        show(&o->node.array, got, sizeof got);
        if (strcmp(got, r->expected) != 0) {
            fail_msg("fill %s of %s is %s, expected %s", r->fill, r->dtype, got,
                     r->expected);
        }
    }
    zarr_close(o);
}

static void check_v3(const row *rows, size_t n, const char *codecs) {
    for (size_t i = 0; i < n; i++) {
        zarr_opened o;
        ZARR_V3(&o, "data_type", rows[i].dtype, "fill_value", rows[i].fill, "codecs",
                codecs);
        check(&o, &rows[i]);
    }
}

static void check_v2(const row *rows, size_t n, const char *filters) {
    for (size_t i = 0; i < n; i++) {
        zarr_opened o;
        ZARR_V2(&o, "dtype", rows[i].dtype, "fill_value", rows[i].fill, "filters",
                filters);
        check(&o, &rows[i]);
    }
}

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define LITTLE "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]"

static void integers_are_exact(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"int8\"", "-128", "80"},
        {"\"int8\"", "127", "7f"},
        {"\"int8\"", "128", NULL},
        {"\"int8\"", "-129", NULL},
        {"\"uint8\"", "255", "ff"},
        {"\"uint8\"", "256", NULL},
        {"\"uint8\"", "-1", NULL},
        {"\"int16\"", "-2", "feff"},
        {"\"int32\"", "2147483647", "ffffff7f"},
        {"\"int32\"", "2147483648", NULL},
        {"\"int64\"", "-9223372036854775808", "0000000000000080"},
        {"\"int64\"", "9223372036854775807", "ffffffffffffff7f"},
        {"\"int64\"", "9223372036854775808", NULL},
        {"\"uint64\"", "18446744073709551615", "ffffffffffffffff"},
        {"\"uint64\"", "18446744073709551614", "feffffffffffffff"},
        {"\"uint64\"", "18446744073709551616", NULL},
        {"\"uint64\"", "9007199254740993", "0100000000002000"},
        {"\"int32\"", "3.0", "03000000"},
        {"\"int32\"", "3.5", NULL},
        {"\"int32\"", "1e308", NULL},
        {"\"int32\"", "NaN", NULL},
        {"\"int32\"", "\"NaN\"", NULL},
        {"\"int32\"", "\"7\"", "07000000"},
        {"\"uint64\"", "\"18446744073709551615\"", "ffffffffffffffff"},
        {"\"int32\"", "\"\"", NULL},
        {"\"int32\"", "\"x\"", NULL},
        {"\"int32\"", "[5]", "05000000"},
        {"\"int32\"", "[5, 6]", NULL},
        {"\"int32\"", "[]", NULL},
        {"\"int32\"", "{}", NULL},
        {"\"int32\"", "true", NULL},
        {"\"int32\"", "null", "00000000"},
        {"\"int32\"", NULL, "00000000"},
        {"\"bool\"", "true", "01"},
        {"\"bool\"", "false", "00"},
        {"\"bool\"", "0", "00"},
        {"\"bool\"", "1", "01"},
        {"\"bool\"", "2", NULL},
        {"\"bool\"", "\"true\"", "01"},
        {"\"bool\"", "\"yes\"", NULL},
        {"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\","
         "\"scale_factor\":1}}",
         "\"NaT\"", "0000000000000080"},
        {"{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"s\","
         "\"scale_factor\":1}}",
         "-9223372036854775808", "0000000000000080"},
        {"{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"s\","
         "\"scale_factor\":1}}",
         "-1", "ffffffffffffffff"},
        {"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\","
         "\"scale_factor\":1}}",
         "\"2020-01-01\"", NULL},
    };
    check_v3(rows, COUNT(rows), LITTLE);
}

static void floats_have_numbers_names_and_bits(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"float16\"", "\"NaN\"", "007e"},
        {"\"float16\"", "\"0x7e01\"", "017e"},
        {"\"float16\"", "\"0x7e\"", NULL},
        {"\"float16\"", "1", "003c"},
        {"\"float32\"", "\"NaN\"", "0000c07f"},
        {"\"float32\"", "NaN", "0000c07f"},
        {"\"float32\"", "\"0x7fc00001\"", "0100c07f"},
        {"\"float32\"", "\"0X7fc00001\"", NULL},
        {"\"float32\"", "\"0x7FC0000A\"", "0a00c07f"},
        {"\"float32\"", "\"0x7fc0000g\"", NULL},
        {"\"float32\"", "\"0x7fc000010\"", NULL},
        {"\"float32\"", "\"Infinity\"", "0000807f"},
        {"\"float32\"", "\"+Infinity\"", "0000807f"},
        {"\"float32\"", "\"-Infinity\"", "000080ff"},
        {"\"float32\"", "-Infinity", "000080ff"},
        {"\"float32\"", "\"inf\"", NULL},
        {"\"float32\"", "0.1", "cdcccc3d"},
        {"\"float32\"", "\"0.1\"", "cdcccc3d"},
        {"\"float32\"", "-0.0", "00000080"},
        {"\"float32\"", "9.969209968386869e+36", "0000f07c"},
        {"\"float32\"", "[0.5]", "0000003f"},
        {"\"float32\"", "true", NULL},
        {"\"float32\"", "\"\"", NULL},
        {"\"float64\"", "\"NaN\"", "000000000000f87f"},
        {"\"float64\"", "\"0x7ff8000000000001\"", "010000000000f87f"},
        {"\"float64\"", "0.1", "9a9999999999b93f"},
        {"\"float64\"", "18446744073709551615", "000000000000f043"},
        {"\"float64\"", "null", "0000000000000000"},
        {"\"bfloat16\"", "\"NaN\"", "c07f"},
        {"\"bfloat16\"", "\"0x7fc0\"", "c07f"},
        {"\"bfloat16\"", "1.5", "c03f"},
        {"\"complex64\"", "[1, -1]", "0000803f000080bf"},
        {"\"complex64\"", "[\"NaN\", \"0xff800000\"]", "0000c07f000080ff"},
        {"\"complex64\"", "[\"-Infinity\", \"2\"]", "000080ff00000040"},
        {"\"complex64\"", "1", "0000803f00000000"},
        {"\"complex64\"", "[1]", "0000803f00000000"},
        {"\"complex64\"", "[1, 2, 3]", NULL},
        {"\"complex64\"", "[1, \"x\"]", NULL},
        {"\"complex64\"", "[[1, 2], 3]", NULL},
        {"\"complex128\"", "[0.1, 0]", "9a9999999999b93f0000000000000000"},
    };
    check_v3(rows, COUNT(rows), LITTLE);
}

static void fixed_bytes_and_text_are_padded_or_refused(void **state) {
    (void)state;
#define UTF32 "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":8}}"
#define NTB "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":3}}"
#define RAW "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":3}}"
    static const row rows[] = {
        {"\"r24\"", "[1, 2, 255]", "0102ff"},
        {"\"r24\"", "[1, 2]", NULL},
        {"\"r24\"", "[1, 2, 256]", NULL},
        {"\"r24\"", "[1, 2, -1]", NULL},
        {"\"r24\"", "\"AQL/\"", "0102ff"},
        {"\"r24\"", "0", "000000"},
        {"\"r24\"", "1", NULL},
        {"\"r8\"", "[7]", "07"},
        {RAW, "\"AQL/\"", "0102ff"},
        {RAW, "\"AQI=\"", NULL},
        {RAW, "\"AQL/AQ==\"", NULL},
        {RAW, "\"AQ*/\"", NULL},
        {RAW, "\"AQL\"", NULL},
        {RAW, "\"A===\"", NULL},
        {RAW, "\"\"", "000000"},
        {NTB, "\"YWI=\"", "616200"},
        {NTB, "\"YQ==\"", "610000"},
        {NTB, "\"YWJj\"", "616263"},
        {NTB, "\"YWJjZA==\"", NULL},
        {NTB, "\"\"", "000000"},
        {NTB, "0", "000000"},
        {UTF32, "\"a\"", "6100000000000000"},
        {UTF32, "\"\\u00e9\\ud83d\\ude00\"", "e900000000f60100"},
        {UTF32, "\"abc\"", NULL},
        {UTF32, "\"\"", "0000000000000000"},
        {UTF32, "0", "0000000000000000"},
        {UTF32, "[1]", NULL},
        {UTF32, "\"a\\u0000\"", "6100000000000000"},
    };
    check_v3(rows, COUNT(rows), LITTLE);
}

static void structures_take_objects_and_base64(void **state) {
    (void)state;
#define XY                                                                               \
    "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"x\","               \
    "\"data_type\":\"int16\"},{\"name\":\"y\",\"data_type\":\"float32\"}]}}"
#define NESTED                                                                           \
    "{\"name\":\"structured\",\"configuration\":{\"fields\":[[\"p\"," XY                 \
    "],[\"n\",\"uint8\"]]}}"
    static const row rows[] = {
        {XY, "{\"x\":1,\"y\":\"NaN\"}", "01000000c07f"},
        {XY, "{\"y\":1,\"x\":-1}", "ffff0000803f"},
        {XY, "{\"x\":1}", NULL},
        {XY, "{\"x\":1,\"y\":null}", NULL},
        {XY, "{\"x\":70000,\"y\":0}", NULL},
        {XY, "\"AQAAAMB/\"", "01000000c07f"},
        {XY, "\"AQAAAMA=\"", NULL},
        {XY, "0", "000000000000"},
        {XY, "1", NULL},
        {XY, "null", "000000000000"},
        {XY, "[1, 2]", NULL},
        {NESTED, "{\"p\":{\"x\":1,\"y\":0},\"n\":9}",
         "0100000000000"
         "9"},
        {NESTED, "{\"p\":1,\"n\":9}", NULL},
    };
    check_v3(rows, COUNT(rows), LITTLE);
}

static void v2_has_its_own_spellings(void **state) {
    (void)state;
#define FIELDS "[[\"a\",\">i2\"],[\"\",\"|V1\"],[\"b\",\"<i2\"],[\"c\",\">U1\",[2]]]"
    static const row rows[] = {
        {"\">i4\"", "-9999", "f1d8ffff"},
        {"\">f8\"", "\"NaN\"", "000000000000f87f"},
        {"\"<f4\"", "null", "00000000"},
        {"\"<f4\"", NULL, "00000000"},
        {"\"<u8\"", "18446744073709551615", "ffffffffffffffff"},
        {"\"|b1\"", "0", "00"},
        {"\"<M8[ns]\"", "\"NaT\"", "0000000000000080"},
        {"\"<M8[ns]\"", "0", "0000000000000000"},
        {"\">M8[ns]\"", "null", "0000000000000080"},
        {"\"<m8[D]\"", NULL, "0000000000000080"},
        {"[[\"t\",\"<M8[s]\"]]", "null", "0000000000000000"},
        {"\">c16\"", "[\"NaN\", 1]", "000000000000f87f000000000000f03f"},
        {"\"|S3\"", "\"YWI=\"", "616200"},
        {"\"|S1\"", "0", "00"},
        {"\"|S3\"", "\"\"", "000000"},
        {"\">U2\"", "\"ab\"", "6100000062000000"},
        {"\"<U4\"", "0", "00000000000000000000000000000000"},
        {"\"<U1\"", "1", NULL},
        {"\"|V2\"", "\"AQI=\"", "0102"},
        {FIELDS, "0", "00000000000000000000000000"},
        /* stored: 0001 aa 0200 00000061 00000062 */
        {FIELDS, "\"AAGqAgAAAABhAAAAYg==\"", "0100aa02006100000062000000"},
        {FIELDS, "\"AAGq\"", NULL},
        {FIELDS, "{\"a\":1,\"b\":2}", NULL},
        {"\"<i4\"", "[-1]", "ffffffff"},
        {"\"<f4\"", "\"+Infinity\"", "0000807f"},
        {"\"<i2\"", "\"12\"", "0c00"},
    };
    check_v2(rows, COUNT(rows), "null");
}

static void the_chain_sees_the_fill_in_stored_order(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V2(&o, "dtype", "\">i4\"", "fill_value", "1");
    zarr_assert_ok(&o);
    assert_memory_equal(o.node.array.fill, "\x01\0\0\0", 4);
    assert_memory_equal(o.node.array.chain.decoded.fill, "\0\0\0\x01", 4);
    zarr_close(&o);
    ZARR_V3(&o, "fill_value", "1", "codecs",
            "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]");
    zarr_assert_ok(&o);
    assert_memory_equal(o.node.array.fill, "\x01\0\0\0", 4);
    assert_memory_equal(o.node.array.chain.decoded.fill, "\0\0\0\x01", 4);
    zarr_close(&o);
}

static void elements_of_variable_length_have_text_or_bytes(void **state) {
    (void)state;
    static const row text[] = {
        {"\"string\"", "\"h\\u00e9\"", "68c3a9"},
        {"\"string\"", "\"\"", ""},
        {"\"string\"", "null", ""},
        {"\"string\"", "0", ""},
        {"\"string\"", "1", NULL},
        {"\"string\"", "[1]", NULL},
        {"\"variable_length_utf8\"", "\"a\"", "61"},
    };
    static const row bytes[] = {
        {"\"bytes\"", "\"AQI=\"", "0102"},
        {"\"bytes\"", "[1, 2, 3]", "010203"},
        {"\"bytes\"", "[1]", "01"},
        {"\"bytes\"", "[]", ""},
        {"\"bytes\"", "[256]", NULL},
        {"\"bytes\"", "\"A\"", NULL},
        {"\"variable_length_bytes\"", "\"\"", ""},
        {"\"binary\"", "0", ""},
    };
    check_v3(text, COUNT(text), "[\"vlen-utf8\"]");
    check_v3(bytes, COUNT(bytes), "[\"vlen-bytes\"]");
    static const row objects[] = {
        {"\"|O\"", "\"abc\"", "616263"}, {"\"|O\"", "\"\"", ""}, {"\"|O\"", "0", ""},
        {"\"|O\"", "null", ""},          {"\"|O\"", "7", NULL},  {"\"|O\"", NULL, ""},
    };
    check_v2(objects, COUNT(objects), "[{\"id\":\"vlen-utf8\"}]");
}

static void the_text_is_kept_as_stored(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "fill_value", "\"0x00000001\"", "data_type", "\"float32\"");
    zarr_assert_ok(&o);
    assert_string_equal(o.node.fill_value_json, "\"0x00000001\"");
    zarr_close(&o);
    ZARR_V2(&o, "dtype", "\"<u8\"", "fill_value", " 18446744073709551615 ");
    zarr_assert_ok(&o);
    assert_string_equal(o.node.fill_value_json, "18446744073709551615");
    zarr_close(&o);
    ZARR_V2(&o, "fill_value", NULL);
    zarr_assert_ok(&o);
    assert_string_equal(o.node.fill_value_json, "null");
    zarr_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(floats_have_numbers_names_and_bits),
        cmocka_unit_test(fixed_bytes_and_text_are_padded_or_refused),
        cmocka_unit_test(structures_take_objects_and_base64),
        cmocka_unit_test(v2_has_its_own_spellings),
        cmocka_unit_test(the_chain_sees_the_fill_in_stored_order),
        cmocka_unit_test(elements_of_variable_length_have_text_or_bytes),
        cmocka_unit_test(the_text_is_kept_as_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
