/* Thread pool. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_POOL_H
#define HR_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"

typedef struct hr__pool hr__pool;

/* A job is work that any number of threads can help with. The owner keeps it alive until
 * it has been finished. */
typedef struct hr__job {
    /* Do one piece of the job; worker is the helping thread's own state. Returns false
     * when there is nothing (more) to begin: the pool then forgets the job. Called from
     * many threads at once. */
    bool (*run)(struct hr__job *job, void *worker);
    struct hr__job *next; /* the pool's */
    uint32_t helpers;     /* the pool's: threads inside run */
    bool queued;          /* the pool's */
} hr__job;

/* Per-thread state made on a thread's first job and destroyed with it. */
typedef struct hr__pool_hooks {
    void *user;
    void *(*worker_create)(void *user); /* NULL = no memory: the thread retries later */
    void (*worker_destroy)(void *user, void *worker);
} hr__pool_hooks;

/* No thread starts before the first job. */
hr__pool *hr__pool_create(const hr_allocator *a, uint32_t nthreads, hr__pool_hooks hooks);
/* Joins the threads (in a forked child: there are none to join). No job may be queued. */
void hr__pool_destroy(hr__pool *pool);

/* Queue a job: threads run it until its run() returns false. If no thread can be
 * started, helping (below) still completes it. */
void hr__pool_submit(hr__pool *pool, hr__job *job);
/* Wake threads for a queued-or-forgotten job that has new pieces; queues it again. */
void hr__pool_notify(hr__pool *pool, hr__job *job);
/* Run pieces of this job on the calling thread until run() returns false. Uses a spare
 * worker state, so it costs no allocation once warm. */
void hr__pool_help(hr__pool *pool, hr__job *job);
/* Forget the job and wait until no pool thread is inside its run(). After this the
 * job's memory may be freed. In a forked child it returns at once. */
void hr__pool_retire(hr__pool *pool, hr__job *job);

/* Number of the process's fork generation: a child has another than its parent. Every
 * entry above checks it and, in a child, starts the pool afresh (locks, queue, threads),
 * so that a lock held by a thread that no longer exists cannot hang the child. */
uint64_t hr__fork_generation(void);

#endif
