/* Small inputs from public bug reports. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "support/zarr_docs.h"

/* Decode one chunk and compare. */
static void check_chunk(const hr__array *a, const uint8_t *stored, size_t nbytes,
                        const void *expected) {
    hr__worker worker;
    hr__worker_init(&worker, &hr__malloc_allocator);
    hr__decode d = {.worker = &worker, .src = stored, .src_nbytes = nbytes};
    hr_error err = HR_ERROR_INIT;
    if (hr__chain_decode(&a->chain, &d, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(d.out_nbytes, a->chain.decoded.nbytes);
    assert_memory_equal(d.out, expected, d.out_nbytes);
    hr__worker_free(&worker);
}

static void compressors_may_stand_among_v2_filters(void **state) {
    (void)state;
    static const uint8_t plain[] = {7, 0, 0, 0};
    uint8_t stored[64];
    uLongf nbytes = sizeof stored;
    assert_int_equal(compress(stored, &nbytes, plain, sizeof plain), Z_OK);
    static const char *const filters[] = {
        "[{\"id\":\"zlib\",\"level\":2}]",
        "[{\"id\":\"shuffle\",\"elementsize\":4},{\"id\":\"zlib\",\"level\":2}]"};
    for (size_t i = 0; i < 2; i++) {
        zarr_opened o;
        ZARR_V2(&o, "shape", "[1]", "chunks", "[1]", "filters", filters[i]);
        zarr_assert_ok(&o);
        check_chunk(&o.node.array, stored, nbytes, plain);
        zarr_close(&o);
    }
}

static void a_codec_that_changes_the_type_comes_before_bytes(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[4]", "data_type", "\"int8\"", "codecs",
            "[{\"name\":\"cast_value\",\"configuration\":{\"data_type\":\"int16\"}},"
            "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.stored.itemsize, 1);
    assert_int_equal(o.node.array.chain.encoded.nbytes, 8);
    static const uint8_t stored[] = {0, 1, 0xff, 0xff, 0, 3, 0, 4};
    check_chunk(&o.node.array, stored, sizeof stored, "\x01\xff\x03\x04");
    zarr_close(&o);
}

static void shards_may_have_no_dimensions(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[]", "chunk_grid",
            "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[]}}", "codecs",
            "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[],"
            "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],"
            "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":"
            "\"little\"}}]}}]");
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.nlevels, 1);
    assert_int_equal(o.node.array.levels[0].ninner, 1);
    assert_int_equal(o.node.array.levels[0].index.encoded.nbytes, 16);
    assert_true(o.node.has_shards);
    zarr_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressors_may_stand_among_v2_filters),
        cmocka_unit_test(a_codec_that_changes_the_type_comes_before_bytes),
        cmocka_unit_test(shards_may_have_no_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
