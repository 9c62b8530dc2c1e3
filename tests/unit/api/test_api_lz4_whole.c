/* A few large LZ4 streams, which the whole device shares, through the whole library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lz4.h>

#include "fixture.h"

#define CHUNK_NBYTES ((1 << 20) + 100003)
#define NCHUNKS 3
#define NBYTES ((size_t)NCHUNKS * CHUNK_NBYTES)

typedef struct world {
    hr_context *context;
    hr_store *store;
    uint8_t *raw, *got;
    hr_batch_stats stats;
    hr_error err;
} world;

/* Words of some length in an order by chance, with a run now and then. */
static void fill(uint8_t *raw, size_t n) {
    uint64_t random = 11;
    for (size_t i = 0; i < n;) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const uint8_t word = (uint8_t)(random >> 56);
        size_t length = word == 0 ? 5000 : 3 + word % 13;
        for (size_t k = 0; k < length && i < n; k++) {
            raw[i++] = (uint8_t)(word == 0 ? 7 : word * (k + 1));
        }
    }
}

/* Chunk `damaged` has an offset that leads to before its output. */
static void put_chunks(world *w, int damaged) {
    const int room = LZ4_compressBound(CHUNK_NBYTES);
    uint8_t *encoded = malloc((size_t)room + 4);
    assert_non_null(encoded);
    const uint32_t nbytes = CHUNK_NBYTES;
    for (int i = 0; i < NCHUNKS; i++) {
        char key[16];
        int n = LZ4_compress_default((const char *)w->raw + (size_t)i * CHUNK_NBYTES,
                                     (char *)encoded + 4, CHUNK_NBYTES, room);
        assert_true(n > 0);
        for (int k = 0; k < 4; k++) {
            encoded[k] = (uint8_t)(nbytes >> (8 * k));
        }
        if (i == damaged) {
            encoded[4] = 0x10; /* one literal, a match of four */
            encoded[6] = encoded[7] = 0xFF;
        }
        (void)snprintf(key, sizeof key, "a/%d", i);
        put(w->store, key, encoded, (size_t)n + 4);
    }
    free(encoded);
}

/* Of some 4.7 MiB that a stream wants, slots have a part: a fourth of what they do not
 * share between them. */
#define ENOUGH (UINT64_C(24) << 20)
#define TOO_LITTLE (UINT64_C(12) << 20)

static void open_world(world *w, uint64_t budget) {
    char meta[256];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%zu],\"chunks\":[%d],\"dtype\":\"|u1\","
                   "\"compressor\":{\"id\":\"lz4\",\"acceleration\":1},\"filters\":null,"
                   "\"fill_value\":0,\"order\":\"C\"}",
                   NBYTES, CHUNK_NBYTES);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = 2;
    options.device_scratch_nbytes = budget;
    *w = (world){.raw = malloc(NBYTES), .got = malloc(NBYTES), .err = HR_ERROR_INIT};
    assert_true(w->raw != NULL && w->got != NULL);
    assert_int_equal(hr_context_create(&options, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put(w->store, "a/.zarray", meta, strlen(meta));
    fill(w->raw, NBYTES);
}

static void close_world(world *w) {
    free(w->raw);
    free(w->got);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
}

static hr_status read_array(world *w) {
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = true;
    return read_bytes(w->context, w->store, w->got, NBYTES, &options, &w->stats, &w->err);
}

static void large_streams_are_decoded_exactly(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    open_world(&w, 0);
    put_chunks(&w, -1);
    assert_int_equal(read_array(&w), HR_OK);
    assert_memory_equal(w.got, w.raw, NBYTES);
    assert_int_equal(w.stats.ndecoded_whole, NCHUNKS);
    close_world(&w);
}

static void scratch_for_them_is_shared_by_slabs_that_lack_it(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    open_world(&w, ENOUGH);
    put_chunks(&w, -1);
    for (int i = 0; i < 2; i++) { /* the second has the first one's */
        memset(w.got, 0, NBYTES);
        assert_int_equal(read_array(&w), HR_OK);
        assert_memory_equal(w.got, w.raw, NBYTES);
        assert_int_equal(w.stats.ndecoded_whole, NCHUNKS);
    }
    close_world(&w);
}

static void without_scratch_a_team_decodes_them(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    open_world(&w, TOO_LITTLE);
    put_chunks(&w, -1);
    assert_int_equal(read_array(&w), HR_OK);
    assert_memory_equal(w.got, w.raw, NBYTES);
    assert_int_equal(w.stats.ndecoded_device, NCHUNKS);
    assert_int_equal(w.stats.ndecoded_whole, 0);
    close_world(&w);
}

static void a_damaged_stream_is_told_and_harms_no_other(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    open_world(&w, 0);
    put_chunks(&w, 1);
    assert_int_equal(read_array(&w), HR_ERR_DATA);
    assert_int_equal(w.stats.ndecoded_whole, NCHUNKS - 1);
    assert_non_null(strstr(w.err.key, "a/1"));
    assert_non_null(strstr(w.err.message, "refers to bytes before its output"));
    assert_memory_equal(w.got, w.raw, CHUNK_NBYTES);
    assert_memory_equal(w.got + 2 * (size_t)CHUNK_NBYTES,
                        w.raw + 2 * (size_t)CHUNK_NBYTES, CHUNK_NBYTES);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_streams_are_decoded_exactly),
        cmocka_unit_test(scratch_for_them_is_shared_by_slabs_that_lack_it),
        cmocka_unit_test(without_scratch_a_team_decodes_them),
        cmocka_unit_test(a_damaged_stream_is_told_and_harms_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
