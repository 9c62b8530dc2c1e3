/* Caches against none: random reads of many threads. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "fixture.h"

enum { NTHREADS = 4, NBATCHES = 40, MOST = 3, ROWS = 40, COLS = 48, NARRAYS = 3 };

static const char *const names[NARRAYS] = {"flat", "raw", "shards"};

typedef struct world {
    hr_context *context;
    hr_node *arrays[NARRAYS];
    hr_device device; /* beside the host */
    bool has_device;
    atomic_uint seed;
    atomic_int nwrong;
} world;

static int32_t value(int a, int64_t row, int64_t col) {
    return (int32_t)(a * 1000000 + row * 1000 + col / 3);
}

static void fill(int a, int64_t row, int64_t col, int64_t h, int64_t w, int32_t *out) {
    for (int64_t i = 0; i < h * w; i++) {
        out[i] = value(a, row + i / w, col + i % w);
    }
}

/* zlib or nothing, chunks of 8 × 12. */
static void put_plain(hr_store *store, int a) {
    char meta[512], key[32];
    (void)snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":2,\"shape\":[40,48],\"chunks\":[8,12],\"dtype\":\"<i4\","
        "\"compressor\":%s,\"filters\":null,\"fill_value\":-1,\"order\":\"C\"}",
        a == 0 ? "{\"id\":\"zlib\"}" : "null");
    (void)snprintf(key, sizeof key, "%s/.zarray", names[a]);
    put(store, key, meta, strlen(meta));
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t j = 0; j < 4; j++) {
            int32_t raw[8 * 12];
            uint8_t encoded[1024];
            uLongf n = sizeof encoded;
            fill(a, i * 8, j * 12, 8, 12, raw);
            assert_int_equal(compress2(encoded, &n, (const Bytef *)raw, sizeof raw, 1),
                             Z_OK);
            (void)snprintf(key, sizeof key, "%s/%d.%d", names[a], (int)i, (int)j);
            put(store, key, a == 0 ? (const void *)encoded : raw,
                a == 0 ? n : sizeof raw);
        }
    }
}

/* One shard of 20 × 24: inner chunks of 5 × 6 as zstd, index of 16 pairs at the end. */
static void put_shard(hr_store *store, int64_t i, int64_t j) {
    uint8_t shard[8192];
    uint64_t index[32], at = 0;
    for (int64_t k = 0; k < 16; k++) {
        int32_t raw[5 * 6];
        fill(2, i * 20 + k / 4 * 5, j * 24 + k % 4 * 6, 5, 6, raw);
        size_t n = ZSTD_compress(shard + at, sizeof shard - at, raw, sizeof raw, 1);
        assert_false(ZSTD_isError(n));
        index[2 * k] = at;
        index[2 * k + 1] = n;
        at += n;
    }
    memcpy(shard + at, index, sizeof index);
    char key[32];
    (void)snprintf(key, sizeof key, "shards/c/%d/%d", (int)i, (int)j);
    put(store, key, shard, at + sizeof index);
}

static void put_shards(hr_store *store) {
    const char *little = "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}";
    char meta[1024];
    (void)snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[40,48],"
        "\"data_type\":\"int32\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[20,24]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":"
        "[5,6],\"codecs\":[%s,{\"name\":\"zstd\",\"configuration\":{\"level\":1,"
        "\"checksum\":false}}],\"index_codecs\":[%s]}}],\"fill_value\":-1}",
        little, little);
    put(store, "shards/zarr.json", meta, strlen(meta));
    for (int64_t k = 0; k < 4; k++) {
        put_shard(store, k / 2, k % 2);
    }
}

static uint32_t next(uint64_t *random) {
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*random >> 33);
}

/* One request: what it is of, and where it goes. */
typedef struct want {
    int a;
    bool on_device;
    hr_axis axes[2];
    int64_t shape[2];
    int32_t host[ROWS * COLS];
    void *memory; /* on the device */
} want;

static void choose(world *w, uint64_t *random, want *x) {
    const int64_t lengths[] = {ROWS, COLS};
    x->a = (int)(next(random) % NARRAYS);
    x->on_device = w->has_device && next(random) % 2 == 0;
    for (int i = 0; i < 2; i++) {
        int64_t start = next(random) % (uint32_t)lengths[i];
        int64_t step = 1 + next(random) % 3;
        int64_t n = 1 + next(random) % 12;
        int64_t most = (lengths[i] - 1 - start) / step + 1;
        n = n < most ? n : most;
        x->axes[i] = (hr_axis){.start = start, .stop = start + n * step, .step = step};
        x->shape[i] = n;
    }
}

static bool is_right(world *w, want *x) {
    const size_t nbytes = (size_t)(x->shape[0] * x->shape[1]) * sizeof *x->host;
    if (x->on_device && hr_memory_to_host(w->context, w->device, x->host, x->memory,
                                          nbytes, NULL) != HR_OK) {
        return false;
    }
    for (int64_t i = 0; i < x->shape[0] * x->shape[1]; i++) {
        int64_t row = x->axes[0].start + i / x->shape[1] * x->axes[0].step;
        int64_t col = x->axes[1].start + i % x->shape[1] * x->axes[1].step;
        if (x->host[i] != value(x->a, row, col)) {
            return false;
        }
    }
    return true;
}

static bool within(const hr_cache_stats *s) {
    return s->nbytes <= s->max_nbytes;
}

static bool read_batch(world *w, uint64_t *random, want *wants) {
    hr_request requests[MOST];
    uint32_t n = 1 + next(random) % MOST;
    for (uint32_t i = 0; i < n; i++) {
        want *x = &wants[i];
        choose(w, random, x);
        hr_request *r = &requests[i];
        *r = HR_REQUEST_INIT;
        r->array = w->arrays[x->a];
        r->selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = x->axes};
        r->dst.dtype = (hr_dtype){.kind = HR_KIND_INT, .itemsize = 4};
        r->dst.ndim = 2;
        r->dst.shape = x->shape;
        r->dst.data = x->on_device ? x->memory : x->host;
        r->dst.device = x->on_device ? w->device : (hr_device){HR_DEVICE_CPU, 0};
    }
    hr_batch *b = NULL;
    bool ok = hr_read_submit(w->context, requests, n, NULL, NULL, &b, NULL) == HR_OK &&
              hr_batch_wait(b, -1, NULL) == HR_OK;
    hr_batch_unref(b);
    for (uint32_t i = 0; i < n && ok; i++) {
        ok = is_right(w, &wants[i]);
    }
    hr_context_stats s = HR_CONTEXT_STATS_INIT;
    return ok && hr_context_get_stats(w->context, &s, NULL) == HR_OK &&
           within(&s.indexes) && within(&s.encoded_chunks) && within(&s.decoded_chunks);
}

static void *read_often(void *arg) {
    world *w = arg;
    uint64_t random = atomic_fetch_add(&w->seed, 1);
    want *wants = calloc(MOST, sizeof *wants);
    bool ok = wants != NULL;
    for (int i = 0; i < MOST && ok && w->has_device; i++) {
        ok = hr_memory_alloc(w->context, w->device, sizeof wants->host, &wants[i].memory,
                             NULL) == HR_OK;
    }
    for (int i = 0; i < NBATCHES && ok; i++) {
        ok = read_batch(w, &random, wants);
        if (i % 16 == 15) {
            hr_context_clear_caches(w->context);
        }
    }
    for (int i = 0; i < MOST && wants != NULL; i++) {
        hr_memory_free(w->context, w->device, wants[i].memory);
    }
    free(wants);
    atomic_fetch_add(&w->nwrong, !ok);
    return NULL;
}

/* Budgets in chunks of 8 × 12 int32. */
static void check(uint64_t encoded, uint64_t decoded, uint64_t indexes) {
    const uint64_t room = 8 * 12 * 4 + 128;
    world w = {.device = {HR_DEVICE_SIMT, 0}};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    w.has_device = hr_device_describe(w.device, &info, NULL) == HR_OK;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 3;
    o.encoded_cache_nbytes = encoded * room;
    o.chunk_cache_nbytes = decoded * room;
    o.index_cache_nbytes = indexes;
    hr_store *store = NULL;
    assert_int_equal(hr_context_create(&o, &w.context, &err), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &store, &err), HR_OK);
    put_plain(store, 0);
    put_plain(store, 1);
    put_shards(store);
    for (int a = 0; a < NARRAYS; a++) {
        assert_int_equal(hr_open_store(store, names[a], NULL, &w.arrays[a], &err), HR_OK);
    }
    pthread_t threads[NTHREADS];
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &w), 0);
    }
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&w.nwrong), 0);
    for (int a = 0; a < NARRAYS; a++) {
        hr_node_unref(w.arrays[a]);
    }
    hr_store_unref(store);
    hr_context_unref(w.context);
}

static void no_cache_gives_what_was_written(void **state) {
    (void)state;
    check(0, 0, 1);
}

static void caches_of_any_size_give_the_same(void **state) {
    (void)state;
    check(4, 0, 0);
    check(0, 4, 600);
    check(5, 3, 1000);
    check(1000, 1000, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cache_gives_what_was_written),
        cmocka_unit_test(caches_of_any_size_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
