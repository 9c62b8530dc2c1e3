/* Reads for a device that is near to some cores. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "exec/context.h"
#include "fixture.h"
#include "support/place.h"

static const hr_device simt = {.type = HR_DEVICE_SIMT};
static const int64_t shape[] = {NROWS, NCOLS};

/* Where the context's threads are when they ask for memory. */
typedef struct watch {
    cpu_set_t expected;
    pthread_t caller;
    atomic_int nthere, nelsewhere, ndone_anywhere;
    cpu_set_t usual;
} watch;

static void done(void *user) {
    watch *w = user;
    const cpu_set_t now = own_cores();
    atomic_fetch_add(&w->ndone_anywhere, CPU_EQUAL(&now, &w->usual));
}

static void *alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    watch *w = user;
    void *ptr = NULL;
    (void)device;
    (void)stream;
    if (!pthread_equal(pthread_self(), w->caller)) {
        const cpu_set_t now = own_cores();
        atomic_fetch_add(CPU_EQUAL(&now, &w->expected) ? &w->nthere : &w->nelsewhere, 1);
    }
    return posix_memalign(&ptr, 256, nbytes) == 0 ? ptr : NULL;
}

static void give(void *user, hr_device device, void *ptr, size_t nbytes, void *stream) {
    (void)user;
    (void)device;
    (void)nbytes;
    (void)stream;
    free(ptr);
}

/* Without helping, so that the context's threads do all of it. */
static void read_all(hr_context *context, hr_node *array, watch *w) {
    int32_t out[NROWS * NCOLS];
    hr_request r = request(array, out, 2, shape);
    hr_error err = HR_ERROR_INIT;
    hr_batch *batch = NULL;
    r.dst.device = simt;
    assert_int_equal(hr_read_submit(context, &r, 1, NULL, NULL, &batch, &err), HR_OK);
    assert_int_equal(hr_batch_on_done(batch, done, w, &err), HR_OK);
    for (int i = 0; i < 60000 && atomic_load(&w->ndone_anywhere) == 0; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(hr_batch_wait(batch, -1, &err), HR_OK);
    hr_batch_unref(batch);
    for (int64_t i = 0; i < NROWS * NCOLS; i++) {
        assert_int_equal(out[i], expected(i / NCOLS, i % NCOLS));
    }
}

/* With simt as if it were near to these cores. */
static void check(const hr__numa_node *node, const cpu_set_t *cores) {
    watch w = {.expected = *cores, .caller = pthread_self(), .usual = own_cores()};
    const hr_device_allocator hooks = {
        .struct_size = sizeof hooks, .user = &w, .alloc = alloc, .free = give};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_error err = HR_ERROR_INIT;
    hr_context *context = NULL;
    hr_store *store = NULL;
    hr_node *array = NULL;
    hr__ring *ring = NULL;
    o.nthreads = 2;
    o.device_allocator = &hooks;
    assert_int_equal(hr_context_create(&o, &context, &err), HR_OK);
    assert_int_equal(hr__ring_set_get(&context->rings, simt, &ring, &err), HR_OK);
    ring->device->node = *node;
    assert_int_equal(hr_store_create_memory(context, &store, &err), HR_OK);
    put_plain_array(store, "a");
    assert_int_equal(hr_open_store(store, "a", NULL, &array, &err), HR_OK);
    read_all(context, array, &w);
    hr_node_unref(array);
    hr_store_unref(store);
    hr_context_unref(context);
    assert_int_equal(w.ndone_anywhere, 1);
    assert_true(w.nthere > 0);
    assert_int_equal(w.nelsewhere, 0);
}

static void threads_read_where_the_device_is(void **state) {
    (void)state;
    need_cores(2);
    const cpu_set_t own = own_cores();
    hr__numa_node node = {.is_known = true, .cores = only(&own, 0)};
    check(&node, &node.cores);
    node.is_known = false;
    check(&node, &own);
    node = (hr__numa_node){.is_known = true}; /* none of the cores that they may use */
    check(&node, &own);
    const cpu_set_t after = own_cores();
    assert_true(CPU_EQUAL(&own, &after));
}

int main(void) {
    if (!has_simt()) {
        print_message("skipped: this build is without simt\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_read_where_the_device_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
