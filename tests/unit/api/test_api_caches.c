/* Chunks kept between calls. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bzlib.h>
#include <cmocka.h>
#include <zlib.h>

#include "fixture.h"
#include "probe.h"
#include "support/sanitizers.h"

enum { NCHUNKS = 6, CHUNK = 70000 }; /* chunks of CHUNK bytes */
#define ROOM (CHUNK + 128)           /* what one takes of a budget */

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *zlib, *raw, *bz2;
    uint8_t got[NCHUNKS * CHUNK];
    hr_batch_stats stats; /* of the last read */
    hr_error err;
} world;

static uint8_t value(uint8_t version, size_t i) {
    return (uint8_t)(i * 7 / 3 + i / 100 + version);
}

static size_t encode(const char *codec, const uint8_t *raw, uint8_t *out) {
    uLongf n = 2 * CHUNK;
    unsigned m = 2 * CHUNK;
    if (strcmp(codec, "zlib") == 0) {
        assert_int_equal(compress2(out, &n, raw, CHUNK, 1), Z_OK);
        return n;
    }
    if (strcmp(codec, "bz2") == 0) {
        assert_int_equal(
            BZ2_bzBuffToBuffCompress((char *)out, &m, (char *)raw, CHUNK, 1, 0, 0),
            BZ_OK);
        return m;
    }
    memcpy(out, raw, CHUNK);
    return CHUNK;
}

/* Chunk i of an array, of some version of its values. */
static void put_chunk(world *w, const char *codec, int i, uint8_t version) {
    uint8_t raw[CHUNK], out[2 * CHUNK];
    char key[16];
    for (size_t k = 0; k < CHUNK; k++) {
        raw[k] = value(version, (size_t)i * CHUNK + k);
    }
    (void)snprintf(key, sizeof key, "%s/%d", codec, i);
    put(w->store, key, out, encode(codec, raw, out));
}

static hr_node *put_array(world *w, const char *codec) {
    char meta[256], key[16];
    bool is_raw = strcmp(codec, "raw") == 0;
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"|u1\","
                   "\"compressor\":%s%s%s,\"filters\":null,\"fill_value\":0,"
                   "\"order\":\"C\"}",
                   NCHUNKS * CHUNK, CHUNK, is_raw ? "null" : "{\"id\":\"",
                   is_raw ? "" : codec, is_raw ? "" : "\"}");
    (void)snprintf(key, sizeof key, "%s/.zarray", codec);
    put(w->store, key, meta, strlen(meta));
    for (int i = 0; i < NCHUNKS; i++) {
        put_chunk(w, codec, i, 0);
    }
    hr_node *node = NULL;
    assert_int_equal(hr_open_store(w->store, codec, NULL, &node, &w->err), HR_OK);
    return node;
}

static void begin(world *w, const hr_allocator *allocator, uint64_t encoded,
                  uint64_t decoded) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.allocator = allocator;
    o.encoded_cache_nbytes = encoded;
    o.chunk_cache_nbytes = decoded;
    *w = (world){.err = HR_ERROR_INIT};
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    w->zlib = put_array(w, "zlib");
    w->raw = put_array(w, "raw");
    w->bz2 = put_array(w, "bz2");
}

static void end(world *w) {
    hr_node_unref(w->zlib);
    hr_node_unref(w->raw);
    hr_node_unref(w->bz2);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
}

static hr_status read_into(world *w, hr_node *array, hr_tensor dst, hr_axis *axis,
                           hr_read_options *options) {
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = axis};
    r.dst = dst;
    r.dst.ndim = 1;
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    hr_batch *b = NULL;
    w->stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, options, &b, &w->err),
                     HR_OK);
    hr_status status = hr_batch_wait(b, -1, &w->err);
    assert_int_equal(hr_batch_get_stats(b, &w->stats, &w->err), HR_OK);
    hr_batch_unref(b);
    return status;
}

/* Elements [lo, hi) into host memory. */
static hr_status read_some(world *w, hr_node *array, int64_t lo, int64_t hi) {
    const int64_t shape[] = {hi - lo};
    hr_axis axis = {.start = lo, .stop = hi, .step = 1};
    memset(w->got, 0, sizeof w->got);
    return read_into(w, array, (hr_tensor){.data = w->got, .shape = shape}, &axis, NULL);
}

static bool is_right(const world *w, int64_t lo, int64_t hi, uint8_t version) {
    int64_t i = lo;
    while (i < hi && w->got[i - lo] == value(version, (size_t)i)) {
        i++;
    }
    return i == hi;
}

static bool reads_all(world *w, hr_node *array) {
    return read_some(w, array, 0, NCHUNKS * CHUNK) == HR_OK &&
           is_right(w, 0, NCHUNKS * CHUNK, 0);
}

static hr_context_stats stats_of(world *w) {
    hr_context_stats s = HR_CONTEXT_STATS_INIT;
    assert_int_equal(hr_context_get_stats(w->context, &s, &w->err), HR_OK);
    return s;
}

static void nothing_is_kept_unless_asked_for(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 0, 0);
    assert_true(reads_all(&w, w.zlib) && reads_all(&w, w.zlib));
    assert_int_equal(w.stats.nreads, NCHUNKS);
    assert_int_equal(w.stats.nkept_encoded + w.stats.nkept_decoded, 0);
    assert_int_equal(stats_of(&w).encoded_chunks.max_nbytes, 0);
    assert_int_equal(stats_of(&w).decoded_chunks.max_nbytes, 0);
    assert_true(stats_of(&w).indexes.max_nbytes > 0);
    end(&w);
}

static void what_is_kept_decoded_is_neither_read_nor_decoded(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 0, 1 << 20);
    assert_true(reads_all(&w, w.zlib));
    assert_int_equal(w.stats.ndecoded_cpu, NCHUNKS);
    assert_int_equal(w.stats.nkept_decoded, 0);
    assert_int_equal(read_some(&w, w.zlib, 3 * CHUNK / 2, 9 * CHUNK / 2), HR_OK);
    assert_true(is_right(&w, 3 * CHUNK / 2, 9 * CHUNK / 2, 0));
    assert_int_equal(w.stats.nkept_decoded, 4);
    assert_int_equal(w.stats.nreads + w.stats.read_nbytes + w.stats.ndecoded_cpu, 0);
    assert_int_equal(stats_of(&w).decoded_chunks.nhits, 4);
    assert_int_equal(stats_of(&w).decoded_chunks.nbytes, NCHUNKS * ROOM);
    assert_true(reads_all(&w, w.raw)); /* gains nothing */
    assert_int_equal(stats_of(&w).decoded_chunks.nblocks, NCHUNKS);
    hr_context_clear_caches(w.context);
    assert_int_equal(stats_of(&w).decoded_chunks.nbytes, 0);
    assert_true(reads_all(&w, w.zlib));
    assert_int_equal(w.stats.nreads, NCHUNKS);
    end(&w);
}

static void what_is_kept_encoded_is_not_read(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 1 << 20, 0);
    hr_node *const arrays[] = {w.zlib, w.raw, w.bz2};
    for (int a = 0; a < 3; a++) {
        assert_true(reads_all(&w, arrays[a]));
        assert_int_equal(w.stats.nreads, NCHUNKS);
        assert_int_equal(w.stats.nkept_encoded, 0);
        assert_true(reads_all(&w, arrays[a]));
        assert_int_equal(w.stats.nreads + w.stats.read_nbytes, 0);
        assert_int_equal(w.stats.nkept_encoded, NCHUNKS);
    }
    end(&w);
}

static void a_chunk_that_changed_is_read_again(void **state) {
    (void)state;
    for (int which = 1; which < 4; which++) {
        world w;
        begin(&w, NULL, (which & 1) != 0 ? 1 << 20 : 0, (which & 2) != 0 ? 1 << 20 : 0);
        assert_true(reads_all(&w, w.zlib));
        put_chunk(&w, "zlib", 2, 77);
        assert_int_equal(read_some(&w, w.zlib, 2 * CHUNK, 3 * CHUNK), HR_OK);
        assert_true(is_right(&w, 2 * CHUNK, 3 * CHUNK, 77));
        assert_int_equal(w.stats.nreads, 1);
        assert_int_equal(read_some(&w, w.zlib, 3 * CHUNK, 4 * CHUNK), HR_OK);
        assert_true(is_right(&w, 3 * CHUNK, 4 * CHUNK, 0));
        assert_int_equal(w.stats.nreads, 0);
        end(&w);
    }
}

static void budgets_are_kept_and_chunks_beyond_them_are_read(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 0, 2 * ROOM + 100);
    for (int i = 0; i < 3; i++) {
        assert_true(reads_all(&w, w.zlib));
        assert_true(stats_of(&w).decoded_chunks.nbytes <= 2 * ROOM);
    }
    assert_true(stats_of(&w).decoded_chunks.nevicted >= 4);
    end(&w);
    begin(&w, NULL, 0, ROOM - 1);
    assert_true(reads_all(&w, w.zlib) && reads_all(&w, w.zlib));
    assert_int_equal(w.stats.nkept_decoded, 0);
    assert_int_equal(stats_of(&w).decoded_chunks.nblocks, 0);
    end(&w);
}

static void without_memory_to_keep_it_a_chunk_is_read(void **state) {
    (void)state;
    probe p = {.refuse_from = -1};
    hr_allocator a = probe_allocator(&p);
    world w;
    begin(&w, &a, 1 << 20, 1 << 20);
    p.max_nbytes = CHUNK; /* a chunk by itself fits, with a header it does not */
    assert_true(reads_all(&w, w.raw) && reads_all(&w, w.raw));
    assert_int_equal(w.stats.nkept_encoded, 0);
    assert_true(reads_all(&w, w.zlib) && reads_all(&w, w.zlib));
    assert_int_equal(w.stats.nkept_decoded, 0);
    assert_int_equal(stats_of(&w).decoded_chunks.nbytes, 0);
    end(&w);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

static void what_fails_to_decode_is_let_go(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 1 << 20, 1 << 20);
    put(w.store, "zlib/1", "nonsense", 8);
    assert_int_equal(read_some(&w, w.zlib, 0, NCHUNKS * CHUNK), HR_ERR_DATA);
    assert_int_equal(stats_of(&w).encoded_chunks.nblocks, NCHUNKS - 1);
    assert_int_equal(stats_of(&w).decoded_chunks.nblocks, NCHUNKS - 1);
    end(&w);
}

static hr_status read_unchecked(world *w) {
    const int64_t shape[] = {NCHUNKS * CHUNK};
    hr_axis axis = {.start = HR_NONE, .stop = HR_NONE};
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.skip_checksums = 1;
    return read_into(w, w->zlib, (hr_tensor){.data = w->got, .shape = shape}, &axis,
                     &options);
}

static void what_was_read_without_checksums_is_not_kept_decoded(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 0, 1 << 20);
    assert_int_equal(read_unchecked(&w), HR_OK);
    assert_int_equal(stats_of(&w).decoded_chunks.nblocks, 0);
    assert_true(reads_all(&w, w.zlib));
    assert_int_equal(read_unchecked(&w), HR_OK);
    assert_int_equal(w.stats.nkept_decoded, NCHUNKS); /* these were verified */
    end(&w);
}

/* Damage that nobody noticed is no failure of who looks for it once it is mended. */
static void what_was_read_without_checksums_is_not_kept_encoded(void **state) {
    (void)state;
    world w;
    begin(&w, NULL, 1 << 20, 0);
    assert_int_equal(read_unchecked(&w), HR_OK);
    assert_int_equal(stats_of(&w).encoded_chunks.nblocks, 0);
    assert_true(reads_all(&w, w.zlib));
    assert_int_equal(stats_of(&w).encoded_chunks.nblocks, NCHUNKS);
    assert_int_equal(read_unchecked(&w), HR_OK);
    assert_int_equal(w.stats.nkept_encoded, NCHUNKS);
    end(&w);
}

/* --- with the kernels on the CPU --- */

static void devices_get_what_is_kept(void **state) {
    (void)state;
    const hr_device simt = {HR_DEVICE_SIMT, 0};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    world w;
    begin(&w, NULL, 1 << 20, 1 << 20);
    if (hr_device_describe(simt, &info, &w.err) != HR_OK) {
        end(&w);
        skip();
    }
    void *memory = NULL;
    assert_int_equal(hr_memory_alloc(w.context, simt, NCHUNKS * CHUNK, &memory, &w.err),
                     HR_OK);
    const int64_t shape[] = {NCHUNKS * CHUNK};
    hr_axis axis = {.start = HR_NONE, .stop = HR_NONE};
    hr_tensor dst = {.data = memory, .device = simt, .shape = shape};
    hr_read_options strict = HR_READ_OPTIONS_INIT;
    strict.strict = 1;
    for (int i = 0; i < 2; i++) { /* by kernels: encoded */
        assert_int_equal(read_into(&w, w.zlib, dst, &axis, &strict), HR_OK);
        assert_int_equal(w.stats.nkept_encoded, i * NCHUNKS);
        assert_int_equal(w.stats.ndecoded_device, NCHUNKS);
    }
    for (int i = 0; i < 2; i++) { /* by the host: decoded */
        assert_int_equal(read_into(&w, w.bz2, dst, &axis, NULL), HR_OK);
        assert_int_equal(w.stats.nkept_decoded, i * NCHUNKS);
        assert_int_equal(
            hr_memory_to_host(w.context, simt, w.got, memory, NCHUNKS * CHUNK, &w.err),
            HR_OK);
        assert_true(is_right(&w, 0, NCHUNKS * CHUNK, 0));
    }
    assert_int_equal(read_into(&w, w.bz2, dst, &axis, &strict), HR_ERR_STRICT);
    hr_memory_free(w.context, simt, memory);
    end(&w);
}

static void a_forked_child_reads_what_is_kept(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    world w;
    begin(&w, NULL, 1 << 20, 1 << 20);
    assert_true(reads_all(&w, w.zlib));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(60);
        bool ok = reads_all(&w, w.zlib) && w.stats.nkept_decoded == NCHUNKS &&
                  reads_all(&w, w.bz2);
        end(&w);
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(reads_all(&w, w.zlib));
    end(&w);
}

static void misuse_is_refused(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    hr_context_stats s = HR_CONTEXT_STATS_INIT;
    assert_int_equal(hr_context_get_stats(NULL, &s, &err), HR_ERR_ARGUMENT);
    hr_context *c = NULL;
    assert_int_equal(hr_context_create(NULL, &c, &err), HR_OK);
    assert_int_equal(hr_context_get_stats(c, NULL, &err), HR_ERR_ARGUMENT);
    hr_context_clear_caches(c);
    hr_context_clear_caches(NULL);
    hr_context_unref(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_unless_asked_for),
        cmocka_unit_test(what_is_kept_decoded_is_neither_read_nor_decoded),
        cmocka_unit_test(what_is_kept_encoded_is_not_read),
        cmocka_unit_test(a_chunk_that_changed_is_read_again),
        cmocka_unit_test(budgets_are_kept_and_chunks_beyond_them_are_read),
        cmocka_unit_test(without_memory_to_keep_it_a_chunk_is_read),
        cmocka_unit_test(what_fails_to_decode_is_let_go),
        cmocka_unit_test(what_was_read_without_checksums_is_not_kept_decoded),
        cmocka_unit_test(what_was_read_without_checksums_is_not_kept_encoded),
        cmocka_unit_test(devices_get_what_is_kept),
        cmocka_unit_test(a_forked_child_reads_what_is_kept),
        cmocka_unit_test(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
