/* Arrays of Zarr v2, member by member. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

static void empty_axes_have_no_chunks(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V2(&o, "shape", "[0,10]", "chunks", "[0,4]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.grid[0].nchunks, 0);
    assert_int_equal(o.node.array.grid[0].chunk, 1);
    assert_int_equal(o.node.array.grid[1].nchunks, 3);
    zarr_close(&o);
    ZARR_V2(&o, "shape", "[1,10]", "chunks", "[0,4]");
    zarr_assert_fails(&o, HR_ERR_METADATA, "chunks[0] is 0");
}

static void a_v2_array_is_described(void **state) {
    (void)state;
    static const char *const zattrs =
        "{\"_ARRAY_DIMENSIONS\": [\"y\", \"x\"], \"_nczarr_attr\": {}}";
    const zarr_doc docs[] = {
        {"a/b/.zarray",
         zarr_v2_doc("shape", "[10,6]", "chunks", "[4,3]", "dtype", "\">i2\"", "order",
                     "\"F\"", "compressor", "{\"id\":\"zlib\",\"level\":\"1\"}",
                     "filters", "[{\"id\":\"zlib\",\"level\":2}]", "_NCZARR_ARRAY",
                     "{\"storage\":\"chunked\"}", NULL)},
        {"a/b/.zattrs", zattrs},
        {NULL, NULL}};
    zarr_opened o;
    zarr_open_at(&o, docs, "a/b", NULL, NULL);
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    assert_int_equal(o.node.format, 2);
    assert_string_equal(o.node.path, "a/b");
    assert_int_equal(a->dtype.byte_order, HR_LITTLE);
    assert_int_equal(a->stored.byte_order, HR_BIG);
    assert_int_equal(a->order[0], 1);
    assert_int_equal(a->order[1], 0);
    assert_int_equal(a->chain.decoded.shape[0], 3);
    assert_int_equal(a->chain.decoded.shape[1], 4);
    assert_int_equal(a->chain.ncodecs, 2);
    assert_int_equal(o.node.chunk_shape[0], 4);
    assert_string_equal(o.node.codecs_json, "[{\"id\":\"zlib\",\"level\":2},"
                                            "{\"id\":\"zlib\",\"level\":\"1\"}]");
    assert_string_equal(o.node.dimension_names[0], "y");
    assert_string_equal(o.node.dimension_names[1], "x");
    zarr_close(&o);
}

static void v2_members_of_the_wrong_kind_are_named(void **state) {
    (void)state;
    static const struct {
        const char *name, *json, *message;
        hr_status status;
    } rows[] = {
        {"zarr_format", "3", "zarr_format is 3", HR_ERR_METADATA},
        {"zarr_format", NULL, "zarr_format is missing", HR_ERR_METADATA},
        {"shape", NULL, "shape is missing", HR_ERR_METADATA},
        {"shape", "[-4]", "shape[0] is -4", HR_ERR_METADATA},
        {"chunks", NULL, "chunks is missing", HR_ERR_METADATA},
        {"chunks", "[1.5]", "chunks[0] is 1.5", HR_ERR_METADATA},
        {"chunks", "[]", "chunks has 0 entries, expected 1", HR_ERR_METADATA},
        {"chunks", "[9223372036854775807]", "chunk shape", HR_ERR_METADATA},
        {"order", NULL, "order is missing", HR_ERR_METADATA},
        {"order", "\"A\"", "order is \"A\"", HR_ERR_METADATA},
        {"compressor", NULL, "compressor is missing", HR_ERR_METADATA},
        {"compressor", "7", "codec", HR_ERR_METADATA},
        {"compressor", "{\"id\":\"imagecodecs_tiff\"}", "imagecodecs_tiff",
         HR_ERR_UNSUPPORTED},
        {"filters", "{}", "filters", HR_ERR_METADATA},
        {"filters", "[null]", "codec", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V2(&o, rows[i].name, rows[i].json);
        assert_string_equal(o.err.key, ".zarray");
        zarr_assert_fails(&o, rows[i].status, rows[i].message);
    }
    static const char *const absent[][2] = {
        {"filters", NULL}, {"filters", "[]"}, {"fill_value", NULL}, {"extra", "7"}};
    for (size_t i = 0; i < COUNT(absent); i++) {
        zarr_opened o;
        ZARR_V2(&o, absent[i][0], absent[i][1]);
        zarr_assert_ok(&o);
        zarr_close(&o);
    }
}

static void v2_dimension_names_that_do_not_fit_are_just_attributes(void **state) {
    (void)state;
    static const char *const lists[] = {"[\"x\",\"y\"]", "\"x\"", "[1]", "[null]"};
    const char *text = zarr_v2_doc(NULL);
    for (size_t i = 0; i < COUNT(lists); i++) {
        char attributes[64];
        (void)snprintf(attributes, sizeof attributes, "{\"_ARRAY_DIMENSIONS\":%s}",
                       lists[i]);
        const zarr_doc docs[] = {
            {".zarray", text}, {".zattrs", attributes}, {NULL, NULL}};
        zarr_opened o;
        zarr_open_at(&o, docs, "", NULL, NULL);
        zarr_assert_ok(&o);
        assert_null(o.node.dimension_names);
        assert_string_equal(o.node.attributes_json, attributes);
        zarr_close(&o);
    }
    const zarr_doc docs[] = {{".zarray", text}, {".zattrs", "[]"}, {NULL, NULL}};
    zarr_opened o;
    zarr_open_at(&o, docs, "", NULL, NULL);
    assert_string_equal(o.err.key, ".zattrs");
    zarr_assert_fails(&o, HR_ERR_METADATA, "[]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_axes_have_no_chunks),
        cmocka_unit_test(a_v2_array_is_described),
        cmocka_unit_test(v2_members_of_the_wrong_kind_are_named),
        cmocka_unit_test(v2_dimension_names_that_do_not_fit_are_just_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
