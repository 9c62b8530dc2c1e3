/* Loops that threads share. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/each.h"

enum { N = 500 };

typedef struct tally {
    atomic_int times[N];
    atomic_int inside, most_inside;
    useconds_t sleep_us;
} tally;

static void count(void *user, uint32_t i) {
    tally *t = user;
    const int inside = atomic_fetch_add(&t->inside, 1) + 1;
    int most = atomic_load(&t->most_inside);
    while (inside > most &&
           !atomic_compare_exchange_weak(&t->most_inside, &most, inside)) {
    }
    atomic_fetch_add(&t->times[i], 1);
    if (t->sleep_us > 0) {
        (void)usleep(t->sleep_us);
    }
    atomic_fetch_sub(&t->inside, 1);
}

static void *make_worker(void *user) {
    (void)user;
    return NULL; /* none is needed */
}

static void drop_worker(void *user, void *worker) {
    (void)user;
    (void)worker;
}

static hr__pool *make_pool(uint32_t nthreads) {
    hr__pool *pool = hr__pool_create(&hr__malloc_allocator, nthreads,
                                     (hr__pool_hooks){NULL, make_worker, drop_worker});
    assert_non_null(pool);
    return pool;
}

static void each_is_done_once_before_it_returns(void **state) {
    (void)state;
    static const uint32_t ns[] = {0, 1, 2, 16, N};
    for (uint32_t nthreads = 0; nthreads <= 4; nthreads++) {
        hr__pool *pool = make_pool(nthreads);
        for (size_t k = 0; k < sizeof ns / sizeof *ns; k++) {
            tally t = {.sleep_us = 0};
            hr__pool_each(pool, ns[k], count, &t);
            assert_int_equal(atomic_load(&t.inside), 0);
            for (uint32_t i = 0; i < N; i++) {
                assert_int_equal(atomic_load(&t.times[i]), i < ns[k]);
            }
        }
        hr__pool_destroy(pool);
    }
}

static void threads_of_the_pool_take_part(void **state) {
    (void)state;
    hr__pool *pool = make_pool(3);
    tally t = {.sleep_us = 2000};
    hr__pool_each(pool, 100, count, &t);
    assert_in_range(atomic_load(&t.most_inside), 2, 4);
    hr__pool_destroy(pool);
}

typedef struct nest {
    hr__pool *pool;
    tally tallies[8];
} nest;

static void count_each(void *user, uint32_t i) {
    nest *n = user;
    hr__pool_each(n->pool, N, count, &n->tallies[i]);
}

/* As where a store reads arrays itself, which a thread of the pool plans. */
static void loops_within_a_loop_end(void **state) {
    (void)state;
    static nest n;
    n.pool = make_pool(2);
    hr__pool_each(n.pool, 8, count_each, &n);
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < N; i++) {
            assert_int_equal(atomic_load(&n.tallies[k].times[i]), 1);
        }
    }
    hr__pool_destroy(n.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_done_once_before_it_returns),
        cmocka_unit_test(threads_of_the_pool_take_part),
        cmocka_unit_test(loops_within_a_loop_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
