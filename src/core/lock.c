/* A mutex that survives fork. SPDX-License-Identifier: Apache-2.0 */
#include "core/lock.h"

#include <sched.h>

/* The library's process-wide variables: both are about the process. The number changes
 * only in a child, while that has a single thread. */
static _Atomic uint64_t fork_generation = 1;
static pthread_rwlock_t forks; /* fork() takes it for writing */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_forks(void) {
    pthread_rwlockattr_t attr;
    (void)pthread_rwlockattr_init(&attr);
    /* a fork shall not wait for those that come after it */
    (void)pthread_rwlockattr_setkind_np(&attr,
                                        PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(&forks, &attr);
    (void)pthread_rwlockattr_destroy(&attr);
}

static void before_fork(void) {
    (void)pthread_rwlock_wrlock(&forks);
}

static void after_fork(void) {
    (void)pthread_rwlock_unlock(&forks);
}

static void after_fork_in_child(void) {
    (void)atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
    init_forks(); /* its holder has another thread number here */
}

static void watch_forks(void) {
    init_forks();
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

uint64_t hr__fork_generation(void) {
    (void)pthread_once(&once, watch_forks);
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

void hr__fork_hold_off(void) {
    (void)pthread_once(&once, watch_forks);
    (void)pthread_rwlock_rdlock(&forks);
}

void hr__fork_let_go(void) {
    (void)pthread_rwlock_unlock(&forks);
}

void hr__lock_init(hr__lock *lock) {
    (void)pthread_mutex_init(&lock->mutex, NULL);
    lock->held = false;
    atomic_init(&lock->generation, 2 * hr__fork_generation());
}

void hr__lock_destroy(hr__lock *lock) {
    /* A mutex of the parent may be locked for ever; then it has nothing to release. */
    if (atomic_load(&lock->generation) == 2 * hr__fork_generation()) {
        (void)pthread_mutex_destroy(&lock->mutex);
    }
}

/* Make the lock anew for this process, and enter it. False: another thread does so. */
static bool renew(hr__lock *lock, uint64_t seen, uint64_t current,
                  hr__lock_state *state) {
    if (!atomic_compare_exchange_strong(&lock->generation, &seen, current + 1)) {
        return false;
    }
    *state = lock->held ? HR__LOCK_BROKEN : HR__LOCK_FORKED;
    (void)pthread_mutex_init(&lock->mutex, NULL);
    (void)pthread_mutex_lock(&lock->mutex);
    lock->held = true;
    atomic_store(&lock->generation, current); /* now the others may queue up */
    return true;
}

hr__lock_state hr__lock_acquire(hr__lock *lock) {
    uint64_t current = 2 * hr__fork_generation();
    uint64_t seen;
    while ((seen = atomic_load(&lock->generation)) != current) {
        hr__lock_state state;
        if (seen != current + 1 && renew(lock, seen, current, &state)) {
            return state;
        }
        (void)sched_yield();
    }
    (void)pthread_mutex_lock(&lock->mutex);
    lock->held = true;
    return HR__LOCK_USUAL;
}

void hr__lock_release(hr__lock *lock) {
    lock->held = false;
    (void)pthread_mutex_unlock(&lock->mutex);
}

void hr__lock_wait(hr__lock *lock, pthread_cond_t *condition) {
    lock->held = false;
    (void)pthread_cond_wait(condition, &lock->mutex);
    lock->held = true;
}
