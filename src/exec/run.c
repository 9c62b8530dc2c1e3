/* Handing out the work of a run, and waiting for it. SPDX-License-Identifier: Apache-2.0
 */
#include "exec/run.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/checked.h"
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

/* All host work is done: what is still on its way through the devices' streams must
 * arrive before the run counts as done. */
static void complete(hr__run *run) {
    hr__slab_flush_all(run);
    pthread_mutex_lock(&run->lock);
    atomic_store(&run->queued, true);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    for (uint32_t i = 0; i < run->nstarts; i++) {
        hr__ring *ring = run->starts[i].ring;
        hr_error err = HR_ERROR_INIT;
        void *saved = NULL;
        if (ring->device->ops->enter(ring->device, &saved, &err) == HR_OK) {
            hr__ring_drain(ring);
            ring->device->ops->leave(ring->device, saved);
        } else {
            hr__run_fail_ring(run, ring, &err);
        }
    }
    atomic_store(&run->stages.ended_ns, hr__clock_ns());
    pthread_mutex_lock(&run->lock);
    atomic_store(&run->done, true);
    void (*on_done)(void *user) = run->on_done;
    void *user = run->on_done_user;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    if (on_done != NULL) { /* the job is retired after this returns */
        on_done(user);
    }
}

/* One piece of work: a range if there is one, so that few objects are open at a time,
 * else the next object. */
static bool run_piece(hr__job *job, void *worker) {
    if (worker == NULL) { /* no memory for a pooled state: one for this piece */
        hr__worker own;
        hr__worker_init(&own, &((hr__run *)job)->context->allocator);
        bool more = run_piece(job, &own);
        hr__worker_free(&own);
        return more;
    }
    hr__run *run = (hr__run *)job;
    hr__opened *opened = NULL;
    const hr__range *range = NULL;
    const hr__object_plan *object = NULL;
    pthread_mutex_lock(&run->lock);
    if (run->ready != NULL) {
        opened = run->ready;
        range = &opened->ranges[opened->next_range++];
        if (opened->next_range == opened->nranges) {
            run->ready = opened->next;
        }
    } else if (run->next_object != NULL) {
        object = run->next_object;
        run->next_object = object->next;
    }
    /* Who leaves a run leaves no slab open behind: another run may wait for its slot.
     * (With nobody active the run is being completed: that flushes too.) */
    bool leaving = run->slabs != NULL && run->nactive > 0;
    bool found = range != NULL || object != NULL || leaving;
    run->nactive += found;
    pthread_mutex_unlock(&run->lock);
    if (!found) {
        return false;
    }
    if (range == NULL && object == NULL) {
        hr__slab_flush_all(run);
    } else if (range != NULL) {
        hr__run_range(run, worker, opened->plan, opened->object, range);
        if (atomic_fetch_sub(&opened->pending, 1) == 1) {
            hr__opened_free(run, opened);
        }
    } else {
        hr__run_object(run, worker, object);
    }
    pthread_mutex_lock(&run->lock);
    run->nactive--;
    bool last = is_exhausted(run);
    pthread_mutex_unlock(&run->lock);
    if (last) {
        complete(run);
    }
    return !last;
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
    pthread_mutex_lock(&run->lock);
    if (atomic_load(&t->status) == HR_OK) {
        t->error = *err;
        atomic_store(&t->status, err->status);
    }
    pthread_mutex_unlock(&run->lock);
}

void hr__run_fail_chunk(hr__run *run, const hr__chunk *chunk, const hr_error *err) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        fail_target(run, &run->targets[u->request], err);
    }
}

void hr__run_report(hr__run *run, const hr__chunk *chunk, hr_error *err) {
    const hr__source *source = run->targets[chunk->object->array_id].source;
    char key[HR__KEY_MAX] = "";
    (void)hr__run_key(source, chunk->object, key, NULL);
    hr__error_add_place(err, source->url, key, chunk->offset);
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

static void destroy_starts(hr__run *run) {
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

/* Slabs so large that copies are fast, and so small that all threads have several to
 * fill: decoding and reading overlap from the start. */
#define SLAB_LEAST (UINT64_C(1) << 20)
#define SLABS_PER_THREAD 8

static uint64_t slab_size(const hr__run *run) {
    uint64_t total = 0; /* of encoded bytes, at most */
    for (const hr__object_plan *o = run->plan.objects; o != NULL; o = o->next) {
        uint64_t nbytes = o->array->chain.decoded.nbytes;
        if (!hr__mul_u64(nbytes, o->nchunks, &nbytes) ||
            !hr__add_u64(total, nbytes, &total)) {
            return UINT64_MAX;
        }
    }
    uint64_t share = total / ((uint64_t)run->context->nthreads * SLABS_PER_THREAD);
    return share < SLAB_LEAST ? SLAB_LEAST : share;
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
        destroy_starts(run);
        return status;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&run->lock, NULL);
    run->generation = hr__fork_generation();
    run->job.run = run_piece;
    run->job.wanted = threads_wanted(&run->plan);
    run->slab_nbytes = run->nstarts > 0 ? slab_size(run) : 0;
    for (uint32_t i = 0; i < run->nstarts; i++) {
        uint64_t most = run->starts[i].ring->usual.payload / 8 * 7;
        run->slab_nbytes = run->slab_nbytes < most ? run->slab_nbytes : most;
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

static struct timespec deadline_after(int64_t timeout_ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ns / 1000000000;
    t.tv_nsec += timeout_ns % 1000000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* Sleep until done or, without a deadline, until there is work to help with; false once
 * the time is up. */
static bool sleep_for_change(hr__run *run, int64_t timeout_ns,
                             const struct timespec *deadline) {
    int rc = 0;
    bool helps = timeout_ns < 0;
    pthread_mutex_lock(&run->lock);
    while (rc != ETIMEDOUT && !atomic_load(&run->done) &&
           !(helps && (run->ready != NULL || run->next_object != NULL))) {
        rc = helps ? pthread_cond_wait(&run->changed, &run->lock)
                   : pthread_cond_timedwait(&run->changed, &run->lock, deadline);
    }
    pthread_mutex_unlock(&run->lock);
    return rc != ETIMEDOUT;
}

hr_status hr__run_wait(hr__run *run, int64_t timeout_ns, hr_error *err) {
    if (run->generation != hr__fork_generation()) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    struct timespec deadline = {0};
    if (timeout_ns >= 0) {
        deadline = deadline_after(timeout_ns);
    }
    while (!atomic_load(&run->done)) {
        if (timeout_ns < 0) { /* a piece may take long: help only without a deadline */
            atomic_store(&run->stages.is_helped, true);
            hr__pool_help(run->context->pool, &run->job);
        }
        if (!atomic_load(&run->done) && !sleep_for_change(run, timeout_ns, &deadline)) {
            return hr__fail(err, HR_ERR_TIMEOUT, "the batch is not done yet");
        }
    }
    for (size_t i = 0; i < run->ntargets; i++) {
        hr_status status = (hr_status)atomic_load(&run->targets[i].status);
        if (status != HR_OK) {
            hr__error_copy(err, &run->targets[i].error);
            return status;
        }
    }
    return HR_OK;
}

hr_status hr__run_on_done(hr__run *run, void (*fn)(void *user), void *user,
                          hr_error *err) {
    pthread_mutex_lock(&run->lock);
    bool is_second = run->on_done != NULL;
    if (!is_second) {
        run->on_done = fn;
        run->on_done_user = user;
    }
    bool done = atomic_load(&run->done); /* set under the lock, or before the run began */
    pthread_mutex_unlock(&run->lock);
    if (is_second) {
        return hr__fail(err, HR_ERR_ARGUMENT, "the batch has a callback already");
    }
    if (done) {
        fn(user);
    }
    return HR_OK;
}

/* Not helping: who does the last piece waits for the devices. */
static void wait_until_queued(hr__run *run) {
    pthread_mutex_lock(&run->lock);
    while (!atomic_load(&run->queued) && !atomic_load(&run->done)) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

hr_status hr__run_wait_on_stream(hr__run *run, void *stream, hr_error *err) {
    if (run->generation != hr__fork_generation()) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    wait_until_queued(run);
    for (uint32_t i = 0; i < run->nstarts && !atomic_load(&run->done); i++) {
        hr__device *d = run->starts[i].ring->device;
        void *saved = NULL;
        HR__TRY(d->ops->enter(d, &saved, err));
        hr_status status = hr__ring_order(run->starts[i].ring, stream, err);
        d->ops->leave(d, saved);
        HR__TRY(status);
    }
    return HR_OK;
}

void hr__run_cancel(hr__run *run) {
    atomic_store(&run->cancelled, true);
}

void hr__run_finish(hr__run *run) {
    if (run->generation == hr__fork_generation()) {
        hr__run_cancel(run);
        (void)hr__run_wait(run, -1, NULL);
        hr__pool_retire(run->context->pool, &run->job);
        destroy_starts(run);
        pthread_cond_destroy(&run->changed);
        pthread_mutex_destroy(&run->lock);
    }
}
