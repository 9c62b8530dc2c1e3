/* Thread pool. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_POOL_H
#define HR_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/lock.h"
#include "core/numa.h"

typedef struct hr__pool hr__pool;

/* A job is work that any number of threads can help with. The owner sets what comes first
 * and keeps the job alive until it has been retired. */
typedef struct hr__job {
    /* Do one piece of the job; worker is the helping thread's own state, or NULL where
     * there was no memory for one: the piece is to be done all the same. Returns false
     * when there is nothing (more) to begin: the pool then forgets the job. Called from
     * many threads at once. It may not retire its own job or destroy the pool. */
    bool (*run)(struct hr__job *job, void *worker);
    /* A thread leaves the job, which has pieces yet, for another one, unless that is done
     * by then. NULL: nothing to do. As run() in all else. */
    void (*leave)(struct hr__job *job);
    uint32_t wanted; /* how many threads are worth waking; 0 = all */
    /* Where the pool's threads do it, as hr__numa_move has it; until the pool is gone.
     * NULL: anywhere. Who helps stays where it is. */
    const cpu_set_t *cores;
    /* The pool's: */
    struct hr__job *next;
    uint64_t generation; /* process that it was submitted in */
    uint32_t wakes;      /* how often there was news of pieces */
    uint32_t helpers;    /* threads inside run, or about to be */
    uint32_t ncoming;    /* about so many are leaving another job for this one */
    bool queued;
} hr__job;

/* Per-thread state made on a thread's first job and destroyed with it. */
typedef struct hr__pool_hooks {
    void *user;
    /* NULL = no memory: tried again at the next job. */
    void *(*worker_create)(void *user);
    void (*worker_destroy)(void *user, void *worker);
} hr__pool_hooks;

/* No thread starts before the first job. NULL without memory. */
hr__pool *hr__pool_create(const hr_allocator *a, uint32_t nthreads, hr__pool_hooks hooks);
/* Joins the threads (in a forked child: there are none to join). No job may be queued. */
void hr__pool_destroy(hr__pool *pool);

/* Queue a job: threads run it until its run() returns false, or another job that is
 * queued has less than its share of them. False: there is no thread, and none can be
 * started; only helping (below) completes it. */
bool hr__pool_submit(hr__pool *pool, hr__job *job);
/* Wake threads for a queued-or-forgotten job that has new pieces; queues it again. */
void hr__pool_notify(hr__pool *pool, hr__job *job);
/* Run pieces of this job on the calling thread until run() returns false. Uses a spare
 * worker state, so it costs no allocation once warm. */
void hr__pool_help(hr__pool *pool, hr__job *job);
/* Forget the job and wait until no thread is inside its run(). After this the job's
 * memory may be freed. */
void hr__pool_retire(hr__pool *pool, hr__job *job);

/* Fork: in a child each of these starts the pool afresh (lock, queue, threads). Jobs of
 * the parent are not run there; notify, help and retire of such a job do nothing. */

#endif
