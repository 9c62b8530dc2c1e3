/* A context whose allocations are watched, for input that asks for too much.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No allocation of the library's own may exceed LARGEST, nor any call LONGEST: what a
 * file claims is not what a file is worth. */
#ifndef HR_TESTS_API_HOSTILE_WORLD_H
#define HR_TESTS_API_HOSTILE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"
#include "support/sanitizers.h"

#define LARGEST ((size_t)256 << 20)
#define LONGEST (HR_TEST_IS_SLOW ? 60.0 : 5.0) /* seconds of processor time */
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"

typedef struct world {
    probe probe;
    hr_context *context;
    hr_store *store;
    hr_error err;
    double begun;
} world;

static inline double cpu_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->probe = (probe){.refuse_from = -1};
    hr_allocator a = probe_allocator(&w->probe);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.allocator = &a;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    *state = w;
    return 0;
}

static inline int end_world(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    assert_int_equal(atomic_load(&w->probe.nlive), 0);
    free(w);
    return 0;
}

/* From here on the library's costs are counted. */
static inline void begin(world *w) {
    atomic_store(&w->probe.largest, 0);
    w->begun = cpu_seconds();
}

static inline void end(world *w) {
    assert_true(atomic_load(&w->probe.largest) <= LARGEST);
    assert_true(cpu_seconds() - w->begun < LONGEST);
}

static inline void put_text(world *w, const char *key, const char *text) {
    put(w->store, key, text, strlen(text));
}

/* uint8 of one axis unless the codecs say otherwise. */
static inline void put_array(world *w, const char *shape, const char *chunk,
                             const char *type, const char *codecs) {
    char meta[8192];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%s],"
                   "\"data_type\":\"%s\",\"chunk_grid\":{\"name\":\"regular\","
                   "\"configuration\":{\"chunk_shape\":[%s]}},\"chunk_key_encoding\":"
                   "{\"name\":\"default\"},\"codecs\":[%s],\"fill_value\":%s}",
                   shape, type, chunk, codecs,
                   strcmp(type, "string") == 0 ? "\"\"" : "0");
    put_text(w, "zarr.json", meta);
}

static inline hr_node *open_array(world *w) {
    hr_node *array = NULL;
    hr_status status = hr_open_store(w->store, "", NULL, &array, &w->err);
    if (status != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    return array;
}

/* Elements start … start + n. */
static inline hr_status read_some(world *w, hr_node *array, int64_t start, int64_t n,
                                  void *out) {
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(array, &info, &w->err), HR_OK);
    hr_axis axis = {.kind = HR_AXIS_SLICE, .start = start, .stop = start + n, .step = 1};
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    r.dst = (hr_tensor){.data = out, .dtype = info.dtype, .ndim = 1, .shape = &n};
    hr_batch *b = NULL;
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err);
    if (status == HR_OK) {
        status = hr_batch_wait(b, -1, &w->err);
        hr_batch_unref(b);
    }
    return status;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

#endif
