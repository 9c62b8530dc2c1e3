/* Slabs that several threads fill. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/run.h"
#include "exec/slab.h"
#include "exec/slab_tables.h"

#define KIB UINT64_C(1024)

/* A ring of two slots of 256 KiB, and a run that is full with 128 KiB. */
typedef struct world {
    hr__ring_set set;
    hr__ring *ring;
    hr_context context; /* nothing of it is asked for */
    hr__run run;
} world;

static void open_world(world *w, uint32_t nsharers) {
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    memset(w, 0, sizeof *w);
    hr__ring_set_init(&w->set, &hr__malloc_allocator, 600 * KIB, 64 << 20, 2);
    assert_int_equal(hr__ring_set_get(&w->set, simt, &w->ring, NULL), HR_OK);
    w->ring->usual = (hr__need){.payload = 256 * KIB, .scratch = 256 * KIB};
    w->run.context = &w->context;
    w->run.nsharers = nsharers;
    w->run.slab_nbytes = 128 * KIB;
    w->run.nstarts = 1;
    w->run.starts[0].ring = w->ring;
    pthread_mutex_init(&w->run.lock, NULL);
    pthread_mutex_init(&w->run.opening, NULL);
    hr__device *d = w->ring->device;
    assert_int_equal(d->ops->event_create(d, &w->run.starts[0].event, NULL), HR_OK);
}

static void close_world(world *w) {
    hr__slab_flush_all(&w->run);
    hr__ring_drain(w->ring, NULL);
    hr__run_destroy_starts(&w->run);
    pthread_mutex_destroy(&w->run.opening);
    pthread_mutex_destroy(&w->run.lock);
    hr__ring_set_free(&w->set);
}

static hr__slab_part part_of(world *w, uint64_t nbytes) {
    hr__slab_part part;
    const hr__need need = {.payload = hr__slab_room(nbytes), .scratch = 1 * KIB};
    assert_int_equal(hr__slab_open(&w->run, w->ring, need, nbytes, &part, NULL), HR_OK);
    return part;
}

static uint64_t nflushed(world *w) {
    return atomic_load(&w->run.nslabs);
}

static void threads_that_share_get_parts_of_one_slab(void **state) {
    (void)state;
    world w;
    open_world(&w, 8);
    const hr__slab_part a = part_of(&w, 50 * KIB), b = part_of(&w, 50 * KIB);
    assert_ptr_equal(a.slab, b.slab);
    assert_true(b.offset >= a.offset + 50 * KIB);
    hr__slab_close(&b);
    const hr__slab_part c = part_of(&w, 50 * KIB);
    assert_ptr_equal(c.slab, a.slab);
    hr__slab_close(&c); /* full, but in use */
    assert_int_equal(nflushed(&w), 0);
    hr__slab_close(&a);
    assert_int_equal(nflushed(&w), 1);
    close_world(&w);
}

static void a_full_slab_takes_no_more(void **state) {
    (void)state;
    world w;
    open_world(&w, 8);
    const hr__slab_part a = part_of(&w, 100 * KIB), b = part_of(&w, 100 * KIB);
    hr__slab_close(&b);
    const hr__slab_part c = part_of(&w, 10 * KIB);
    assert_ptr_not_equal(c.slab, a.slab);
    hr__slab_close(&a);
    hr__slab_close(&c);
    close_world(&w);
    assert_int_equal(nflushed(&w), 2);
}

static void what_is_promised_is_not_given_away(void **state) {
    (void)state;
    world w;
    open_world(&w, 8);
    const hr__need lists = {.payload = 200 * KIB};
    hr__slab_part a;
    assert_int_equal(hr__slab_open(&w.run, w.ring, lists, 10 * KIB, &a, NULL), HR_OK);
    const hr__slab_part b = part_of(&w, 100 * KIB);
    assert_ptr_not_equal(b.slab, a.slab);
    hr__slab_close(&a); /* it took nothing of it, and its slab is not full */
    const hr__slab_part c = part_of(&w, 170 * KIB);
    assert_ptr_equal(c.slab, a.slab);
    hr__slab_close(&b);
    hr__slab_close(&c);
    close_world(&w);
}

static void others_have_slabs_of_their_own(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    const hr__slab_part a = part_of(&w, 10 * KIB), b = part_of(&w, 10 * KIB);
    assert_ptr_not_equal(a.slab, b.slab);
    hr__slab_close(&a);
    const hr__slab_part c = part_of(&w, 10 * KIB);
    assert_ptr_equal(c.slab, a.slab);
    hr__slab_close(&b);
    hr__slab_close(&c);
    close_world(&w);
}

static void a_slab_in_use_is_sent_off_by_its_last_user(void **state) {
    (void)state;
    world w;
    open_world(&w, 8);
    const hr__slab_part a = part_of(&w, 10 * KIB), b = part_of(&w, 10 * KIB);
    hr__slab_flush_all(&w.run);
    const hr__slab_part c = part_of(&w, 10 * KIB);
    assert_ptr_not_equal(c.slab, a.slab);
    hr__slab_close(&b);
    assert_int_equal(nflushed(&w), 0);
    hr__slab_close(&a);
    assert_int_equal(nflushed(&w), 1);
    hr__slab_close(&c);
    close_world(&w);
}

/* --- a thread that lands what is on its way and frees it, as soon as it may --- */

static struct {
    const hr__device_ops *usual;
    hr__ring *ring;
    hr__stream destroyed[8];
    int ndestroyed, nlate;
} hasty;

static void destroy_stream(hr__device *d, hr__stream s) {
    assert_true(hasty.ndestroyed < 8);
    hasty.destroyed[hasty.ndestroyed++] = s;
    hasty.usual->stream_destroy(d, s);
}

static hr_status land_then_record(hr__device *d, hr__event e, hr__stream s,
                                  hr_error *err) {
    while (hr__ring_land(hasty.ring)) {
    }
    hr__ring_trim(hasty.ring);
    for (int i = 0; i < hasty.ndestroyed; i++) {
        if (s == hasty.destroyed[i]) {
            hasty.nlate++;
            return HR_OK;
        }
    }
    return hasty.usual->event_record(d, e, s, err);
}

/* There is nothing to decode. */
static hr_status launch_nothing(hr__device *d, hr__stream s, hr__kernel kernel,
                                const void *params, hr_error *err) {
    (void)d, (void)s, (void)kernel, (void)params, (void)err;
    return HR_OK;
}

static void fill_with_zstd(world *w, hr__slab_part *part) {
    *part = part_of(w, 10 * KIB);
    hr__vec *streams = hr__slab_vec(part->slab, HR__SLAB_ZSTD_STREAMS);
    hr__kzstd_stream *s = hr__vec_push(&w->ring->allocator, streams, sizeof *s);
    assert_non_null(s);
    *s = (hr__kzstd_stream){0};
}

static void who_decodes_for_others_is_given_back_last(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    hasty.usual = w.ring->device->ops;
    hasty.ring = w.ring;
    hasty.ndestroyed = hasty.nlate = 0;
    hr__device_ops ops = *hasty.usual;
    ops.stream_destroy = destroy_stream;
    ops.event_record = land_then_record;
    ops.launch = launch_nothing;
    w.ring->device->ops = &ops;
    hr__slab_part a, b;
    fill_with_zstd(&w, &a);
    fill_with_zstd(&w, &b);
    hr__slab_close(&a);
    hr__slab_close(&b);
    hr__slab_flush_all(&w.run);
    assert_int_equal(nflushed(&w), 2);
    assert_int_equal(hasty.ndestroyed, 1); /* of the one that the other decoded */
    assert_int_equal(hasty.nlate, 0);
    w.ring->device->ops = hasty.usual;
    close_world(&w);
}

static int need_simt(void **state) {
    (void)state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: slabs (no simt)\n");
        skip();
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(threads_that_share_get_parts_of_one_slab, need_simt),
        cmocka_unit_test_setup(a_full_slab_takes_no_more, need_simt),
        cmocka_unit_test_setup(what_is_promised_is_not_given_away, need_simt),
        cmocka_unit_test_setup(others_have_slabs_of_their_own, need_simt),
        cmocka_unit_test_setup(a_slab_in_use_is_sent_off_by_its_last_user, need_simt),
        cmocka_unit_test_setup(who_decodes_for_others_is_given_back_last, need_simt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
