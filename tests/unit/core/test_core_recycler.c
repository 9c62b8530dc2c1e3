/* Records that are kept for the next. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "core/recycler.h"

#include "../api/probe.h"

static void a_freed_block_serves_the_next_of_about_its_size(void **state) {
    (void)state;
    probe p = {.refuse_from = -1};
    hr_allocator hooks = probe_allocator(&p);
    hr__recycler r;
    hr__recycler_init(&r, &hooks);
    const hr_allocator *a = &r.allocator;
    void *first = hr__alloc(a, 100);
    void *second = hr__alloc(a, 100);
    assert_true(first != NULL && second != NULL && first != second);
    memset(first, 1, 100);
    hr__free(a, first, 100);
    hr__free(a, second, 100);
    assert_int_equal(atomic_load(&p.ncalls), 2);
    void *third = hr__alloc(a, 200); /* no other size is served by them */
    assert_int_equal(atomic_load(&p.ncalls), 3);
    assert_ptr_equal(hr__alloc(a, 101), second);
    assert_ptr_equal(hr__alloc(a, 100), first);
    assert_int_equal(atomic_load(&p.ncalls), 3);
    hr__free(a, first, 100);
    hr__free(a, second, 101);
    hr__free(a, third, 200);
    hr__recycler_free(&r);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

static void what_is_kept_is_bounded(void **state) {
    (void)state;
    enum { N = 100, SIZE = 1000000 };
    probe p = {.refuse_from = -1};
    hr_allocator hooks = probe_allocator(&p);
    hr__recycler r;
    void *blocks[N];
    hr__recycler_init(&r, &hooks);
    for (size_t i = 0; i < N; i++) {
        blocks[i] = hr__alloc(&r.allocator, SIZE);
    }
    for (size_t i = 0; i < N; i++) {
        hr__free(&r.allocator, blocks[i], SIZE);
    }
    assert_in_range(atomic_load(&p.nlive), 1, (16 << 20) / SIZE);
    hr__recycler_free(&r);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

static void however_many_sizes_there_were_a_new_one_is_kept(void **state) {
    (void)state;
    probe p = {.refuse_from = -1};
    hr_allocator hooks = probe_allocator(&p);
    hr__recycler r;
    hr__recycler_init(&r, &hooks);
    for (size_t i = 1; i <= 1000; i++) {
        hr__free(&r.allocator, hr__alloc(&r.allocator, i), i);
    }
    hr__free(&r.allocator, hr__alloc(&r.allocator, 5000), 5000);
    int64_t before = atomic_load(&p.ncalls);
    void *block = hr__alloc(&r.allocator, 5000);
    assert_int_equal(atomic_load(&p.ncalls), before);
    memset(block, 1, 5000);
    hr__free(&r.allocator, block, 5000);
    void *large = hr__alloc(&r.allocator, (16 << 20) + 1); /* passes through */
    hr__free(&r.allocator, large, (16 << 20) + 1);
    assert_int_equal(atomic_load(&p.ncalls), before + 1);
    hr__recycler_free(&r);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

static void no_memory_is_passed_on(void **state) {
    (void)state;
    probe p = {.refuse_from = 0, .refuse_all_after = true};
    hr_allocator hooks = probe_allocator(&p);
    hr__recycler r;
    hr__recycler_init(&r, &hooks);
    assert_null(hr__alloc(&r.allocator, 64));
    hr__recycler_free(&r);
}

static void *take_and_give(void *user) {
    hr__recycler *r = user;
    for (size_t i = 0; i < 10000; i++) {
        size_t nbytes = (size_t)64 << i % 3;
        uint8_t *block = hr__alloc(&r->allocator, nbytes);
        if (block == NULL) {
            return "no memory";
        }
        memset(block, (int)i, nbytes);
        if (block[nbytes - 1] != (uint8_t)i) {
            return "shared";
        }
        hr__free(&r->allocator, block, nbytes);
    }
    return NULL;
}

static void threads_share_it(void **state) {
    (void)state;
    enum { N = 4 };
    probe p = {.refuse_from = -1};
    hr_allocator hooks = probe_allocator(&p);
    hr__recycler r;
    pthread_t threads[N];
    hr__recycler_init(&r, &hooks);
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &r), 0);
    }
    for (int i = 0; i < N; i++) {
        void *problem = NULL;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    assert_in_range(atomic_load(&p.ncalls), 3, 3 * N);
    hr__recycler_free(&r);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_block_serves_the_next_of_about_its_size),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(however_many_sizes_there_were_a_new_one_is_kept),
        cmocka_unit_test(no_memory_is_passed_on),
        cmocka_unit_test(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
