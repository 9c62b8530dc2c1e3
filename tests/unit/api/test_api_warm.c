/* A warm context asks for no memory for a chunk more. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <blosc.h>
#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "fixture.h"
#include "probe.h"
#include "support/sanitizers.h"

/* What the libraries of codecs ask of malloc, too, where nothing else stands before it.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&                              \
    !defined(__SANITIZE_THREAD__) && !HR_TEST_FEATURE(address_sanitizer) &&              \
    !HR_TEST_FEATURE(thread_sanitizer)
static atomic_long nmallocs;

void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t n, size_t nbytes);

void *malloc(size_t nbytes) {
    atomic_fetch_add(&nmallocs, 1);
    return __libc_malloc(nbytes);
}

void *calloc(size_t n, size_t nbytes) {
    atomic_fetch_add(&nmallocs, 1);
    return __libc_calloc(n, nbytes);
}

static long count_mallocs(void) {
    return atomic_load(&nmallocs);
}
#else
static long count_mallocs(void) {
    return 0;
}
#endif

enum { CHUNK = 512, INNER = 64, FEW = 32, MANY = 512 };

/* A plan's arena doubles its blocks up to 1 MiB: so many of them may come of n chunks. */
#define ARENA_BLOCKS(n) (16 + (n) / 1024)

typedef struct encoding {
    const char *name, *compressor; /* NULL: shards of INNER chunks */
    size_t (*encode)(const void *raw, void *out, size_t room);
} encoding;

static size_t encode_zstd(const void *raw, void *out, size_t room) {
    return ZSTD_compress(out, room, raw, CHUNK, 1);
}

static size_t encode_blosc(const void *raw, void *out, size_t room) {
    int n = blosc_compress_ctx(5, BLOSC_SHUFFLE, 2, CHUNK, raw, out, room, "lz4", 0, 1);
    assert_true(n > 0);
    return (size_t)n;
}

static size_t encode_zlib(const void *raw, void *out, size_t room) {
    uLongf n = room;
    assert_int_equal(compress2(out, &n, raw, CHUNK, 1), Z_OK);
    return n;
}

static size_t encode_none(const void *raw, void *out, size_t room) {
    (void)room;
    memcpy(out, raw, CHUNK);
    return CHUNK;
}

static const encoding encodings[] = {
    {"raw", "null", encode_none},
    {"zstd", "{\"id\":\"zstd\",\"level\":1}", encode_zstd},
    {"blosc", "{\"id\":\"blosc\",\"cname\":\"lz4\",\"shuffle\":1}", encode_blosc},
    {"zlib", "{\"id\":\"zlib\",\"level\":1}", encode_zlib},
    {"shards", NULL, NULL},
};
#define NENCODINGS (sizeof encodings / sizeof *encodings)

static void write_file(const char *folder, const char *name, const void *data, size_t n) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Element i of a chunk is i / 4: bytes in pairs that compress. */
static void write_chunks(const char *folder, const encoding *e, int n) {
    uint8_t raw[CHUNK], out[2 * CHUNK];
    char meta[512], name[32];
    int length = snprintf(meta, sizeof meta,
                          "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":"
                          "\"<u2\",\"compressor\":%s,\"filters\":null,\"fill_value\":0,"
                          "\"order\":\"C\"}",
                          n * CHUNK / 2, CHUNK / 2, e->compressor);
    write_file(folder, ".zarray", meta, (size_t)length);
    for (size_t i = 0; i < CHUNK; i++) {
        raw[i] = (uint8_t)(i / 8);
    }
    size_t nbytes = e->encode(raw, out, sizeof out);
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        write_file(folder, name, out, nbytes);
    }
}

static void write_shards(const char *folder, int n) {
    enum { PART = CHUNK / INNER };
    uint8_t shard[CHUNK + 16 * INNER];
    char meta[1024], name[32], chunks[512];
    int length = snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d],\"data_type\":"
        "\"uint16\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[%d]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"fill_value\":0,\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":"
        "{\"chunk_shape\":[%d],\"codecs\":[{\"name\":\"bytes\",\"configuration\":"
        "{\"endian\":\"little\"}}],\"index_codecs\":[{\"name\":\"bytes\","
        "\"configuration\":{\"endian\":\"little\"}}]}}]}",
        n * CHUNK / 2, CHUNK / 2, PART / 2);
    write_file(folder, "zarr.json", meta, (size_t)length);
    for (uint64_t i = 0; i < INNER; i++) { /* apart, so that each is a range of its own */
        const uint64_t place[2] = {i * PART, PART};
        memset(shard + i * PART, (int)i, PART);
        memcpy(shard + CHUNK + 16 * i, place, sizeof place);
    }
    (void)snprintf(chunks, sizeof chunks, "%s/c", folder);
    assert_int_equal(mkdir(chunks, 0700), 0);
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        write_file(chunks, name, shard, sizeof shard);
    }
}

typedef struct world {
    char folder[64];
    probe probe;
    hr_context *context;
    uint16_t out[MANY * CHUNK / 2];
} world;

static int count_chunks(const encoding *e, bool many) {
    int n = many ? MANY : FEW;
    return e->compressor != NULL ? n : n / 8;
}

static void make_path(char *path, size_t room, const world *w, const encoding *e,
                      bool many) {
    (void)snprintf(path, room, "%s/%s-%d", w->folder, e->name, many);
}

/* Indexes of files that have just been written are not kept. */
#define SETTLED_US 2200000

static void write_all(const world *w) {
    for (size_t i = 0; i < 2 * NENCODINGS; i++) {
        const encoding *e = &encodings[i / 2];
        char path[160];
        make_path(path, sizeof path, w, e, i % 2 != 0);
        assert_int_equal(mkdir(path, 0700), 0);
        if (e->compressor != NULL) {
            write_chunks(path, e, count_chunks(e, i % 2 != 0));
        } else {
            write_shards(path, count_chunks(e, i % 2 != 0));
        }
    }
    (void)usleep(SETTLED_US);
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    (void)strcpy(w->folder, "/tmp/headrace-warm-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    write_all(w);
    atomic_init(&w->probe.refuse_from, -1);
    hr_allocator a = probe_allocator(&w->probe);
    o.allocator = &a;
    o.nthreads = 1; /* which is warm after one read; and slabs so large that few do */
    assert_int_equal(hr_context_create(&o, &w->context, NULL), HR_OK);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    char command[128];
    hr_context_unref(w->context);
    assert_int_equal(atomic_load(&w->probe.nlive), 0);
    (void)snprintf(command, sizeof command, "rm -r %s", w->folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of ours */
    free(w);
    return 0;
}

typedef struct counts {
    long hooks, mallocs;
} counts;

/* What one read asks for, after others like it. */
static counts count_read(world *w, hr_node *array, int n, int32_t device) {
    const int64_t shape[] = {n * CHUNK / 2};
    counts before = {0, 0}, after = {0, 0};
    for (int i = 0; i < 4; i++) {
        hr_error err = HR_ERROR_INIT;
        hr_request r = HR_REQUEST_INIT;
        hr_batch *b = NULL;
        r.array = array;
        r.dst = (hr_tensor){.data = w->out, .ndim = 1, .shape = shape};
        r.dst.device.type = device;
        assert_int_equal(hr_dtype_parse("<u2", &r.dst.dtype, NULL), HR_OK);
        before = (counts){atomic_load(&w->probe.ncalls), count_mallocs()};
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &err), HR_OK);
        if (hr_batch_wait(b, INT64_MAX, &err) != HR_OK) { /* not helping */
            fail_msg("%s", err.message);
        }
        hr_batch_unref(b);
        after = (counts){atomic_load(&w->probe.ncalls), count_mallocs()};
    }
    return (counts){after.hooks - before.hooks, after.mallocs - before.mallocs};
}

static counts count_array(world *w, const encoding *e, bool many, int32_t device) {
    char path[160];
    hr_node *array = NULL;
    hr_error err = HR_ERROR_INIT;
    make_path(path, sizeof path, w, e, many);
    assert_int_equal(hr_open(w->context, path, NULL, &array, &err), HR_OK);
    counts c = count_read(w, array, count_chunks(e, many), device);
    hr_node_unref(array);
    return c;
}

static void check(world *w, int32_t device) {
    for (size_t i = 0; i < NENCODINGS; i++) {
        const encoding *e = &encodings[i];
        counts few = count_array(w, e, false, device);
        counts many = count_array(w, e, true, device);
        int n = count_chunks(e, true) * (e->compressor != NULL ? 1 : INNER);
        if (many.hooks > few.hooks + ARENA_BLOCKS(n) || many.mallocs > few.mallocs) {
            fail_msg("%s: few chunks: %ld allocations, %ld of malloc; %d: %ld, %ld",
                     e->name, few.hooks, few.mallocs, n, many.hooks, many.mallocs);
        }
    }
}

static void a_chunk_more_costs_no_allocation_on_the_host(void **state) {
    check(*state, HR_DEVICE_CPU);
}

static void a_chunk_more_costs_no_allocation_on_a_device(void **state) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    check(*state, HR_DEVICE_SIMT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_more_costs_no_allocation_on_the_host),
        cmocka_unit_test(a_chunk_more_costs_no_allocation_on_a_device),
    };
    return cmocka_run_group_tests(tests, make_world, end_world);
}
