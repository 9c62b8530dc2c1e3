/* Thread pool. SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/pool.h"

#include "support/sanitizers.h"

/* Worker states: counted, and never in two hands. */
typedef struct stock {
    _Atomic int made, alive, refuse;
} stock;

typedef struct worker {
    _Atomic int busy;
} worker;

static void *make_worker(void *user) {
    stock *s = user;
    if (s->refuse > 0) {
        s->refuse--;
        return NULL;
    }
    s->made++;
    s->alive++;
    return calloc(1, sizeof(worker));
}

static void drop_worker(void *user, void *w) {
    ((stock *)user)->alive--;
    free(w);
}

static hr__pool *make_pool(stock *s, uint32_t nthreads) {
    hr__pool *pool = hr__pool_create(&hr__malloc_allocator, nthreads,
                                     (hr__pool_hooks){s, make_worker, drop_worker});
    assert_non_null(pool);
    return pool;
}

/* A job of n pieces, each to be done once. */
typedef struct count_job {
    hr__job job;
    _Atomic int32_t available, next, done, inside, clashes;
    useconds_t sleep_us;
} count_job;

static bool run_count(hr__job *job, void *w) {
    count_job *c = (count_job *)job;
    worker *mine = w;
    if (mine != NULL) {
        c->clashes += mine->busy++ != 0;
    }
    c->inside++;
    bool more = false;
    for (int32_t i = c->next; !more && i < c->available;) {
        more = atomic_compare_exchange_weak(&c->next, &i, i + 1);
    }
    if (more) {
        if (c->sleep_us > 0) {
            (void)usleep(c->sleep_us);
        }
        c->done++;
    }
    c->inside--;
    if (mine != NULL) {
        mine->busy--;
    }
    return more;
}

static count_job *make_job(int32_t n, useconds_t sleep_us) {
    count_job *c = calloc(1, sizeof *c);
    c->job.run = run_count;
    c->available = n;
    c->sleep_us = sleep_us;
    return c;
}

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool wait_done(const count_job *c, int32_t n) {
    for (double end = seconds() + 10; c->done < n;) {
        if (seconds() > end) {
            return false;
        }
        (void)usleep(100);
    }
    return true;
}

static int count_tasks(void) {
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    (void)closedir(d);
    return n;
}

/* The kernel may list a thread for a moment after it was joined. */
static void assert_tasks(int n) {
    for (double end = seconds() + 5; count_tasks() != n && seconds() < end;) {
        (void)usleep(100);
    }
    assert_int_equal(count_tasks(), n);
}

static void *do_nothing(void *arg) {
    return arg;
}

static void threads_start_with_the_first_job_and_end_with_the_pool(void **state) {
    (void)state;
    pthread_t thread; /* a sanitizer may start one of its own with our first */
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    (void)pthread_join(thread, NULL);
    (void)usleep(20000);
    int before = count_tasks();
    stock s = {0};
    hr__pool *pool = make_pool(&s, 3);
    assert_tasks(before);
    count_job *c = make_job(100, 0);
    c->job.wanted = 1;
    hr__pool_submit(pool, &c->job);
    assert_true(wait_done(c, 100));
    assert_tasks(before + 1);
    hr__pool_retire(pool, &c->job);
    free(c);
    c = make_job(100, 100);
    hr__pool_submit(pool, &c->job);
    assert_tasks(before + 3);
    assert_true(wait_done(c, 100));
    hr__pool_retire(pool, &c->job);
    free(c);
    hr__pool_destroy(pool);
    assert_tasks(before);
    assert_int_equal(s.alive, 0);
    assert_in_range(s.made, 1, 3);
}

static void helping_alone_completes_a_job(void **state) {
    (void)state;
    stock s = {0};
    hr__pool *pool = make_pool(&s, 0);
    for (int i = 0; i < 5; i++) {
        count_job *c = make_job(50, 0);
        hr__pool_submit(pool, &c->job);
        hr__pool_help(pool, &c->job);
        assert_int_equal(c->done, 50);
        c->available = 60; /* a forgotten job can be taken up again */
        hr__pool_notify(pool, &c->job);
        hr__pool_help(pool, &c->job);
        assert_int_equal(c->done, 60);
        hr__pool_retire(pool, &c->job);
        free(c);
    }
    assert_int_equal(s.made, 1); /* kept for reuse */
    hr__pool_destroy(pool);
    assert_int_equal(s.alive, 0);
}

static void a_thread_that_cannot_start_is_no_error(void **state) {
    (void)state;
    pthread_attr_t usual;
    pthread_attr_t absurd;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&absurd), 0);
    assert_int_equal(pthread_attr_setstacksize(&absurd, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&absurd), 0);
    int before = count_tasks();
    stock s = {0};
    hr__pool *pool = make_pool(&s, 4);
    count_job *c = make_job(50, 0);
    assert_false(hr__pool_submit(pool, &c->job));
    assert_tasks(before);
    hr__pool_help(pool, &c->job);
    assert_int_equal(c->done, 50);
    hr__pool_retire(pool, &c->job);
    free(c);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    hr__pool_destroy(pool);
}

static void lack_of_memory_for_a_worker_is_survived(void **state) {
    (void)state;
    stock s = {.refuse = 1};
    hr__pool *pool = make_pool(&s, 0);
    count_job *c = make_job(10, 0);
    assert_false(hr__pool_submit(pool, &c->job));
    hr__pool_help(pool, &c->job);
    assert_int_equal(c->done, 10);
    assert_int_equal(s.made, 0);
    hr__pool_retire(pool, &c->job);
    hr__pool_destroy(pool);
    free(c);

    s.refuse = 1000;
    pool = make_pool(&s, 1);
    c = make_job(10, 0);
    assert_true(hr__pool_submit(pool, &c->job));
    assert_true(wait_done(c, 10));
    hr__pool_retire(pool, &c->job);
    hr__pool_destroy(pool);
    free(c);
    assert_int_equal(s.alive, 0);
}

static void news_of_pieces_is_never_missed(void **state) {
    (void)state;
    stock s = {0};
    hr__pool *pool = make_pool(&s, 2);
    count_job *c = make_job(0, 0);
    hr__pool_submit(pool, &c->job);
    for (int32_t i = 1; i <= 3000; i++) {
        c->available = i;
        hr__pool_notify(pool, &c->job);
        if (i % 3 == 0) {
            assert_true(wait_done(c, i));
        }
    }
    hr__pool_retire(pool, &c->job);
    assert_int_equal(c->done, 3000);
    assert_int_equal(c->clashes, 0);
    free(c);
    hr__pool_destroy(pool);
}

static void retiring_waits_for_those_inside(void **state) {
    (void)state;
    stock s = {0};
    hr__pool *pool = make_pool(&s, 3);
    for (int i = 0; i < 50; i++) {
        count_job *c = make_job(1000000, i % 2 ? 300 : 0);
        hr__pool_submit(pool, &c->job);
        (void)usleep((useconds_t)i * 20);
        c->available = 0; /* as a cancelled batch does */
        hr__pool_retire(pool, &c->job);
        assert_int_equal(c->inside, 0);
        assert_int_equal(c->clashes, 0);
        free(c); /* a sanitizer sees late visitors */
    }
    hr__pool_destroy(pool);
    assert_int_equal(s.alive, 0);
}

enum { NSUBMITTERS = 4, NJOBS = 100, NPIECES = 37 };

static void *submit_many(void *arg) {
    hr__pool *pool = arg;
    for (intptr_t i = 0; i < NJOBS; i++) {
        count_job *c[3];
        for (int k = 0; k < 3; k++) {
            c[k] = make_job(NPIECES, 0);
            c[k]->job.wanted = (uint32_t)k;
            hr__pool_submit(pool, &c[k]->job);
        }
        for (int k = 0; k < 3; k++) {
            int j = i % 2 ? k : 2 - k;
            if (i % 3 != 0) {
                hr__pool_help(pool, &c[j]->job);
            }
            bool ok = wait_done(c[j], NPIECES);
            hr__pool_retire(pool, &c[j]->job);
            if (!ok || c[j]->done != NPIECES || c[j]->clashes != 0 || c[j]->inside != 0) {
                return "wrong count";
            }
            free(c[j]);
        }
    }
    return NULL;
}

static void many_jobs_from_many_threads_are_each_done_once(void **state) {
    (void)state;
    stock s = {0};
    hr__pool *pool = make_pool(&s, 3);
    pthread_t threads[NSUBMITTERS];
    for (int i = 0; i < NSUBMITTERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, pool), 0);
    }
    for (int i = 0; i < NSUBMITTERS; i++) {
        void *problem;
        (void)pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    hr__pool_destroy(pool);
    assert_int_equal(s.alive, 0);
    assert_in_range(s.made, 1, 3 + NSUBMITTERS);
}

/* Keeps the pool's lock busy until told to stop. */
typedef struct hammer {
    hr__pool *pool;
    _Atomic int stop;
} hammer;

static void *strike(void *arg) {
    hammer *h = arg;
    count_job *c = make_job(INT32_MAX, 0);
    hr__pool_submit(h->pool, &c->job);
    while (h->stop == 0) {
        hr__pool_notify(h->pool, &c->job);
    }
    c->available = 0;
    hr__pool_retire(h->pool, &c->job);
    free(c);
    return NULL;
}

/* What a child does: 0 when all is well. */
static int use_after_fork(hr__pool *pool, count_job *of_parent) {
    double start = seconds();
    hr__pool_retire(pool, &of_parent->job);
    hr__pool_notify(pool, &of_parent->job);
    int32_t done = of_parent->done;
    hr__pool_help(pool, &of_parent->job);
    if (of_parent->done != done) {
        return 1;
    }
    count_job *c = make_job(20, 0);
    hr__pool_submit(pool, &c->job); /* threads alone */
    if (!wait_done(c, 20)) {
        return 2;
    }
    hr__pool_retire(pool, &c->job);
    free(c);
    c = make_job(20, 0);
    hr__pool_submit(pool, &c->job);
    hr__pool_help(pool, &c->job);
    hr__pool_retire(pool, &c->job);
    if (c->done != 20) {
        return 3;
    }
    free(c);
    hr__pool_destroy(pool);
    return seconds() - start < 30 ? 0 : 5; /* usually a millisecond */
}

static void a_child_of_a_busy_process_can_go_on(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    stock s = {0};
    hammer h = {.pool = make_pool(&s, 2)};
    count_job *c = make_job(INT32_MAX, 0);
    hr__pool_submit(h.pool, &c->job);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, strike, &h), 0);
    }
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)alarm(60);
            _exit(use_after_fork(h.pool, c));
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    h.stop = 1;
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    c->available = 0;
    hr__pool_retire(h.pool, &c->job);
    free(c);
    hr__pool_destroy(h.pool);
    assert_int_equal(s.alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_start_with_the_first_job_and_end_with_the_pool),
        cmocka_unit_test(helping_alone_completes_a_job),
        cmocka_unit_test(a_thread_that_cannot_start_is_no_error),
        cmocka_unit_test(lack_of_memory_for_a_worker_is_survived),
        cmocka_unit_test(news_of_pieces_is_never_missed),
        cmocka_unit_test(retiring_waits_for_those_inside),
        cmocka_unit_test(many_jobs_from_many_threads_are_each_done_once),
        cmocka_unit_test(a_child_of_a_busy_process_can_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
