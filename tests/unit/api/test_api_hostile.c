/* Metadata and shards that ask for too much. SPDX-License-Identifier: Apache-2.0
 *
 * No allocation of the library's own may exceed LARGEST, nor any call LONGEST: what a
 * file claims is not what a file is worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"

#define LARGEST ((size_t)256 << 20)
#define LONGEST 5.0 /* seconds of processor time, under sanitizers too */
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"

typedef struct world {
    probe probe;
    hr_context *context;
    hr_store *store;
    hr_error err;
    double begun;
} world;

static double cpu_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->probe = (probe){.refuse_from = -1};
    hr_allocator a = probe_allocator(&w->probe);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.allocator = &a;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    assert_int_equal(atomic_load(&w->probe.nlive), 0);
    free(w);
    return 0;
}

/* From here on the library's costs are counted. */
static void begin(world *w) {
    atomic_store(&w->probe.largest, 0);
    w->begun = cpu_seconds();
}

static void end(world *w) {
    assert_true(atomic_load(&w->probe.largest) <= LARGEST);
    assert_true(cpu_seconds() - w->begun < LONGEST);
}

static void put_text(world *w, const char *key, const char *text) {
    put(w->store, key, text, strlen(text));
}

/* uint8 of one axis unless the codecs say otherwise. */
static void put_array(world *w, const char *shape, const char *chunk, const char *type,
                      const char *codecs) {
    char meta[8192];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%s],"
                   "\"data_type\":\"%s\",\"chunk_grid\":{\"name\":\"regular\","
                   "\"configuration\":{\"chunk_shape\":[%s]}},\"chunk_key_encoding\":"
                   "{\"name\":\"default\"},\"codecs\":[%s],\"fill_value\":%s}",
                   shape, type, chunk, codecs,
                   strcmp(type, "string") == 0 ? "\"\"" : "0");
    put_text(w, "zarr.json", meta);
}

static hr_node *open_array(world *w) {
    hr_node *array = NULL;
    hr_status status = hr_open_store(w->store, "", NULL, &array, &w->err);
    if (status != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    return array;
}

/* Elements start … start + n. */
static hr_status read_some(world *w, hr_node *array, int64_t start, int64_t n,
                           void *out) {
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(array, &info, &w->err), HR_OK);
    hr_axis axis = {.kind = HR_AXIS_SLICE, .start = start, .stop = start + n, .step = 1};
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    r.dst = (hr_tensor){.data = out, .dtype = info.dtype, .ndim = 1, .shape = &n};
    hr_batch *b = NULL;
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err);
    if (status == HR_OK) {
        status = hr_batch_wait(b, -1, &w->err);
        hr_batch_unref(b);
    }
    return status;
}

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

static char *repeat(const char *head, const char *unit, size_t n, const char *tail) {
    size_t nhead = strlen(head);
    size_t nunit = strlen(unit);
    char *text = malloc(nhead + n * nunit + strlen(tail) + 1);
    memcpy(text, head, nhead);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + nhead + i * nunit, unit, nunit);
    }
    (void)strcpy(text + nhead + n * nunit, tail);
    return text;
}

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":"

/* Two bytes of a document can be hundreds in memory. */
static void documents_that_grow_in_memory(void **state) {
    world *w = *state;
    static const struct {
        const char *unit;
        size_t n;
        hr_status status;
    } rows[] = {
        {",{}", 1400000, HR_ERR_OVERFLOW}, /* 4 MB for a gigabyte */
        {",{\"a\":1}", 1400000, HR_ERR_OVERFLOW},
        {",[]", 4600000, HR_ERR_OVERFLOW},
        {",1", 13500000, HR_ERR_OVERFLOW},
        {",{}", 50000, HR_OK},
        {",\"{{{{{{{{{{{{[[[[[[,,,,,,\\\"{{{{{{{\"", 200000, HR_OK}, /* text is text */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeat(GROUP "{\"a\":[0", rows[i].unit, rows[i].n, "]}}");
        put_text(w, "zarr.json", text);
        free(text);
        begin(w);
        hr_node *group = NULL;
        assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err),
                         rows[i].status);
        if (rows[i].status != HR_OK) {
            assert_string_equal(w->err.key, "zarr.json");
        }
        hr_node_unref(group);
        end(w);
    }
}

static void documents_of_the_largest_size(void **state) {
    world *w = *state;
    size_t n = ((size_t)64 << 20) - 100;
    char *text = repeat(GROUP "{\"a\":\"", "x", n, "\"}}");
    put_text(w, "zarr.json", text);
    begin(w);
    hr_node *group = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_OK);
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(group, &info, &w->err), HR_OK);
    assert_int_equal(strlen(info.attributes_json), n + 8);
    hr_node_unref(group);
    end(w);
    free(text);
    text = repeat(GROUP "{\"a\":\"", "x", n + 100, "\"}}");
    put_text(w, "zarr.json", text);
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_ERR_OVERFLOW);
    assert_string_equal(w->err.key, "zarr.json");
    free(text);
}

static void nesting_without_end(void **state) {
    world *w = *state;
    const char *open =
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":"
        "[1],\"index_codecs\":[" BYTES "],\"codecs\":[";
    for (size_t depth = 2; depth < 40; depth += 3) {
        char *head = repeat("", open, depth, BYTES);
        char *codecs = repeat(head, "]}}", depth, "");
        char *meta = malloc(strlen(codecs) + 1000);
        (void)sprintf(meta,
                      "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[1],"
                      "\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\","
                      "\"configuration\":{\"chunk_shape\":[1]}},\"chunk_key_encoding\":"
                      "{\"name\":\"default\"},\"codecs\":[%s],\"fill_value\":0}",
                      codecs);
        put_text(w, "zarr.json", meta);
        begin(w);
        hr_node *array = NULL;
        hr_status status = hr_open_store(w->store, "", NULL, &array, &w->err);
        assert_true(status == HR_OK
                        ? depth <= 8
                        : status == HR_ERR_METADATA || status == HR_ERR_UNSUPPORTED);
        hr_node_unref(array);
        end(w);
        free(head);
        free(codecs);
        free(meta);
    }
    char *text = repeat(GROUP "{\"a\":", "[", 1 << 20, "");
    put_text(w, "zarr.json", text);
    begin(w);
    hr_node *group = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_ERR_METADATA);
    end(w);
    free(text);
}

static void fill_values_of_ten_megabytes(void **state) {
    world *w = *state;
    size_t n = 10000000;
    const char *head =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[1000000000000],"
        "\"data_type\":\"string\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[1000]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"codecs\":[{\"name\":\"vlen-utf8\"}],\"fill_value\":\"";
    char *text = repeat(head, "x", n, "\"}");
    put_text(w, "zarr.json", text);
    free(text);
    begin(w);
    hr_node *array = open_array(w);
    hr_vlen *out = calloc(100000, sizeof *out);
    assert_int_equal(read_some(w, array, 123456, 100000, out), HR_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(out[i].nbytes, n);
    }
    assert_int_equal(((const char *)out[99999].data)[n - 1], 'x');
    free(out);
    hr_node_unref(array);
    end(w);
    begin(w); /* items of ten megabytes, in an array of more than 2^63 bytes */
    put_text(
        w, ".zarray",
        "{\"zarr_format\":2,\"shape\":[9007199254740992],\"chunks\":[100],\"dtype\":"
        "\"|S10000000\",\"compressor\":null,\"filters\":null,\"fill_value\":\"eA==\","
        "\"order\":\"C\"}");
    hr_open_options v2 = HR_OPEN_OPTIONS_INIT;
    v2.zarr_format = 2;
    assert_int_equal(hr_open_store(w->store, "", &v2, &array, &w->err), HR_OK);
    char *item = malloc(n);
    assert_int_equal(read_some(w, array, 9007199254740991, 1, item), HR_OK);
    assert_true(item[0] == 'x' && item[1] == 0 && item[n - 1] == 0);
    free(item);
    hr_node_unref(array);
    end(w);
}

static void groups_of_many_members(void **state) {
    world *w = *state;
    enum { N = 30000 };
    put_text(w, "zarr.json", GROUP "{}}");
    for (int i = 0; i < N; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "m%d/zarr.json", i);
        put_text(w, key, GROUP "{}}");
    }
    begin(w);
    hr_node *group = open_array(w);
    hr_member_list *list = NULL;
    assert_int_equal(hr_node_list(group, 1, &list, &w->err), HR_OK);
    assert_int_equal(hr_member_list_size(list), N);
    assert_string_equal(hr_member_list_get(list, 1).path, "m1");
    hr_member_list_free(list);
    hr_node_unref(group);
    end(w);
}

static void members_with_large_documents(void **state) {
    world *w = *state;
    enum { N = 20, LARGE = 4 << 20 };
    char *text = repeat(GROUP "{\"a\":\"", "x", LARGE, "\"}}");
    put_text(w, "zarr.json", GROUP "{}}");
    for (int i = 0; i < N; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "m%d/zarr.json", i);
        put_text(w, key, text);
    }
    free(text);
    begin(w);
    hr_node *group = open_array(w);
    hr_member_list *list = NULL;
    long before = atomic_load(&w->probe.nlive);
    assert_int_equal(hr_node_list(group, 1, &list, &w->err), HR_OK);
    assert_int_equal(hr_member_list_size(list), N);
    /* the list is names and no documents: an arena block or two */
    assert_in_range(atomic_load(&w->probe.nlive) - before, 1, 4);
    hr_member_list_free(list);
    hr_node_unref(group);
    end(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_shape_of_2_to_the_62_with_chunks_of_one),
        TEST(small_chunks_of_several_axes),
        TEST(long_lists_in_few_chunks),
        TEST(a_chunk_that_claims_too_much),
        TEST(large_chunks_in_pieces),
        TEST(a_shard_that_claims_too_much),
        TEST(shards_that_share_their_beginning),
        TEST(documents_that_grow_in_memory),
        TEST(documents_of_the_largest_size),
        TEST(nesting_without_end),
        TEST(fill_values_of_ten_megabytes),
        TEST(groups_of_many_members),
        TEST(members_with_large_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
