/* What a context keeps between calls. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../api/probe.h"
#include "exec/cache.h"
#include "support/sanitizers.h"

#define BLOCK 1000
#define ROOM (BLOCK + 128) /* what one takes of the budget, with its header */

static hr__cache_key name(uint64_t number) {
    return (hr__cache_key){.source_id = 1, .number = number, .version = 7};
}

static bool put(hr__cache *c, uint64_t number) {
    hr__cache_key key = name(number);
    hr__block *x = hr__cache_new(c, &key, BLOCK, false);
    if (x == NULL) {
        return false;
    }
    memset(hr__block_bytes(x), (int)(number & 0xFF), BLOCK);
    hr__cache_keep(c, x);
    hr__cache_release(c, x);
    return true;
}

static bool has(hr__cache *c, uint64_t number) {
    hr__cache_key key = name(number);
    hr__block *x = hr__cache_find(c, &key);
    bool found = x != NULL;
    if (found) {
        assert_int_equal(hr__block_bytes(x)[0], (int)(number & 0xFF));
        assert_int_equal(hr__block_bytes(x)[BLOCK - 1], (int)(number & 0xFF));
    }
    hr__cache_release(c, x);
    return found;
}

static hr_cache_stats stats_of(hr__cache *c) {
    hr_cache_stats s;
    hr__cache_get_stats(c, &s);
    return s;
}

static void every_field_of_a_name_counts(void **state) {
    (void)state;
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, 1 << 20);
    assert_true(put(c, 3));
    for (int field = 0; field < 6; field++) {
        hr__cache_key key = name(3);
        uint64_t *fields[] = {&key.source_id, &key.number, &key.offset,
                              &key.nbytes,    &key.level,  &key.version};
        *fields[field] += 1;
        assert_null(hr__cache_find(c, &key));
    }
    assert_true(has(c, 3));
    assert_int_equal(stats_of(c).nhits, 1);
    assert_int_equal(stats_of(c).nmisses, 6);
    hr__cache_destroy(c);
}

static void what_has_not_been_used_for_longest_goes_first(void **state) {
    (void)state;
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, 3 * ROOM);
    assert_true(put(c, 0) && put(c, 1) && put(c, 2));
    assert_true(has(c, 0));
    assert_true(put(c, 3)); /* instead of 1 */
    assert_true(has(c, 0) && !has(c, 1) && has(c, 2) && has(c, 3));
    assert_int_equal(stats_of(c).nevicted, 1);
    assert_int_equal(stats_of(c).nbytes, 3 * ROOM);
    assert_int_equal(stats_of(c).max_nbytes, 3 * ROOM);
    hr__cache_destroy(c);
}

static void blocks_in_use_stay_and_count(void **state) {
    (void)state;
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, 2 * ROOM);
    assert_true(put(c, 0) && put(c, 1));
    hr__cache_key zero = name(0), one = name(1), two = name(2);
    hr__block *a = hr__cache_find(c, &zero);
    hr__block *b = hr__cache_find(c, &one);
    assert_null(hr__cache_new(c, &two, BLOCK, false));
    hr__cache_clear(c);
    assert_true(has(c, 0) && has(c, 1));
    hr__cache_release(c, b);
    hr__block *x = hr__cache_new(c, &two, BLOCK, false); /* counts before it is kept */
    assert_non_null(x);
    assert_int_equal(stats_of(c).nbytes, 2 * ROOM);
    assert_true(has(c, 0) && !has(c, 1) && !has(c, 2));
    hr__cache_release(c, x); /* never kept */
    assert_int_equal(stats_of(c).nbytes, ROOM);
    hr__cache_release(c, a);
    hr__cache_clear(c);
    assert_int_equal(stats_of(c).nbytes, 0);
    assert_int_equal(stats_of(c).nblocks, 0);
    hr__cache_destroy(c);
}

static void what_may_not_be_kept_is_made_where_it_is_needed(void **state) {
    (void)state;
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, ROOM - 1);
    hr__cache_key key = name(0), unknown = name(1);
    unknown.version = 0;
    assert_false(hr__cache_takes(c, 7, BLOCK));
    assert_true(hr__cache_takes(c, 7, BLOCK - 1));
    assert_false(hr__cache_takes(c, 0, 1));
    assert_false(hr__cache_takes(c, 7, UINT64_MAX));
    assert_null(hr__cache_new(c, &key, BLOCK, false));
    assert_null(hr__cache_new(c, &key, UINT64_MAX, true));
    assert_null(hr__cache_new(c, &unknown, 1, false));
    const hr__cache_key keys[] = {key, unknown};
    for (int i = 0; i < 2; i++) {
        hr__block *x = hr__cache_new(c, &keys[i], BLOCK, true);
        assert_non_null(x);
        hr__cache_keep(c, x);
        hr__cache_release(c, x);
        assert_null(hr__cache_find(c, &keys[i]));
    }
    assert_int_equal(stats_of(c).nbytes, 0);
    hr__cache_destroy(c);
}

static void no_cache_keeps_nothing(void **state) {
    (void)state;
    hr__cache_key key = name(0);
    assert_null(hr__cache_find(NULL, &key));
    assert_null(hr__cache_new(NULL, &key, 1, false));
    assert_false(hr__cache_takes(NULL, 7, 1));
    hr__cache_clear(NULL);
    hr__cache_destroy(NULL);
    assert_int_equal(stats_of(NULL).max_nbytes, 0);
}

static void the_first_of_two_that_read_the_same_is_kept(void **state) {
    (void)state;
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, 4 * ROOM);
    hr__cache_key key = name(5);
    hr__block *a = hr__cache_new(c, &key, BLOCK, false);
    hr__block *b = hr__cache_new(c, &key, BLOCK, false);
    hr__cache_keep(c, a);
    hr__cache_keep(c, b);
    hr__block *found = hr__cache_find(c, &key);
    assert_ptr_equal(found, a);
    hr__cache_release(c, found);
    hr__cache_release(c, b);
    assert_int_equal(stats_of(c).nbytes, ROOM);
    hr__cache_release(c, a);
    hr__cache_destroy(c);
}

static void without_memory_nothing_is_kept_and_nothing_lost(void **state) {
    (void)state;
    probe p = {.refuse_from = -1};
    hr_allocator a = probe_allocator(&p);
    for (long refused = 1; refused < 8; refused++) {
        atomic_store(&p.ncalls, 0);
        atomic_store(&p.refuse_from, refused);
        p.refuse_all_after = true;
        hr__cache *c = hr__cache_create(&a, 3 * ROOM);
        assert_non_null(c);
        for (uint64_t i = 0; i < 6; i++) {
            (void)put(c, i);
        }
        atomic_store(&p.refuse_from, -1);
        hr_cache_stats s = stats_of(c);
        assert_int_equal(s.nbytes, s.nblocks * ROOM);
        assert_true(put(c, 9) && has(c, 9));
        hr__cache_destroy(c);
        assert_int_equal(atomic_load(&p.nlive), 0);
    }
}

static uint64_t next(uint64_t *random) {
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return *random >> 33;
}

/* Against a list in order of use. */
static void random_use_agrees_with_a_plain_list(void **state) {
    (void)state;
    enum { CAPACITY = 300, NNAMES = 700 };
    static uint64_t list[CAPACITY + 1];
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, CAPACITY * ROOM);
    uint64_t random = 11;
    size_t n = 0;
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t number = next(&random) % NNAMES;
        size_t at = 0;
        while (at < n && list[at] != number) {
            at++;
        }
        assert_int_equal(has(c, number), at < n);
        if (at == n) {
            assert_true(put(c, number));
            at = n < CAPACITY ? n++ : n - 1;
        }
        memmove(list + 1, list, at * sizeof *list);
        list[0] = number;
        assert_int_equal(stats_of(c).nbytes, n * ROOM);
    }
    hr__cache_destroy(c);
}

typedef struct crowd {
    hr__cache *cache;
    atomic_uint seed;
    atomic_bool wrong;
} crowd;

static void *use_at_random(void *arg) {
    crowd *w = arg;
    uint64_t random = atomic_fetch_add(&w->seed, 1);
    for (int turn = 0; turn < 3000; turn++) {
        uint64_t number = next(&random) % 40;
        hr__cache_key key = name(number);
        hr__block *x = hr__cache_find(w->cache, &key);
        if (x == NULL) {
            (void)put(w->cache, number);
        } else if (hr__block_bytes(x)[BLOCK / 2] != number) {
            atomic_store(&w->wrong, true);
        }
        hr__cache_release(w->cache, x);
        if (turn % 500 == 0) {
            hr__cache_clear(w->cache);
        }
        if (stats_of(w->cache).nbytes > 10 * ROOM) {
            atomic_store(&w->wrong, true);
        }
    }
    return NULL;
}

static void many_threads_share_it_within_its_budget(void **state) {
    (void)state;
    pthread_t threads[8];
    crowd w = {.cache = hr__cache_create(&hr__malloc_allocator, 10 * ROOM)};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_at_random, &w), 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_false(atomic_load(&w.wrong));
    hr_cache_stats s = stats_of(w.cache);
    assert_int_equal(s.nbytes, s.nblocks * ROOM);
    hr__cache_destroy(w.cache);
}

/* What a thread had in its hands at the fork is free in the child. */
static void a_forked_child_has_it_whole(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    hr__cache *c = hr__cache_create(&hr__malloc_allocator, 2 * ROOM);
    assert_true(put(c, 0) && put(c, 1));
    hr__cache_key key = name(1);
    hr__block *held = hr__cache_find(c, &key);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(60);
        bool ok = has(c, 0) && has(c, 1) && put(c, 2) && put(c, 3) && !has(c, 1) &&
                  stats_of(c).nbytes == 2 * ROOM;
        hr__cache_destroy(c);
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hr__cache_release(c, held);
    hr__cache_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_name_counts),
        cmocka_unit_test(what_has_not_been_used_for_longest_goes_first),
        cmocka_unit_test(blocks_in_use_stay_and_count),
        cmocka_unit_test(what_may_not_be_kept_is_made_where_it_is_needed),
        cmocka_unit_test(no_cache_keeps_nothing),
        cmocka_unit_test(the_first_of_two_that_read_the_same_is_kept),
        cmocka_unit_test(without_memory_nothing_is_kept_and_nothing_lost),
        cmocka_unit_test(random_use_agrees_with_a_plain_list),
        cmocka_unit_test(many_threads_share_it_within_its_budget),
        cmocka_unit_test(a_forked_child_has_it_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
