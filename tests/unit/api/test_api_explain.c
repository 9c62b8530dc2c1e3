/* Explaining a read. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"

static hr_error err = HR_ERROR_INIT;

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *node;
    hr_plan_totals totals;
    hr_explanation *explanation;
} world;

static int open_world(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_int_equal(hr_context_create(NULL, &w->context, &err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &err), HR_OK);
    *state = w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    hr_node_unref(w->node);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    hr_explanation_free(w->explanation); /* it outlives what it tells of */
    free(w);
    return 0;
}

/* Zarr v2, int32 [10] in chunks of [4]. */
static void open_v2(world *w, const char *filters, const char *compressor) {
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[10],\"chunks\":[4],\"dtype\":\"<i4\","
                   "\"filters\":%s,\"compressor\":%s,\"fill_value\":0,\"order\":\"C\"}",
                   filters, compressor);
    put(w->store, "a/.zarray", meta, strlen(meta));
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->node, &err), HR_OK);
}

static void explain(world *w, const hr_request *requests, size_t n) {
    if (hr_plan_explain(w->context, requests, n, &w->explanation, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    w->totals = HR_PLAN_TOTALS_INIT;
    assert_int_equal(hr_explanation_totals(w->explanation, &w->totals, &err), HR_OK);
}

static hr_planned_chain chain_at(const world *w, size_t i) {
    hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
    assert_int_equal(hr_explanation_chain(w->explanation, i, &chain, &err), HR_OK);
    return chain;
}

static const int64_t whole_v2[] = {10};

static hr_request to_device(world *w, hr_device_type type) {
    hr_request r = request(w->node, NULL, 1, whole_v2);
    r.dst.device.type = (int32_t)type;
    return r;
}

static void chunks_are_counted_once_and_uses_each(void **state) {
    world *w = *state;
    put_plain_array(w->store, "a");
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->node, &err), HR_OK);
    const int64_t whole[] = {NROWS, NCOLS}, corner[] = {5, 1};
    const hr_axis axes[] = {{.stop = 5}, {.stop = 1}};
    hr_request r[2] = {request(w->node, NULL, 2, whole),
                       request(w->node, NULL, 2, corner)};
    r[1].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    explain(w, r, 2);
    assert_int_equal(w->totals.nrequests, 2);
    assert_int_equal(w->totals.nchunks, 9);
    assert_int_equal(w->totals.nuses, 11);
    assert_int_equal(w->totals.nobjects, 9);
    assert_int_equal(w->totals.nreads, 9);
    assert_int_equal(w->totals.output_nbytes, 4 * (NROWS * NCOLS + 5));
    assert_int_equal(w->totals.decoded_nbytes, 9 * 4 * CHUNK_ROWS * CHUNK_COLS);
    assert_int_equal(w->totals.read_nbytes, 9 * 4 * CHUNK_ROWS * CHUNK_COLS);
    assert_int_equal(w->totals.nchunks_device + w->totals.nchunks_strict, 0);
    assert_int_equal(w->totals.nchains, 1);
    hr_planned_chain chain = chain_at(w, 0);
    assert_int_equal(chain.device.type, HR_DEVICE_CPU);
    assert_null(chain.reason);
    hr_planned_chain none = HR_PLANNED_CHAIN_INIT;
    assert_int_equal(hr_explanation_chain(w->explanation, 1, &none, &err),
                     HR_ERR_ARGUMENT);
}

static void encoded_bytes_are_unknown_before_reading(void **state) {
    world *w = *state;
    open_v2(w, "null", "{\"id\":\"zstd\",\"level\":1}");
    hr_request r = to_device(w, HR_DEVICE_CPU);
    explain(w, &r, 1);
    assert_true(w->totals.read_nbytes == HR_UNKNOWN);
    assert_int_equal(w->totals.nchunks, 3);
    hr_planned_chain chain = chain_at(w, 0);
    const hr_planned_codec *zstd = &chain.codecs[chain.ncodecs - 1];
    assert_string_equal(zstd->name, "zstd");
    assert_string_equal(zstd->implementation, "libzstd");
    assert_int_equal(zstd->device.type, HR_DEVICE_CPU);
}

/* Says explain what a strict read of the array then does? */
static void assert_strict_agrees(world *w, hr_device_type type) {
    static int32_t out[10];
    const int32_t zeros[4] = {0};
    for (int i = 0; i < 3; i++) { /* not valid as anything compressed, but there */
        char key[16];
        (void)snprintf(key, sizeof key, "a/%d", i);
        put(w->store, key, zeros, sizeof zeros);
    }
    hr_request r = to_device(w, type);
    r.dst.data = out;
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.strict = 1;
    hr_batch *batch = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &err), HR_OK);
    hr_error said = HR_ERROR_INIT;
    hr_status status = hr_batch_wait(batch, -1, &said);
    hr_batch_unref(batch);
    hr_planned_chain chain = chain_at(w, 0);
    assert_int_equal(status == HR_ERR_STRICT, chain.is_refused);
    assert_int_equal(chain.is_refused ? chain.nchunks : 0, w->totals.nchunks_strict);
    if (chain.is_refused) {
        assert_non_null(strstr(said.message, chain.reason));
    }
}

static void a_device_decodes_what_its_kernels_can(void **state) {
    world *w = *state;
    open_v2(w, "[{\"id\":\"delta\",\"dtype\":\"<i4\"}]", "{\"id\":\"zlib\",\"level\":1}");
    hr_request r = to_device(w, HR_DEVICE_SIMT);
    explain(w, &r, 1);
    assert_int_equal(w->totals.nchunks_device, 3);
    hr_planned_chain chain = chain_at(w, 0);
    assert_int_equal(chain.is_on_device, 1);
    assert_null(chain.reason);
    assert_string_equal(chain.codecs[0].implementation, "filter kernels");
    const hr_planned_codec *zlib = &chain.codecs[chain.ncodecs - 1];
    assert_string_equal(zlib->implementation, "Deflate kernels");
    assert_int_equal(zlib->device.type, HR_DEVICE_SIMT);
    assert_strict_agrees(w, HR_DEVICE_SIMT);
}

static void a_fallback_has_the_reason_that_strict_gives(void **state) {
    world *w = *state;
    open_v2(w, "null", "{\"id\":\"bz2\",\"level\":1}");
    hr_request r = to_device(w, HR_DEVICE_SIMT);
    explain(w, &r, 1);
    assert_int_equal(w->totals.nchunks_device, 0);
    assert_int_equal(w->totals.nchunks_strict, 3);
    hr_planned_chain chain = chain_at(w, 0);
    assert_string_equal(chain.reason, "no kernel decodes bz2");
    assert_int_equal(chain.codecs[chain.ncodecs - 1].device.type, HR_DEVICE_CPU);
    assert_strict_agrees(w, HR_DEVICE_SIMT);
}

static void uncompressed_chunks_are_never_refused(void **state) {
    world *w = *state;
    open_v2(w, "null", "null");
    hr_request r = to_device(w, HR_DEVICE_SIMT);
    explain(w, &r, 1);
    assert_int_equal(w->totals.read_nbytes, 3 * 4 * 4);
    assert_int_equal(chain_at(w, 0).is_on_device, 1);
    assert_strict_agrees(w, HR_DEVICE_SIMT);
}

/* The last of three chunks is for the host, too. */
static void a_chunk_for_several_places_is_in_a_row_for_each(void **state) {
    world *w = *state;
    open_v2(w, "null", "{\"id\":\"zstd\",\"level\":1}");
    const int64_t last[] = {2};
    const hr_axis axis = {.start = 8, .stop = HR_NONE};
    hr_request r[2] = {to_device(w, HR_DEVICE_SIMT), request(w->node, NULL, 1, last)};
    r[1].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    explain(w, r, 2);
    assert_int_equal(w->totals.nchains, 2);
    assert_int_equal(w->totals.nchunks, 3);
    assert_int_equal(w->totals.nchunks_device, 3);
    assert_int_equal(w->totals.nchunks_strict, 0);
    assert_int_equal(w->totals.decoded_nbytes, 3 * 4 * 4);
    for (size_t i = 0; i < 2; i++) {
        const hr_planned_chain chain = chain_at(w, i);
        const bool is_host = chain.device.type == HR_DEVICE_CPU;
        assert_int_equal(chain.nchunks, is_host ? 1 : 3);
        assert_int_equal(chain.is_on_device, !is_host);
        assert_null(chain.reason);
    }
}

static void what_the_host_decodes_for_several_places_is_one_row(void **state) {
    world *w = *state;
    open_v2(w, "null", "{\"id\":\"bz2\",\"level\":1}");
    const int64_t all[] = {10};
    hr_request r[2] = {to_device(w, HR_DEVICE_SIMT), request(w->node, NULL, 1, all)};
    explain(w, r, 2);
    assert_int_equal(w->totals.nchains, 1);
    assert_int_equal(w->totals.nchunks_strict, 3);
    assert_int_equal(chain_at(w, 0).device.type, 0);
    assert_non_null(chain_at(w, 0).reason);
}

static void waves_are_counted_by_the_staging_memory(void **state) {
    world *w = *state;
    hr_context *ample = w->context;
    open_v2(w, "null", "null");
    hr_request r = to_device(w, HR_DEVICE_SIMT);
    explain(w, &r, 1);
    assert_int_equal(w->totals.nwaves, 1);
    hr_explanation_free(w->explanation);
    hr_context_options small = HR_CONTEXT_OPTIONS_INIT;
    small.nthreads = 1;
    small.scratch_nbytes = 32; /* two slots of a chunk's 16 bytes */
    assert_int_equal(hr_context_create(&small, &w->context, &err), HR_OK);
    explain(w, &r, 1);
    assert_int_equal(w->totals.nwaves, 2);
    hr_context_unref(w->context);
    w->context = ample;
    hr_explanation_free(w->explanation);
    r = to_device(w, HR_DEVICE_CPU);
    explain(w, &r, 1);
    assert_int_equal(w->totals.nwaves, 0);
}

static void a_device_need_not_be_there(void **state) {
    world *w = *state;
    open_v2(w, "null", "{\"id\":\"lz4\",\"acceleration\":1}");
    hr_request r = to_device(w, HR_DEVICE_CUDA);
    r.dst.device.index = 999;
    explain(w, &r, 1);
    hr_planned_chain chain = chain_at(w, 0);
    assert_int_equal(chain.device.index, 999);
    assert_string_equal(chain.codecs[chain.ncodecs - 1].implementation, "LZ4 kernels");
}

static void wrong_requests_are_refused_as_by_a_read(void **state) {
    world *w = *state;
    open_v2(w, "null", "null");
    hr_request r = to_device(w, HR_DEVICE_CPU);
    const int64_t shape[] = {9};
    r.dst.shape = shape;
    assert_int_equal(hr_plan_explain(w->context, &r, 1, &w->explanation, &err),
                     HR_ERR_SHAPE);
    r = to_device(w, (hr_device_type)77);
    assert_int_equal(hr_plan_explain(w->context, &r, 1, &w->explanation, &err),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(hr_plan_explain(w->context, NULL, 1, &w->explanation, &err),
                     HR_ERR_ARGUMENT);
    assert_null(w->explanation);
    explain(w, NULL, 0);
    assert_int_equal(w->totals.nchunks + w->totals.nchains + w->totals.nreads, 0);
    hr_explanation_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(chunks_are_counted_once_and_uses_each),
        TEST(encoded_bytes_are_unknown_before_reading),
        TEST(a_device_decodes_what_its_kernels_can),
        TEST(a_fallback_has_the_reason_that_strict_gives),
        TEST(uncompressed_chunks_are_never_refused),
        TEST(a_chunk_for_several_places_is_in_a_row_for_each),
        TEST(what_the_host_decodes_for_several_places_is_one_row),
        TEST(waves_are_counted_by_the_staging_memory),
        TEST(a_device_need_not_be_there),
        TEST(wrong_requests_are_refused_as_by_a_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
