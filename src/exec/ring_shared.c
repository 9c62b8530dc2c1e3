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

/* By who has taken it, with the lock, without it meanwhile. */
static void free_memory(hr__ring *ring) {
    hr__device *d = ring->device;
    hr__ring_shared *s = &ring->shared;
    const uint64_t nbytes = s->nbytes;
    pthread_mutex_unlock(&ring->lock);
    if (s->past != NULL) {
        (void)d->ops->event_sync(d, s->past, NULL);
        d->ops->event_destroy(d, s->past);
    }
    hr__device_free(d, s->memory, nbytes, NULL);
    s->past = NULL;
    s->memory = 0;
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
static void grow(hr__ring *ring, hr__stream stream, uint64_t nbytes) {
    hr__device *d = ring->device;
    hr__ring_shared *s = &ring->shared;
    if (s->nbytes > 0) {
        free_memory(ring);
    }
    if (!hr__ring_make_budget(ring, (hr__need){.scratch = nbytes})) {
        return;
    }
    ring->device_used += nbytes;
    pthread_mutex_unlock(&ring->lock);
    const hr_status status = hr__device_alloc(d, nbytes, stream, &s->memory, NULL);
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
        grow(ring, slot->stream, wanted);
    }
    if (s->nbytes < least) {
        grow(ring, slot->stream, least);
    }
    const bool has_room = s->nbytes >= least;
    pthread_mutex_unlock(&ring->lock);
    if (has_room && s->past != NULL) {
        status = d->ops->stream_wait(d, slot->stream, s->past, err);
    } else if (has_room) {
        status = d->ops->event_create(d, &s->past, err);
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
