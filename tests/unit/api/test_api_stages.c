/* Times of stages of whole reads. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "fixture.h"

#define NCHUNKS 8
#define CHUNK_NBYTES 65536
#define NTHREADS 2

static hr_error err = HR_ERROR_INIT;
static uint8_t out[NCHUNKS * CHUNK_NBYTES];

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *node;
} world;

/* Zarr v2, bytes, zlib. */
static int open_world(void **state) {
    static const char meta[] =
        "{\"zarr_format\":2,\"shape\":[524288],\"chunks\":[65536],\"dtype\":\"|u1\","
        "\"filters\":null,\"compressor\":{\"id\":\"zlib\",\"level\":1},\"fill_value\":0,"
        "\"order\":\"C\"}";
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = NTHREADS;
    assert_int_equal(hr_context_create(&options, &w->context, &err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &err), HR_OK);
    put(w->store, "a/.zarray", meta, sizeof meta - 1);
    for (int i = 0; i < NCHUNKS; i++) {
        static uint8_t chunk[CHUNK_NBYTES], encoded[2 * CHUNK_NBYTES];
        uLongf n = sizeof encoded;
        char key[16];
        for (size_t k = 0; k < sizeof chunk; k++) {
            chunk[k] = (uint8_t)(k * k / 977 + (size_t)i);
        }
        assert_int_equal(compress2(encoded, &n, chunk, sizeof chunk, 1), Z_OK);
        (void)snprintf(key, sizeof key, "a/%d", i);
        put(w->store, key, encoded, n);
    }
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->node, &err), HR_OK);
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

static hr_stage_times read_on(const world *w, hr_device_type type) {
    static const int64_t shape[] = {NCHUNKS * CHUNK_NBYTES};
    hr_request r = request(w->node, out, 1, shape);
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    r.dst.device.type = (int32_t)type;
    hr_batch *batch = NULL;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, &err), HR_OK);
    assert_int_equal(hr_batch_wait(batch, -1, &err), HR_OK);
    assert_int_equal(hr_batch_get_stages(batch, &times, &err), HR_OK);
    hr_stage_times again = HR_STAGE_TIMES_INIT;
    assert_int_equal(hr_batch_get_stages(batch, &again, &err), HR_OK);
    assert_memory_equal(&again, &times, sizeof times); /* final */
    hr_batch_unref(batch);
    return times;
}

/* What no schedule of the threads changes: nobody is in two stages at once. */
static void assert_possible(const hr_stage_times *t) {
    uint64_t of_threads = 0;
    for (int i = HR_STAGE_OPEN; i < HR_STAGE_COPY; i++) {
        of_threads += t->ns[i];
    }
    assert_in_range(of_threads, 1, (NTHREADS + 1) * t->wall_ns);
    for (int i = HR_STAGE_COPY; i < HR_NSTAGES; i++) {
        assert_in_range(t->ns[i], 0, t->wall_ns);
    }
    assert_in_range(t->ns[HR_STAGE_PLAN], 1, t->wall_ns);
    assert_in_range(t->nthreads, 1, NTHREADS + 1);
    assert_in_range(t->bound, 0, HR_NSTAGES - 1);
    assert_true(t->ns[t->bound] > 0);
}

static void a_host_read_tells_what_its_threads_did(void **state) {
    const hr_stage_times t = read_on(*state, HR_DEVICE_CPU);
    assert_possible(&t);
    assert_true(t.ns[HR_STAGE_OPEN] > 0);
    assert_true(t.ns[HR_STAGE_READ] > 0);
    assert_true(t.ns[HR_STAGE_DECODE] > 0);
    assert_int_equal(t.ns[HR_STAGE_QUEUE] + t.ns[HR_STAGE_COPY] + t.ns[HR_STAGE_KERNELS] +
                         t.ns[HR_STAGE_STORE],
                     0);
    assert_int_equal(t.ndevices, 0);
}

static void a_device_read_tells_what_the_device_did(void **state) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        skip();
    }
    const hr_stage_times t = read_on(*state, HR_DEVICE_SIMT);
    assert_possible(&t);
    assert_int_equal(t.ns[HR_STAGE_DECODE], 0);
    assert_true(t.ns[HR_STAGE_READ] > 0);
    assert_true(t.ns[HR_STAGE_QUEUE] > 0);
    assert_true(t.ns[HR_STAGE_COPY] > 0);
    assert_true(t.ns[HR_STAGE_KERNELS] > 0);
    assert_true(t.ns[HR_STAGE_STORE] > 0); /* the chunks' statuses, at least */
    assert_int_equal(t.ndevices, 1);
}

static hr_stage_times foretell(const world *w, int64_t n) {
    const int64_t shape[] = {n};
    const hr_axis axis = {.stop = n};
    hr_request r = request(w->node, NULL, 1, shape);
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    hr_explanation *explanation = NULL;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    assert_int_equal(hr_plan_explain(w->context, &r, 1, &explanation, &err), HR_OK);
    assert_int_equal(hr_explanation_stages(explanation, &times, &err), HR_OK);
    hr_explanation_free(explanation);
    return times;
}

static void stages_are_foretold_from_finished_batches(void **state) {
    const world *w = *state;
    hr_stage_times t = foretell(w, CHUNK_NBYTES);
    assert_true(t.wall_ns == HR_UNKNOWN && t.ns[HR_STAGE_DECODE] == HR_UNKNOWN);
    assert_true(t.ns[HR_STAGE_PLAN] > 0 && t.ns[HR_STAGE_PLAN] != HR_UNKNOWN);
    assert_int_equal(t.bound, -1);
    const hr_stage_times past = read_on(w, HR_DEVICE_CPU);
    t = foretell(w, NCHUNKS / 2 * CHUNK_NBYTES);
    for (int i = HR_STAGE_OPEN; i < HR_NSTAGES; i++) {
        assert_in_range(t.ns[i] + 1, past.ns[i] / 2, past.ns[i] / 2 + 2);
    }
    assert_in_range(t.wall_ns, 1, past.wall_ns);
    assert_in_range(t.bound, 0, HR_NSTAGES - 1);
}

static void wrong_records_are_refused(void **state) {
    (void)state;
    hr_stage_times t = {0};
    assert_int_equal(hr_batch_get_stages(NULL, &t, &err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_explanation_stages(NULL, &t, &err), HR_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_host_read_tells_what_its_threads_did,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(a_device_read_tells_what_the_device_did,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(stages_are_foretold_from_finished_batches,
                                        open_world, close_world),
        cmocka_unit_test(wrong_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
