/* Opening Zarr nodes without enough memory. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

/* Gives `left` more allocations, each kept apart so that every one is checked. */
typedef struct budget {
    int left, live;
} budget;

static void *give(void *user, size_t nbytes) {
    budget *b = user;
    if (b->left-- <= 0) {
        return NULL;
    }
    b->live++;
    return aligned_alloc(64, (nbytes + 63) / 64 * 64);
}

static void take(void *user, void *ptr, size_t nbytes) {
    (void)nbytes;
    ((budget *)user)->live--;
    free(ptr);
}

static hr_status open_with(int nallocations, const zarr_doc *docs, const char *path) {
    budget b = {.left = nallocations};
    hr_allocator allocator = {
        .struct_size = sizeof allocator, .user = &b, .alloc = give, .free = take};
    zarr_opened o = {.docs = docs, .err = HR_ERROR_INIT};
    hr__doc_source source = zarr_source(&o);
    hr__arena_init(&o.arena, &allocator);
    o.arena.next_block = 1; /* no block serves two allocations */
    hr_status status =
        hr__zarr_open(&source, path, NULL, NULL, &o.arena, &o.node, &o.err);
    assert_int_equal(o.err.status, status);
    const hr__chain *chain;
    if (status == HR_OK && o.node.array.chain_for != NULL) {
        status =
            o.node.array.chain_for(&o.node.array, (const int64_t[]){1}, &chain, NULL);
    }
    if (o.err.status == HR_OK) {
        hr__zarr_close(&o.node);
    }
    hr__arena_free(&o.arena);
    assert_int_equal(b.live, 0);
    return status;
}

static const zarr_doc docs[] = {
    {"a/zarr.json",
     "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":{\"name\":"
     "\"struct\",\"configuration\":{\"fields\":[{\"name\":\"x\",\"data_type\":\"int16\"},"
     "{\"name\":\"y\",\"data_type\":\"uint8\"}]}},\"chunk_grid\":{\"name\":"
     "\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_shapes\":[[1,3]]}},"
     "\"chunk_key_encoding\":\"default\",\"fill_value\":{\"x\":1,\"y\":2},\"codecs\":[{"
     "\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}},\"crc32c\"],"
     "\"attributes\":{\"k\":1},\"dimension_names\":[\"t\"]}"},
    {"s/zarr.json",
     "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"string\","
     "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4]}},"
     "\"chunk_key_encoding\":\"default\",\"fill_value\":\"text\",\"codecs\":[{\"name\":"
     "\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":["
     "\"vlen-utf8\",\"zstd\"],\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{"
     "\"endian\":\"little\"}},\"crc32c\"]}}]}"},
    {"b/.zarray",
     "{\"zarr_format\":2,\"shape\":[4],\"chunks\":[2],\"dtype\":[[\"a\",\">i2\",[2]],["
     "\"b\","
     "\"<U2\"]],\"order\":\"C\",\"compressor\":{\"id\":\"zlib\",\"level\":1},\"filters\":"
     "[],\"fill_value\":\"AAAAAAAAAAAAAAAA\"}"},
    {"b/.zattrs", "{\"_ARRAY_DIMENSIONS\":[\"x\"]}"},
    {"c/.zgroup", "{\"zarr_format\":2}"},
    {"c/.zmetadata", "{\"zarr_consolidated_format\":1,\"metadata\":{\"a/.zgroup\":{"
                     "\"zarr_format\":2},\"a/.zattrs\":{\"k\":1}}}"},
    {NULL, NULL}};

static void each_missing_allocation_is_reported(void **state) {
    (void)state;
    static const char *const paths[] = {"a", "s", "b", "c"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int n = 0;
        hr_status status;
        while ((status = open_with(n, docs, paths[i])) == HR_ERR_MEMORY && n <= 200) {
            n++;
        }
        assert_int_equal(status, HR_OK);
        assert_in_range(n, 5, 200);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_missing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
