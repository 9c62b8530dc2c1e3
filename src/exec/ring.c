/* The staging ring of a device. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring.h"

#include <inttypes.h>

#include "core/checked.h"

/* Tables begin with this part of the payload. */
#define TABLES_SHARE 64
#define TABLES_ALIGNMENT 256

/* --- memory of a slot --- */

static void twin_free(hr__device *d, hr__twin *t) {
    if (t->device != 0) {
        d->ops->free(d, t->device);
    }
    if (t->pinned != NULL) {
        d->ops->free_pinned(d, t->pinned);
    }
    *t = (hr__twin){0};
}

static hr_status twin_allocate(hr__device *d, hr__twin *t, hr__need need, hr_error *err) {
    void *pinned = NULL;
    uint64_t device_nbytes = need.payload + need.scratch;
    HR__TRY(d->ops->alloc_pinned(d, need.payload, &pinned, err));
    t->pinned = pinned;
    t->pinned_nbytes = need.payload;
    hr_status status = d->ops->alloc(d, device_nbytes, &t->device, err);
    if (status != HR_OK) {
        twin_free(d, t);
        return status;
    }
    t->device_nbytes = device_nbytes;
    return HR_OK;
}

static void slot_release(hr__ring *ring, hr__ring_slot *s) {
    hr__device *d = ring->device;
    ring->pinned_used -= s->payload.pinned_nbytes;
    ring->device_used -= s->payload.device_nbytes;
    d->ops->event_destroy(d, s->event);
    for (int i = 0; i < HR__SLOT_MARKS; i++) {
        d->ops->event_destroy(d, s->marks[i]);
    }
    if (s->stream != NULL) {
        d->ops->stream_destroy(d, s->stream);
    }
    twin_free(d, &s->payload);
    twin_free(d, &s->tables);
    for (int i = 0; i < HR__SLOT_VECS; i++) {
        hr__vec_free(&ring->allocator, &s->vecs[i]);
    }
    *s = (hr__ring_slot){0};
}

static hr_status slot_allocate(hr__ring *ring, hr__ring_slot *s, hr__need need,
                               hr_error *err) {
    hr__device *d = ring->device;
    HR__TRY(twin_allocate(d, &s->payload, need, err));
    ring->pinned_used += s->payload.pinned_nbytes;
    ring->device_used += s->payload.device_nbytes;
    hr_status status = d->ops->stream_create(d, &s->stream, err);
    if (status == HR_OK) {
        status = d->ops->event_create(d, &s->event, err);
    }
    for (int i = 0; i < HR__SLOT_MARKS && status == HR_OK; i++) {
        status = d->ops->event_create(d, &s->marks[i], err);
    }
    if (status != HR_OK) {
        slot_release(ring, s);
    }
    return status;
}

static uint64_t and_half_of_it(uint64_t nbytes) {
    return (nbytes + nbytes / 2 + TABLES_ALIGNMENT - 1) / TABLES_ALIGNMENT *
           TABLES_ALIGNMENT;
}

hr_status hr__ring_grow_tables(hr__ring *ring, hr__ring_slot *slot, hr__need need,
                               hr_error *err) {
    const hr__twin *t = &slot->tables;
    if (need.payload <= t->pinned_nbytes &&
        need.scratch <= t->device_nbytes - t->pinned_nbytes) {
        return HR_OK;
    }
    /* Seldom again: freeing waits for all that the device does. */
    const uint64_t share = slot->payload.pinned_nbytes / TABLES_SHARE;
    const uint64_t ample = share / TABLES_ALIGNMENT * TABLES_ALIGNMENT;
    const uint64_t payload = and_half_of_it(need.payload);
    need.payload = payload > ample ? payload : ample;
    need.scratch = and_half_of_it(need.scratch);
    twin_free(ring->device, &slot->tables);
    return twin_allocate(ring->device, &slot->tables, need, err);
}

/* --- choosing one --- */

static bool is_allocated(const hr__ring_slot *s) {
    return s->payload.pinned != NULL;
}

static bool is_enough(const hr__ring_slot *s, hr__need need) {
    const hr__twin *p = &s->payload;
    return p->pinned_nbytes >= need.payload &&
           p->device_nbytes - p->pinned_nbytes >= need.scratch;
}

static bool fits(uint64_t n, uint64_t used, uint64_t budget) {
    return used <= budget && n <= budget - used;
}

static bool fits_budget(const hr__ring *ring, hr__need need) {
    return fits(need.payload, ring->pinned_used, ring->pinned_budget) &&
           fits(need.payload + need.scratch, ring->device_used, ring->device_budget);
}

static hr__ring_slot *find_idle(hr__ring *ring, hr__need need) {
    hr__ring_slot *best = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (is_allocated(s) && s->state == HR__SLOT_IDLE && is_enough(s, need) &&
            (best == NULL || s->payload.pinned_nbytes < best->payload.pinned_nbytes)) {
            best = s;
        }
    }
    return best;
}

/* An unallocated slot, after letting idle ones that are too small go where the budget or
 * the table asks for it; NULL if neither allows one more now. */
static hr__ring_slot *make_room(hr__ring *ring, hr__need need) {
    hr__ring_slot *unused = NULL;
    for (uint32_t i = 0; i < ring->max_slots && unused == NULL; i++) {
        unused = is_allocated(&ring->slots[i]) ? NULL : &ring->slots[i];
    }
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (unused != NULL && fits_budget(ring, need)) {
            return unused;
        }
        if (is_allocated(s) && s->state == HR__SLOT_IDLE) {
            slot_release(ring, s);
            unused = unused == NULL ? s : unused;
        }
    }
    return unused != NULL && fits_budget(ring, need) ? unused : NULL;
}

static hr__ring_slot *oldest_in_flight(hr__ring *ring) {
    hr__ring_slot *oldest = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (s->state == HR__SLOT_IN_FLIGHT &&
            (oldest == NULL || s->ticket < oldest->ticket)) {
            oldest = s;
        }
    }
    return oldest;
}

/* Wait for a slot's work, without the lock meanwhile. */
static void land(hr__ring *ring, hr__ring_slot *s) {
    hr_error err = HR_ERROR_INIT;
    s->state = HR__SLOT_LANDING;
    pthread_mutex_unlock(&ring->lock);
    hr_status status = ring->device->ops->event_sync(ring->device, s->event, &err);
    if (s->past != NULL) {
        s->past(s->user, s, status == HR_OK ? NULL : &err);
    }
    pthread_mutex_lock(&ring->lock);
    s->state = HR__SLOT_IDLE;
    pthread_cond_broadcast(&ring->changed);
}

static hr_status check_possible(const hr__ring *ring, hr__need need, hr_error *err) {
    uint64_t device;
    if (!hr__add_u64(need.payload, need.scratch, &device)) {
        device = UINT64_MAX;
    }
    if (need.payload > ring->pinned_budget) {
        return hr__fail(err, HR_ERR_MEMORY,
                        "a chunk needs %" PRIu64
                        " bytes of pinned staging, the context allows %" PRIu64,
                        need.payload, ring->pinned_budget);
    }
    if (device > ring->device_budget) {
        return hr__fail(err, HR_ERR_MEMORY,
                        "a chunk needs %" PRIu64
                        " bytes of device scratch, the context allows %" PRIu64,
                        device, ring->device_budget);
    }
    return HR_OK;
}

bool hr__need_fits(hr__need need, uint64_t pinned_budget, uint64_t device_budget) {
    uint64_t device;
    return need.payload <= pinned_budget &&
           hr__add_u64(need.payload, need.scratch, &device) && device <= device_budget;
}

bool hr__ring_allows(const hr__ring *ring, hr__need need) {
    return hr__need_fits(need, ring->pinned_budget, ring->device_budget);
}

static hr__need at_least(hr__need a, hr__need b) {
    return (hr__need){.payload = a.payload > b.payload ? a.payload : b.payload,
                      .scratch = a.scratch > b.scratch ? a.scratch : b.scratch};
}

hr_status hr__ring_acquire(hr__ring *ring, hr__need need, bool wait, hr__ring_slot **out,
                           hr_error *err) {
    HR__TRY(check_possible(ring, need, err));
    hr__need size = at_least(need, ring->usual);
    if (!hr__ring_allows(ring, size)) {
        size = need;
    }
    hr_status status = HR_OK;
    hr__ring_slot *slot = NULL;
    pthread_mutex_lock(&ring->lock);
    for (;;) {
        slot = find_idle(ring, need);
        hr__ring_slot *unused = slot == NULL ? make_room(ring, size) : NULL;
        if (unused != NULL) {
            status = slot_allocate(ring, unused, size, err);
            slot = status == HR_OK ? unused : NULL;
        }
        if (slot != NULL || status != HR_OK || !wait) {
            break;
        }
        ring->nwaiting++;
        hr__ring_slot *oldest = oldest_in_flight(ring);
        if (oldest != NULL) {
            land(ring, oldest);
        } else {
            pthread_cond_wait(&ring->changed, &ring->lock);
        }
        ring->nwaiting--;
    }
    if (slot != NULL) {
        slot->state = HR__SLOT_HELD;
    }
    pthread_mutex_unlock(&ring->lock);
    if (status == HR_OK) {
        *out = slot;
    }
    return status;
}

/* --- giving back --- */

void hr__ring_give_back(hr__ring *ring, hr__ring_slot *slot) {
    const hr__device_ops *ops = ring->device->ops;
    hr_error err = HR_ERROR_INIT;
    bool recorded =
        ops->event_record(ring->device, slot->event, slot->stream, &err) == HR_OK;
    if (!recorded) {
        (void)ops->stream_sync(ring->device, slot->stream, NULL);
        if (slot->past != NULL) {
            slot->past(slot->user, slot, &err);
        }
    }
    pthread_mutex_lock(&ring->lock);
    slot->state = recorded ? HR__SLOT_IN_FLIGHT : HR__SLOT_IDLE;
    slot->ticket = ring->next_ticket++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

hr_status hr__ring_order(hr__ring *ring, hr__stream stream, hr_error *err) {
    hr_status status = HR_OK;
    pthread_mutex_lock(&ring->lock);
    for (uint32_t i = 0; i < ring->max_slots && status == HR_OK; i++) {
        const hr__ring_slot *s = &ring->slots[i];
        if (s->state == HR__SLOT_IN_FLIGHT || s->state == HR__SLOT_LANDING) {
            status = ring->device->ops->stream_wait(ring->device, stream, s->event, err);
        }
    }
    pthread_mutex_unlock(&ring->lock);
    return status;
}

static bool is_landing(const hr__ring *ring, uint64_t before) {
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        const hr__ring_slot *s = &ring->slots[i];
        if (s->state == HR__SLOT_LANDING && s->ticket < before) {
            return true;
        }
    }
    return false;
}

void hr__ring_drain(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    uint64_t before = ring->next_ticket;
    for (;;) {
        hr__ring_slot *s = oldest_in_flight(ring);
        if (s != NULL && s->ticket < before) {
            land(ring, s);
        } else if (is_landing(ring, before)) {
            pthread_cond_wait(&ring->changed, &ring->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&ring->lock);
}

void hr__ring_trim(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (is_allocated(s) && s->state == HR__SLOT_IDLE) {
            slot_release(ring, s);
        }
    }
    pthread_mutex_unlock(&ring->lock);
}

bool hr__ring_is_starved(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    bool starved = ring->nwaiting > 0 && oldest_in_flight(ring) == NULL &&
                   !is_landing(ring, UINT64_MAX);
    pthread_mutex_unlock(&ring->lock);
    return starved;
}
