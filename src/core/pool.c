/* Thread pool. SPDX-License-Identifier: Apache-2.0 */
#include "core/pool.h"

#include <signal.h>
#include <stdatomic.h>

/* A worker state that no thread uses at the moment. */
typedef struct spare {
    struct spare *next;
    void *worker;
} spare;

struct hr__pool {
    const hr_allocator *allocator;
    hr__pool_hooks hooks;
    uint32_t nthreads; /* at most so many */

    hr__lock lock;       /* guards all that follows */
    pthread_cond_t work; /* something was queued, or the pool stops */
    pthread_cond_t idle; /* some job's helpers became 0 */
    uint64_t generation; /* process that queue and threads belong to */
    hr__job *first, *last;
    atomic_uint_fast32_t nqueued; /* looked at without the lock */
    spare *spares;
    pthread_t *threads;
    uint32_t nstarted;
    uint32_t nsleeping;
    uint32_t nwoken; /* of these: not there yet */
    bool stopping;
};

/* Nothing queued, nobody there. */
static void reset(hr__pool *pool) {
    (void)pthread_cond_init(&pool->work, NULL);
    (void)pthread_cond_init(&pool->idle, NULL);
    pool->generation = hr__fork_generation();
    pool->first = pool->last = NULL;
    atomic_store(&pool->nqueued, 0);
    pool->nstarted = pool->nsleeping = pool->nwoken = 0;
    pool->stopping = false;
}

static void acquire(hr__pool *pool) {
    hr__lock_state state = hr__lock_acquire(&pool->lock);
    if (state != HR__LOCK_USUAL) {
        reset(pool);
    }
    if (state == HR__LOCK_BROKEN) {
        pool->spares = NULL; /* the list may be half changed: better lose its memory */
    }
}

hr__pool *hr__pool_create(const hr_allocator *a, uint32_t nthreads,
                          hr__pool_hooks hooks) {
    hr__pool *pool = hr__calloc(a, sizeof *pool);
    if (pool == NULL) {
        return NULL;
    }
    pool->threads = hr__calloc(a, nthreads * sizeof *pool->threads);
    if (pool->threads == NULL && nthreads > 0) {
        hr__free(a, pool, sizeof *pool);
        return NULL;
    }
    pool->allocator = a;
    pool->hooks = hooks;
    pool->nthreads = nthreads;
    hr__lock_init(&pool->lock);
    reset(pool);
    return pool;
}

void hr__pool_destroy(hr__pool *pool) {
    acquire(pool);
    pool->stopping = true;
    (void)pthread_cond_broadcast(&pool->work);
    hr__lock_release(&pool->lock);
    for (uint32_t i = 0; i < pool->nstarted; i++) {
        (void)pthread_join(pool->threads[i], NULL);
    }
    const hr_allocator *a = pool->allocator;
    for (spare *s = pool->spares; s != NULL;) {
        spare *next = s->next;
        pool->hooks.worker_destroy(pool->hooks.user, s->worker);
        hr__free(a, s, sizeof *s);
        s = next;
    }
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->idle);
    hr__lock_destroy(&pool->lock);
    hr__free(a, pool->threads, pool->nthreads * sizeof *pool->threads);
    hr__free(a, pool, sizeof *pool);
}

static void enqueue(hr__pool *pool, hr__job *job) {
    if (job->queued) {
        return;
    }
    job->queued = true;
    atomic_fetch_add(&pool->nqueued, 1);
    job->next = NULL;
    if (pool->last != NULL) {
        pool->last->next = job;
    } else {
        pool->first = job;
    }
    pool->last = job;
}

static void dequeue(hr__pool *pool, hr__job *job) {
    if (!job->queued) {
        return;
    }
    hr__job *before = NULL;
    for (hr__job *j = pool->first; j != NULL && j != job; j = j->next) {
        before = j;
    }
    if (before != NULL) {
        before->next = job->next;
    } else {
        pool->first = job->next;
    }
    if (pool->last == job) {
        pool->last = before;
    }
    job->queued = false;
    atomic_fetch_sub(&pool->nqueued, 1);
}

/* The one whose turn it is; the next time it is another's. NULL: none is queued. */
static hr__job *take_turn(hr__pool *pool) {
    hr__job *job = pool->first;
    if (job != NULL) {
        dequeue(pool, job);
        enqueue(pool, job);
    }
    return job;
}

/* For a thread that has none: of a few jobs the one with the fewest threads, which from
 * now on counts it. NULL: none is queued. */
static hr__job *find_poorest(hr__pool *pool) {
    enum { LOOKS = 8 };
    hr__job *poorest = NULL;
    for (uint32_t i = 0; i < LOOKS && i < atomic_load(&pool->nqueued); i++) {
        hr__job *job = take_turn(pool);
        poorest = poorest == NULL || job->helpers < poorest->helpers ? job : poorest;
    }
    if (poorest != NULL) {
        poorest->helpers++;
    }
    return poorest;
}

/* Where there are more jobs than threads, a thread stays with one for so many pieces. */
#define TURN 64

static bool needs_more(const hr__job *job, const hr__job *served, uint32_t npieces) {
    const uint32_t n = job->helpers + job->ncoming;
    return (job->wanted == 0 || n < job->wanted) &&
           (n + 1 < served->helpers || (n == 0 && npieces >= TURN));
}

/* One other than this that needs a thread more. One is looked at each time, so that it
 * costs little however many there are. NULL: not that one. */
static hr__job *look_at_another(hr__pool *pool, const hr__job *job, uint32_t npieces) {
    hr__job *other = take_turn(pool);
    if (other == job) {
        other = take_turn(pool);
    }
    return other != NULL && needs_more(other, job, npieces) ? other : NULL;
}

/* It may be gone: leaving another may take long, and retire it. */
static bool has_come(const hr__pool *pool, hr__job *job) {
    const hr__job *j = pool->first;
    while (j != NULL && j != job) {
        j = j->next;
    }
    if (j != NULL) {
        job->ncoming -= job->ncoming > 0;
        job->helpers++;
    }
    return j != NULL;
}

/* The job that a thread which has done so many pieces of this one, and has left it then,
 * shall go on with, and which from now on counts it; NULL: this. */
static hr__job *find_poorer(hr__pool *pool, hr__job *job, uint32_t npieces) {
    if (atomic_load_explicit(&pool->nqueued, memory_order_relaxed) < 2) {
        return NULL;
    }
    acquire(pool);
    hr__job *other = look_at_another(pool, job, npieces);
    if (other != NULL) {
        other->ncoming++;
        hr__lock_release(&pool->lock);
        if (job->leave != NULL) {
            job->leave(job);
        }
        acquire(pool);
        other = has_come(pool, other) ? other : NULL;
    }
    hr__lock_release(&pool->lock);
    return other;
}

/* Run pieces until there are none, or another job needs the thread more, which then
 * counts as its helper and is returned. It is this job's helper already. Called inside
 * the lock, which it leaves meanwhile. */
static hr__job *run_pieces(hr__pool *pool, hr__job *job, void *worker, bool may_leave) {
    uint32_t wakes;
    uint32_t npieces = 0;
    hr__job *poorer = NULL;
    do {
        wakes = job->wakes;
        hr__lock_release(&pool->lock);
        while (poorer == NULL && job->run(job, worker)) {
            poorer = may_leave ? find_poorer(pool, job, ++npieces) : NULL;
        }
        acquire(pool);
    } while (poorer == NULL && job->wakes != wakes); /* news that run() may have missed */
    if (poorer == NULL) {
        dequeue(pool, job);
    }
    job->helpers--;
    if (job->helpers == 0) {
        (void)pthread_cond_broadcast(&pool->idle);
    }
    return poorer;
}

/* To where the job is done that it helps with. */
static void move(hr__pool *pool, const hr__job *job) {
    if (job->cores != hr__numa_place()) {
        hr__lock_release(&pool->lock);
        hr__numa_move(job->cores);
        acquire(pool);
    }
}

static void *thread_main(void *arg) {
    hr__pool *pool = arg;
    void *worker = NULL;
    acquire(pool);
    while (!pool->stopping) {
        if (pool->first == NULL) {
            pool->nsleeping++;
            hr__lock_wait(&pool->lock, &pool->work);
            pool->nsleeping--;
            pool->nwoken -= pool->nwoken > 0;
            continue;
        }
        if (worker == NULL) {
            hr__lock_release(&pool->lock);
            worker = pool->hooks.worker_create(pool->hooks.user);
            acquire(pool);
        }
        hr__job *job = find_poorest(pool);
        while (job != NULL) {
            move(pool, job);
            job = run_pieces(pool, job, worker, true);
        }
    }
    hr__lock_release(&pool->lock);
    if (worker != NULL) {
        pool->hooks.worker_destroy(pool->hooks.user, worker);
    }
    return NULL;
}

/* Signals of the program are for the program's own threads; and the place of one that is
 * at a job is its own. */
static bool start_thread(hr__pool *pool) {
    sigset_t all;
    sigset_t before;
    const cpu_set_t *place = hr__numa_place();
    hr__numa_move(NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok =
        pthread_create(&pool->threads[pool->nstarted], NULL, thread_main, pool) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    hr__numa_move(place);
    pool->nstarted += ok;
    return ok;
}

/* Queue a job that has pieces; wake or start as many threads as it wants. */
static void announce(hr__pool *pool, hr__job *job) {
    job->wakes++;
    job->ncoming = job->queued ? job->ncoming : 0; /* who found it forgotten has gone */
    enqueue(pool, job);
    uint32_t n =
        job->wanted == 0 || job->wanted > pool->nthreads ? pool->nthreads : job->wanted;
    const uint32_t nidle = pool->nsleeping - pool->nwoken;
    for (uint32_t i = 0; i < n && i < nidle; i++) {
        (void)pthread_cond_signal(&pool->work);
        pool->nwoken++;
    }
    for (uint32_t i = nidle; i < n && pool->nstarted < pool->nthreads; i++) {
        if (!start_thread(pool)) {
            break; /* those that there are will do */
        }
    }
}

bool hr__pool_submit(hr__pool *pool, hr__job *job) {
    acquire(pool);
    job->generation = pool->generation;
    job->wakes = job->helpers = job->ncoming = 0;
    job->queued = false;
    announce(pool, job);
    bool has_threads = pool->nstarted > 0;
    hr__lock_release(&pool->lock);
    return has_threads;
}

/* A job of the parent process has nothing to do with the pool of this one. */
static bool is_ours(const hr__pool *pool, const hr__job *job) {
    return job->generation == pool->generation;
}

void hr__pool_notify(hr__pool *pool, hr__job *job) {
    acquire(pool);
    if (is_ours(pool, job)) {
        announce(pool, job);
    }
    hr__lock_release(&pool->lock);
}

static spare *new_spare(hr__pool *pool) {
    spare *s = hr__calloc(pool->allocator, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->worker = pool->hooks.worker_create(pool->hooks.user);
    if (s->worker == NULL) {
        hr__free(pool->allocator, s, sizeof *s);
        return NULL;
    }
    return s;
}

void hr__pool_help(hr__pool *pool, hr__job *job) {
    acquire(pool);
    spare *s = pool->spares;
    if (s != NULL) {
        pool->spares = s->next;
    } else {
        hr__lock_release(&pool->lock);
        s = new_spare(pool);
        acquire(pool);
    }
    if (is_ours(pool, job)) {
        job->helpers++;
        (void)run_pieces(pool, job, s != NULL ? s->worker : NULL, false);
    }
    if (s != NULL) {
        s->next = pool->spares;
        pool->spares = s;
    }
    hr__lock_release(&pool->lock);
}

void hr__pool_retire(hr__pool *pool, hr__job *job) {
    acquire(pool);
    if (is_ours(pool, job)) {
        dequeue(pool, job);
        while (job->helpers > 0) {
            hr__lock_wait(&pool->lock, &pool->idle);
        }
    }
    hr__lock_release(&pool->lock);
}
