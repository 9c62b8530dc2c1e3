/* Arrays of Zarr v3, member by member. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define REGULAR(shape)                                                                   \
    "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" shape "}}"
#define BYTES(endian) "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"" endian "\"}}"
#define TRANSPOSE(order)                                                                 \
    "{\"name\":\"transpose\",\"configuration\":{\"order\":" order "}}"

static void a_v3_array_is_described(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[10, 6]", "chunk_grid", REGULAR("[4, 3]"), "attributes",
            "{ \"a\" : [1, NaN], \"b\":\"x/y\" }", "dimension_names", "[\"t\", null]");
    zarr_assert_ok(&o);
    const hr__zarr_node *n = &o.node;
    const hr__array *a = &n->array;
    assert_int_equal(n->kind, HR_NODE_ARRAY);
    assert_int_equal(n->format, 3);
    assert_string_equal(n->path, "");
    assert_string_equal(n->attributes_json, "{\"a\":[1,NaN],\"b\":\"x/y\"}");
    assert_null(n->consolidated);
    assert_int_equal(a->ndim, 2);
    assert_int_equal(a->shape[0], 10);
    assert_int_equal(a->shape[1], 6);
    assert_int_equal(a->outer[0].length, 10);
    assert_int_equal(a->outer[0].chunk, 4);
    assert_int_equal(a->outer[0].nchunks, 3);
    assert_int_equal(a->grid[1].chunk, 3);
    assert_int_equal(a->grid[1].nchunks, 2);
    assert_int_equal(a->nlevels, 0);
    assert_int_equal(a->order[0], 0);
    assert_int_equal(a->order[1], 1);
    assert_int_equal(a->chain.decoded.nbytes, 48);
    assert_null(a->chain_for);
    assert_int_equal(n->chunk_shape[1], 3);
    assert_false(n->has_shards);
    assert_false(n->is_rectilinear);
    assert_string_equal(
        n->codecs_json,
        "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]");
    assert_string_equal(n->dimension_names[0], "t");
    assert_null(n->dimension_names[1]);
    zarr_close(&o);
}

static void members_that_are_not_known_are_named(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "extension_x", "{}");
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "\"extension_x\"");
    ZARR_V3(&o, "extension_x", "{\"must_understand\":true}");
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "\"extension_x\"");
    ZARR_V3(&o, "extension_x", "{\"must_understand\":\"false\"}");
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "\"extension_x\"");
    ZARR_V3(&o, "extension_x", "{\"must_understand\":false}");
    zarr_assert_ok(&o);
    zarr_close(&o);
    zarr_open_text(&o, "zarr.json",
                   "{\"zarr_format\":3,\"node_type\":\"group\",\"thing\":1}");
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "\"thing\"");
}

static void v3_members_of_the_wrong_kind_are_named(void **state) {
    (void)state;
    static const struct {
        const char *name, *json, *message;
        hr_status status;
    } rows[] = {
        {"zarr_format", "2", "zarr_format is 2", HR_ERR_METADATA},
        {"zarr_format", "\"3\"", "zarr_format is \"3\"", HR_ERR_METADATA},
        {"zarr_format", NULL, "zarr_format is missing", HR_ERR_METADATA},
        {"node_type", "\"aray\"", "node_type is \"aray\"", HR_ERR_METADATA},
        {"node_type", NULL, "node_type is missing", HR_ERR_METADATA},
        {"shape", NULL, "shape is missing", HR_ERR_METADATA},
        {"shape", "4", "shape is 4", HR_ERR_METADATA},
        {"shape", "[-1]", "shape[0] is -1", HR_ERR_METADATA},
        {"shape", "[4.5]", "shape[0] is 4.5", HR_ERR_METADATA},
        {"shape", "[4.0]", "shape[0] is 4.0", HR_ERR_METADATA},
        {"shape", "[\"4\"]", "shape[0] is \"4\"", HR_ERR_METADATA},
        {"shape", "[9223372036854775808]", "shape[0] is 9223372036854775808",
         HR_ERR_METADATA},
        {"shape", "[1e308]", "shape[0]", HR_ERR_METADATA},
        {"shape", "[[4]]", "shape[0]", HR_ERR_METADATA},
        {"shape", "[4294967296,4294967296]", "elements", HR_ERR_METADATA},
        {"chunk_grid", NULL, "chunk_grid is missing", HR_ERR_METADATA},
        {"chunk_grid", "\"regular\"", "no configuration", HR_ERR_METADATA},
        {"chunk_grid", "{\"name\":\"hexagonal\"}", "chunk_grid \"hexagonal\"",
         HR_ERR_UNSUPPORTED},
        {"chunk_grid", "{\"name\":\"hexagonal\",\"must_understand\":false}",
         "chunk_grid \"hexagonal\"", HR_ERR_UNSUPPORTED},
        {"chunk_grid", REGULAR("[0]"), "chunk_shape[0] is 0", HR_ERR_METADATA},
        {"chunk_grid", REGULAR("[4,4]"), "chunk_shape has 2 entries", HR_ERR_METADATA},
        {"chunk_grid", REGULAR("null"), "chunk_shape is missing", HR_ERR_METADATA},
        {"chunk_grid", REGULAR("[9223372036854775807]"), "chunk shape", HR_ERR_METADATA},
        {"chunk_grid", REGULAR("[4],\"x\":1"), "\"x\"", HR_ERR_UNSUPPORTED},
        {"chunk_key_encoding", NULL, "chunk_key_encoding is missing", HR_ERR_METADATA},
        {"chunk_key_encoding", "{\"name\":\"suffix\"}", "chunk_key_encoding \"suffix\"",
         HR_ERR_UNSUPPORTED},
        {"chunk_key_encoding",
         "{\"name\":\"default\",\"configuration\":{\"separator\":\"-\"}}",
         "separator is \"-\"", HR_ERR_METADATA},
        {"chunk_key_encoding",
         "{\"name\":\"default\",\"configuration\":{\"suffix\":\".x\"}}", "\"suffix\"",
         HR_ERR_UNSUPPORTED},
        {"codecs", NULL, "codecs is missing", HR_ERR_METADATA},
        {"codecs", "{}", "codecs is {}", HR_ERR_METADATA},
        {"codecs", "[]", "codec", HR_ERR_METADATA},
        {"codecs", "[\"zstd\"]", "zstd", HR_ERR_METADATA},
        {"codecs", "[" BYTES("little") ",\"lz77\"]", "lz77", HR_ERR_UNSUPPORTED},
        {"codecs", "[\"bytes\"]", "endian", HR_ERR_METADATA},
        {"attributes", "[]", "attributes is []", HR_ERR_METADATA},
        {"dimension_names", "\"x\"", "dimension_names is \"x\"", HR_ERR_METADATA},
        {"dimension_names", "[\"x\",\"y\"]", "dimension_names", HR_ERR_METADATA},
        {"dimension_names", "[1]", "dimension_names", HR_ERR_METADATA},
        {"storage_transformers", "{}", "storage_transformers is {}", HR_ERR_METADATA},
        {"storage_transformers", "[{\"name\":\"manifest\"}]", "\"manifest\"",
         HR_ERR_UNSUPPORTED},
        {"storage_transformers", "[7]", "storage transformer", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, rows[i].name, rows[i].json);
        assert_string_equal(o.err.key, "zarr.json");
        zarr_assert_fails(&o, rows[i].status, rows[i].message);
    }
}

static void members_may_be_absent_or_empty(void **state) {
    (void)state;
    static const struct {
        const char *name, *json;
    } rows[] = {
        {"storage_transformers", "[]"},
        {"storage_transformers", "[{\"name\":\"x\",\"must_understand\":false}]"},
        {"storage_transformers", NULL},
        {"attributes", "null"},
        {"dimension_names", "null"},
        {"chunk_key_encoding", "\"default\""},
        {"codecs", "[" BYTES("little") ",\"crc32c\"]"},
        {"codecs", "[" BYTES("little") ",{\"name\":\"x\",\"must_understand\":false}]"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, rows[i].name, rows[i].json);
        zarr_assert_ok(&o);
        assert_string_equal(o.node.attributes_json, "{}");
        assert_null(o.node.dimension_names);
        zarr_close(&o);
    }
}

static void documents_that_are_no_objects_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"zarr.json", ".zarray", ".zgroup"};
    static const char *const texts[] = {
        "", "{", "[]", "7", "null", "\"zarr\"", "{\"zarr_format\":3}x"};
    for (size_t i = 0; i < COUNT(names); i++) {
        for (size_t k = 0; k < COUNT(texts); k++) {
            zarr_opened o;
            zarr_open_text(&o, names[i], texts[k]);
            assert_string_equal(o.err.key, names[i]);
            zarr_assert_fails(&o, HR_ERR_METADATA, "");
        }
    }
}

static void dimensions_are_bounded(void **state) {
    (void)state;
    char ones[256] = "[1";
    for (int i = 1; i < 33; i++) {
        (void)snprintf(ones + strlen(ones), sizeof ones - strlen(ones), ",1");
    }
    char grid[512];
    zarr_opened o;
    (void)snprintf(grid, sizeof grid, REGULAR("%s]"), ones);
    (void)snprintf(ones + strlen(ones), sizeof ones - strlen(ones), "]");
    ZARR_V3(&o, "shape", ones, "chunk_grid", grid);
    zarr_assert_fails(&o, HR_ERR_METADATA, "shape has 33 entries, expected at most 32");
    (void)snprintf(ones + strlen(ones) - 3, 4, "]");
    (void)snprintf(grid, sizeof grid, REGULAR("%s"), ones);
    ZARR_V3(&o, "shape", ones, "chunk_grid", grid);
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.ndim, 32);
    zarr_close(&o);
}

static void leading_transposes_become_the_order(void **state) {
    (void)state;
    static const struct {
        const char *codecs;
        int32_t order[3];
    } rows[] = {
        {"[" TRANSPOSE("[2,0,1]") "," BYTES("big") "]", {2, 0, 1}},
        {"[" TRANSPOSE("[2,0,1]") "," TRANSPOSE("[1,0,2]") "," BYTES("little") "]",
         {0, 2, 1}},
        {"[" TRANSPOSE("\"F\"") "," BYTES("little") "]", {2, 1, 0}},
        {"[" TRANSPOSE("\"C\"") "," BYTES("little") "]", {0, 1, 2}},
    };
    static const int64_t chunk[] = {2, 3, 5};
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "shape", "[10,10,10]", "chunk_grid", REGULAR("[2,3,5]"), "codecs",
                rows[i].codecs);
        zarr_assert_ok(&o);
        const hr__array *a = &o.node.array;
        assert_memory_equal(a->order, rows[i].order, sizeof rows[i].order);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(a->chain.decoded.shape[k], chunk[rows[i].order[k]]);
        }
        assert_int_equal(a->chain.ncodecs, 1);
        assert_int_equal(a->dtype.byte_order, HR_LITTLE);
        assert_int_equal(a->stored.byte_order, i == 0 ? HR_BIG : HR_LITTLE);
        assert_int_equal(a->grid[2].chunk, 5);
        zarr_close(&o);
    }
    static const char *const wrong[] = {TRANSPOSE("[0,0,1]"), TRANSPOSE("[0,1]"),
                                        TRANSPOSE("[0,1,3]"), TRANSPOSE("[-1,1,0]"),
                                        TRANSPOSE("\"B\""),   "\"transpose\""};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char codecs[256];
        (void)snprintf(codecs, sizeof codecs, "[%s," BYTES("little") "]", wrong[i]);
        zarr_opened o;
        ZARR_V3(&o, "shape", "[10,10,10]", "chunk_grid", REGULAR("[2,3,5]"), "codecs",
                codecs);
        zarr_assert_fails(&o, HR_ERR_METADATA, "order of a transpose");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_v3_array_is_described),
        cmocka_unit_test(members_that_are_not_known_are_named),
        cmocka_unit_test(v3_members_of_the_wrong_kind_are_named),
        cmocka_unit_test(members_may_be_absent_or_empty),
        cmocka_unit_test(documents_that_are_no_objects_are_refused),
        cmocka_unit_test(dimensions_are_bounded),
        cmocka_unit_test(leading_transposes_become_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
