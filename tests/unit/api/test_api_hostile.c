/* Chunks and shards that ask for too much. SPDX-License-Identifier: Apache-2.0 */
#include "hostile_world.h"

static void a_shape_of_2_to_the_62_with_chunks_of_one(void **state) {
    world *w = *state;
    put_array(w, "4611686018427387904", "1", "uint8", BYTES);
    put_text(w, "c/4611686018427387903", "x");
    begin(w);
    hr_node *array = open_array(w);
    uint8_t out[4] = {9, 9, 9, 9};
    assert_int_equal(read_some(w, array, ((int64_t)1 << 62) - 4, 4, out), HR_OK);
    assert_memory_equal(out, "\0\0\0x", 4);
    /* A destination of a gigabyte is worth so many chunks, but not one per byte. */
    uint8_t *large = malloc((size_t)1 << 30);
    static const int64_t lengths[] = {(int64_t)1 << 23, (int64_t)1 << 30,
                                      (int64_t)1 << 45, (int64_t)1 << 62};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(read_some(w, array, 0, lengths[i], large), HR_ERR_OVERFLOW);
        assert_non_null(strstr(w->err.message, "too many"));
    }
    free(large);
    hr_node_unref(array);
    end(w);
}

static void small_chunks_of_several_axes(void **state) {
    world *w = *state;
    put_array(w, "65536,65536,65536", "1,1,1", "uint8", BYTES);
    begin(w);
    hr_node *array = open_array(w);
    const int64_t shape[] = {1024, 1024, 1024};
    hr_axis axes[3];
    for (int k = 0; k < 3; k++) {
        axes[k] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = 1024, .step = 1};
    }
    hr_request r = HR_REQUEST_INIT;
    uint8_t byte;
    r.array = array;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 3, .axes = axes};
    r.dst = (hr_tensor){.data = &byte, .ndim = 3, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    hr_batch *b = NULL;
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err);
    assert_int_equal(status, HR_ERR_OVERFLOW);
    assert_non_null(strstr(w->err.message, "request 0"));
    hr_node_unref(array);
    end(w);
}

/* It is chunks that count, not elements. */
static void long_lists_in_few_chunks(void **state) {
    world *w = *state;
    enum { N = 5000000 };
    put_array(w, "1000", "1000", "uint8", BYTES);
    hr_node *array = open_array(w);
    int64_t *list = malloc(N * sizeof *list);
    uint8_t *out = malloc(N);
    const int64_t shape[] = {N};
    for (int i = 0; i < N; i++) {
        list[i] = (int64_t)i * 7919 % 1000;
    }
    hr_axis axis = {.kind = HR_AXIS_INDICES, .indices = list, .nindices = N};
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    r.dst = (hr_tensor){.data = out, .ndim = 1, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    assert_int_equal(hr_read(array, &r.selection, &r.dst, &w->err), HR_OK);
    hr_node_unref(array);
    free(list);
    free(out);
}

/* A few bytes that claim to be a chunk of terabytes. */
static void a_chunk_that_claims_too_much(void **state) {
    world *w = *state;
    static const uint8_t zstd[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x04,
                                   0x21, 0x00, 0x00, 'a',  'b',  'c'};
    static const char *const types[] = {"float64", "string"};
    static const char *const codecs[] = {
        BYTES ",{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}",
        BYTES ",{\"name\":\"gzip\",\"configuration\":{\"level\":1}}",
        BYTES ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"zstd\",\"clevel\":1,"
              "\"shuffle\":\"shuffle\",\"typesize\":8,\"blocksize\":0}}",
        BYTES ",{\"name\":\"numcodecs.lz4\",\"configuration\":{}}",
        BYTES ",{\"name\":\"numcodecs.bz2\",\"configuration\":{}}",
        BYTES ",{\"name\":\"numcodecs.lzma\",\"configuration\":{}}",
        BYTES ",{\"name\":\"snappy\",\"configuration\":{}}",
        "{\"name\":\"vlen-utf8\"}",
        BYTES ",{\"name\":\"crc32c\"}",
        BYTES,
    };
    put(w->store, "c/0", zstd, sizeof zstd);
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        put_array(w, "1099511627776", "1099511627776",
                  types[strncmp(codecs[i], BYTES, 20) != 0], codecs[i]);
        begin(w);
        hr_node *array = open_array(w);
        uint8_t out[64];
        assert_int_equal(read_some(w, array, 7, 2, out), HR_ERR_DATA);
        assert_string_equal(w->err.key, "c/0");
        hr_node_unref(array);
        end(w);
    }
}

#define ZSTD "{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}"

/* A zstd frame of blocks that make 128 KiB of the byte 1 each. */
static void put_bomb(world *w, size_t nblocks) {
    static const uint8_t head[] = {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38};
    uint8_t *frame = malloc(sizeof head + 4 * nblocks);
    memcpy(frame, head, sizeof head);
    for (size_t i = 0; i < nblocks; i++) {
        uint32_t block = 131072U << 3 | 1U << 1 | (i + 1 == nblocks);
        uint8_t *p = frame + sizeof head + 4 * i;
        memcpy(p, &block, 3);
        p[3] = 1;
    }
    put(w->store, "c/0/0", frame, sizeof head + 4 * nblocks);
    free(frame);
}

/* Chunks that are decoded in pieces: the pieces do not become huge, and a bomb is stopped
 * where the chunk ends. */
static void large_chunks_in_pieces(void **state) {
    world *w = *state;
    const int64_t shape[] = {2, 4};
    uint8_t out[2][4] = {{0}};
    hr_axis axes[2];
    for (int k = 0; k < 2; k++) {
        axes[k] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = shape[k], .step = 1};
    }
    hr_selection corner = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    hr_tensor dst = {.data = out, .ndim = 2, .shape = shape};
    dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    static const struct {
        const char *chunk;
        size_t nblocks;
        hr_status status;
    } rows[] = {
        {"2,549755813888", 2, HR_ERR_DATA}, /* a terabyte in two planes */
        {"1024,4096", 32, HR_OK},
        {"1024,4096", 31, HR_ERR_DATA},
        {"1024,4096", 33, HR_ERR_DATA},
        {"1024,4096", 500000, HR_ERR_DATA}, /* 64 GB */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_array(w, "1024,549755813888", rows[i].chunk, "uint8", BYTES "," ZSTD);
        put_bomb(w, rows[i].nblocks);
        begin(w);
        hr_node *array = open_array(w);
        assert_int_equal(hr_read(array, &corner, &dst, &w->err), rows[i].status);
        assert_true(rows[i].status == HR_OK || strcmp(w->err.key, "c/0/0") == 0);
        assert_int_equal(out[1][3], i == 0 ? 0 : 1);
        hr_node_unref(array);
        end(w);
    }
}

static void a_shard_that_claims_too_much(void **state) {
    world *w = *state;
    static const char *const codecs[] = {
        /* an index of 16 TB */
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[1],"
        "\"codecs\":"
        "[" BYTES "],\"index_codecs\":[" BYTES "]}}",
        /* the same, in shards that can only be decoded as a whole */
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[1],"
        "\"codecs\":"
        "[" BYTES "],\"index_codecs\":[" BYTES "]}},{\"name\":\"crc32c\"}",
        /* shards in shards */
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[1048576],"
        "\"index_codecs\":[" BYTES "],\"codecs\":[{\"name\":\"sharding_indexed\","
        "\"configuration\":{\"chunk_shape\":[1],\"codecs\":[" BYTES "],\"index_codecs\":"
        "[" BYTES "]}}]}}",
    };
    uint8_t shard[64];
    memset(shard, 0xFF, sizeof shard);
    put(w->store, "c/0", shard, sizeof shard);
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        put_array(w, "1099511627776", "1099511627776", "uint8", codecs[i]);
        begin(w);
        hr_node *array = open_array(w);
        uint8_t out[4];
        hr_status status = read_some(w, array, 7, 2, out);
        assert_true(status == HR_ERR_DATA || status == HR_ERR_CHECKSUM);
        assert_string_equal(w->err.key, "c/0");
        hr_node_unref(array);
        end(w);
    }
}

/* Entries that begin at the same byte but end elsewhere have indexes of their own. */
static void shards_that_share_their_beginning(void **state) {
    world *w = *state;
    put_array(w, "4", "4", "uint8",
              "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],"
              "\"index_codecs\":[" BYTES "],\"codecs\":[{\"name\":\"sharding_indexed\","
              "\"configuration\":{\"chunk_shape\":[1],\"codecs\":[" BYTES
              "],\"index_codecs\":[" BYTES "]}}]}}");
    /* Two elements; an index of the first shard, which is of 34 bytes; then one of the
     * second, of 66; then the outer index, that lets both begin at 0. */
    uint8_t file[2 + 32 + 32 + 32] = {'a', 'b'};
    for (size_t i = 0; i < 2; i++) {
        file[2 + 16 * i] = (uint8_t)i;
        file[2 + 16 * i + 8] = 1;
        file[34 + 16 * i] = (uint8_t)(1 - i);
        file[34 + 16 * i + 8] = 1;
        file[66 + 16 * i + 8] = i == 0 ? 34 : 66;
    }
    put(w->store, "c/0", file, sizeof file);
    hr_node *array = open_array(w);
    uint8_t out[4];
    for (int i = 0; i < 3; i++) { /* also once the indexes are known */
        assert_int_equal(read_some(w, array, 0, 4, out), HR_OK);
        assert_memory_equal(out, "abba", 4);
        assert_int_equal(read_some(w, array, 2, 1, out), HR_OK);
        assert_int_equal(out[0], 'b');
    }
    hr_node_unref(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_shape_of_2_to_the_62_with_chunks_of_one),
        TEST(small_chunks_of_several_axes),
        TEST(long_lists_in_few_chunks),
        TEST(a_chunk_that_claims_too_much),
        TEST(large_chunks_in_pieces),
        TEST(a_shard_that_claims_too_much),
        TEST(shards_that_share_their_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
