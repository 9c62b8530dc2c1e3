/* Batches that take turns where staging memory is short. SPDX-License-Identifier: Apache-2.0 */
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

/* While a small chunk is staged a large one has no room. */
#define KIB 1024
enum { SMALL = 4 * KIB, LARGE = 200 * KIB, PINNED = 256 * KIB, DEVICE = 1024 * KIB };

typedef struct world {
    hr_context *context;
    forward forward;
    hr_store *memory, *store;
    hr_node *arrays[2]; /* of two small chunks, of two large ones */
    atomic_int nsmall;  /* reads of small chunks */
    atomic_bool first_is_open, is_freeing, second_is_there, second_is_open;
    atomic_bool is_over; /* nobody is held any more */
    uint8_t small[2 * SMALL], large[2 * LARGE];
    hr_error err;
} world;

static bool wait_so_long(const world *w, const atomic_bool *what, time_t seconds) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    for (const time_t end = t.tv_sec + seconds;
         !*what && !w->is_over && t.tv_sec < end;) {
        (void)usleep(100);
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
    }
    return *what;
}

static bool wait_for(const world *w, const atomic_bool *what) {
    return wait_so_long(w, what, 20);
}

/* Time to come to a wait for staging memory. */
static void linger(void) {
    (void)usleep(100000);
}

static void tell_open(void *probe, const char *key, const hr_read_context *reading) {
    world *w = probe;
    (void)reading;
    w->first_is_open = w->first_is_open || strcmp(key, "1/0") == 0;
    w->second_is_open = w->second_is_open || strcmp(key, "1/1") == 0;
}

/* The first small chunk is staged until a large one waits for its memory; the second, in
 * memory of its own, while the first one's is freed, until there is another batch. */
static void hold_small(void *probe, const hr_read_context *reading, uint64_t offset,
                       uint64_t nbytes) {
    world *w = probe;
    (void)reading;
    (void)offset;
    if (nbytes == SMALL && w->nsmall++ == 0) {
        (void)wait_for(w, &w->first_is_open);
        linger();
    } else if (nbytes == SMALL) {
        (void)wait_for(w, &w->second_is_there);
    }
}

static void *pinned_alloc(void *user, hr_device device, size_t nbytes) {
    void *memory = NULL;
    (void)user;
    (void)device;
    return posix_memalign(&memory, 64, nbytes) == 0 ? memory : NULL;
}

/* Who frees comes too late to see that the second small chunk is there. */
static void pinned_free(void *user, hr_device device, void *ptr, size_t nbytes) {
    world *w = user;
    (void)device;
    (void)nbytes;
    if (!atomic_exchange(&w->is_freeing, true) && wait_for(w, &w->second_is_open)) {
        linger();
    }
    free(ptr);
}

static void put_array(world *w, int a, int chunk) {
    char meta[256], key[16];
    uint8_t *bytes = malloc((size_t)chunk);
    assert_non_null(bytes);
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"|u1\","
                   "\"compressor\":null,\"filters\":null,\"fill_value\":0,"
                   "\"order\":\"C\"}",
                   2 * chunk, chunk);
    (void)snprintf(key, sizeof key, "%d/.zarray", a);
    put(w->memory, key, meta, strlen(meta));
    for (int i = 0; i < 2; i++) {
        memset(bytes, 1 + 2 * a + i, (size_t)chunk);
        (void)snprintf(key, sizeof key, "%d/%d", a, i);
        put(w->memory, key, bytes, (size_t)chunk);
    }
    free(bytes);
    (void)snprintf(key, sizeof key, "%d", a);
    assert_int_equal(hr_open_store(w->store, key, NULL, &w->arrays[a], &w->err), HR_OK);
}

static world *open_world(void) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    const hr_device_allocator hooks = {.struct_size = sizeof hooks,
                                       .user = w,
                                       .alloc_pinned = pinned_alloc,
                                       .free_pinned = pinned_free};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.scratch_nbytes = PINNED;
    o.device_scratch_nbytes = DEVICE;
    o.device_allocator = &hooks;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->memory, &w->err), HR_OK);
    w->forward = (forward){.on_open = tell_open, .on_read = hold_small, .probe = w};
    w->store = forward_create(w->context, w->memory, &w->forward);
    put_array(w, 0, SMALL);
    put_array(w, 1, LARGE);
    return w;
}

static void close_world(world *w) {
    hr_node_unref(w->arrays[0]);
    hr_node_unref(w->arrays[1]);
    hr_store_unref(w->store);
    hr_store_unref(w->memory);
    hr_context_unref(w->context);
    free(w);
}

/* Chunk i of an array to its place. */
static hr_request chunk_request(world *w, int a, int i, hr_axis *axis, int64_t *shape) {
    const int64_t chunk = a == 0 ? SMALL : LARGE;
    *shape = chunk;
    *axis = (hr_axis){
        .kind = HR_AXIS_SLICE, .start = i * chunk, .stop = (i + 1) * chunk, .step = 1};
    hr_request r =
        request(w->arrays[a], (a == 0 ? w->small : w->large) + i * chunk, 1, shape);
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = axis};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    r.dst.device = (hr_device){.type = HR_DEVICE_SIMT};
    return r;
}

static hr_batch *submit(world *w, const hr_request *requests, size_t n) {
    hr_batch *batch = NULL;
    assert_int_equal(hr_read_submit(w->context, requests, n, NULL, NULL, &batch, &w->err),
                     HR_OK);
    return batch;
}

static void finish(world *w, hr_batch *batch) {
    assert_int_equal(hr_batch_wait(batch, INT64_C(20000000000), &w->err), HR_OK);
    hr_batch_unref(batch);
}

static void check(const world *w) {
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < LARGE; k++) {
            assert_int_equal(w->large[i * LARGE + k], 3 + i);
            assert_true(k >= SMALL || w->small[i * SMALL + k] == 1 + i);
        }
    }
}

/* One thread of the first batch waits for memory that the other has staged a chunk in.
 * That one goes to the second batch, and waits there. False: the threads of the first
 * took its chunks in another way. */
static bool take_turns(world *w) {
    hr_axis axes[4];
    int64_t shapes[4];
    const hr_request first[] = {chunk_request(w, 0, 0, &axes[0], &shapes[0]),
                                chunk_request(w, 1, 0, &axes[1], &shapes[1]),
                                chunk_request(w, 0, 1, &axes[2], &shapes[2])};
    const hr_request second[] = {chunk_request(w, 1, 1, &axes[3], &shapes[3])};
    hr_batch *batch = submit(w, first, 3);
    const bool waits = wait_so_long(w, &w->is_freeing, 2);
    hr_batch *other = submit(w, second, 1);
    w->second_is_there = true;
    const bool both_wait = waits && wait_for(w, &w->second_is_open);
    finish(w, other);
    finish(w, batch);
    check(w);
    w->is_over = true;
    return both_wait;
}

static void who_leaves_a_batch_that_waits_leaves_it_its_memory(void **state) {
    (void)state;
    bool both_waited = false;
    (void)alarm(200); /* what hangs fails */
    for (int i = 0; i < 30 && !both_waited; i++) {
        world *w = open_world();
        both_waited = take_turns(w);
        close_world(w);
    }
    (void)alarm(0);
    assert_true(both_waited);
}

int main(void) {
    if (!has_simt()) {
        print_message("skipped: staging, for want of the simt device\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_leaves_a_batch_that_waits_leaves_it_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
