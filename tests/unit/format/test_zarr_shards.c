/* Shards lifted out of the codec chain. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define REGULAR(shape)                                                                   \
    "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" shape "}}"
#define LITTLE "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define BIG "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define TRANSPOSE(order)                                                                 \
    "{\"name\":\"transpose\",\"configuration\":{\"order\":" order "}}"
#define SHARDING(shape, codecs, index, more)                                             \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape           \
    ",\"codecs\":[" codecs "],\"index_codecs\":[" index "]" more "}}"
#define END(shape, codecs) SHARDING(shape, codecs, LITTLE ",\"crc32c\"", "")

static void check_i64(const int64_t *got, const int64_t *expected, int n) {
    for (int i = 0; i < n; i++) {
        assert_int_equal(got[i], expected[i]);
    }
}

static void a_shard_becomes_a_level(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[10,7]", "chunk_grid", REGULAR("[4,6]"), "codecs",
            "[" END("[2,3]", BIG ",\"zstd\"") "]", "fill_value", "7");
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    const hr__level *l = &a->levels[0];
    assert_int_equal(a->nlevels, 1);
    check_i64(l->shape, (const int64_t[]){2, 3}, 2);
    check_i64(l->counts, (const int64_t[]){2, 2}, 2);
    assert_int_equal(l->order[0], 0);
    assert_int_equal(l->order[1], 1);
    assert_int_equal(l->ninner, 4);
    assert_false(l->is_split);
    assert_false(l->index_at_start);
    assert_int_equal(l->index.encoded.nbytes, 4 * 16 + 4);
    assert_int_equal(l->index.decoded.nbytes, 4 * 16);
    assert_int_equal(a->outer[0].chunk, 4);
    assert_int_equal(a->outer[0].nchunks, 3);
    assert_int_equal(a->outer[1].nchunks, 2);
    assert_int_equal(a->grid[0].chunk, 2);
    assert_int_equal(a->grid[0].nchunks, 5);
    assert_int_equal(a->grid[1].nchunks, 3);
    assert_int_equal(a->chain.ncodecs, 2);
    assert_int_equal(a->chain.decoded.nbytes, 24);
    assert_int_equal(a->stored.byte_order, HR_BIG);
    assert_memory_equal(a->chain.decoded.fill, "\0\0\0\7", 4);
    assert_true(o.node.has_shards);
    check_i64(o.node.chunk_shape, (const int64_t[]){2, 3}, 2);
    check_i64(o.node.shard_shape, (const int64_t[]){4, 6}, 2);
    zarr_close(&o);
}

static void the_index_may_stand_anywhere_with_or_without_checksum(void **state) {
    (void)state;
    static const struct {
        const char *codec;
        bool at_start;
        uint64_t index_nbytes;
    } rows[] = {
        {SHARDING("[10]", LITTLE, LITTLE, ""), false, 64},
        {SHARDING("[10]", LITTLE, LITTLE, ",\"index_location\":\"start\""), true, 64},
        {SHARDING("[10]", LITTLE, BIG ",\"crc32c\"", ",\"index_location\":\"end\""),
         false, 68},
        {SHARDING("[10]", LITTLE, BIG ",\"crc32c\"", ",\"index_location\":\"start\""),
         true, 68},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char codecs[512];
        (void)snprintf(codecs, sizeof codecs, "[%s]", rows[i].codec);
        zarr_opened o;
        ZARR_V3(&o, "shape", "[40]", "chunk_grid", REGULAR("[40]"), "codecs", codecs);
        zarr_assert_ok(&o);
        const hr__level *l = &o.node.array.levels[0];
        assert_int_equal(o.node.array.nlevels, 1);
        assert_int_equal(l->index_at_start, rows[i].at_start);
        assert_int_equal(l->index.encoded.nbytes, rows[i].index_nbytes);
        assert_int_equal(l->index.decoded.dtype.byte_order, HR_LITTLE);
        zarr_close(&o);
    }
}

static void transposes_around_shards_map_to_array_axes(void **state) {
    (void)state;
    zarr_opened o;
    /* shard in array axes [4, 6, 10]; after the transpose [10, 4, 6], cut by [5, 2, 3];
     * inside, [5, 2, 3] is transposed again to [3, 5, 2] */
    ZARR_V3(
        &o, "shape", "[8,6,20]", "chunk_grid", REGULAR("[4,6,10]"), "codecs",
        "[" TRANSPOSE("[2,0,1]") "," END("[5,2,3]", TRANSPOSE("[2,0,1]") "," LITTLE) "]");
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    const hr__level *l = &a->levels[0];
    assert_int_equal(a->nlevels, 1);
    check_i64(l->shape, (const int64_t[]){2, 3, 5}, 3);
    check_i64(l->counts, (const int64_t[]){2, 2, 2}, 3);
    assert_memory_equal(l->order, ((const int32_t[]){2, 0, 1}), 3 * sizeof(int32_t));
    /* [2, 0, 1] then [2, 0, 1]: axis 1 first, then 2, then 0 */
    assert_memory_equal(a->order, ((const int32_t[]){1, 2, 0}), 3 * sizeof(int32_t));
    check_i64(a->chain.decoded.shape, (const int64_t[]){3, 5, 2}, 3);
    check_i64(o.node.chunk_shape, (const int64_t[]){2, 3, 5}, 3);
    check_i64(o.node.shard_shape, (const int64_t[]){4, 6, 10}, 3);
    assert_int_equal(a->grid[2].chunk, 5);
    assert_int_equal(a->grid[2].nchunks, 4);
    zarr_close(&o);
}

#define NEST2 END("[8]", END("[4]", LITTLE))
#define NEST4 END("[32]", END("[16]", NEST2))

static void nested_shards_become_levels_up_to_a_limit(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[100]", "chunk_grid", REGULAR("[64]"), "codecs", "[" NEST4 "]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.nlevels, 4);
    assert_int_equal(o.node.array.levels[0].shape[0], 32);
    assert_int_equal(o.node.array.levels[3].shape[0], 4);
    assert_int_equal(o.node.array.levels[3].counts[0], 2);
    assert_int_equal(o.node.array.grid[0].chunk, 4);
    zarr_close(&o);
    ZARR_V3(&o, "shape", "[100]", "chunk_grid", REGULAR("[128]"), "codecs",
            "[" END("[64]", NEST4) "]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.nlevels, HR__MAX_LEVELS);
    assert_int_equal(o.node.array.grid[0].chunk, 8);
    assert_int_equal(o.node.array.chain.decoded.nbytes, 32);
    assert_int_equal(o.node.chunk_shape[0], 4); /* inside what is decoded as a whole */
    assert_int_equal(o.node.shard_shape[0], 128);
    zarr_close(&o);
}

static void shards_that_cannot_be_cut_stay_in_the_chain(void **state) {
    (void)state;
    static const struct {
        const char *codecs;
        int64_t inner[2];
    } rows[] = {
        {"[" END("[2,3]", LITTLE) ",\"crc32c\"]", {2, 3}},
        {"[" TRANSPOSE("[1,0]") "," END("[3,2]", LITTLE) ",\"zstd\"]", {2, 3}},
        {"[" TRANSPOSE("[1,0]") "," END(
             "[6,2]", TRANSPOSE("[1,0]") "," END("[1,3]", LITTLE)) ",\"crc32c\"]",
         {1, 3}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "shape", "[10,7]", "chunk_grid", REGULAR("[4,6]"), "codecs",
                rows[i].codecs);
        zarr_assert_ok(&o);
        const hr__array *a = &o.node.array;
        assert_int_equal(a->nlevels, 0);
        assert_int_equal(a->grid[0].chunk, 4);
        assert_int_equal(a->chain.decoded.nbytes, 96);
        assert_true(o.node.has_shards);
        check_i64(o.node.chunk_shape, rows[i].inner, 2);
        check_i64(o.node.shard_shape, (const int64_t[]){4, 6}, 2);
        zarr_close(&o);
    }
    zarr_opened o;
    ZARR_V3(&o, "shape", "[8]", "chunk_grid", REGULAR("[8]"), "codecs",
            "[" END("[4]", END("[2]", LITTLE) ",\"crc32c\"") "]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.nlevels, 1);
    assert_int_equal(o.node.array.grid[0].chunk, 4);
    assert_int_equal(o.node.chunk_shape[0], 2);
    zarr_close(&o);
}

static void rectilinear_shards_are_decoded_as_a_whole(void **state) {
    (void)state;
#define GRID(shapes)                                                                     \
    "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_"          \
    "shapes\":" shapes "}}"
    zarr_opened o;
    ZARR_V3(&o, "shape", "[14]", "chunk_grid", GRID("[[2,8,3,1]]"), "codecs",
            "[" END("[2]", LITTLE) "]");
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    const hr__chain *chain;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(a->nlevels, 0);
    assert_int_equal(o.node.chunk_shape[0], 2);
    assert_int_equal(o.node.shard_shape[0], 8);
    assert_int_equal(a->chain_for(a, (const int64_t[]){2}, &chain, &err), HR_OK);
    assert_int_equal(chain->decoded.nbytes, 8);
    assert_int_equal(a->chain_for(a, (const int64_t[]){3}, &chain, &err),
                     HR_ERR_METADATA);
    zarr_close(&o);
}

static void wrong_shards_are_refused(void **state) {
    (void)state;
    static const char *const codecs[] = {
        END("[3]", LITTLE),
        END("[0]", LITTLE),
        END("[-2]", LITTLE),
        END("[16]", LITTLE),
        END("[4,4]", LITTLE),
        END("[]", LITTLE),
        END("[4]", ""),
        END("[4]", "\"zstd\""),
        END("[4]", END("[3]", LITTLE)),
        SHARDING("[4]", LITTLE, "", ""),
        SHARDING("[4]", LITTLE, LITTLE ",\"zstd\"", ""),
        SHARDING("[4]", LITTLE, LITTLE, ",\"index_location\":\"middle\""),
        SHARDING("null", LITTLE, LITTLE, ""),
        "\"sharding_indexed\"",
        "{\"name\":\"sharding_indexed\",\"configuration\":{}}",
        TRANSPOSE("[1]") "," END("[4]", LITTLE),
        END("[4]", TRANSPOSE("[1]") "," LITTLE),
    };
    for (size_t i = 0; i < COUNT(codecs); i++) {
        char list[1024];
        (void)snprintf(list, sizeof list, "[%s]", codecs[i]);
        zarr_opened o;
        ZARR_V3(&o, "shape", "[8]", "chunk_grid", REGULAR("[8]"), "codecs", list);
        if (o.status == HR_OK) {
            fail_msg("opened with %s", list);
        }
        zarr_assert_fails(&o, HR_ERR_METADATA, "");
    }
}

static void nesting_is_bounded(void **state) {
    (void)state;
    static char text[1 << 14];
    zarr_opened o;
    for (int depth = 5; depth < 40; depth += 3) {
        text[0] = '[';
        text[1] = '\0';
        for (int i = 0; i < depth; i++) {
            (void)strcat(text, "{\"name\":\"sharding_indexed\",\"configuration\":{"
                               "\"chunk_shape\":[8],\"index_codecs\":[" LITTLE
                               "],\"codecs\":[");
        }
        (void)strcat(text, LITTLE);
        for (int i = 0; i < depth; i++) {
            (void)strcat(text, "]}}");
        }
        (void)strcat(text, "]");
        ZARR_V3(&o, "shape", "[8]", "chunk_grid", REGULAR("[8]"), "codecs", text);
        if (depth < HR__CODEC_MAX_DEPTH) {
            zarr_assert_ok(&o);
            zarr_close(&o);
        } else if (depth > HR__CODEC_MAX_DEPTH) {
            zarr_assert_fails(&o, HR_ERR_METADATA, "");
        } else {
            zarr_close(&o);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_becomes_a_level),
        cmocka_unit_test(the_index_may_stand_anywhere_with_or_without_checksum),
        cmocka_unit_test(transposes_around_shards_map_to_array_axes),
        cmocka_unit_test(nested_shards_become_levels_up_to_a_limit),
        cmocka_unit_test(shards_that_cannot_be_cut_stay_in_the_chain),
        cmocka_unit_test(rectilinear_shards_are_decoded_as_a_whole),
        cmocka_unit_test(wrong_shards_are_refused),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
