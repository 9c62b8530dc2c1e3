/* nvCOMP as the decoder, played by a stand-in on the simt device.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <blosc.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

#include <headrace/headrace.h>

#define LIBRARY(which) HR_FAKE_NVCOMP which ".so"

enum { NCHUNKS = 5, NELEMS = 3000, NBYTES = 4 * NELEMS };

#define LZ4 "{\"id\":\"lz4\",\"acceleration\":1}"
#define SNAPPY "{\"id\":\"snappy\"}"
#define ZSTD "{\"id\":\"zstd\",\"level\":3}"
#define BLOSC                                                                            \
    "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1,\"blocksize\":0}"

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *node;
    uint32_t wanted[NCHUNKS][NELEMS], got[NCHUNKS][NELEMS];
    hr_batch_stats stats;
    hr_error err;
} world;

static size_t compress(const char *codec, const void *src, uint8_t *dst, size_t room) {
    if (strcmp(codec, LZ4) == 0) {
        const uint32_t size = NBYTES;
        memcpy(dst, &size, sizeof size);
        int n = LZ4_compress_default(src, (char *)dst + 4, NBYTES, (int)room - 4);
        return (size_t)n + 4;
    }
    if (strcmp(codec, SNAPPY) == 0) {
        size_t n = room;
        assert_int_equal(snappy_compress(src, NBYTES, (char *)dst, &n), SNAPPY_OK);
        return n;
    }
    if (strcmp(codec, ZSTD) == 0) {
        return ZSTD_compress(dst, room, src, NBYTES, 3);
    }
    int n = blosc_compress_ctx(5, 1, 4, NBYTES, src, dst, room, "lz4", 4096, 1);
    return (size_t)n;
}

static void put(world *w, const char *key, const void *bytes, size_t n) {
    assert_int_equal(hr_store_set(w->store, key, bytes, n, &w->err), HR_OK);
}

/* Array `name`, of which chunk `bad` ends too early, or none. Streams are as large as
 * they can be with a large factor. */
static void put_array(world *w, const char *name, const char *codec, uint32_t factor,
                      int bad) {
    char meta[512], key[16];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[1,%d],\"dtype\":"
                   "\"<u4\",\"compressor\":%s,\"filters\":null,\"fill_value\":0,"
                   "\"order\":\"C\"}",
                   NCHUNKS, NELEMS, NELEMS, codec);
    (void)snprintf(key, sizeof key, "%s/.zarray", name);
    put(w, key, meta, strlen(meta));
    for (int c = 0; c < NCHUNKS; c++) {
        static uint8_t packed[4 * NBYTES];
        for (uint32_t i = 0; i < NELEMS; i++) {
            w->wanted[c][i] = i / 3 * (uint32_t)(c + 3) * factor;
        }
        size_t n = compress(codec, w->wanted[c], packed, sizeof packed);
        (void)snprintf(key, sizeof key, "%s/%d.0", name, c);
        put(w, key, packed, c == bad ? n - 9 : n);
    }
}

static void open_context(world *w, hr_context_options *o, const char *library) {
    *w = (world){.err = HR_ERROR_INIT, .stats = HR_BATCH_STATS_INIT};
    o->nvcomp = library;
    assert_int_equal(hr_context_create(o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
}

static void open_world(world *w, const char *library, const char *codec, int bad) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    open_context(w, &o, library);
    put_array(w, "a", codec, 1, bad);
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->node, &w->err), HR_OK);
}

static void close_world(world *w) {
    hr_node_unref(w->node);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
}

static hr_status read_all(world *w) {
    const int64_t shape[] = {NCHUNKS, NELEMS};
    hr_read_options o = HR_READ_OPTIONS_INIT;
    hr_request r = HR_REQUEST_INIT;
    hr_batch *batch = NULL;
    o.strict = 1;
    r.array = w->node;
    r.dst = (hr_tensor){
        .data = w->got, .device = {.type = HR_DEVICE_SIMT}, .ndim = 2, .shape = shape};
    assert_int_equal(hr_dtype_parse("<u4", &r.dst.dtype, &w->err), HR_OK);
    memset(w->got, 0xA5, sizeof w->got);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err), HR_OK);
    hr_status status = hr_batch_wait(batch, -1, &w->err);
    assert_int_equal(hr_batch_get_stats(batch, &w->stats, NULL), HR_OK);
    hr_batch_unref(batch);
    return status;
}

/* Streams that the stand-in has decoded in this process. */
static size_t count_streams(const char *library) {
    void *handle = dlopen(library, RTLD_NOW);
    assert_non_null(handle);
    const size_t *count = dlsym(handle, "hr_nvcomp_nstreams");
    assert_non_null(count);
    size_t n = *count;
    (void)dlclose(handle);
    return n;
}

static void assert_decodes(const char *library, const char *codec) {
    static world w;
    size_t before = count_streams(library);
    open_world(&w, library, codec, -1);
    assert_int_equal(read_all(&w), HR_OK);
    assert_memory_equal(w.got, w.wanted, sizeof w.wanted);
    assert_int_equal(w.stats.ndecoded_device, NCHUNKS);
    assert_int_equal(w.stats.ndecoded_nvcomp, NCHUNKS);
    assert_true(count_streams(library) >= before + NCHUNKS);
    close_world(&w);
}

static void it_decodes_what_it_is_asked_to(void **state) {
    (void)state;
    assert_decodes(LIBRARY("6"), LZ4);
    assert_decodes(LIBRARY("6"), SNAPPY);
    assert_decodes(LIBRARY("6"), BLOSC);
    assert_decodes(LIBRARY("5"), LZ4);
    assert_decodes(LIBRARY("5"), SNAPPY);
}

/* Slabs with Zstandard's streams are decoded together: a few chunks each, of both arrays
 * in turn. */
static void beside_zstd_it_decodes_the_streams_of_all_slabs(void **state) {
    static world w;
    static uint32_t got[2][NCHUNKS][NELEMS];
    (void)state;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 1;
    o.scratch_nbytes = 70 << 10; /* two slots */
    o.device_scratch_nbytes = 512 << 10;
    open_context(&w, &o, LIBRARY("6"));
    put_array(&w, "z", ZSTD, 2654435761U, -1);
    put_array(&w, "a", LZ4, 2654435761U, -1);
    hr_node *nodes[2];
    assert_int_equal(hr_open_store(w.store, "z", NULL, &nodes[0], &w.err), HR_OK);
    assert_int_equal(hr_open_store(w.store, "a", NULL, &nodes[1], &w.err), HR_OK);
    const int64_t shape[] = {1, NELEMS};
    hr_axis axes[NCHUNKS][2];
    hr_request requests[NCHUNKS][2];
    for (int c = 0; c < NCHUNKS; c++) {
        axes[c][0] =
            (hr_axis){.kind = HR_AXIS_SLICE, .start = c, .stop = c + 1, .step = 1};
        axes[c][1] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = NELEMS, .step = 1};
        for (int k = 0; k < 2; k++) {
            hr_request *r = &requests[c][k];
            *r = HR_REQUEST_INIT;
            r->array = nodes[k];
            r->selection =
                (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes[c]};
            r->dst = (hr_tensor){.data = got[k][c],
                                 .device = {.type = HR_DEVICE_SIMT},
                                 .ndim = 2,
                                 .shape = shape};
            assert_int_equal(hr_dtype_parse("<u4", &r->dst.dtype, &w.err), HR_OK);
        }
    }
    hr_batch *batch = NULL;
    assert_int_equal(hr_read_submit(w.context, requests[0], (size_t)2 * NCHUNKS, NULL,
                                    NULL, &batch, &w.err),
                     HR_OK);
    assert_int_equal(hr_batch_wait(batch, -1, &w.err), HR_OK);
    assert_int_equal(hr_batch_get_stats(batch, &w.stats, NULL), HR_OK);
    assert_int_equal(w.stats.ndecoded_device, 2 * NCHUNKS);
    assert_int_equal(w.stats.ndecoded_nvcomp, NCHUNKS);
    assert_true(w.stats.nslabs > 1);
    assert_memory_equal(got[0], w.wanted, sizeof w.wanted);
    assert_memory_equal(got[1], w.wanted, sizeof w.wanted);
    hr_batch_unref(batch);
    hr_node_unref(nodes[1]);
    w.node = nodes[0];
    close_world(&w);
}

static void unasked_it_is_not_used(void **state) {
    static world w;
    size_t before = count_streams(LIBRARY("6"));
    (void)state;
    open_world(&w, NULL, LZ4, -1);
    assert_int_equal(read_all(&w), HR_OK);
    assert_memory_equal(w.got, w.wanted, sizeof w.wanted);
    assert_int_equal(w.stats.ndecoded_device, NCHUNKS);
    assert_int_equal(w.stats.ndecoded_nvcomp, 0);
    assert_int_equal(count_streams(LIBRARY("6")), before);
    close_world(&w);
}

static void assert_bad_chunk_told(const char *codec) {
    static world w;
    const int bad = 2;
    open_world(&w, LIBRARY("6"), codec, bad);
    assert_int_equal(read_all(&w), HR_ERR_DATA);
    assert_non_null(strstr(w.err.message, "nvCOMP"));
    assert_string_equal(w.err.key, "a/2.0");
    for (int c = 0; c < NCHUNKS; c++) {
        if (c != bad) {
            assert_memory_equal(w.got[c], w.wanted[c], NBYTES);
        }
    }
    close_world(&w);
}

static void a_bad_stream_is_told_and_the_others_come(void **state) {
    (void)state;
    assert_bad_chunk_told(LZ4);
    assert_bad_chunk_told(SNAPPY);
}

static void assert_refused(const char *library, const char *text) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_error err = HR_ERROR_INIT;
    uint32_t version = 7;
    o.nvcomp = library;
    assert_int_equal(hr_context_create(&o, &context, &err), HR_ERR_UNSUPPORTED);
    assert_null(context);
    assert_non_null(strstr(err.message, "nvCOMP"));
    assert_non_null(strstr(err.message, text));
    assert_int_equal(hr_nvcomp_version(library, &version, NULL), HR_ERR_UNSUPPORTED);
    assert_int_equal(version, 7);
}

static void what_cannot_be_used_is_refused_by_name(void **state) {
    uint32_t version = 0;
    (void)state;
    assert_refused("/nowhere/libnvcomp.so.6", "/nowhere/libnvcomp.so.6");
    assert_refused(LIBRARY("old"), "version 4.1");
    assert_refused(LIBRARY("less"), "Snappy");
    assert_int_equal(hr_nvcomp_version(NULL, &version, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_nvcomp_version(LIBRARY("5"), &version, NULL), HR_OK);
    assert_int_equal(version, 5210);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_decodes_what_it_is_asked_to),
        cmocka_unit_test(beside_zstd_it_decodes_the_streams_of_all_slabs),
        cmocka_unit_test(unasked_it_is_not_used),
        cmocka_unit_test(a_bad_stream_is_told_and_the_others_come),
        cmocka_unit_test(what_cannot_be_used_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
