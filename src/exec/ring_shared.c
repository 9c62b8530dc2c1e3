/* Scratch that slots of a ring share. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring.h"
#include "exec/ring_memory.h"

/* So much of a budget may be shared. */
#define SHARE_OF_BUDGET 4

static void take(hr__ring *ring) {
    while (ring->shared.is_taken) {
        pthread_cond_wait(&ring->changed, &ring->lock);
    }
    ring->shared.is_taken = true;
}

static void let_go(hr__ring *ring) {
    ring->shared.is_taken = false;
    pthread_cond_broadcast(&ring->changed);
}

/* By who has taken it, without the lock. */
static void destroy(hr__device *d, hr__ring_shared *s, uint64_t nbytes) {
    if (s->past != NULL) {
        (void)d->ops->event_sync(d, s->past, NULL);
    }
    hr__device_free(d, s->memory, nbytes, s->stream);
    d->ops->event_destroy(d, s->past);
    d->ops->stream_destroy(d, s->stream);
    s->memory = 0;
    s->past = NULL;
    s->stream = NULL;
}

static hr_status create(hr__device *d, hr__ring_shared *s, uint64_t nbytes) {
    HR__TRY(d->ops->stream_create(d, &s->stream, NULL));
    HR__TRY(d->ops->event_create(d, &s->past, NULL));
    HR__TRY(hr__device_alloc(d, nbytes, s->stream, &s->memory, NULL));
    return d->ops->event_record(d, s->past, s->stream, NULL);
}

/* By who has taken it, with the lock, without it meanwhile. */
static void free_memory(hr__ring *ring) {
    hr__ring_shared *s = &ring->shared;
    const uint64_t nbytes = s->nbytes;
    pthread_mutex_unlock(&ring->lock);
    destroy(ring->device, s, nbytes);
    pthread_mutex_lock(&ring->lock);
    s->nbytes = 0;
    ring->device_used -= nbytes;
}

bool hr__ring_shared_release(hr__ring *ring) {
    if (ring->shared.nbytes == 0 || ring->shared.is_taken) {
        return false;
    }
    ring->shared.is_taken = true;
    free_memory(ring);
    let_go(ring);
    return true;
}

/* Likewise. Without room it stays as it is. */
static void grow(hr__ring *ring, uint64_t nbytes) {
    hr__ring_shared *s = &ring->shared;
    if (s->nbytes > 0) {
        free_memory(ring);
    }
    if (!hr__ring_make_budget(ring, (hr__need){.scratch = nbytes})) {
        return;
    }
    ring->device_used += nbytes;
    pthread_mutex_unlock(&ring->lock);
    const hr_status status = create(ring->device, s, nbytes);
    if (status != HR_OK) {
        destroy(ring->device, s, nbytes);
    }
    pthread_mutex_lock(&ring->lock);
    s->nbytes = status == HR_OK ? nbytes : 0;
    ring->device_used -= status == HR_OK ? 0 : nbytes;
}

hr_status hr__ring_share(hr__ring *ring, const hr__ring_slot *slot, uint64_t least,
                         uint64_t wanted, hr__devptr *out, uint64_t *nbytes,
                         hr_error *err) {
    hr__device *d = ring->device;
    hr__ring_shared *s = &ring->shared;
    hr_status status = HR_OK;
    const uint64_t most = ring->device_budget / SHARE_OF_BUDGET;
    *out = 0;
    if (least > most) {
        return HR_OK;
    }
    wanted = wanted < most ? wanted : most;
    pthread_mutex_lock(&ring->lock);
    take(ring);
    if (s->nbytes < wanted) {
        grow(ring, wanted);
    }
    if (s->nbytes < least) {
        grow(ring, least);
    }
    const bool has_room = s->nbytes >= least;
    pthread_mutex_unlock(&ring->lock);
    if (has_room) {
        status = d->ops->stream_wait(d, slot->stream, s->past, err);
    }
    if (!has_room || status != HR_OK) {
        pthread_mutex_lock(&ring->lock);
        let_go(ring);
        pthread_mutex_unlock(&ring->lock);
        return status;
    }
    *out = s->memory;
    *nbytes = s->nbytes;
    return HR_OK;
}

hr_status hr__ring_share_leave(hr__ring *ring, const hr__ring_slot *slot, hr_error *err) {
    hr__device *d = ring->device;
    const hr_status status =
        d->ops->event_record(d, ring->shared.past, slot->stream, err);
    if (status != HR_OK) {
        (void)d->ops->stream_sync(d, slot->stream, NULL);
    }
    pthread_mutex_lock(&ring->lock);
    let_go(ring);
    pthread_mutex_unlock(&ring->lock);
    return status;
}
