/* Several jobs of one thread pool. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/pool.h"

static void *make_worker(void *user) {
    return user;
}

static void drop_worker(void *user, void *w) {
    (void)user;
    (void)w;
}

static hr__pool *make_pool(uint32_t nthreads) {
    static int worker;
    hr__pool *pool = hr__pool_create(&hr__malloc_allocator, nthreads,
                                     (hr__pool_hooks){&worker, make_worker, drop_worker});
    assert_non_null(pool);
    return pool;
}

/* A job of n pieces that looks at another job. */
typedef struct part_job {
    hr__job job;
    hr__pool *pool;
    struct part_job *other;
    int n;
    atomic_int next, done, inside, nleft;
    atomic_bool is_open;   /* no piece is done before */
    int waits_from;        /* pieces from here on wait for the other job's end */
    atomic_bool is_stuck;  /* it did not come */
    atomic_int other_done; /* when this one's last piece was done */
} part_job;

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool wait_done(part_job *p) {
    const double end = seconds() + 20;
    while (p->done < p->n && seconds() < end) {
        (void)usleep(100);
    }
    return p->done == p->n;
}

static bool run_part(hr__job *job, void *worker) {
    part_job *p = (part_job *)job;
    (void)worker;
    const int i = p->next++;
    if (i >= p->n) {
        return false;
    }
    p->inside++;
    while (!p->is_open) {
        (void)usleep(100);
    }
    if (i >= p->waits_from && !p->is_stuck && !wait_done(p->other)) {
        p->is_stuck = true;
    }
    if (p->other != NULL) {
        p->other_done = p->other->done;
    }
    p->inside--;
    p->done++;
    return true;
}

static void leave_part(hr__job *job) {
    ((part_job *)job)->nleft++;
}

/* One that looks at none is not open. */
static part_job *submit(hr__pool *pool, int n, uint32_t wanted, part_job *other,
                        int waits_from) {
    part_job *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->pool = pool;
    p->job.run = run_part;
    p->job.leave = leave_part;
    p->job.wanted = wanted;
    p->n = n;
    p->other = other;
    p->is_open = other != NULL;
    p->waits_from = waits_from;
    (void)hr__pool_submit(pool, &p->job);
    return p;
}

static void retire(hr__pool *pool, part_job *p) {
    hr__pool_retire(pool, &p->job);
    assert_int_equal(p->inside, 0);
    assert_int_equal(p->done, p->n);
    free(p);
}

/* `first` looks at `second` from now on, and begins. */
static void open_pair(part_job *first, part_job *second) {
    first->other = second;
    first->is_open = true;
}

/* The second is done without waiting for more of the first. */
static void finish_pair(hr__pool *pool, part_job *first, part_job *second) {
    assert_true(wait_done(second));
    assert_true(wait_done(first));
    assert_false(first->is_stuck);
    retire(pool, first);
    retire(pool, second);
    hr__pool_destroy(pool);
}

/* The long one holds every thread that comes to its piece 100. */
static void a_later_job_is_served_beside_a_long_one(void **state) {
    (void)state;
    for (uint32_t nthreads = 2; nthreads < 6; nthreads++) {
        hr__pool *pool = make_pool(nthreads);
        part_job *first = submit(pool, 1000, 0, NULL, 100);
        part_job *second = submit(pool, 300, 0, first, INT32_MAX);
        open_pair(first, second);
        finish_pair(pool, first, second);
    }
}

static void more_jobs_than_threads_take_turns(void **state) {
    (void)state;
    enum { N = 5, LONG = 20000 };
    hr__pool *pool = make_pool(1);
    part_job *first = submit(pool, LONG, 0, NULL, INT32_MAX);
    part_job *others[N];
    for (int k = 0; k < N; k++) {
        others[k] = submit(pool, 200, 0, first, INT32_MAX);
    }
    first->is_open = true;
    for (int k = 0; k < N; k++) {
        assert_true(wait_done(others[k]));
        assert_in_range(others[k]->other_done, 1, LONG / 2);
        assert_true(others[k]->nleft > 0);
    }
    assert_true(wait_done(first));
    for (int k = 0; k < N; k++) {
        retire(pool, others[k]);
    }
    retire(pool, first);
    hr__pool_destroy(pool);
}

static void no_job_gets_more_threads_than_it_wants(void **state) {
    (void)state;
    hr__pool *pool = make_pool(4);
    part_job *first = submit(pool, 2000, 0, NULL, INT32_MAX);
    part_job *second = submit(pool, 1, 1, first, INT32_MAX);
    first->is_open = true;
    assert_true(wait_done(second));
    assert_true(wait_done(first));
    assert_in_range(first->nleft, 0, 1);
    retire(pool, first);
    retire(pool, second);
    hr__pool_destroy(pool);
}

static void a_job_alone_is_never_left(void **state) {
    (void)state;
    hr__pool *pool = make_pool(3);
    part_job *p = submit(pool, 5000, 0, NULL, INT32_MAX);
    p->is_open = true;
    hr__pool_help(pool, &p->job);
    assert_true(wait_done(p));
    assert_int_equal(p->nleft, 0);
    retire(pool, p);
    hr__pool_destroy(pool);
}

static void leave_and_retire(hr__job *job) {
    const part_job *p = (part_job *)job;
    leave_part(job);
    hr__pool_retire(p->pool, &p->other->job);
}

/* As the last thread of a batch does whose callback releases another batch. */
static void who_leaves_one_job_for_another_may_retire_that(void **state) {
    (void)state;
    hr__pool *pool = make_pool(1);
    part_job *first = submit(pool, 1000, 0, NULL, INT32_MAX);
    part_job *second = submit(pool, 1, 0, first, INT32_MAX);
    first->job.leave = leave_and_retire;
    open_pair(first, second);
    assert_true(wait_done(first));
    assert_int_equal(first->nleft, 1);
    assert_int_equal(second->next, 0);
    retire(pool, first);
    free(second);
    hr__pool_destroy(pool);
}

/* The one that sleeps, and is on its way to the first, is not for the second, too. */
static void jobs_submitted_at_once_get_a_thread_each(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        hr__pool *pool = make_pool(2);
        part_job *before = submit(pool, 1, 1, NULL, INT32_MAX);
        before->is_open = true;
        assert_true(wait_done(before));
        retire(pool, before);
        (void)usleep(2000); /* to sleep */
        part_job *first = submit(pool, 1, 1, NULL, 0);
        part_job *second = submit(pool, 1, 1, first, INT32_MAX);
        open_pair(first, second);
        finish_pair(pool, first, second);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_job_is_served_beside_a_long_one),
        cmocka_unit_test(more_jobs_than_threads_take_turns),
        cmocka_unit_test(no_job_gets_more_threads_than_it_wants),
        cmocka_unit_test(a_job_alone_is_never_left),
        cmocka_unit_test(jobs_submitted_at_once_get_a_thread_each),
        cmocka_unit_test(who_leaves_one_job_for_another_may_retire_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
