/* A mutex that survives fork. SPDX-License-Identifier: Apache-2.0
 *
 * fork() copies a mutex as it is: held, if another thread held it at that moment, and in
 * the child nobody will ever release it. This one notices that it is in a new process
 * and starts afresh; the first to acquire it there is told, and can repair what the lock
 * guards before anyone else sees it. */
#ifndef HR_CORE_LOCK_H
#define HR_CORE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Number of the process's fork generation: a child has another than its parent. Starts
 * at 1. Cheap (no system call). */
uint64_t hr__fork_generation(void);

/* fork() waits until no thread is between these two. For calls into libraries that take
 * process-wide locks, which a child would find held for ever. Not nested. */
void hr__fork_hold_off(void);
void hr__fork_let_go(void);

typedef enum hr__lock_state {
    HR__LOCK_USUAL = 0,
    HR__LOCK_FORKED, /* first time in this process; what it guards is whole */
    HR__LOCK_BROKEN  /* first time in this process; a thread that does not exist here was
                        changing what it guards when the process forked */
} hr__lock_state;

typedef struct hr__lock {
    pthread_mutex_t mutex;
    _Atomic uint64_t generation; /* twice the fork generation it is made for; odd while
                                    it is being made anew */
    bool held;                   /* somebody is inside */
} hr__lock;

void hr__lock_init(hr__lock *lock);
void hr__lock_destroy(hr__lock *lock); /* not held, or held by a lost thread */

/* The caller is inside until it releases, whatever the state returned. */
hr__lock_state hr__lock_acquire(hr__lock *lock);
void hr__lock_release(hr__lock *lock);

/* Leave the lock, wait for a signal of the condition, enter again. A lost thread's wait
 * spoils a condition as well: whoever gets FORKED or BROKEN must pthread_cond_init it. */
void hr__lock_wait(hr__lock *lock, pthread_cond_t *condition);

#endif
