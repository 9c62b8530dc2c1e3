/* Large zstd chunks, which are decoded plane by plane. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "fixture.h"

#define ROWS 613
#define COLUMNS 701
#define NITEMS (ROWS * COLUMNS)

static const char metadata[] =
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[613,701],"
    "\"data_type\":\"int32\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
    "{\"chunk_shape\":[613,701]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
    "\"codecs\":[%s{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}},"
    "{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}],"
    "\"fill_value\":0,\"attributes\":{}}";

typedef struct world {
    hr_context *context;
    hr_store *store;
    int32_t *items;
    uint64_t seed;
    hr_error err;
} world;

static uint64_t rnd(world *w, uint64_t below) {
    w->seed = w->seed * 6364136223846793005U + 1442695040888963407U;
    return (w->seed >> 33) % below;
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    w->err = HR_ERROR_INIT;
    w->seed = 20261130;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    w->items = malloc(NITEMS * sizeof(int32_t));
    for (int32_t i = 0; i < NITEMS; i++) {
        w->items[i] = i * 7 + (int32_t)rnd(w, 100);
    }
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w->items);
    free(w);
    return 0;
}

/* Encode with a window of 2^window_log, in `nframes` frames that do not tell their size.
 */
static uint8_t *encode(const void *data, size_t nbytes, int window_log, size_t nframes,
                       size_t *out_nbytes) {
    size_t capacity = ZSTD_compressBound(nbytes) + nframes * 64;
    uint8_t *out = malloc(capacity);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_outBuffer to = {.dst = out, .size = capacity};
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    for (size_t i = 0; i < nframes; i++) {
        size_t at = nbytes * i / nframes;
        ZSTD_inBuffer in = {.src = (const uint8_t *)data + at,
                            .size = nbytes * (i + 1) / nframes - at};
        (void)ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue); /* no size is known */
        assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
    }
    ZSTD_freeCCtx(c);
    *out_nbytes = to.pos;
    return out;
}

static hr_node *open_array(world *w, const char *transpose, const char *endian) {
    char text[1024];
    (void)snprintf(text, sizeof text, metadata, transpose, endian);
    put(w->store, "zarr.json", text, strlen(text));
    hr_node *array = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &array, &w->err), HR_OK);
    return array;
}

static hr_axis random_axis(world *w, int64_t n, int64_t *list) {
    if (rnd(w, 5) == 0) {
        return (hr_axis){.kind = HR_AXIS_INTEGER, .start = (int64_t)rnd(w, (uint64_t)n)};
    }
    if (rnd(w, 5) == 0) {
        for (int i = 0; i < 7; i++) {
            list[i] = (int64_t)rnd(w, (uint64_t)n);
        }
        return (hr_axis){.kind = HR_AXIS_INDICES, .indices = list, .nindices = 7};
    }
    int64_t step = 1 + (int64_t)rnd(w, rnd(w, 2) == 0 ? 1 : 90);
    bool back = rnd(w, 3) == 0;
    return (hr_axis){.kind = HR_AXIS_SLICE,
                     .start = rnd(w, 3) == 0 ? (int64_t)rnd(w, (uint64_t)n) : HR_NONE,
                     .stop = HR_NONE,
                     .step = back ? -step : step};
}

static int64_t axis_at(const hr_axis *a, int64_t n, int64_t k) {
    if (a->kind == HR_AXIS_INTEGER) {
        return a->start;
    }
    if (a->kind == HR_AXIS_INDICES) {
        return a->indices[k];
    }
    int64_t start = a->start != HR_NONE ? a->start : a->step > 0 ? 0 : n - 1;
    return start + k * a->step;
}

static void check_selection(world *w, hr_node *array, bool transposed) {
    int64_t lists[2][7];
    hr_axis axes[2] = {random_axis(w, ROWS, lists[0]), random_axis(w, COLUMNS, lists[1])};
    hr_selection s = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    assert_int_equal(hr_selection_shape(array, &s, &ndim, shape, &w->err), HR_OK);
    int64_t n[2];
    int32_t used = 0;
    for (int i = 0; i < 2; i++) {
        n[i] = axes[i].kind == HR_AXIS_INTEGER ? 1 : shape[used++];
    }
    int32_t *out = malloc((size_t)(n[0] * n[1]) * sizeof *out);
    hr_request r = request(array, out, ndim, shape);
    r.selection = s;
    assert_int_equal(hr_read(array, &s, &r.dst, &w->err), HR_OK);
    for (int64_t i = 0; i < n[0]; i++) {
        for (int64_t j = 0; j < n[1]; j++) {
            int64_t row = axis_at(&axes[0], ROWS, i);
            int64_t column = axis_at(&axes[1], COLUMNS, j);
            int64_t at = transposed ? column * ROWS + row : row * COLUMNS + column;
            if (out[i * n[1] + j] != w->items[at]) {
                fail_msg("(%d,%d) differs", (int)row, (int)column);
            }
        }
    }
    free(out);
}

static void any_selection_of_planes(void **state) {
    world *w = *state;
    size_t n;
    uint8_t *chunk = encode(w->items, NITEMS * sizeof(int32_t), 17, 3, &n);
    put(w->store, "c/0/0", chunk, n);
    hr_node *array = open_array(w, "", "little");
    for (int i = 0; i < 60; i++) {
        check_selection(w, array, false);
    }
    hr_node_unref(array);
    array = open_array(w, "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},",
                       "little");
    for (int i = 0; i < 60; i++) {
        check_selection(w, array, true);
    }
    hr_node_unref(array);
    free(chunk);
}

static void big_endian_items_and_a_window_too_large_for_pieces(void **state) {
    world *w = *state;
    int32_t *swapped = malloc(NITEMS * sizeof *swapped);
    for (size_t i = 0; i < NITEMS; i++) {
        swapped[i] = (int32_t)__builtin_bswap32((uint32_t)w->items[i]);
    }
    for (int window_log = 20; window_log <= 26; window_log += 6) {
        size_t n;
        uint8_t *chunk = encode(swapped, NITEMS * sizeof *swapped, window_log, 1, &n);
        put(w->store, "c/0/0", chunk, n);
        hr_node *array = open_array(w, "", "big");
        check_selection(w, array, false);
        hr_node_unref(array);
        free(chunk);
    }
    free(swapped);
}

/* Too short, too long, cut, flipped: an error, and the next read is right. */
static void wrong_streams_are_errors(void **state) {
    world *w = *state;
    size_t n;
    int32_t *out = malloc(NITEMS * sizeof *out);
    const int64_t shape[] = {ROWS, COLUMNS};
    const int64_t strides[] = {sizeof(int32_t), ROWS * sizeof(int32_t)};
    for (int fault = 0; fault < 4; fault++) {
        size_t nbytes = NITEMS * sizeof(int32_t);
        int32_t *longer = calloc(2, nbytes);
        memcpy(longer, w->items, nbytes);
        nbytes = fault == 0 ? nbytes / 2 : fault == 1 ? nbytes + 4 : nbytes;
        uint8_t *chunk = encode(longer, nbytes, 20, 1, &n);
        n = fault == 2 ? n / 2 : n;
        chunk[n - 1] ^= fault == 3; /* in the checksum */
        put(w->store, "c/0/0", chunk, n);
        hr_node *array = open_array(w, "", "little");
        hr_request r = request(array, out, 2, shape);
        r.dst.strides_nbytes = strides; /* so that nothing is decoded in place */
        hr_status status = hr_read(array, NULL, &r.dst, &w->err);
        assert_int_equal(status, fault == 3 ? HR_ERR_CHECKSUM : HR_ERR_DATA);
        assert_string_equal(w->err.codec, "zstd");
        hr_node_unref(array);
        free(chunk);
        free(longer);
    }
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_selection_of_planes, make_world, end_world),
        cmocka_unit_test_setup_teardown(
            big_endian_items_and_a_window_too_large_for_pieces, make_world, end_world),
        cmocka_unit_test_setup_teardown(wrong_streams_are_errors, make_world, end_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
