/* A shard of eight zlib chunks, in memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_SHARD_WORLD_H
#define HR_TESTS_API_SHARD_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "fixture.h"

#define NCHUNKS 8
#define CHUNK_NBYTES 4096
#define NTHREADS 2

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *node;
    hr_error err;
    uint8_t expected[NCHUNKS * CHUNK_NBYTES], got[NCHUNKS * CHUNK_NBYTES];
    hr_batch_stats stats;
} world;

/* A shard of zlib chunks and its index; chunk `damaged` does not decode (-1: none). */
static inline void put_shard(world *w, int damaged) {
    uint8_t shard[NCHUNKS * 2 * CHUNK_NBYTES];
    uint64_t index[NCHUNKS][2], at = 0;
    for (size_t i = 0; i < NCHUNKS; i++) {
        uLongf n = 2 * CHUNK_NBYTES;
        assert_int_equal(
            compress(shard + at, &n, w->expected + i * CHUNK_NBYTES, CHUNK_NBYTES), Z_OK);
        if ((int)i == damaged) {
            memset(shard + at + 2, 0xFF, n - 2);
        }
        index[i][0] = at;
        index[i][1] = n;
        at += n;
    }
    memcpy(shard + at, index, sizeof index);
    put(w->store, "a/c/0", shard, at + sizeof index);
}

static inline int open_world(void **state) {
    static const char meta[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[32768],\"data_type\":"
        "\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_"
        "shape\":"
        "[32768]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"codecs\":[{\"name\":"
        "\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[4096],\"codecs\":[{"
        "\"name\":\"bytes\"},{\"name\":\"numcodecs.zlib\",\"configuration\":{\"level\":1}"
        "}],"
        "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
        "]}}],"
        "\"fill_value\":0,\"attributes\":{}}";
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = NTHREADS;
    assert_int_equal(hr_context_create(&options, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    for (size_t k = 0; k < sizeof w->expected; k++) {
        w->expected[k] = (uint8_t)(k * k / 977);
    }
    put(w->store, "a/zarr.json", meta, sizeof meta - 1);
    put_shard(w, -1);
    if (hr_open_store(w->store, "a", NULL, &w->node, &w->err) != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    *state = w;
    return 0;
}

static inline int close_world(void **state) {
    world *w = *state;
    hr_node_unref(w->node);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

#endif
