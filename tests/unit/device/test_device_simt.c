/* The simt device: put-off work, threads, forks. SPDX-License-Identifier: Apache-2.0 */
#include "simt_fixture.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POISON 0xCD

static void new_memory_is_poisoned(void **state) {
    fixture *f = *state;
    hr__devptr p;
    uint8_t *pinned;
    OK(alloc(f->d, 100, &p, NULL));
    OK(alloc_pinned(f->d, 100, (void **)&pinned, NULL));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(((uint8_t *)(uintptr_t)p)[i], POISON);
        assert_int_equal(pinned[i], POISON);
    }
    f->ops->free(f->d, p);
    f->ops->free_pinned(f->d, pinned);
    OK(alloc(f->d, 0, &p, NULL));
    assert_int_equal(p, 0);
}

static void a_copy_reads_its_source_when_it_is_waited_for(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream s;
    uint32_t host = 1, back = 0;
    OK(alloc(f->d, sizeof host, &p, NULL));
    OK(stream_create(f->d, &s, NULL));
    OK(copy_to_device(f->d, s, p, &host, sizeof host, NULL));
    host = 2; /* too early */
    OK(copy_to_host(f->d, s, &back, p, sizeof back, NULL));
    assert_int_equal(back, 0);
    OK(stream_sync(f->d, s, NULL));
    assert_int_equal(back, 2);
    f->ops->stream_destroy(f->d, s);
}

static void work_of_another_stream_is_seen_only_after_a_wait(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream up, down;
    hr__event e;
    uint32_t host = 7, early = 0, late = 0;
    OK(alloc(f->d, sizeof host, &p, NULL));
    OK(stream_create(f->d, &up, NULL));
    OK(stream_create(f->d, &down, NULL));
    OK(event_create(f->d, &e, NULL));
    OK(stream_wait(f->d, down, e, NULL)); /* never recorded: nothing to wait for */
    OK(copy_to_device(f->d, up, p, &host, sizeof host, NULL));
    OK(event_record(f->d, e, up, NULL));
    OK(copy_to_host(f->d, down, &early, p, sizeof early, NULL));
    OK(stream_wait(f->d, down, e, NULL));
    OK(copy_to_host(f->d, down, &late, p, sizeof late, NULL));
    f->ops->event_destroy(f->d, e); /* the wait keeps what it needs */
    OK(stream_sync(f->d, down, NULL));
    assert_int_equal(early, 0xCDCDCDCD);
    assert_int_equal(late, 7);
    f->ops->stream_destroy(f->d, up);
    f->ops->stream_destroy(f->d, down);
}

static void an_event_stands_for_its_last_record(void **state) {
    fixture *f = *state;
    hr__stream s;
    hr__event e;
    uint32_t from = 1, first = 0, second = 0;
    OK(stream_create(f->d, &s, NULL));
    OK(event_create(f->d, &e, NULL));
    OK(event_sync(f->d, e, NULL));
    OK(copy_to_host(f->d, s, &first, (uintptr_t)&from, sizeof from, NULL));
    OK(event_record(f->d, e, s, NULL));
    OK(copy_to_host(f->d, s, &second, (uintptr_t)&from, sizeof from, NULL));
    OK(event_sync(f->d, e, NULL));
    assert_int_equal(first, 1);
    assert_int_equal(second, 0);
    OK(event_record(f->d, e, s, NULL));
    OK(event_sync(f->d, e, NULL));
    assert_int_equal(second, 1);
    f->ops->event_destroy(f->d, e);
    f->ops->stream_destroy(f->d, s);
}

static void the_null_stream_runs_at_once(void **state) {
    fixture *f = *state;
    hr__stream s;
    hr__event e;
    uint32_t from = 5, to = 0;
    OK(stream_create(f->d, &s, NULL));
    OK(event_create(f->d, &e, NULL));
    OK(copy_to_host(f->d, s, &to, (uintptr_t)&from, sizeof from, NULL));
    OK(event_record(f->d, e, s, NULL));
    OK(stream_wait(f->d, NULL, e, NULL));
    assert_int_equal(to, 5);
    from = 6;
    OK(copy_to_host(f->d, NULL, &to, (uintptr_t)&from, sizeof from, NULL));
    assert_int_equal(to, 6);
    OK(event_record(f->d, e, NULL, NULL));
    OK(event_sync(f->d, e, NULL));
    f->ops->event_destroy(f->d, e);
    f->ops->stream_destroy(f->d, s);
}

static void events_tell_the_time(void **state) {
    fixture *f = *state;
    const struct timespec pause = {.tv_nsec = 2000000};
    hr__stream s;
    hr__event e[2];
    uint64_t there = 0, back = 1;
    OK(stream_create(f->d, &s, NULL));
    for (int i = 0; i < 2; i++) {
        OK(event_create(f->d, &e[i], NULL));
        OK(event_record(f->d, e[i], s, NULL));
        OK(event_sync(f->d, e[i], NULL));
        assert_int_equal(nanosleep(&pause, NULL), 0);
    }
    OK(event_elapsed(f->d, e[0], e[1], &there, NULL));
    assert_true(there >= 2000000);
    OK(event_elapsed(f->d, e[1], e[0], &back, NULL));
    assert_int_equal(back, 0);
    OK(event_record(f->d, e[0], NULL, NULL)); /* at once */
    OK(event_elapsed(f->d, e[1], e[0], &there, NULL));
    assert_true(there >= 2000000);
    for (int i = 0; i < 2; i++) {
        f->ops->event_destroy(f->d, e[i]);
    }
    f->ops->stream_destroy(f->d, s);
}

static void freeing_memory_waits_for_the_work_on_it(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream s;
    uint8_t host[64] = {3}, back[64] = {0};
    OK(alloc(f->d, sizeof host, &p, NULL));
    OK(stream_create(f->d, &s, NULL));
    OK(copy_to_device(f->d, s, p, host, sizeof host, NULL));
    OK(copy_to_host(f->d, s, back, p, sizeof back, NULL));
    f->ops->free(f->d, p);
    assert_memory_equal(back, host, sizeof host);
    OK(stream_sync(f->d, s, NULL));
    f->ops->stream_destroy(f->d, s);
}

static void a_launch_keeps_its_parameters(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream s;
    uint32_t host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    OK(alloc(f->d, sizeof host, &p, NULL));
    OK(stream_create(f->d, &s, NULL));
    hr_k_scatter params = copy_of((uintptr_t)host, p, 8);
    OK(launch(f->d, s, HR__KERNEL_SCATTER, &params, NULL));
    memset(&params, 0xFF, sizeof params);
    hr_k_fill fill = {.where = copy_of((uintptr_t)host, p + 16, 2)};
    OK(launch(f->d, s, HR__KERNEL_FILL, &fill, NULL));
    memset(&fill, 0xFF, sizeof fill);
    OK(copy_to_host(f->d, s, back, p, sizeof back, NULL));
    OK(stream_sync(f->d, s, NULL));
    const uint32_t want[8] = {1, 2, 3, 4, 1, 1, 7, 8};
    assert_memory_equal(back, want, sizeof want);
    f->ops->stream_destroy(f->d, s);
}

static void a_forked_child_is_told_to_keep_off(void **state) {
    fixture *f = *state;
    void *saved;
    OK(enter(f->d, &saved, NULL));
    f->ops->leave(f->d, saved);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hr_error err = HR_ERROR_INIT;
        hr__device *own;
        bool as_expected = f->ops->enter(f->d, &saved, &err) == HR_ERR_FORKED &&
                           strstr(err.message, "fork") != NULL &&
                           f->ops->open(0, &hr__malloc_allocator, &own, NULL) == HR_OK &&
                           f->ops->enter(own, &saved, NULL) == HR_OK;
        _exit(as_expected ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    OK(enter(f->d, &saved, NULL));
}

enum { NTHREADS = 4, NROUNDS = 50 };

/* Up and down again on two streams, in memory of its own. */
static void *use_device(void *argument) {
    fixture *f = argument;
    uintptr_t nwrong = 0;
    for (uint32_t i = 0; i < NROUNDS; i++) {
        hr__devptr p = 0, q = 0;
        hr__stream up = NULL, down = NULL;
        hr__event e = NULL;
        uint32_t host[64], back[64] = {0};
        for (uint32_t k = 0; k < 64; k++) {
            host[k] = i * 64 + k;
        }
        bool ok = f->ops->alloc(f->d, sizeof host, &p, NULL) == HR_OK &&
                  f->ops->alloc(f->d, sizeof host, &q, NULL) == HR_OK &&
                  f->ops->stream_create(f->d, &up, NULL) == HR_OK &&
                  f->ops->stream_create(f->d, &down, NULL) == HR_OK &&
                  f->ops->event_create(f->d, &e, NULL) == HR_OK;
        hr_k_scatter params = copy_of(p, q, 64);
        ok = ok &&
             f->ops->copy_to_device(f->d, up, p, host, sizeof host, NULL) == HR_OK &&
             f->ops->launch(f->d, up, HR__KERNEL_SCATTER, &params, NULL) == HR_OK &&
             f->ops->event_record(f->d, e, up, NULL) == HR_OK &&
             f->ops->stream_wait(f->d, down, e, NULL) == HR_OK &&
             f->ops->copy_to_host(f->d, down, back, q, sizeof back, NULL) == HR_OK &&
             f->ops->stream_sync(f->d, down, NULL) == HR_OK;
        nwrong += !ok || memcmp(host, back, sizeof host) != 0;
        f->ops->event_destroy(f->d, e);
        f->ops->stream_destroy(f->d, up);
        f->ops->stream_destroy(f->d, down);
        f->ops->free(f->d, p);
        f->ops->free(f->d, q);
    }
    return (void *)nwrong;
}

static void many_threads_may_use_it_at_once(void **state) {
    pthread_t threads[NTHREADS];
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_device, *state), 0);
    }
    for (int i = 0; i < NTHREADS; i++) {
        void *nwrong;
        assert_int_equal(pthread_join(threads[i], &nwrong), 0);
        assert_null(nwrong);
    }
}

/* An allocator that fails from the n-th allocation on. */
static void *failing_alloc(void *user, size_t nbytes) {
    int *left = user;
    return (*left)-- > 0 ? hr__malloc_allocator.alloc(NULL, nbytes) : NULL;
}

static void failing_free(void *user, void *ptr, size_t nbytes) {
    (void)user;
    hr__malloc_allocator.free(NULL, ptr, nbytes);
}

static hr_status use_stream(const hr__device_ops *ops, hr__device *d, hr__stream s,
                            hr__event e) {
    hr__devptr p;
    void *pinned;
    HR__TRY(ops->alloc(d, 64, &p, NULL));
    HR__TRY(ops->alloc_pinned(d, 64, &pinned, NULL));
    HR__TRY(ops->copy_to_device(d, s, p, pinned, 64, NULL));
    HR__TRY(ops->event_record(d, e, s, NULL));
    HR__TRY(ops->stream_wait(d, s, e, NULL));
    hr_k_scatter params = copy_of(p, (uintptr_t)pinned, 16);
    HR__TRY(ops->launch(d, s, HR__KERNEL_SCATTER, &params, NULL));
    return ops->stream_sync(d, s, NULL);
}

static hr_status use_everything(const hr__device_ops *ops, hr__device *d) {
    hr__stream s;
    hr__event e;
    HR__TRY(ops->stream_create(d, &s, NULL));
    HR__TRY(ops->event_create(d, &e, NULL));
    hr_status status = use_stream(ops, d, s, e);
    ops->event_destroy(d, e);
    return status;
}

static void running_out_of_memory_is_an_error(void **state) {
    const hr__device_ops *ops = ((fixture *)*state)->ops;
    hr_status status = HR_ERR_MEMORY;
    int most = 0;
    for (; status != HR_OK && most < 100; most++) {
        int left = most;
        hr_allocator a = {.struct_size = sizeof a,
                          .user = &left,
                          .alloc = failing_alloc,
                          .free = failing_free};
        hr__device *d;
        status = ops->open(0, &a, &d, NULL);
        if (status == HR_OK) {
            status = use_everything(ops, d);
            ops->close(d);
        }
        assert_true(status == HR_OK || status == HR_ERR_MEMORY);
    }
    assert_int_equal(status, HR_OK);
    assert_true(most > 8);
}

static void there_are_two_devices(void **state) {
    fixture *f = *state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr__device *d;
    OK(describe(0, &info, NULL));
    assert_int_equal(info.has_kernels, 1);
    OK(describe(1, &info, NULL));
    assert_int_equal(f->ops->describe(2, &info, NULL), HR_ERR_DEVICE);
    assert_int_equal(f->ops->open(-1, &hr__malloc_allocator, &d, NULL), HR_ERR_DEVICE);
    assert_null(hr__device_find(HR_DEVICE_CPU));
}

int main(void) {
    if (hr__device_find(HR_DEVICE_SIMT) == NULL) {
        print_message("skipped: this build has no simt device\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        TEST(new_memory_is_poisoned),
        TEST(a_copy_reads_its_source_when_it_is_waited_for),
        TEST(work_of_another_stream_is_seen_only_after_a_wait),
        TEST(an_event_stands_for_its_last_record),
        TEST(the_null_stream_runs_at_once),
        TEST(events_tell_the_time),
        TEST(freeing_memory_waits_for_the_work_on_it),
        TEST(a_launch_keeps_its_parameters),
        TEST(a_forked_child_is_told_to_keep_off),
        TEST(many_threads_may_use_it_at_once),
        TEST(running_out_of_memory_is_an_error),
        TEST(there_are_two_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
