/* Handing out the work of a run. SPDX-License-Identifier: Apache-2.0 */
#include "exec/run.h"

#include <string.h>
#include <sys/eventfd.h>

#include "core/checked.h"
#include "exec/kept.h"
#include "exec/near.h"
#include "exec/order.h"
#include "exec/slab.h"
#include "exec/slab_flush.h"

void *hr__run_worker_create(void *user) {
    const hr_allocator *a = user;
    hr__worker *w = hr__alloc(a, sizeof *w);
    if (w != NULL) {
        hr__worker_init(w, a);
    }
    return w;
}

void hr__run_worker_destroy(void *user, void *worker) {
    hr__worker_free(worker);
    hr__free(user, worker, sizeof(hr__worker));
}

static bool is_exhausted(const hr__run *run) {
    return run->next_object == NULL && run->ready == NULL && run->nactive == 0;
}

/* Until what is on its way through the devices' streams has arrived. */
static void drain(hr__run *run) {
    for (uint32_t i = 0; i < run->nstarts; i++) {
        hr__ring *ring = run->starts[i].ring;
        hr_error err = HR_ERROR_INIT;
        void *saved = NULL;
        bool entered = ring->device->ops->enter(ring->device, &saved, &err) == HR_OK;
        if (!entered) {
            hr__run_fail_ring(run, ring, &err);
        }
        if (entered || err.status != HR_ERR_FORKED) {
            /* in any case: slabs on their way refer to the run */
            hr__ring_drain(ring, run);
        }
        if (entered) {
            ring->device->ops->leave(ring->device, saved);
        }
    }
}

/* Chunks that failed get the fill value last, when nothing else writes. */
static void fill_failed(hr__run *run) {
    const hr__chunk *const *chunks = run->failed.items;
    for (size_t i = 0; i < run->failed.n; i++) {
        (void)hr__run_fill(run, chunks[i], NULL); /* the requests have their errors */
    }
    if (run->failed.n > 0) {
        hr__slab_flush_all(run);
        drain(run);
    }
}

/* All host work is done: what the devices have still to do must be done before the run
 * counts as done. */
static void complete(hr__run *run) {
    hr__slab_flush_all(run);
    pthread_mutex_lock(&run->lock);
    atomic_store(&run->queued, true);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    drain(run);
    fill_failed(run);
    atomic_store(&run->stages.ended_ns, hr__clock_ns());
    hr__history_learn(&run->context->history, run);
    pthread_mutex_lock(&run->lock);
    atomic_store(&run->done, true);
    if (run->done_fd >= 0) {
        (void)eventfd_write(run->done_fd, 1);
    }
    void (*on_done)(void *user) = run->on_done;
    void *user = run->on_done_user;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    if (on_done != NULL) {   /* the job is retired after this returns */
        hr__numa_move(NULL); /* threads that it starts shall run anywhere */
        on_done(user);
    }
}

/* What a thread does next. Nothing of it set, while others are active: flush. */
typedef struct piece {
    hr__opened *opened; /* and one of its ranges */
    const hr__range *range;
    hr__object_plan *object;
    bool drops; /* the object, and all behind it */
} piece;

/* A range if there is one, so that few objects are open at a time, else the next object.
 * Who leaves a run leaves no slab open behind: another run may wait for its slot. (With
 * nobody active the run is being completed: that flushes too.) */
static bool take_piece(hr__run *run, piece *p) {
    *p = (piece){0};
    pthread_mutex_lock(&run->lock);
    if (run->ready != NULL) {
        hr__opened *opened = run->ready;
        p->opened = opened;
        p->range = &opened->ranges[opened->next_range++];
        if (opened->next_range == opened->nranges) {
            run->ready = opened->next;
        }
    } else if (run->next_object != NULL) {
        p->object = run->next_object;
        p->drops = atomic_load(&run->cancelled);
        run->next_object = p->drops ? NULL : p->object->next;
    }
    bool found = p->range != NULL || p->object != NULL ||
                 ((run->slabs != NULL || run->gathered != NULL) && run->nactive > 0);
    run->nactive += found;
    pthread_mutex_unlock(&run->lock);
    return found;
}

static void do_piece(hr__run *run, hr__worker *w, const piece *p) {
    if (p->range != NULL) {
        hr__run_range(run, w, p->opened->plan, p->opened->object, p->range);
        if (atomic_fetch_sub(&p->opened->pending, 1) == 1) {
            hr__opened_free(run, p->opened);
        }
    } else if (p->object == NULL) {
        hr__slab_flush_all(run);
    } else if (!p->drops) {
        hr__run_object(run, w, p->object);
    }
    for (const hr__object_plan *o = p->object; p->drops && o != NULL; o = o->next) {
        hr__run_drop(run, o->chunks);
    }
}

/* True: it was the last one. */
static bool end_piece(hr__run *run) {
    pthread_mutex_lock(&run->lock);
    run->nactive--;
    bool last = is_exhausted(run);
    pthread_mutex_unlock(&run->lock);
    if (last) {
        complete(run);
    }
    return last;
}

static bool run_piece(hr__job *job, void *worker) {
    hr__run *run = (hr__run *)job;
    piece p;
    if (worker == NULL) { /* no memory for a pooled state: one for this piece */
        hr__worker own;
        hr__worker_init(&own, &run->context->allocator);
        bool more = run_piece(job, &own);
        hr__worker_free(&own);
        return more;
    }
    if (!take_piece(run, &p)) {
        return false;
    }
    do_piece(run, worker, &p);
    return !end_piece(run);
}

/* Open slabs that nobody will flush: all who do a piece wait for slots, which those may
 * have, and have flushed what there was before. By the lock. */
static bool is_forsaken(const hr__run *run) {
    return run->nactive == run->nwaiting && !is_exhausted(run) &&
           (run->slabs != NULL || run->gathered != NULL);
}

/* A thread goes to another run, where it may wait for a slot, too. While it flushes,
 * others may come, open more and go. */
static void leave_run(hr__job *job) {
    hr__run *run = (hr__run *)job;
    bool flushes = true;
    while (flushes) {
        pthread_mutex_lock(&run->lock);
        flushes = is_forsaken(run);
        run->nactive += flushes;
        pthread_mutex_unlock(&run->lock);
        if (flushes) {
            hr__slab_flush_all(run);
            flushes = !end_piece(run);
        }
    }
}

void hr__run_push(hr__run *run, hr__opened *opened) {
    pthread_mutex_lock(&run->lock);
    opened->next = run->ready;
    run->ready = opened;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    hr__pool_notify(run->context->pool, &run->job);
}

static void fail_target(hr__run *run, hr__target *t, const hr_error *err) {
    if (atomic_load(&t->status) != HR_OK) {
        return; /* the first failure counts */
    }
    pthread_mutex_lock(&run->lock);
    if (atomic_load(&t->status) == HR_OK) {
        t->error = hr__arena_copy(&run->arena, err, sizeof *err);
        atomic_store(&t->status, err->status);
        if (run->on_error == HR_ON_ERROR_STOP && !atomic_load(&run->cancelled)) {
            run->stopped_by = t;
            atomic_store(&run->cancelled, true);
        }
    }
    pthread_mutex_unlock(&run->lock);
}

/* For fill_failed(). Without memory for the list its elements stay as they are. */
static void note_failed(hr__run *run, const hr__chunk *chunk) {
    pthread_mutex_lock(&run->lock);
    const hr__chunk **place =
        hr__vec_push(&run->context->allocator, &run->failed, sizeof(void *));
    if (place != NULL) {
        *place = chunk;
    }
    pthread_mutex_unlock(&run->lock);
}

/* Not where a store or a codec says so of its own accord. */
static bool is_of_cancel(const hr__run *run, const hr_error *err) {
    return err->status == HR_ERR_CANCELLED && atomic_load(&run->cancelled);
}

void hr__run_fail_chunk(hr__run *run, const hr__chunk *chunk, const hr_error *err) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        fail_target(run, &run->targets[u->request], err);
    }
    if (run->on_error == HR_ON_ERROR_FILL && !is_of_cancel(run, err)) {
        note_failed(run, chunk);
    }
}

hr_status hr__run_fail_cancelled(hr__run *run, hr_error *err) {
    pthread_mutex_lock(&run->lock);
    const hr__target *by = run->stopped_by;
    pthread_mutex_unlock(&run->lock);
    return by == NULL ? hr__fail(err, HR_ERR_CANCELLED, "the batch was cancelled")
                      : hr__fail(err, HR_ERR_CANCELLED,
                                 "the batch was stopped by the failure of request %td",
                                 by - run->targets);
}

void hr__run_drop(hr__run *run, const hr__chunk *chunk) {
    hr_error err = HR_ERROR_INIT;
    (void)hr__run_fail_cancelled(run, &err);
    for (; chunk != NULL; chunk = chunk->next) {
        hr__run_fail_chunk(run, chunk, &err);
        atomic_fetch_add(&run->ndone, 1);
    }
}

void hr__run_report(hr__run *run, const hr__chunk *chunk, hr_error *err) {
    const hr__source *source = run->targets[chunk->object->array_id].source;
    char key[HR__KEY_MAX] = "";
    if (is_of_cancel(run, err)) {
        (void)hr__run_fail_cancelled(run, err); /* a decoder does not know by whom */
    }
    (void)hr__run_key(source, chunk->object, key, NULL);
    hr__error_add_place(err, source->url, key, chunk->offset);
    if (err->status == HR_ERR_DATA || err->status == HR_ERR_CHECKSUM) {
        hr__kept_forget(run, chunk);
    }
    hr__run_fail_chunk(run, chunk, err);
}

void hr__run_fail_ring(hr__run *run, const hr__ring *ring, const hr_error *err) {
    for (size_t i = 0; i < run->ntargets; i++) {
        if (run->targets[i].ring == ring) {
            fail_target(run, &run->targets[i], err);
        }
    }
}

/* Remember, per device, what the caller's stream holds now. */
static hr_status record_starts(hr__run *run, void *stream, hr_error *err) {
    for (size_t i = 0; i < run->ntargets; i++) {
        hr__ring *ring = run->targets[i].ring;
        uint32_t k = 0;
        while (k < run->nstarts && run->starts[k].ring != ring) {
            k++;
        }
        if (ring == NULL || k < run->nstarts) {
            continue;
        }
        if (run->nstarts == HR__MAX_RINGS) {
            return hr__fail(err, HR_ERR_UNSUPPORTED, "more than %d devices in one batch",
                            HR__MAX_RINGS);
        }
        const hr__device_ops *ops = ring->device->ops;
        void *saved = NULL;
        HR__TRY(ops->enter(ring->device, &saved, err));
        hr__event event = NULL;
        hr_status status = ops->event_create(ring->device, &event, err);
        if (status == HR_OK) {
            status = ops->event_record(ring->device, event, stream, err);
            run->starts[run->nstarts++] = (hr__start){.ring = ring, .event = event};
        }
        ops->leave(ring->device, saved);
        HR__TRY(status);
    }
    return HR_OK;
}

void hr__run_destroy_starts(hr__run *run) {
    for (uint32_t i = 0; i < run->nstarts; i++) {
        hr__device *d = run->starts[i].ring->device;
        void *saved = NULL;
        if (d->ops->enter(d, &saved, NULL) == HR_OK) {
            d->ops->event_destroy(d, run->starts[i].event);
            d->ops->leave(d, saved);
        }
    }
    run->nstarts = 0;
}

/* What the chunks have in all, decoded; encoded they have less as a rule. */
static uint64_t total_nbytes(const hr__plan *plan) {
    uint64_t total = 0;
    for (const hr__object_plan *o = plan->objects; o != NULL; o = o->next) {
        uint64_t nbytes = o->array->chain.decoded.nbytes;
        if (!hr__mul_u64(nbytes, o->nchunks, &nbytes) ||
            !hr__add_u64(total, nbytes, &total)) {
            return UINT64_MAX;
        }
    }
    return total;
}

/* Slabs as large as slots allow where all threads have several to fill. Of a small read
 * several threads fill one, so that decoding and reading overlap from the start, though
 * slabs are not so small that their number costs more than the copies. */
#define SLAB_LEAST (UINT64_C(1) << 20)
#define SLABS_PER_THREAD 4
#define SLABS_OF_SMALL_READ 32

static void choose_slabs(hr__run *run) {
    const uint64_t total = total_nbytes(&run->plan);
    uint64_t most = UINT64_MAX;
    for (uint32_t i = 0; i < run->nstarts; i++) {
        const uint64_t usual = run->starts[i].ring->usual.payload / 8 * 7;
        most = most < usual ? most : usual;
    }
    run->nsharers = 1;
    run->slab_nbytes = most;
    if (total / run->context->nthreads / SLABS_PER_THREAD < most) {
        const uint64_t share = total / SLABS_OF_SMALL_READ;
        run->nsharers = UINT32_MAX;
        run->slab_nbytes = share < SLAB_LEAST ? SLAB_LEAST : share < most ? share : most;
    }
}

/* Threads worth waking: objects that are one chunk are one piece each. 0: all. */
static uint32_t threads_wanted(const hr__plan *plan) {
    for (const hr__object_plan *o = plan->objects; o != NULL; o = o->next) {
        if (o->array->nlevels > 0) {
            return 0;
        }
    }
    return plan->nobjects < UINT32_MAX ? (uint32_t)plan->nobjects : 0;
}

hr_status hr__run_start(hr__run *run, void *stream, hr_error *err) {
    hr_status status = record_starts(run, stream, err);
    if (status != HR_OK) {
        hr__run_destroy_starts(run);
        return status;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->opening, NULL);
    run->generation = hr__fork_generation();
    run->done_fd = -1;
    run->job.run = run_piece;
    run->job.leave = leave_run;
    run->job.wanted = threads_wanted(&run->plan);
    run->job.cores = hr__run_cores(run);
    if (run->nstarts > 0) {
        choose_slabs(run);
        hr__run_order(run);
    }
    run->next_object = run->plan.objects;
    if (run->next_object == NULL) {
        atomic_store(&run->stages.ended_ns, hr__clock_ns());
        atomic_store(&run->done, true);
    } else if (!hr__pool_submit(run->context->pool, &run->job)) {
        hr__pool_help(run->context->pool, &run->job); /* or polling would never end */
    }
    return HR_OK;
}
