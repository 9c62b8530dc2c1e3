/* A mutex that survives fork. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/lock.h"

#include "support/sanitizers.h"

/* Exit status of a child that runs fn. */
static int in_child(int (*fn)(void *), void *arg) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(60); /* rather than hang */
        _exit(fn(arg));
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int generation(void *arg) {
    (void)arg;
    return (int)hr__fork_generation();
}

static int generation_of_grandchild(void *arg) {
    return in_child(generation, arg);
}

static void every_fork_starts_a_generation(void **state) {
    (void)state;
    int here = (int)hr__fork_generation();
    assert_int_equal(in_child(generation, NULL), here + 1);
    assert_int_equal(in_child(generation_of_grandchild, NULL), here + 2);
    assert_int_equal(hr__fork_generation(), here);
}

typedef struct shared {
    hr__lock lock;
    pthread_cond_t changed;
    int phase;
    uint64_t count;
} shared;

static int acquire_twice(void *arg) {
    shared *s = arg;
    hr__lock_state first = hr__lock_acquire(&s->lock);
    hr__lock_release(&s->lock);
    hr__lock_state second = hr__lock_acquire(&s->lock);
    hr__lock_release(&s->lock);
    hr__lock_destroy(&s->lock);
    return (int)first * 10 + (int)second;
}

static int only_destroy(void *arg) {
    shared *s = arg;
    hr__lock_destroy(&s->lock);
    return 0;
}

static void a_free_lock_is_whole_in_the_child(void **state) {
    (void)state;
    shared s;
    hr__lock_init(&s.lock);
    assert_int_equal(hr__lock_acquire(&s.lock), HR__LOCK_USUAL);
    hr__lock_release(&s.lock);
    assert_int_equal(in_child(acquire_twice, &s), HR__LOCK_FORKED * 10 + HR__LOCK_USUAL);
    assert_int_equal(hr__lock_acquire(&s.lock), HR__LOCK_USUAL);
    hr__lock_release(&s.lock);
    hr__lock_destroy(&s.lock);
}

static void *hold(void *arg) {
    shared *s = arg;
    (void)hr__lock_acquire(&s->lock);
    s->phase = 1;
    (void)pthread_cond_broadcast(&s->changed);
    while (s->phase == 1) { /* outside the lock while it waits */
        hr__lock_wait(&s->lock, &s->changed);
    }
    __atomic_store_n(&s->count, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&s->count, __ATOMIC_ACQUIRE) == 1) { /* inside */
        (void)usleep(1000);
    }
    hr__lock_release(&s->lock);
    return NULL;
}

static void a_lock_of_a_lost_thread_is_broken_in_the_child(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    shared s = {.phase = 0};
    hr__lock_init(&s.lock);
    (void)pthread_cond_init(&s.changed, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold, &s), 0);
    (void)hr__lock_acquire(&s.lock);
    while (s.phase == 0) {
        hr__lock_wait(&s.lock, &s.changed);
    }
    hr__lock_release(&s.lock);
    /* a thread that waits for the condition is not inside */
    assert_int_equal(in_child(acquire_twice, &s), HR__LOCK_FORKED * 10 + HR__LOCK_USUAL);
    (void)hr__lock_acquire(&s.lock);
    s.phase = 2;
    (void)pthread_cond_broadcast(&s.changed);
    hr__lock_release(&s.lock);
    while (__atomic_load_n(&s.count, __ATOMIC_ACQUIRE) == 0) {
        (void)usleep(1000);
    }
    assert_int_equal(in_child(acquire_twice, &s), HR__LOCK_BROKEN * 10 + HR__LOCK_USUAL);
    assert_int_equal(in_child(only_destroy, &s), 0);
    __atomic_store_n(&s.count, 2, __ATOMIC_RELEASE);
    (void)pthread_join(thread, NULL);
    hr__lock_destroy(&s.lock);
    (void)pthread_cond_destroy(&s.changed);
}

enum { NTHREADS = 4, ROUNDS = 2000 };

static void *count_up(void *arg) {
    shared *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        hr__lock_state told = hr__lock_acquire(&s->lock);
        s->phase += told != HR__LOCK_USUAL;
        s->count++;
        hr__lock_release(&s->lock);
    }
    return NULL;
}

/* Exactly one thread is told that the process is new, and they exclude each other. */
static int count_with_threads(void *arg) {
    shared *s = arg;
    pthread_t threads[NTHREADS];
    for (int i = 0; i < NTHREADS; i++) {
        if (pthread_create(&threads[i], NULL, count_up, s) != 0) {
            return 100;
        }
    }
    for (int i = 0; i < NTHREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return s->count == (uint64_t)NTHREADS * ROUNDS ? s->phase : 101;
}

static void threads_exclude_each_other(void **state) {
    (void)state;
    shared s = {.phase = 0};
    hr__lock_init(&s.lock);
    assert_int_equal(count_with_threads(&s), 0);
    s.count = 0;
    hr__lock_destroy(&s.lock);
}

static void one_thread_of_a_child_is_told(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    shared s = {.phase = 0};
    hr__lock_init(&s.lock);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(in_child(count_with_threads, &s), 1);
    }
    hr__lock_destroy(&s.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fork_starts_a_generation),
        cmocka_unit_test(a_free_lock_is_whole_in_the_child),
        cmocka_unit_test(a_lock_of_a_lost_thread_is_broken_in_the_child),
        cmocka_unit_test(threads_exclude_each_other),
        cmocka_unit_test(one_thread_of_a_child_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
