/* The staging ring of a device. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring.h"

#include <inttypes.h>

static void slot_release(hr__ring *ring, hr__slot_buffer *s) {
    const hr__device_ops *ops = ring->device->ops;
    if (s->event != NULL) {
        ops->event_destroy(ring->device, s->event);
    }
    if (s->stream != NULL) {
        ops->stream_destroy(ring->device, s->stream);
    }
    if (s->device != 0) {
        ops->free(ring->device, s->device);
    }
    if (s->pinned != NULL) {
        ops->free_pinned(ring->device, s->pinned);
    }
    ring->nbytes -= s->capacity;
    *s = (hr__slot_buffer){0};
}

static hr_status slot_allocate(hr__ring *ring, hr__slot_buffer *s, uint64_t nbytes,
                               hr_error *err) {
    const hr__device_ops *ops = ring->device->ops;
    void *pinned = NULL;
    ring->nbytes += nbytes;
    s->capacity = nbytes;
    hr_status status = ops->alloc_pinned(ring->device, nbytes, &pinned, err);
    s->pinned = pinned;
    if (status == HR_OK) {
        status = ops->alloc(ring->device, nbytes, &s->device, err);
    }
    if (status == HR_OK) {
        status = ops->stream_create(ring->device, &s->stream, err);
    }
    if (status == HR_OK) {
        status = ops->event_create(ring->device, &s->event, err);
    }
    if (status != HR_OK) {
        slot_release(ring, s);
    }
    return status;
}

/* The longest given-back slot, or NULL. */
static hr__slot_buffer *oldest_in_flight(hr__ring *ring) {
    hr__slot_buffer *oldest = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__slot_buffer *s = &ring->slots[i];
        if (s->state == HR__SLOT_IN_FLIGHT &&
            (oldest == NULL || s->ticket < oldest->ticket)) {
            oldest = s;
        }
    }
    return oldest;
}

static hr__slot_buffer *smallest_idle(hr__ring *ring, uint64_t nbytes) {
    hr__slot_buffer *best = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__slot_buffer *s = &ring->slots[i];
        if (s->state == HR__SLOT_IDLE && s->capacity >= nbytes &&
            (best == NULL || s->capacity < best->capacity)) {
            best = s;
        }
    }
    return best;
}

/* An unallocated slot, after letting idle ones that are too small go where the budget
 * or the table asks for it; NULL if neither allows one more now. */
static hr__slot_buffer *make_room(hr__ring *ring, uint64_t nbytes) {
    hr__slot_buffer *unused = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__slot_buffer *s = &ring->slots[i];
        bool fits = unused != NULL && ring->nbytes <= ring->max_nbytes - nbytes;
        if (s->capacity == 0) {
            unused = unused == NULL ? s : unused;
        } else if (s->state == HR__SLOT_IDLE && !fits) {
            slot_release(ring, s);
            unused = unused == NULL ? s : unused;
        }
    }
    return ring->nbytes <= ring->max_nbytes - nbytes ? unused : NULL;
}

hr_status hr__ring_acquire(hr__ring *ring, uint64_t nbytes, hr__slot_buffer **out,
                           hr_error *err) {
    if (nbytes > ring->max_nbytes) {
        return hr__fail(err, HR_ERR_MEMORY,
                        "a chunk needs %" PRIu64
                        " bytes of staging, the context's scratch_nbytes is %" PRIu64,
                        nbytes, ring->max_nbytes);
    }
    hr_status status = HR_OK;
    hr__slot_buffer *slot = NULL;
    pthread_mutex_lock(&ring->lock);
    while (status == HR_OK && slot == NULL) {
        slot = smallest_idle(ring, nbytes);
        hr__slot_buffer *unused = slot == NULL ? make_room(ring, nbytes) : NULL;
        if (unused != NULL) {
            status = slot_allocate(ring, unused, nbytes, err);
            slot = status == HR_OK ? unused : NULL;
        } else if (slot == NULL) {
            hr__slot_buffer *oldest = oldest_in_flight(ring);
            if (oldest != NULL) {
                status = ring->device->ops->event_sync(ring->device, oldest->event, err);
                oldest->state = HR__SLOT_IDLE;
            } else {
                pthread_cond_wait(&ring->freed, &ring->lock);
            }
        }
    }
    if (slot != NULL) {
        slot->state = HR__SLOT_HELD;
        *out = slot;
    }
    pthread_mutex_unlock(&ring->lock);
    return status;
}

hr_status hr__ring_give_back(hr__ring *ring, hr__slot_buffer *slot, hr_error *err) {
    pthread_mutex_lock(&ring->lock);
    hr_status status =
        ring->device->ops->event_record(ring->device, slot->event, slot->stream, err);
    slot->state = HR__SLOT_IN_FLIGHT;
    slot->ticket = ring->next_ticket++;
    if (status != HR_OK) { /* no event ends its work: who drains would not wait for it */
        (void)ring->device->ops->stream_sync(ring->device, slot->stream, NULL);
        slot->state = HR__SLOT_IDLE;
    }
    pthread_cond_signal(&ring->freed);
    pthread_mutex_unlock(&ring->lock);
    return status;
}

hr_status hr__ring_drain(hr__ring *ring, hr_error *err) {
    hr_status status = HR_OK;
    pthread_mutex_lock(&ring->lock);
    uint64_t until = ring->next_ticket;
    hr__slot_buffer *s = oldest_in_flight(ring);
    while (status == HR_OK && s != NULL && s->ticket < until) {
        status = ring->device->ops->event_sync(ring->device, s->event, err);
        s->state = HR__SLOT_IDLE;
        pthread_cond_signal(&ring->freed);
        s = oldest_in_flight(ring);
    }
    pthread_mutex_unlock(&ring->lock);
    return status;
}

void hr__ring_set_init(hr__ring_set *set, const hr_allocator *a, uint64_t max_nbytes,
                       uint32_t max_slots) {
    *set = (hr__ring_set){.allocator = a,
                          .max_nbytes = max_nbytes,
                          .max_slots =
                              max_slots < HR__RING_SLOTS ? max_slots : HR__RING_SLOTS,
                          .generation = hr__fork_generation()};
    hr__lock_init(&set->lock);
}

static void ring_close(hr__ring_set *set, hr__ring *ring) {
    void *saved = NULL;
    hr__device *d = ring->device;
    if (d->ops->enter(d, &saved, NULL) == HR_OK) {
        (void)hr__ring_drain(ring, NULL);
        for (uint32_t i = 0; i < ring->max_slots; i++) {
            if (ring->slots[i].capacity > 0) {
                slot_release(ring, &ring->slots[i]);
            }
        }
        d->ops->leave(d, saved);
    }
    d->ops->close(d);
    pthread_cond_destroy(&ring->freed);
    pthread_mutex_destroy(&ring->lock);
    hr__free(set->allocator, ring, sizeof *ring);
}

void hr__ring_set_free(hr__ring_set *set) {
    /* What a forked child inherits belongs to the parent's driver: not to be touched. */
    if (set->generation == hr__fork_generation()) {
        for (uint32_t i = 0; i < set->nrings; i++) {
            ring_close(set, set->rings[i]);
        }
    }
    set->nrings = 0;
    hr__lock_destroy(&set->lock);
}

static hr_status ring_open(hr__ring_set *set, hr_device device, hr__ring **out,
                           hr_error *err) {
    const hr__device_ops *ops = hr__device_find(device.type);
    if (ops == NULL) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "this build has no device of type %d",
                        device.type);
    }
    hr__ring *ring = hr__calloc(set->allocator, sizeof *ring);
    if (ring == NULL) {
        return hr__fail_memory(err, sizeof *ring);
    }
    hr_status status = ops->open(device.index, set->allocator, &ring->device, err);
    if (status != HR_OK) {
        hr__free(set->allocator, ring, sizeof *ring);
        return status;
    }
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->freed, NULL);
    ring->max_nbytes = set->max_nbytes;
    ring->max_slots = set->max_slots;
    *out = ring;
    return HR_OK;
}

static hr__ring *ring_find(const hr__ring_set *set, hr_device device) {
    for (uint32_t i = 0; i < set->nrings; i++) {
        hr_device id = set->rings[i]->device->id;
        if (id.type == device.type && id.index == device.index) {
            return set->rings[i];
        }
    }
    return NULL;
}

hr_status hr__ring_set_get(hr__ring_set *set, hr_device device, hr__ring **out,
                           hr_error *err) {
    (void)hr__lock_acquire(&set->lock);
    hr_status status = HR_OK;
    hr__ring *ring = NULL;
    if (set->generation != hr__fork_generation() && set->nrings > 0) {
        status =
            hr__fail(err, HR_ERR_FORKED,
                     "a device was in use before fork(); use the spawn start method");
    } else {
        set->generation = hr__fork_generation();
        ring = ring_find(set, device);
    }
    if (status == HR_OK && ring == NULL && set->nrings == HR__MAX_RINGS) {
        status = hr__fail(err, HR_ERR_UNSUPPORTED, "more than %d devices in one context",
                          HR__MAX_RINGS);
    } else if (status == HR_OK && ring == NULL) {
        status = ring_open(set, device, &ring, err);
        if (status == HR_OK) {
            set->rings[set->nrings++] = ring;
        }
    }
    hr__lock_release(&set->lock);
    if (status == HR_OK) {
        *out = ring;
    }
    return status;
}
