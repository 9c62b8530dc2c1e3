/* Several batches of one context. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/forward_store.h"

#include "fixture.h"

enum { N = 400, HELD_FROM = 100, ROW = 64 };

typedef struct world {
    hr_context *context;
    forward forward;
    hr_store *memory, *store;
    hr_node *arrays[2];
    atomic_bool both, second_done, stuck; /* submitted, done, did not come */
    uint8_t got[2][N][ROW];
    hr_error err;
} world;

static void wait_for(world *w, const atomic_bool *what) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    for (const time_t end = t.tv_sec + 20; !*what && !w->stuck && t.tv_sec < end;) {
        (void)usleep(100);
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
    }
    if (!*what) {
        w->stuck = true;
    }
}

/* The first batch keeps every thread that comes to its chunk HELD_FROM. */
static void hold(void *probe, const char *key, const hr_read_context *reading) {
    world *w = probe;
    (void)reading;
    wait_for(w, &w->both);
    if (key[0] == '0' && atoi(key + strlen("0/c/")) >= HELD_FROM) {
        wait_for(w, &w->second_done);
    }
}

static int open_world(void **state) {
    static const char meta[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[400,64],\"data_type\":"
        "\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_"
        "shape\":[1,64]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"codecs\":[{"
        "\"name\":\"bytes\"}],\"fill_value\":0,\"attributes\":{}}";
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->memory, &w->err), HR_OK);
    w->forward = (forward){.on_open = hold, .probe = w};
    w->store = forward_create(w->context, w->memory, &w->forward);
    for (int a = 0; a < 2; a++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%d/zarr.json", a);
        put(w->memory, key, meta, sizeof meta - 1);
        for (int i = 0; i < N; i++) {
            uint8_t row[ROW];
            memset(row, i + a, sizeof row);
            (void)snprintf(key, sizeof key, "%d/c/%d/0", a, i);
            put(w->memory, key, row, sizeof row);
        }
        (void)snprintf(key, sizeof key, "%d", a);
        assert_int_equal(hr_open_store(w->store, key, NULL, &w->arrays[a], &w->err),
                         HR_OK);
    }
    *state = w;
    (void)alarm(120); /* what hangs fails */
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    (void)alarm(0);
    for (int a = 0; a < 2; a++) {
        hr_node_unref(w->arrays[a]);
    }
    hr_store_unref(w->store);
    hr_store_unref(w->memory);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static hr_batch *submit(world *w, int a, hr_device device) {
    static const int64_t shape[] = {N, ROW};
    hr_batch *batch = NULL;
    hr_request r = request(w->arrays[a], w->got[a], 2, shape);
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    r.dst.device = device;
    memset(w->got[a], 0xA5, sizeof w->got[a]);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, &w->err),
                     HR_OK);
    return batch;
}

static void check(const world *w, int a) {
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < ROW; k++) {
            assert_int_equal(w->got[a][i][k], (uint8_t)(i + a));
        }
    }
}

/* With the threads alone: who waits with a deadline does not help. */
static void the_second_is_done_while_the_first_is_held(world *w, hr_device one,
                                                       hr_device other) {
    const int64_t minute = INT64_C(60000000000);
    w->both = w->second_done = false;
    hr_batch *first = submit(w, 0, one);
    hr_batch *second = submit(w, 1, other);
    w->both = true;
    assert_int_equal(hr_batch_wait(second, minute, &w->err), HR_OK);
    assert_int_equal(hr_batch_poll(first), 0);
    w->second_done = true;
    assert_int_equal(hr_batch_wait(first, minute, &w->err), HR_OK);
    assert_false(w->stuck);
    check(w, 0);
    check(w, 1);
    hr_batch_unref(first);
    hr_batch_unref(second);
}

static const hr_device host = {.type = HR_DEVICE_CPU};
static const hr_device simt[] = {{.type = HR_DEVICE_SIMT},
                                 {.type = HR_DEVICE_SIMT, .index = 1}};

static void batches_for_the_host_are_served_side_by_side(void **state) {
    the_second_is_done_while_the_first_is_held(*state, host, host);
}

static void so_are_those_for_devices(void **state) {
    if (!has_simt()) {
        skip();
    }
    the_second_is_done_while_the_first_is_held(*state, simt[0], simt[1]);
    the_second_is_done_while_the_first_is_held(*state, simt[0], simt[0]);
    the_second_is_done_while_the_first_is_held(*state, simt[0], host);
    the_second_is_done_while_the_first_is_held(*state, host, simt[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(batches_for_the_host_are_served_side_by_side),
        TEST(so_are_those_for_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
