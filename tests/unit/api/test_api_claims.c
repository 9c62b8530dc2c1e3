/* Chunks that claim to be more than their bytes can make, in front of a device: no memory
 * is asked for by the claim. SPDX-License-Identifier: Apache-2.0 */
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
#include "support/tiff_maker.h"

#define MIB ((size_t)1 << 20)
#define CLAIM (200 * MIB) /* within all budgets */
#define USUAL (48 * MIB)  /* no block of any read that asks for little is larger */
#define WINDOW 64

typedef struct world {
    atomic_size_t largest; /* block asked for */
    hr_context *context;
    hr_store *store;
    hr_node *node;
    uint8_t got[WINDOW];
    hr_error err;
} world;

static void *take(world *w, size_t nbytes) {
    size_t largest = atomic_load(&w->largest);
    while (nbytes > largest &&
           !atomic_compare_exchange_weak(&w->largest, &largest, nbytes)) {
    }
    return aligned_alloc(256, (nbytes + 255) / 256 * 256);
}

static void *take_device(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)device;
    (void)stream;
    return take(user, nbytes);
}

static void *take_pinned(void *user, hr_device device, size_t nbytes) {
    (void)device;
    return take(user, nbytes);
}

static void *take_host(void *user, size_t nbytes) {
    return take(user, nbytes);
}

static void give_device(void *user, hr_device device, void *ptr, size_t nbytes,
                        void *stream) {
    (void)user;
    (void)device;
    (void)nbytes;
    (void)stream;
    free(ptr);
}

static void give_pinned(void *user, hr_device device, void *ptr, size_t nbytes) {
    (void)user;
    (void)device;
    (void)nbytes;
    free(ptr);
}

static void give_host(void *user, void *ptr, size_t nbytes) {
    (void)user;
    (void)nbytes;
    free(ptr);
}

static int open_world(void **state) {
    world *w = calloc(1, sizeof *w);
    const hr_allocator host = {
        .struct_size = sizeof host, .user = w, .alloc = take_host, .free = give_host};
    const hr_device_allocator device = {.struct_size = sizeof device,
                                        .user = w,
                                        .alloc = take_device,
                                        .free = give_device,
                                        .alloc_pinned = take_pinned,
                                        .free_pinned = give_pinned};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    o.nthreads = 2;
    o.allocator = &host;
    o.device_allocator = &device;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    hr_node_unref(w->node);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static void open_array(world *w, const char *key) {
    hr_node_unref(w->node);
    w->node = NULL;
    if (hr_open_store(w->store, key, NULL, &w->node, &w->err) != HR_OK) {
        fail_msg("%s: %s", key, w->err.message);
    }
}

/* WINDOW bytes from `at` on of a vector, or of the first pixel where there are more axes.
 */
static hr_request window(world *w, const hr_axis *axes, int32_t ndim,
                         const int64_t *shape, void *data) {
    hr_request r = HR_REQUEST_INIT;
    r.array = w->node;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = ndim, .axes = axes};
    r.dst = (hr_tensor){.data = data,
                        .device = {.type = HR_DEVICE_SIMT},
                        .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                        .ndim = ndim,
                        .shape = shape};
    return r;
}

static hr_axis slice(int64_t start, int64_t n) {
    return (hr_axis){.kind = HR_AXIS_SLICE, .start = start, .stop = start + n, .step = 1};
}

/* Reading them fails, and no more was asked for than by any read. */
static void assert_refused(world *w, const hr_request *r, const char *name) {
    hr_batch *b = NULL;
    atomic_store(&w->largest, 0);
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_read_submit(w->context, r, 1, NULL, NULL, &b, &w->err), HR_OK);
    const hr_status status = hr_batch_wait(b, -1, &w->err);
    hr_batch_unref(b);
    if (status != HR_ERR_DATA || strstr(w->err.message, "cannot make") == NULL) {
        fail_msg("%s: status %d, %s", name, status, w->err.message);
    }
    if (atomic_load(&w->largest) > USUAL) {
        fail_msg("%s: a block of %zu bytes", name, atomic_load(&w->largest));
    }
}

static void a_chunk_that_cannot_be_is_refused_first(void **state) {
    world *w = *state;
    static const char *const codecs[] = {
        "{\"id\":\"zstd\"}", "{\"id\":\"lz4\"}",   "{\"id\":\"zlib\"}",
        "{\"id\":\"gzip\"}", "{\"id\":\"blosc\"}", "{\"id\":\"snappy\"}",
        "{\"id\":\"lzma\"}", /* by the host */
    };
    const uint8_t chunk[WINDOW] = {0};
    const int64_t shape[] = {WINDOW};
    const hr_axis axis = slice(1000, WINDOW);
    char meta[256];
    if (!has_simt()) {
        skip();
    }
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        (void)snprintf(meta, sizeof meta,
                       "{\"zarr_format\":2,\"shape\":[%zu],\"chunks\":[%zu],\"dtype\":"
                       "\"|u1\",\"compressor\":%s,\"filters\":null,\"fill_value\":0,"
                       "\"order\":\"C\"}",
                       CLAIM, CLAIM, codecs[i]);
        put(w->store, "a/.zarray", meta, strlen(meta));
        put(w->store, "a/0", chunk, sizeof chunk);
        open_array(w, "a");
        const hr_request r = window(w, &axis, 1, shape, w->got);
        assert_refused(w, &r, codecs[i]);
    }
}

/* --- among others in a range --- */

enum { INNER = 1 << 20, NINNER = 256, NGARBAGE = 16 };

/* Chunks of a MiB, of which the first is one and the others have a few bytes each. */
static void put_shard(world *w, const uint8_t *raw) {
    uint8_t *shard = calloc(1, MIB);
    uint64_t index[NINNER][2], at = 0;
    char meta[640];
    assert_non_null(shard);
    const size_t n = ZSTD_compress(shard, MIB / 2, raw, INNER, 1);
    assert_false(ZSTD_isError(n));
    for (size_t i = 0; i < NINNER; i++) {
        index[i][0] = at;
        index[i][1] = i == 0 ? n : NGARBAGE;
        at += index[i][1];
    }
    memcpy(shard + at, index, sizeof index);
    (void)snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d],\"data_type\":"
        "\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{"
        "\"chunk_shape\":[%d]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":"
        "[%d],\"codecs\":[{\"name\":\"bytes\"},{\"name\":\"zstd\"}],\"index_codecs\":[{"
        "\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}}],"
        "\"fill_value\":0}",
        INNER * NINNER, INNER * NINNER, INNER);
    put(w->store, "s/zarr.json", meta, strlen(meta));
    put(w->store, "s/c/0", shard, at + sizeof index);
    free(shard);
}

static void chunks_that_cannot_be_leave_others_of_their_range_alone(void **state) {
    world *w = *state;
    uint8_t *raw = malloc(INNER);
    static uint8_t first[INNER], others[NINNER];
    const int64_t shapes[][1] = {{INNER}, {NINNER - 1}};
    hr_batch *b = NULL;
    if (!has_simt()) {
        free(raw);
        skip();
    }
    assert_non_null(raw);
    for (size_t i = 0; i < INNER; i++) {
        raw[i] = (uint8_t)(i / 1000);
    }
    put_shard(w, raw);
    open_array(w, "s");
    const hr_axis axes[] = {
        slice(0, INNER),
        {.kind = HR_AXIS_SLICE, .start = INNER, .stop = HR_NONE, .step = INNER}};
    const hr_request r[] = {window(w, &axes[0], 1, shapes[0], first),
                            window(w, &axes[1], 1, shapes[1], others)};
    atomic_store(&w->largest, 0);
    assert_int_equal(hr_read_submit(w->context, r, 2, NULL, NULL, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_wait(b, -1, NULL), HR_ERR_DATA);
    assert_int_equal(hr_batch_error(b, 0, &w->err), HR_OK);
    assert_int_equal(hr_batch_error(b, 1, &w->err), HR_ERR_DATA);
    assert_non_null(strstr(w->err.message, "cannot make"));
    assert_memory_equal(first, raw, INNER);
    assert_in_range(atomic_load(&w->largest), 1, USUAL);
    hr_batch_unref(b);
    free(raw);
}

/* --- tiles --- */

static void tiles_of_too_many_samples_are_refused_first(void **state) {
    world *w = *state;
    static const unsigned compressions[] = {5, 8, 32773, 50000};
    static const uint8_t image[64 * 64];
    const int64_t shape[] = {4, 4, 4};
    const hr_axis axes[] = {slice(0, 4), slice(0, 4), slice(0, 4)};
    if (!has_simt()) {
        skip();
    }
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        const tiff_spec s = {.width = 64,
                             .height = 64,
                             .is_tiled = true,
                             .block_width = 64,
                             .block_height = 64,
                             .bits = 8,
                             .compression = compressions[i]};
        tiff_file f;
        char name[32];
        tiff_start(&f, false, false);
        tiff_add(&f, &s, image);
        tiff_put(&f, tiff_value_at(&f, 277), 2, 50000); /* SamplesPerPixel */
        put(w->store, "x.tif", f.bytes, f.nbytes);
        open_array(w, "x.tif");
        const hr_request r = window(w, axes, 3, shape, w->got);
        (void)snprintf(name, sizeof name, "compression %u", compressions[i]);
        assert_refused(w, &r, name);
        tiff_free(&f);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_chunk_that_cannot_be_is_refused_first),
        TEST(chunks_that_cannot_be_leave_others_of_their_range_alone),
        TEST(tiles_of_too_many_samples_are_refused_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
