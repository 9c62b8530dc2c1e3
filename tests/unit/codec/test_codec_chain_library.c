/* The library codecs in chains. SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>
#include <zlib.h>

#include "core/json.h"
#include "support/codec_run.h"

#define N ((size_t)4000)

/* Blosc inside zlib, as metadata of Zarr v3 list them. */
static const char codecs_json[] =
    "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},"
    "{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":5,"
    "\"shuffle\":\"shuffle\",\"typesize\":2,\"blocksize\":0}},"
    "{\"name\":\"numcodecs.zlib\",\"configuration\":{\"level\":1}}]";

static size_t pack(const uint8_t *data, int clevel, uint8_t *packed, size_t capacity) {
    uint8_t inner[5000];
    int n = blosc_compress_ctx(clevel, 1, 2, N, data, inner, sizeof inner, "lz4", 0, 1);
    assert_true(n > 0);
    uLongf made = capacity;
    assert_int_equal(compress2(packed, &made, inner, (uLong)n, 1), Z_OK);
    return made;
}

static void parse(hr__arena *arena, hr__chain *chain) {
    hr_error err = HR_ERROR_INIT;
    json_object *codecs;
    hr__spec chunk = {
        .ndim = 1, .shape = {(int64_t)N / 2}, .dtype = hr__dtype(HR_KIND_UINT, 2)};
    assert_true(hr__spec_measure(&chunk));
    assert_int_equal(hr__json_parse(codecs_json, strlen(codecs_json), &codecs, &err),
                     HR_OK);
    if (hr__chain_parse_v3(codecs, 0, &chunk, arena, 0, chain, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    json_object_put(codecs);
}

/* The size between the two is unknown; at level 0 Blosc only strips its header. */
static void sizes_between_codecs_need_not_be_known(void **state) {
    (void)state;
    hr__arena arena;
    hr__worker worker;
    hr__chain chain;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__worker_init(&worker, &hr__malloc_allocator);
    parse(&arena, &chain);
    uint8_t *data = sample_data(N, 2), packed[6000], out[N];
    for (int clevel = 0; clevel <= 9; clevel += 3) {
        size_t n = pack(data, clevel, packed, sizeof packed);
        hr_error err = HR_ERROR_INIT;
        for (int into = 0; into <= 1; into++) {
            memset(out, 0xA5, sizeof out);
            hr__decode d = {.worker = &worker,
                            .src = packed,
                            .src_nbytes = n,
                            .dst = into ? out : NULL};
            if (hr__chain_decode(&chain, &d, &err) != HR_OK) {
                fail_msg("%s", err.message);
            }
            assert_int_equal(d.out_nbytes, N);
            assert_memory_equal(d.out, data, N);
        }
        packed[n - 1] ^= 1;
        hr__decode d = {.worker = &worker, .src = packed, .src_nbytes = n, .dst = out};
        assert_int_equal(hr__chain_decode(&chain, &d, &err), HR_ERR_CHECKSUM);
        assert_string_equal(err.codec, "numcodecs.zlib");
    }
    free(data);
    hr__worker_free(&worker);
    hr__arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_between_codecs_need_not_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
