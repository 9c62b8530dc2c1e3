/* NUMA nodes: what sysfs says, where threads run, what memory they get.
 * SPDX-License-Identifier: Apache-2.0 */
#include <linux/mempolicy.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/numa.h"
#include "core/pool.h"
#include "support/place.h"

/* --- a made-up machine --- */

static char root[64];

static void put(const char *name, const char *text) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int make_machine(void **state) {
    (void)state;
    (void)strcpy(root, "/tmp/headrace-numa-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/node%d", root, i);
        if (mkdir(path, 0700) != 0) {
            return 1;
        }
    }
    return 0;
}

static int drop_machine(void **state) {
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static hr__numa_node find(int32_t id) {
    return hr__numa_find(root, id);
}

static int ncores_of_first(void) {
    const hr__numa_node node = find(0);
    return node.is_known ? CPU_COUNT(&node.cores) : 0;
}

static void nodes_of_a_machine_with_two_sockets_are_known(void **state) {
    (void)state;
    put("online", "0-1\n");
    put("node0/cpulist", "0-3,8-11\n");
    put("node1/cpulist", "4-7,12-15\n");
    const hr__numa_node other = find(0), node = find(1);
    assert_true(other.is_known && node.is_known);
    assert_int_equal(node.id, 1);
    assert_int_equal(CPU_COUNT(&node.cores), 8);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(CPU_ISSET(i, &other.cores) != 0, i % 8 < 4);
        assert_int_equal(CPU_ISSET(i, &node.cores) != 0, i % 8 >= 4);
    }
    assert_false(find(-1).is_known);
    assert_false(find(2).is_known);
    assert_false(find(100000).is_known);
}

static void one_node_leaves_nothing_to_choose(void **state) {
    (void)state;
    put("online", "0\n");
    put("node0/cpulist", "0-3\n");
    assert_false(find(0).is_known);
    assert_false(hr__numa_find("/nonexistent", 0).is_known);
}

static void nodes_of_memory_alone_have_no_cores(void **state) {
    (void)state;
    put("online", "0,2-3\n");
    put("node0/cpulist", "0-71\n");
    put("node2/cpulist", "\n");
    assert_true(find(0).is_known);
    assert_false(find(1).is_known); /* offline */
    assert_false(find(2).is_known);
    assert_false(find(3).is_known); /* no file */
}

static void what_is_no_list_is_not_known(void **state) {
    (void)state;
    static const char *const texts[] = {"x",   "1-",      "-1", "3-1",   "1,,2",
                                        "1 2", "0-3:1/2", ",",  "1-2-3", "1,x"};
    put("online", "0-1\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("node0/cpulist", texts[i]);
        assert_false(find(0).is_known);
    }
    put("node0/cpulist", "0-3\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("online", texts[i]);
        assert_false(find(0).is_known);
    }
}

static void long_lists_and_large_numbers_have_an_end(void **state) {
    (void)state;
    char text[8192] = "";
    put("online", "0-1\n");
    put("node0/cpulist", "0-99999999999999999999999\n");
    assert_int_equal(ncores_of_first(), CPU_SETSIZE);
    put("node0/cpulist", "5000-6000\n"); /* beyond what a set holds */
    assert_false(find(0).is_known);
    for (int i = 0; i < 800; i++) { /* about 3.5 KB */
        (void)sprintf(text + strlen(text), "%d,", i);
    }
    put("node0/cpulist", text);
    assert_int_equal(ncores_of_first(), 800);
    memset(text, '1', sizeof text - 1); /* more than a page */
    put("node0/cpulist", text);
    assert_false(find(0).is_known);
}

/* --- threads --- */

static void *go_and_return(void *user) {
    const cpu_set_t before = own_cores();
    const cpu_set_t first = only(&before, 0), second = only(&before, 1);
    cpu_set_t now;
    hr__numa_move(&first);
    now = own_cores();
    bool good = CPU_EQUAL(&now, &first);
    hr__numa_move(&second); /* not only of those of the first */
    now = own_cores();
    good = good && CPU_EQUAL(&now, &second);
    hr__numa_move(NULL);
    now = own_cores();
    return good && CPU_EQUAL(&now, &before) ? user : NULL;
}

static void *stay_where_the_program_says(void *user) {
    const cpu_set_t before = own_cores();
    const cpu_set_t first = only(&before, 0), second = only(&before, 1);
    cpu_set_t now;
    (void)sched_setaffinity(0, sizeof first, &first);
    hr__numa_move(&second); /* none of those it may use */
    now = own_cores();
    bool good = CPU_EQUAL(&now, &first);
    hr__numa_move(NULL);
    hr__numa_move(&first);
    (void)sched_setaffinity(0, sizeof second, &second); /* meanwhile */
    hr__numa_move(NULL);
    now = own_cores();
    return good && CPU_EQUAL(&now, &second) ? user : NULL;
}

/* In a thread of its own, so that this one stays as it is. */
static void assert_in_thread(void *(*fn)(void *user)) {
    pthread_t thread;
    void *good = NULL;
    need_cores(2);
    assert_int_equal(pthread_create(&thread, NULL, fn, &good), 0);
    assert_int_equal(pthread_join(thread, &good), 0);
    assert_non_null(good);
}

static void threads_go_and_come_back(void **state) {
    (void)state;
    assert_in_thread(go_and_return);
}

static void threads_keep_to_the_cores_that_they_were_given(void **state) {
    (void)state;
    assert_in_thread(stay_where_the_program_says);
}

/* --- the pool's threads --- */

typedef struct where_job {
    hr__job job;
    pthread_t caller;
    cpu_set_t expected, usual;
    _Atomic int left, npool, nelsewhere, ndone;
} where_job;

static bool run_where(hr__job *job, void *worker) {
    where_job *w = (where_job *)job;
    (void)worker;
    if (w->left-- <= 0) {
        return false;
    }
    const bool is_caller = pthread_equal(pthread_self(), w->caller) != 0;
    const cpu_set_t now = own_cores();
    w->nelsewhere += !CPU_EQUAL(&now, is_caller ? &w->usual : &w->expected);
    w->npool += !is_caller;
    (void)usleep(200);
    w->ndone++;
    return true;
}

static void *make_state(void *user) {
    return user;
}

static void drop_state(void *user, void *worker) {
    (void)user;
    (void)worker;
}

static hr__pool *make_pool(int *user) {
    hr__pool *pool = hr__pool_create(&hr__malloc_allocator, 3,
                                     (hr__pool_hooks){user, make_state, drop_state});
    assert_non_null(pool);
    return pool;
}

static void run_on(hr__pool *pool, const cpu_set_t *cores, bool helps) {
    enum { NPIECES = 100 };
    where_job w = {.job = {.run = run_where, .cores = cores},
                   .caller = pthread_self(),
                   .usual = own_cores(),
                   .left = NPIECES};
    w.expected = cores != NULL ? *cores : w.usual;
    assert_true(hr__pool_submit(pool, &w.job));
    if (helps) {
        hr__pool_help(pool, &w.job);
    }
    for (int i = 0; i < 60000 && w.ndone < NPIECES; i++) {
        (void)usleep(1000);
    }
    hr__pool_retire(pool, &w.job);
    assert_int_equal(w.ndone, NPIECES);
    assert_true(helps || w.npool == NPIECES);
    assert_int_equal(w.nelsewhere, 0);
}

static void jobs_are_done_on_their_cores_and_helped_with_anywhere(void **state) {
    (void)state;
    need_cores(2);
    const cpu_set_t own = own_cores();
    const cpu_set_t first = only(&own, 0), second = only(&own, 1);
    int some = 0;
    hr__pool *pool = make_pool(&some);
    for (int i = 0; i < 3; i++) {
        run_on(pool, &first, i == 1);
        run_on(pool, &second, i == 2);
        run_on(pool, NULL, false);
    }
    hr__pool_destroy(pool);
    const cpu_set_t after = own_cores();
    assert_true(CPU_EQUAL(&own, &after));
}

/* A job on some cores that begins another pool's first job, which may run anywhere. */
typedef struct first_job {
    where_job outer, inner;
    hr__pool *other;
} first_job;

static bool run_first(hr__job *job, void *worker) {
    first_job *f = (first_job *)job;
    (void)worker;
    if (f->outer.left-- <= 0) {
        return false;
    }
    f->outer.nelsewhere += !hr__pool_submit(f->other, &f->inner.job);
    const cpu_set_t now = own_cores();
    f->outer.nelsewhere += !CPU_EQUAL(&now, &f->outer.expected); /* as before */
    f->outer.ndone++;
    return true;
}

static void threads_do_not_inherit_the_place_of_who_starts_them(void **state) {
    (void)state;
    need_cores(2);
    int some = 0;
    const cpu_set_t own = own_cores(), first = only(&own, 0);
    hr__pool *pool = make_pool(&some);
    first_job f = {.outer = {.job = {.run = run_first, .cores = &first, .wanted = 1},
                             .expected = first,
                             .left = 1},
                   .inner = {.job = {.run = run_where},
                             .caller = pthread_self(),
                             .expected = own,
                             .left = 50},
                   .other = make_pool(&some)};
    assert_true(hr__pool_submit(pool, &f.outer.job));
    for (int i = 0; i < 60000 && f.inner.ndone < 50; i++) {
        (void)usleep(1000);
    }
    hr__pool_retire(pool, &f.outer.job);
    hr__pool_retire(f.other, &f.inner.job);
    assert_int_equal(f.inner.ndone, 50);
    assert_int_equal(f.outer.nelsewhere + f.inner.nelsewhere, 0);
    hr__pool_destroy(pool);
    hr__pool_destroy(f.other);
}

/* --- memory --- */

static int policy(void) {
    const int mode = memory_policy();
    if (mode < 0) {
        print_message("skipped: no memory policies here\n");
        skip();
    }
    return mode;
}

static void a_policy_is_put_back(void **state) {
    (void)state;
    const hr__numa_node node = {.is_known = true, .id = 0};
    if (policy() != MPOL_DEFAULT || !hr__numa_prefer(&node)) {
        print_message("skipped: the memory policy may not be changed here\n");
        skip();
    }
    assert_int_equal(policy(), MPOL_PREFERRED);
    hr__numa_prefer_usual();
    assert_int_equal(policy(), MPOL_DEFAULT);
}

static void
a_policy_of_the_programs_and_nodes_that_are_not_there_are_let_be(void **state) {
    (void)state;
    const hr__numa_node node = {.is_known = true, .id = 0};
    const hr__numa_node far = {.is_known = true, .id = 1000};
    const int before = policy();
    assert_false(hr__numa_prefer(&far));
    assert_int_equal(policy(), before);
    unsigned long zero = 1;
    if (syscall(SYS_set_mempolicy, MPOL_BIND, &zero, 8UL) != 0) {
        print_message("skipped: the memory policy may not be changed here\n");
        skip();
    }
    assert_false(hr__numa_prefer(&node));
    assert_int_equal(policy(), MPOL_BIND);
    hr__numa_prefer_usual();
}

/* --- for people --- */

static void what_is_kept_to_is_told(void **state) {
    (void)state;
    char text[64];
    char expected[64];
    hr__numa_node node = {.is_known = false};
    hr__numa_describe(&node, text, sizeof text);
    assert_string_equal(text, "");
    cpu_set_t own = own_cores();
    node = (hr__numa_node){.is_known = true, .id = 3, .cores = only(&own, 0)};
    hr__numa_describe(&node, text, sizeof text);
    (void)snprintf(expected, sizeof expected, "node 3, with 1 of %d cores",
                   CPU_COUNT(&own));
    assert_string_equal(text, expected);
    CPU_ZERO(&node.cores);
    hr__numa_describe(&node, text, sizeof text);
    assert_string_equal(text, "node 3, none of whose cores may be used");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_machine_with_two_sockets_are_known),
        cmocka_unit_test(one_node_leaves_nothing_to_choose),
        cmocka_unit_test(nodes_of_memory_alone_have_no_cores),
        cmocka_unit_test(what_is_no_list_is_not_known),
        cmocka_unit_test(long_lists_and_large_numbers_have_an_end),
        cmocka_unit_test(threads_go_and_come_back),
        cmocka_unit_test(threads_keep_to_the_cores_that_they_were_given),
        cmocka_unit_test(jobs_are_done_on_their_cores_and_helped_with_anywhere),
        cmocka_unit_test(threads_do_not_inherit_the_place_of_who_starts_them),
        cmocka_unit_test(a_policy_is_put_back),
        cmocka_unit_test(
            a_policy_of_the_programs_and_nodes_that_are_not_there_are_let_be),
        cmocka_unit_test(what_is_kept_to_is_told),
    };
    return cmocka_run_group_tests(tests, make_machine, drop_machine);
}
