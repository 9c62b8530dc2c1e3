/* Element types of Zarr v2 and v3. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define LITTLE "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]"
#define CONFIG(name, config) "{\"name\":\"" name "\",\"configuration\":{" config "}}"

typedef struct row {
    const char *dtype;
    const char *expected; /* NumPy's spelling, or the start of the message */
    hr_status status;
} row;

static void check(zarr_opened *o, const row *r, const hr_dtype *t) {
    char got[512];
    if (r->status != HR_OK) {
        zarr_assert_fails(o, r->status, r->expected);
        return;
    }
    zarr_assert_ok(o);
    (void)hr_dtype_format(t, got, sizeof got);
    assert_string_equal(got, r->expected);
    zarr_close(o);
}

static void v3_names_become_dtypes(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"bool\"", "|b1", HR_OK},
        {"\"int8\"", "|i1", HR_OK},
        {"\"int64\"", "<i8", HR_OK},
        {"\"uint16\"", "<u2", HR_OK},
        {"\"float16\"", "<f2", HR_OK},
        {"\"float64\"", "<f8", HR_OK},
        {"\"bfloat16\"", "bfloat16", HR_OK},
        {"\"complex64\"", "<c8", HR_OK},
        {"\"complex128\"", "<c16", HR_OK},
        {"\"complex_float32\"", "<c8", HR_OK},
        {"{\"name\":\"int32\"}", "<i4", HR_OK},
        {"{\"name\":\"int32\",\"configuration\":{}}", "<i4", HR_OK},
        {"\"r8\"", "|V1", HR_OK},
        {"\"r256\"", "|V32", HR_OK},
        {CONFIG("fixed_length_utf32", "\"length_bytes\":16"), "<U4", HR_OK},
        {CONFIG("null_terminated_bytes", "\"length_bytes\":5"), "|S5", HR_OK},
        {CONFIG("raw_bytes", "\"length_bytes\":5"), "|V5", HR_OK},
        {CONFIG("numpy.datetime64", "\"unit\":\"ms\",\"scale_factor\":10"), "<M8[10ms]",
         HR_OK},
        {CONFIG("numpy.timedelta64", "\"unit\":\"\\u03bcs\",\"scale_factor\":1"),
         "<m8[us]", HR_OK},
        {CONFIG("numpy.datetime64", "\"unit\":\"generic\",\"scale_factor\":1"), "<M8",
         HR_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "data_type", rows[i].dtype, "fill_value", "null", "codecs", LITTLE);
        check(&o, &rows[i], &o.node.array.dtype);
    }
}

static void v3_types_that_are_not_there_are_named(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"int4\"", "data_type \"int4\"", HR_ERR_UNSUPPORTED},
        {"\"uint2\"", "data_type \"uint2\"", HR_ERR_UNSUPPORTED},
        {"\"float8_e4m3fn\"", "data_type \"float8_e4m3fn\"", HR_ERR_UNSUPPORTED},
        {"\"complex_bfloat16\"", "\"complex_bfloat16\"", HR_ERR_UNSUPPORTED},
        {CONFIG("optional", "\"name\":\"uint8\""), "\"optional\"", HR_ERR_UNSUPPORTED},
        {"\"<i4\"", "data_type \"<i4\"", HR_ERR_UNSUPPORTED},
        {"\"r\"", "data_type \"r\"", HR_ERR_UNSUPPORTED},
        {"\"r08\"", "data_type \"r08\"", HR_ERR_UNSUPPORTED},
        {"\"r8x\"", "data_type \"r8x\"", HR_ERR_UNSUPPORTED},
        {"\"r12\"", "data_type \"r12\"", HR_ERR_METADATA},
        {"\"r99999999992\"", "at most 16777216", HR_ERR_UNSUPPORTED},
        {"\"r999999999999999999999\"", "data_type", HR_ERR_UNSUPPORTED},
        {"7", "data_type is 7", HR_ERR_METADATA},
        {"null", "data_type is missing", HR_ERR_METADATA},
        {"{\"nome\":\"int8\"}", "data_type is {", HR_ERR_METADATA},
        {"{\"name\":\"int8\",\"size\":1}", "\"size\"", HR_ERR_UNSUPPORTED},
        {CONFIG("int8", "\"x\":1"), "\"x\"", HR_ERR_UNSUPPORTED},
        {"{\"name\":\"int8\",\"configuration\":[]}", "configuration is []",
         HR_ERR_METADATA},
        {"\"fixed_length_utf32\"", "no configuration", HR_ERR_METADATA},
        {CONFIG("fixed_length_utf32", "\"length_bytes\":6"), "length_bytes",
         HR_ERR_METADATA},
        {CONFIG("raw_bytes", "\"length_bytes\":0"), "length_bytes", HR_ERR_METADATA},
        {CONFIG("raw_bytes", "\"length_bytes\":4.0"), "length_bytes", HR_ERR_METADATA},
        {CONFIG("raw_bytes", "\"length_bytes\":9223372036854775807"), "at most",
         HR_ERR_UNSUPPORTED},
        {CONFIG("numpy.datetime64", "\"unit\":\"x\",\"scale_factor\":1"), "unit",
         HR_ERR_METADATA},
        {CONFIG("numpy.datetime64", "\"unit\":\"0s\",\"scale_factor\":1"), "unit",
         HR_ERR_METADATA},
        {CONFIG("numpy.datetime64", "\"scale_factor\":1"), "unit", HR_ERR_METADATA},
        {CONFIG("numpy.datetime64", "\"unit\":\"s\",\"scale_factor\":0"), "scale_factor",
         HR_ERR_METADATA},
        {CONFIG("numpy.datetime64", "\"unit\":\"s\",\"scale_factor\":2147483648"),
         "scale_factor", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "data_type", rows[i].dtype, "fill_value", "null", "codecs", LITTLE);
        check(&o, &rows[i], &o.node.array.dtype);
    }
}

#define FIELDS(list) CONFIG("struct", "\"fields\":" list)

static void v3_structures_are_packed(void **state) {
    (void)state;
    static const row rows[] = {
        {FIELDS("[{\"name\":\"a\",\"data_type\":\"int8\"},"
                "{\"name\":\"b\",\"data_type\":{\"name\":\"float64\"}}]"),
         "[('a', '|i1'), ('b', '<f8')]", HR_OK},
        {CONFIG("structured", "\"fields\":[[\"a\",\"int8\"],[\"b\"," FIELDS(
                                  "[{\"name\":\"a\",\"data_type\":\"uint16\"}]") "]]"),
         "[('a', '|i1'), ('b', [('a', '<u2')])]", HR_OK},
        {FIELDS("[]"), "without fields", HR_ERR_METADATA},
        {FIELDS("null"), "missing", HR_ERR_METADATA},
        {FIELDS("[7]"), "a field of the data_type is 7", HR_ERR_METADATA},
        {FIELDS("[[\"a\"]]"), "a field of the data_type", HR_ERR_METADATA},
        {FIELDS("[[\"\",\"int8\"]]"), "a field of the data_type", HR_ERR_METADATA},
        {FIELDS("[[\"a\",\"int8\"],[\"a\",\"int8\"]]"), "named \"a\"", HR_ERR_METADATA},
        {FIELDS("[[\"a\",\"string\"]]"), "field \"a\" is of variable length",
         HR_ERR_UNSUPPORTED},
        {FIELDS("[[\"a\",\"int4\"]]"), "\"int4\"", HR_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "data_type", rows[i].dtype, "fill_value", "null", "codecs", LITTLE);
        check(&o, &rows[i], &o.node.array.dtype);
    }
    zarr_opened o;
    ZARR_V3(&o, "data_type", rows[1].dtype, "fill_value", "null");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.dtype.itemsize, 3);
    assert_int_equal(o.node.array.dtype.fields[1].offset_nbytes, 1);
    zarr_close(&o);
    ZARR_V3(&o, "data_type", rows[1].dtype, "fill_value", "null", "codecs",
            "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]");
    zarr_assert_ok(&o);
    char got[128];
    (void)hr_dtype_format(&o.node.array.stored, got, sizeof got);
    assert_string_equal(got, "[('a', '|i1'), ('b', [('a', '>u2')])]");
    assert_int_equal(o.node.array.stored.byte_order, HR_BIG);
    assert_int_equal(o.node.array.dtype.byte_order, HR_LITTLE);
    zarr_close(&o);
}

static void v2_strings_keep_their_byte_order_in_storage_only(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"<f4\"", "<f4", HR_OK},
        {"\">f4\"", ">f4", HR_OK},
        {"\"|b1\"", "|b1", HR_OK},
        {"\">u1\"", "|u1", HR_OK},
        {"\"<M8[ns]\"", "<M8[ns]", HR_OK},
        {"\">m8[10s]\"", ">m8[10s]", HR_OK},
        {"\"|S7\"", "|S7", HR_OK},
        {"\">U13\"", ">U13", HR_OK},
        {"\"|V3\"", "|V3", HR_OK},
        {"\"bfloat16\"", "bfloat16", HR_OK},
        {"[[\"a\",\">i2\"],[\"b\",\"|u1\",[2,3]],[\"c\",[[\"d\",\">f8\"]]],"
         "[\"e\",\"<i2\",4]]",
         "[('a', '>i2'), ('b', '|u1', (2, 3)), ('c', [('d', '>f8')]), "
         "('e', '<i2', (4,))]",
         HR_OK},
        {"[[\"a\",\"|i1\"],[\"\",\"|V7\"],[\"b\",\"<f8\"],[\"\",\"|V1\"]]",
         "[('a', '|i1'), ('', '|V7'), ('b', '<f8'), ('', '|V1')]", HR_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V2(&o, "dtype", rows[i].dtype, "fill_value", "null");
        check(&o, &rows[i], &o.node.array.stored);
    }
    zarr_opened o;
    ZARR_V2(&o, "dtype", rows[10].dtype, "fill_value", "null");
    zarr_assert_ok(&o);
    char got[256];
    (void)hr_dtype_format(&o.node.array.dtype, got, sizeof got);
    assert_string_equal(got, "[('a', '<i2'), ('b', '|u1', (2, 3)), "
                             "('c', [('d', '<f8')]), ('e', '<i2', (4,))]");
    assert_int_equal(o.node.array.dtype.itemsize, 24);
    assert_int_equal(o.node.array.dtype.fields[3].offset_nbytes, 16);
    assert_int_equal(o.node.array.dtype.byte_order, HR_LITTLE);
    assert_int_equal(o.node.array.stored.byte_order, HR_BIG);
    zarr_close(&o);
}

static void v2_types_that_are_wrong_are_named(void **state) {
    (void)state;
    static const row rows[] = {
        {"\"<i3\"", "dtype is \"<i3\"", HR_ERR_METADATA},
        {"\"string\"", "dtype is \"string\"", HR_ERR_METADATA},
        {"\"|S0\"", "dtype is \"|S0\"", HR_ERR_METADATA},
        {"\"\"", "dtype is \"\"", HR_ERR_METADATA},
        {"7", "dtype is 7", HR_ERR_METADATA},
        {NULL, "dtype is missing", HR_ERR_METADATA},
        {"\"<f16\"", "\"<f16\" is not supported", HR_ERR_UNSUPPORTED},
        {"\"float8_e4m3fn\"", "\"float8_e4m3fn\" is not", HR_ERR_UNSUPPORTED},
        {"\"int4\"", "\"int4\" is not", HR_ERR_UNSUPPORTED},
        {"\"|V16777217\"", "at most 16777216", HR_ERR_UNSUPPORTED},
        {"[]", "without fields", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\"],[\"a\",\"<i4\"]]", "named \"a\"", HR_ERR_METADATA},
        {"[[\"a\"]]", "a field of dtype is [\"a\"]", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\",[1],1]]", "a field of dtype", HR_ERR_METADATA},
        {"[[1,\"<i4\"]]", "a field of dtype", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\",[0]]]", "shape of a dtype field", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\",-1]]", "shape of a dtype field", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\",[4294967296,4294967296]]]", "field \"a\"", HR_ERR_METADATA},
        {"[[\"a\",\"<i4\",[16777216]]]", "at most", HR_ERR_UNSUPPORTED},
        {"[[\"a\",\"|O\"]]", "\"|O\" is not supported", HR_ERR_UNSUPPORTED},
        {"[\"a\",\"<i4\"]", "a field of dtype is \"a\"", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V2(&o, "dtype", rows[i].dtype, "fill_value", "null");
        check(&o, &rows[i], NULL);
    }
}

static void v2_objects_take_the_type_of_their_codec(void **state) {
    (void)state;
    static const row rows[] = {
        {"[{\"id\":\"vlen-utf8\"}]", "string", HR_OK},
        {"[{\"id\":\"vlen-bytes\"},{\"id\":\"zlib\",\"level\":1}]", "bytes", HR_OK},
        {"[{\"id\":\"vlen-array\",\"dtype\":\"<f4\"}]", "vlen-array(<f4)", HR_OK},
        {"[{\"id\":\"vlen-array\"}]", "dtype is missing", HR_ERR_METADATA},
        {"[{\"id\":\"json2\"}]", "codec \"json2\" is not supported", HR_ERR_UNSUPPORTED},
        {"[{\"id\":\"pickle\"}]", "run code", HR_ERR_UNSUPPORTED},
        {"[{\"id\":\"zlib\"}]", "codec \"zlib\"", HR_ERR_UNSUPPORTED},
        {"[]", "object codec", HR_ERR_METADATA},
        {"null", "object codec", HR_ERR_METADATA},
        {"7", "object codec", HR_ERR_METADATA},
        {"[7]", "object codec", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V2(&o, "dtype", "\"|O\"", "filters", rows[i].dtype, "fill_value", "null");
        check(&o, &rows[i], &o.node.array.dtype);
    }
}

static void v2_field_counts_are_bounded(void **state) {
    (void)state;
    static char text[1 << 16];
    size_t n = 0;
    for (int i = 0; i < 4097; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%c[\"\",\"|V1\"]",
                              i == 0 ? '[' : ',');
    }
    (void)snprintf(text + n, sizeof text - n, "]");
    zarr_opened o;
    ZARR_V2(&o, "dtype", text);
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "4097 fields, at most 4096");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v3_names_become_dtypes),
        cmocka_unit_test(v3_types_that_are_not_there_are_named),
        cmocka_unit_test(v3_structures_are_packed),
        cmocka_unit_test(v2_strings_keep_their_byte_order_in_storage_only),
        cmocka_unit_test(v2_types_that_are_wrong_are_named),
        cmocka_unit_test(v2_objects_take_the_type_of_their_codec),
        cmocka_unit_test(v2_field_counts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
