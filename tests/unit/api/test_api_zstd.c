/* zstd chunks read by kernels, through the whole library. SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zstd.h>

#include "fixture.h"

#define CHUNK_NBYTES 300000
#define NCHUNKS 6

typedef struct world {
    hr_context *context;
    hr_store *store;
    uint8_t *raw, *got; /* NCHUNKS chunks */
    hr_error err;
} world;

/* Words of 8 bytes in an order by chance: a sequence each. */
static void fill(uint8_t *raw, size_t n) {
    uint64_t random = 7, word = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            word = ((random >> 56) + 1) * 0x9E3779B97F4A7C15U;
        }
        raw[i] = (uint8_t)(word >> (8 * (i % 8)));
    }
}

static void put_chunk(world *w, int i, const void *bytes, size_t n) {
    char key[16];
    (void)snprintf(key, sizeof key, "a/%d", i);
    put(w->store, key, bytes, n);
}

/* Chunks of level 3, with a checksum. */
static void put_array(world *w, uint64_t device_scratch_nbytes) {
    char meta[256];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"|u1\","
                   "\"compressor\":{\"id\":\"zstd\",\"level\":3},\"filters\":null,"
                   "\"fill_value\":0,\"order\":\"C\"}",
                   NCHUNKS * CHUNK_NBYTES, CHUNK_NBYTES);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = 2;
    options.device_scratch_nbytes = device_scratch_nbytes;
    *w = (world){.err = HR_ERROR_INIT};
    assert_int_equal(hr_context_create(&options, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put(w->store, "a/.zarray", meta, strlen(meta));
    w->raw = malloc((size_t)NCHUNKS * CHUNK_NBYTES);
    w->got = malloc((size_t)NCHUNKS * CHUNK_NBYTES);
    uint8_t *encoded = malloc(ZSTD_compressBound(CHUNK_NBYTES));
    assert_true(w->raw != NULL && w->got != NULL && encoded != NULL);
    fill(w->raw, (size_t)NCHUNKS * CHUNK_NBYTES);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    for (int i = 0; i < NCHUNKS; i++) {
        size_t n = ZSTD_compress2(c, encoded, ZSTD_compressBound(CHUNK_NBYTES),
                                  w->raw + (size_t)i * CHUNK_NBYTES, CHUNK_NBYTES);
        assert_false(ZSTD_isError(n));
        put_chunk(w, i, encoded, n);
    }
    ZSTD_freeCCtx(c);
    free(encoded);
}

static hr_status read_array(world *w, bool strict, bool skip_checksums,
                            hr_batch_stats *stats) {
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = strict;
    options.skip_checksums = skip_checksums;
    return read_bytes(w->context, w->store, w->got, (size_t)NCHUNKS * CHUNK_NBYTES,
                      &options, stats, &w->err);
}

static void assert_exact(const world *w) {
    assert_memory_equal(w->got, w->raw, (size_t)NCHUNKS * CHUNK_NBYTES);
}

static void close_world(world *w) {
    free(w->raw);
    free(w->got);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
}

/* What explain says of the scratch for such chunks. */
static int32_t scratch_of(world *w) {
    static const int64_t shape[] = {NCHUNKS * CHUNK_NBYTES};
    hr_node *node = NULL;
    hr_explanation *explanation = NULL;
    hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
    assert_int_equal(hr_open_store(w->store, "a", NULL, &node, &w->err), HR_OK);
    hr_request r = HR_REQUEST_INIT;
    r.array = node;
    r.dst = (hr_tensor){.device = {.type = HR_DEVICE_SIMT},
                        .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                        .ndim = 1,
                        .shape = shape};
    assert_int_equal(hr_plan_explain(w->context, &r, 1, &explanation, &w->err), HR_OK);
    assert_int_equal(hr_explanation_chain(explanation, 0, &chain, &w->err), HR_OK);
    hr_explanation_free(explanation);
    hr_node_unref(node);
    return chain.scratch;
}

static void strict_reads_are_exact_with_any_scratch_that_suffices(void **state) {
    (void)state;
    static const uint64_t budgets[] = {UINT64_C(2) << 20, UINT64_C(8) << 20,
                                       UINT64_C(64) << 20};
    if (!has_simt()) {
        skip();
    }
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        world w;
        hr_batch_stats stats;
        put_array(&w, budgets[i]);
        hr_status status = read_array(&w, true, false, &stats);
        assert_string_equal(w.err.message, "");
        assert_int_equal(status, HR_OK);
        assert_int_equal(stats.ndecoded_device, NCHUNKS);
        assert_exact(&w);
        close_world(&w);
    }
}

static void without_scratch_the_host_decodes_and_strict_says_why(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    hr_batch_stats stats;
    put_array(&w, 480000); /* a chunk fits, its sequences beside it do not */
    assert_int_equal(scratch_of(&w), HR_SCRATCH_MAY_LACK);
    hr_status status = read_array(&w, false, false, &stats);
    assert_string_equal(w.err.message, "");
    assert_int_equal(status, HR_OK);
    assert_int_equal(stats.ndecoded_cpu, NCHUNKS);
    assert_exact(&w);
    assert_int_equal(read_array(&w, true, false, &stats), HR_ERR_STRICT);
    assert_non_null(strstr(w.err.message, "bytes of device scratch"));
    close_world(&w);
}

static void scratch_that_lacks_is_foreseen(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    hr_batch_stats stats;
    put_array(&w, CHUNK_NBYTES / 2);
    assert_int_equal(scratch_of(&w), HR_SCRATCH_LACKS);
    assert_int_equal(read_array(&w, false, false, &stats), HR_ERR_MEMORY);
    close_world(&w);
    put_array(&w, UINT64_C(64) << 20);
    assert_int_equal(scratch_of(&w), HR_SCRATCH_SUFFICES);
    close_world(&w);
}

/* Chunk i again, with its checksum as it is, or with a byte of it changed. */
static void put_again(world *w, int i, bool is_spoilt) {
    uint8_t *encoded = malloc(ZSTD_compressBound(CHUNK_NBYTES));
    assert_non_null(encoded);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(c, encoded, ZSTD_compressBound(CHUNK_NBYTES),
                              w->raw + (size_t)i * CHUNK_NBYTES, CHUNK_NBYTES);
    encoded[n - 1] ^= is_spoilt;
    put_chunk(w, i, encoded, n);
    ZSTD_freeCCtx(c);
    free(encoded);
}

static void checksums_are_verified_unless_they_are_to_be_skipped(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    hr_batch_stats stats;
    put_array(&w, UINT64_C(64) << 20);
    put_again(&w, NCHUNKS - 1, true);
    assert_int_equal(read_array(&w, true, false, &stats), HR_ERR_CHECKSUM);
    assert_string_equal(w.err.codec, "zstd");
    assert_non_null(strstr(w.err.key, "5"));
    assert_int_equal(read_array(&w, true, true, &stats), HR_OK);
    assert_exact(&w);
    close_world(&w);
}

static void dictionaries_are_refused_by_name(void **state) {
    (void)state;
    static const uint8_t frame[] = {0x28, 0xB5, 0x2F, 0xFD, 0x21, 77, 1, 0x09, 0, 0, 'x'};
    if (!has_simt()) {
        skip();
    }
    world w;
    hr_batch_stats stats;
    put_array(&w, UINT64_C(64) << 20);
    put_chunk(&w, 2, frame, sizeof frame);
    assert_int_equal(read_array(&w, true, false, &stats), HR_ERR_STRICT);
    assert_non_null(strstr(w.err.message, "needs dictionary 77"));
    assert_int_equal(read_array(&w, false, false, &stats), HR_ERR_UNSUPPORTED);
    assert_non_null(strstr(w.err.message, "dictionary"));
    close_world(&w);
}

static void a_damaged_chunk_is_told_whichever_slab_it_is_in(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    world w;
    hr_batch_stats stats;
    put_array(&w, UINT64_C(4) << 20); /* some slabs, of a chunk or two */
    for (int i = 0; i < NCHUNKS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "a/%d", i);
        put_again(&w, i, true);
        assert_int_equal(read_array(&w, true, false, &stats), HR_ERR_CHECKSUM);
        assert_true(stats.nslabs > 2);
        assert_string_equal(w.err.key, key);
        assert_exact(&w); /* the damage is to the checksum alone */
        put_again(&w, i, false);
    }
    assert_int_equal(read_array(&w, true, false, &stats), HR_OK);
    close_world(&w);
}

/* Device memory: the largest block that was asked for is kept. */
static void *device_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)device;
    (void)stream;
    atomic_size_t *largest = user;
    size_t before = atomic_load(largest);
    while (nbytes > before && !atomic_compare_exchange_weak(largest, &before, nbytes)) {
    }
    void *memory = NULL;
    return posix_memalign(&memory, 256, nbytes) == 0 ? memory : NULL;
}

static void device_free(void *user, hr_device device, void *ptr, size_t nbytes,
                        void *stream) {
    (void)user;
    (void)device;
    (void)nbytes;
    (void)stream;
    free(ptr);
}

/* Many bytes out of few have hardly a sequence: twice the chunk would be a slot of its
 * own, made in the place of another in each read. */
static void dense_chunks_take_slots_of_the_usual_size(void **state) {
    (void)state;
    enum { DENSE_NBYTES = 7 << 17, SCRATCH_NBYTES = 8 << 20, NSLOTS = 4 };
    static const char meta[] =
        "{\"zarr_format\":2,\"shape\":[917504],\"chunks\":[917504],\"dtype\":\"|u1\","
        "\"compressor\":{\"id\":\"zstd\",\"level\":3},\"filters\":null,\"fill_value\":0,"
        "\"order\":\"C\"}";
    if (!has_simt()) {
        skip();
    }
    atomic_size_t largest;
    atomic_init(&largest, 0);
    hr_device_allocator hooks = {.struct_size = sizeof hooks,
                                 .user = &largest,
                                 .alloc = device_alloc,
                                 .free = device_free};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.device_scratch_nbytes = SCRATCH_NBYTES;
    options.device_allocator = &hooks;
    world w = {.raw = calloc(1, DENSE_NBYTES), .got = malloc(DENSE_NBYTES)};
    uint8_t *encoded = malloc(ZSTD_compressBound(DENSE_NBYTES));
    assert_true(w.raw != NULL && w.got != NULL && encoded != NULL);
    fill(w.raw, 4096);
    size_t n =
        ZSTD_compress(encoded, ZSTD_compressBound(DENSE_NBYTES), w.raw, DENSE_NBYTES, 3);
    assert_int_equal(hr_context_create(&options, &w.context, &w.err), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &w.store, &w.err), HR_OK);
    put(w.store, "a/.zarray", meta, sizeof meta - 1);
    put_chunk(&w, 0, encoded, n);
    hr_batch_stats stats;
    hr_read_options strict = HR_READ_OPTIONS_INIT;
    strict.strict = true;
    assert_int_equal(
        read_bytes(w.context, w.store, w.got, DENSE_NBYTES, &strict, &stats, &w.err),
        HR_OK);
    assert_memory_equal(w.got, w.raw, DENSE_NBYTES);
    assert_in_range(atomic_load(&largest), DENSE_NBYTES, SCRATCH_NBYTES / NSLOTS);
    free(encoded);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_chunks_take_slots_of_the_usual_size),
        cmocka_unit_test(strict_reads_are_exact_with_any_scratch_that_suffices),
        cmocka_unit_test(without_scratch_the_host_decodes_and_strict_says_why),
        cmocka_unit_test(scratch_that_lacks_is_foreseen),
        cmocka_unit_test(a_damaged_chunk_is_told_whichever_slab_it_is_in),
        cmocka_unit_test(checksums_are_verified_unless_they_are_to_be_skipped),
        cmocka_unit_test(dictionaries_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
