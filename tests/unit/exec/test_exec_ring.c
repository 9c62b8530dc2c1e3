/* The staging ring: who waits, who starves. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#include "exec/ring.h"

#define KIB UINT64_C(1024)

static const hr__need some = {.payload = 64 * KIB, .scratch = 64 * KIB};

typedef struct world {
    hr__ring_set set;
    hr__ring *ring;
} world;

/* A ring of one slot. */
static void open_world(world *w) {
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    hr__ring_set_init(&w->set, &hr__malloc_allocator, 64 * KIB, 256 * KIB, 1);
    assert_int_equal(hr__ring_set_get(&w->set, simt, &w->ring, NULL), HR_OK);
}

static void close_world(world *w) {
    hr__ring_set_free(&w->set);
}

static void *acquire_and_give_back(void *user) {
    hr__ring *ring = user;
    void *saved = NULL;
    hr__ring_slot *slot = NULL;
    hr_status status = ring->device->ops->enter(ring->device, &saved, NULL);
    if (status == HR_OK) {
        status = hr__ring_acquire(ring, some, true, &slot, NULL);
    }
    if (status == HR_OK) {
        hr__ring_give_back(ring, slot);
        ring->device->ops->leave(ring->device, saved);
    }
    return slot;
}

static void starves_where_somebody_waits_for_a_holder(void **state) {
    (void)state;
    world w;
    open_world(&w);
    void *saved = NULL;
    hr__ring_slot *slot = NULL;
    assert_int_equal(w.ring->device->ops->enter(w.ring->device, &saved, NULL), HR_OK);
    assert_int_equal(hr__ring_acquire(w.ring, some, true, &slot, NULL), HR_OK);
    assert_false(hr__ring_is_starved(w.ring));

    pthread_t waiter;
    assert_int_equal(pthread_create(&waiter, NULL, acquire_and_give_back, w.ring), 0);
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int i = 0; i < 10000 && !hr__ring_is_starved(w.ring); i++) {
        (void)nanosleep(&millisecond, NULL);
    }
    assert_true(hr__ring_is_starved(w.ring));

    hr__ring_give_back(w.ring, slot);
    void *got = NULL;
    assert_int_equal(pthread_join(waiter, &got), 0);
    assert_ptr_equal(got, slot);
    assert_false(hr__ring_is_starved(w.ring));
    hr__ring_drain(w.ring);
    w.ring->device->ops->leave(w.ring->device, saved);
    close_world(&w);
}

static void a_slot_on_its_way_is_no_starving(void **state) {
    (void)state;
    world w;
    open_world(&w);
    void *saved = NULL;
    hr__ring_slot *slot = NULL;
    assert_int_equal(w.ring->device->ops->enter(w.ring->device, &saved, NULL), HR_OK);
    assert_int_equal(hr__ring_acquire(w.ring, some, true, &slot, NULL), HR_OK);
    hr__ring_give_back(w.ring, slot);
    w.ring->nwaiting = 1; /* as if somebody had come to wait */
    assert_false(hr__ring_is_starved(w.ring));
    hr__ring_drain(w.ring);
    assert_true(hr__ring_is_starved(w.ring));
    w.ring->nwaiting = 0;
    w.ring->device->ops->leave(w.ring->device, saved);
    close_world(&w);
}

/* Work on simt streams is put off until somebody waits for it. */
static void a_stream_goes_on_behind_slots_on_their_way(void **state) {
    (void)state;
    static const char text[] = "behind";
    char there[sizeof text] = "";
    world w;
    open_world(&w);
    void *saved = NULL;
    hr__device *d = w.ring->device;
    hr__ring_slot *slot = NULL;
    hr__stream stream = NULL;
    assert_int_equal(d->ops->enter(d, &saved, NULL), HR_OK);
    assert_int_equal(d->ops->stream_create(d, &stream, NULL), HR_OK);
    assert_int_equal(hr__ring_acquire(w.ring, some, true, &slot, NULL), HR_OK);
    assert_int_equal(d->ops->copy_to_device(d, slot->stream, slot->payload.device, text,
                                            sizeof text, NULL),
                     HR_OK);
    const hr__devptr device = slot->payload.device;
    hr__ring_give_back(w.ring, slot);
    assert_int_equal(hr__ring_order(w.ring, stream, NULL), HR_OK);
    assert_int_equal(d->ops->copy_to_host(d, stream, there, device, sizeof text, NULL),
                     HR_OK);
    assert_int_equal(d->ops->stream_sync(d, stream, NULL), HR_OK);
    assert_string_equal(there, text);
    hr__ring_drain(w.ring);
    d->ops->stream_destroy(d, stream);
    d->ops->leave(d, saved);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starves_where_somebody_waits_for_a_holder),
        cmocka_unit_test(a_slot_on_its_way_is_no_starving),
        cmocka_unit_test(a_stream_goes_on_behind_slots_on_their_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
