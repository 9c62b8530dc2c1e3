/* The staging ring: who waits, who starves. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "exec/ring.h"

#define KIB UINT64_C(1024)

static const hr__need some = {.payload = 64 * KIB, .scratch = 64 * KIB};

typedef struct world {
    hr__ring_set set;
    hr__ring *ring;
} world;

/* A ring of so many slots. */
static void open_slots(world *w, uint32_t nslots) {
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    hr__ring_set_init(&w->set, &hr__malloc_allocator, nslots * 64 * KIB,
                      nslots * 256 * KIB, nslots);
    assert_int_equal(hr__ring_set_get(&w->set, simt, &w->ring, NULL), HR_OK);
}

static void open_world(world *w) {
    open_slots(w, 1);
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
    hr__ring_drain(w.ring, NULL);
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
    hr__ring_drain(w.ring, NULL);
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
    assert_int_equal(hr__ring_order(w.ring, NULL, stream, NULL), HR_OK);
    assert_int_equal(d->ops->copy_to_host(d, stream, there, device, sizeof text, NULL),
                     HR_OK);
    assert_int_equal(d->ops->stream_sync(d, stream, NULL), HR_OK);
    assert_string_equal(there, text);
    hr__ring_drain(w.ring, NULL);
    d->ops->stream_destroy(d, stream);
    d->ops->leave(d, saved);
    close_world(&w);
}

typedef struct taker {
    hr__ring *ring;
    hr_status status;
    atomic_bool is_over;
} taker;

static void *take_for_another(void *user) {
    static const char another;
    taker *t = user;
    void *saved = NULL;
    t->status = t->ring->device->ops->enter(t->ring->device, &saved, NULL);
    for (int i = 0; i < 200 && t->status == HR_OK; i++) {
        hr__ring_slot *slot = NULL;
        t->status = hr__ring_acquire(t->ring, some, true, &slot, NULL);
        if (t->status == HR_OK) {
            (void)usleep(50);
            slot->owner = &another;
            hr__ring_give_back(t->ring, slot);
        }
    }
    t->ring->device->ops->leave(t->ring->device, saved);
    t->is_over = true;
    return NULL;
}

/* ThreadSanitizer sees who looks at a slot that another thread has. */
static void a_stream_waits_for_an_owner_while_others_take_slots(void **state) {
    (void)state;
    const char owner = 0;
    world w;
    void *saved = NULL;
    hr__stream stream = NULL;
    pthread_t other;
    open_slots(&w, 2);
    taker t = {.ring = w.ring};
    hr__device *d = w.ring->device;
    assert_int_equal(d->ops->enter(d, &saved, NULL), HR_OK);
    assert_int_equal(d->ops->stream_create(d, &stream, NULL), HR_OK);
    assert_int_equal(pthread_create(&other, NULL, take_for_another, &t), 0);
    while (!t.is_over) {
        assert_int_equal(hr__ring_order(w.ring, &owner, stream, NULL), HR_OK);
        hr__ring_drain(w.ring, &owner);
    }
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(t.status, HR_OK);
    d->ops->stream_destroy(d, stream);
    d->ops->leave(d, saved);
    close_world(&w);
}

/* Those of another are still on their way. */
static void who_waits_for_its_slots_waits_for_no_others(void **state) {
    (void)state;
    enum { NSLOTS = 4 };
    const char owners[2] = "";
    const hr__need half = {.payload = 32 * KIB, .scratch = 32 * KIB};
    hr__ring_slot *slots[NSLOTS] = {NULL};
    world w;
    void *saved = NULL;
    open_slots(&w, NSLOTS);
    assert_int_equal(w.ring->device->ops->enter(w.ring->device, &saved, NULL), HR_OK);
    for (int i = 0; i < NSLOTS; i++) {
        assert_int_equal(hr__ring_acquire(w.ring, half, false, &slots[i], NULL), HR_OK);
        assert_non_null(slots[i]);
        slots[i]->owner = &owners[i % 2];
    }
    for (int i = 0; i < NSLOTS; i++) {
        hr__ring_give_back(w.ring, slots[i]);
    }
    hr__ring_drain(w.ring, &owners[1]);
    for (int i = 0; i < NSLOTS; i++) {
        assert_int_equal(slots[i]->state,
                         i % 2 == 0 ? HR__SLOT_IN_FLIGHT : HR__SLOT_IDLE);
    }
    hr__ring_drain(w.ring, NULL);
    assert_int_equal(slots[0]->state, HR__SLOT_IDLE);
    w.ring->device->ops->leave(w.ring->device, saved);
    close_world(&w);
}

/* Memory by hooks that look at what the ring does meanwhile. */
typedef struct hooks {
    hr__ring *ring;
    atomic_size_t live[2], most[2];                 /* of the device, pinned */
    atomic_int ncalls, nlocked, nrefused, nstrange; /* freed on another stream */
    int refuse_each;                                /* every so manieth call; 0: none */
} hooks;

static void look(hooks *h) {
    atomic_fetch_add(&h->ncalls, 1);
    if (h->refuse_each == 0) { /* one thread only: nobody else has the lock */
        int rc = pthread_mutex_trylock(&h->ring->lock);
        atomic_fetch_add(&h->nlocked, rc != 0);
        if (rc == 0) {
            pthread_mutex_unlock(&h->ring->lock);
        }
    }
}

#define BEFORE 256 /* each piece: its stream */

static void *take(hooks *h, int kind, size_t nbytes, void *stream) {
    look(h);
    if (h->refuse_each > 0 && atomic_load(&h->ncalls) % h->refuse_each == 0) {
        atomic_fetch_add(&h->nrefused, 1);
        return NULL;
    }
    const size_t live = atomic_fetch_add(&h->live[kind], nbytes) + nbytes;
    size_t most = atomic_load(&h->most[kind]);
    while (live > most && !atomic_compare_exchange_weak(&h->most[kind], &most, live)) {
    }
    uint8_t *whole = aligned_alloc(256, BEFORE + (nbytes + 255) / 256 * 256);
    assert_non_null(whole);
    memcpy(whole, &stream, sizeof stream);
    return whole + BEFORE;
}

static void give(hooks *h, int kind, void *ptr, size_t nbytes, void *stream) {
    uint8_t *whole = (uint8_t *)ptr - BEFORE;
    look(h);
    atomic_fetch_sub(&h->live[kind], nbytes);
    atomic_fetch_add(&h->nstrange, memcmp(whole, &stream, sizeof stream) != 0);
    free(whole);
}

static void *hook_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)device;
    return take(user, 0, nbytes, stream);
}

static void hook_free(void *user, hr_device device, void *ptr, size_t nbytes,
                      void *stream) {
    (void)device;
    give(user, 0, ptr, nbytes, stream);
}

static void *hook_alloc_pinned(void *user, hr_device device, size_t nbytes) {
    (void)device;
    return take(user, 1, nbytes, NULL);
}

static void hook_free_pinned(void *user, hr_device device, void *ptr, size_t nbytes) {
    (void)device;
    give(user, 1, ptr, nbytes, NULL);
}

/* A ring of up to four slots of memory by hooks. */
static void open_hooked(world *w, hooks *h, hr_device_allocator *functions) {
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    *functions = (hr_device_allocator){.struct_size = sizeof *functions,
                                       .user = h,
                                       .alloc = hook_alloc,
                                       .free = hook_free,
                                       .alloc_pinned = hook_alloc_pinned,
                                       .free_pinned = hook_free_pinned};
    hr__ring_set_init(&w->set, &hr__malloc_allocator, 256 * KIB, 1024 * KIB, 4);
    w->set.hooks = functions;
    assert_int_equal(hr__ring_set_get(&w->set, simt, &w->ring, NULL), HR_OK);
    h->ring = w->ring;
}

/* The same, its device entered; what leave_hooked wants. */
static void *enter_hooked(world *w, hooks *h, hr_device_allocator *functions) {
    void *saved = NULL;
    open_hooked(w, h, functions);
    hr__device *d = w->ring->device;
    assert_int_equal(d->ops->enter(d, &saved, NULL), HR_OK);
    return saved;
}

static void leave_hooked(world *w, void *saved) {
    w->ring->device->ops->leave(w->ring->device, saved);
}

static void hooks_are_called_without_the_lock(void **state) {
    (void)state;
    world w;
    hooks h = {0};
    hr_device_allocator functions;
    void *saved = enter_hooked(&w, &h, &functions);
    for (uint64_t i = 1; i <= 4; i++) { /* each needs the room of those before */
        const hr__need need = {.payload = 64 * i * KIB, .scratch = 128 * i * KIB};
        const hr__need tables = {.payload = 2 * KIB * i, .scratch = KIB};
        hr__ring_slot *slot = NULL;
        assert_int_equal(hr__ring_acquire(w.ring, need, true, &slot, NULL), HR_OK);
        assert_int_equal(hr__ring_grow_tables(w.ring, slot, tables, NULL), HR_OK);
        hr__ring_give_back(w.ring, slot);
        hr__ring_drain(w.ring, NULL);
    }
    hr__ring_trim(w.ring);
    leave_hooked(&w, saved);
    assert_true(atomic_load(&h.ncalls) > 16);
    assert_int_equal(atomic_load(&h.nlocked), 0);
    assert_int_equal(w.ring->pinned_used, 0);
    assert_int_equal(w.ring->device_used, 0);
    close_world(&w);
    assert_int_equal(atomic_load(&h.live[0]), 0);
    assert_int_equal(atomic_load(&h.live[1]), 0);
}

static void memory_goes_back_on_the_stream_it_was_asked_for(void **state) {
    (void)state;
    world w;
    hooks h = {0};
    hr_device_allocator functions;
    void *saved = enter_hooked(&w, &h, &functions);
    for (uint64_t i = 1; i <= 3; i++) { /* what slots share grows */
        hr__ring_slot *slot = NULL;
        hr__devptr shared = 0;
        uint64_t nbytes = 0;
        assert_int_equal(hr__ring_acquire(w.ring, some, true, &slot, NULL), HR_OK);
        assert_int_equal(hr__ring_share(w.ring, slot, 64 * i * KIB, 64 * i * KIB, &shared,
                                        &nbytes, NULL),
                         HR_OK);
        assert_true(shared != 0 && nbytes >= 64 * i * KIB);
        assert_int_equal(hr__ring_share_leave(w.ring, slot, NULL), HR_OK);
        hr__ring_give_back(w.ring, slot);
        hr__ring_drain(w.ring, NULL);
    }
    hr__ring_trim(w.ring);
    leave_hooked(&w, saved);
    assert_int_equal(w.ring->device_used, 0);
    assert_int_equal(atomic_load(&h.nstrange), 0);
    close_world(&w);
    assert_int_equal(atomic_load(&h.live[0]), 0);
}

static void chunks_of_about_one_size_are_served_by_the_same_slots(void **state) {
    (void)state;
    world w;
    hooks h = {0};
    hr_device_allocator functions;
    void *saved = enter_hooked(&w, &h, &functions);
    for (uint64_t i = 0; i < 100; i++) { /* larger than what is usual, by and by */
        const hr__need need = {.payload = 100 * KIB + 40 * i,
                               .scratch = 500 * KIB + 200 * i};
        hr__ring_slot *slot = NULL;
        assert_int_equal(hr__ring_acquire(w.ring, need, true, &slot, NULL), HR_OK);
        hr__ring_give_back(w.ring, slot);
        hr__ring_drain(w.ring, NULL);
    }
    assert_in_range(atomic_load(&h.ncalls), 2, 6);
    leave_hooked(&w, saved);
    close_world(&w);
}

static void a_small_budget_has_fewer_slots(void **state) {
    (void)state;
    const uint64_t mib = KIB * KIB;
    hr__ring_set set;
    hr__ring_set_init(&set, &hr__malloc_allocator, 64 * mib, 64 * mib, 32);
    assert_int_equal(set.max_slots, 8);
    assert_true(hr__ring_set_usual(&set).scratch > 4 * mib);
    hr__ring_set_free(&set);
    hr__ring_set_init(&set, &hr__malloc_allocator, 64 * mib, 1 * mib, 32);
    assert_int_equal(set.max_slots, 4);
    hr__ring_set_free(&set);
    hr__ring_set_init(&set, &hr__malloc_allocator, 256 * mib, 1024 * mib, 32);
    assert_int_equal(set.max_slots, 32);
    hr__ring_set_free(&set);
}

/* Slots of all sizes, one at a time. */
static void *come_and_go(void *user) {
    hr__ring *ring = user;
    hr__device *d = ring->device;
    void *saved = NULL;
    uint64_t random = (uint64_t)(uintptr_t)&saved;
    uintptr_t ndone = 0;
    assert_int_equal(d->ops->enter(d, &saved, NULL), HR_OK);
    for (int i = 0; i < 300; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const uint64_t size = 1 + (random >> 33) % 100;
        const hr__need need = {.payload = size * KIB, .scratch = size * 2 * KIB};
        hr__ring_slot *slot = NULL;
        hr_status status = hr__ring_acquire(ring, need, true, &slot, NULL);
        if (status == HR_OK) {
            memset(slot->payload.pinned, 1, need.payload);
            hr__ring_give_back(ring, slot);
            ndone++;
        } else {
            assert_int_equal(status, HR_ERR_MEMORY);
        }
    }
    d->ops->leave(d, saved);
    return (void *)ndone;
}

static void threads_share_the_budget_also_where_memory_is_refused(void **state) {
    (void)state;
    enum { NTHREADS = 4 };
    for (int refuse_each = 0; refuse_each <= 3; refuse_each += 3) {
        world w;
        hooks h = {0};
        hr_device_allocator functions;
        open_hooked(&w, &h, &functions);
        h.refuse_each = refuse_each == 0 ? 1 << 30 : refuse_each;
        pthread_t threads[NTHREADS];
        void *ndone[NTHREADS];
        for (int i = 0; i < NTHREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, w.ring), 0);
        }
        for (int i = 0; i < NTHREADS; i++) {
            assert_int_equal(pthread_join(threads[i], &ndone[i]), 0);
            assert_true(refuse_each > 0 || (uintptr_t)ndone[i] == 300);
        }
        assert_int_equal(atomic_load(&h.nrefused) > 0, refuse_each > 0);
        assert_in_range(atomic_load(&h.most[0]), 1, 1024 * KIB);
        assert_in_range(atomic_load(&h.most[1]), 1, 256 * KIB);
        close_world(&w);
        assert_int_equal(atomic_load(&h.live[0]), 0);
        assert_int_equal(atomic_load(&h.live[1]), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starves_where_somebody_waits_for_a_holder),
        cmocka_unit_test(a_slot_on_its_way_is_no_starving),
        cmocka_unit_test(who_waits_for_its_slots_waits_for_no_others),
        cmocka_unit_test(a_stream_waits_for_an_owner_while_others_take_slots),
        cmocka_unit_test(a_stream_goes_on_behind_slots_on_their_way),
        cmocka_unit_test(hooks_are_called_without_the_lock),
        cmocka_unit_test(memory_goes_back_on_the_stream_it_was_asked_for),
        cmocka_unit_test(chunks_of_about_one_size_are_served_by_the_same_slots),
        cmocka_unit_test(a_small_budget_has_fewer_slots),
        cmocka_unit_test(threads_share_the_budget_also_where_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
