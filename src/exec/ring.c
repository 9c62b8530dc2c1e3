/* The staging ring of a device. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring.h"

#include <inttypes.h>

#include "core/checked.h"
#include "exec/ring_memory.h"

#define TABLES_ALIGNMENT 256
#define ROUNDING 8 /* by so manieth parts */

/* --- choosing one --- */

/* Or about to be. */
static bool is_allocated(const hr__ring_slot *s) {
    return s->payload.pinned_nbytes > 0;
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

/* Let one go that nobody uses now, and where there is no slot at all what they shared.
 * False: there is none. */
static bool release_idle(hr__ring *ring) {
    bool any = false;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (is_allocated(s) && s->state == HR__SLOT_IDLE) {
            hr__ring_slot_release(ring, s);
            return true;
        }
        any |= is_allocated(s);
    }
    return !any && hr__ring_shared_release(ring);
}

bool hr__ring_make_budget(hr__ring *ring, hr__need need) {
    while (!fits_budget(ring, need) && release_idle(ring)) {
    }
    return fits_budget(ring, need);
}

static void release_all_idle(hr__ring *ring) {
    while (release_idle(ring)) {
    }
}

/* An unallocated slot, after letting idle ones that are too small go where the budget or
 * the table asks for it; NULL if neither allows one more now. */
static hr__ring_slot *make_room(hr__ring *ring, hr__need need) {
    do {
        for (uint32_t i = 0; i < ring->max_slots && fits_budget(ring, need); i++) {
            if (!is_allocated(&ring->slots[i])) {
                return &ring->slots[i];
            }
        }
    } while (release_idle(ring));
    return NULL;
}

/* Of one that is held it is the holder's to write. */
static bool is_of(const hr__ring_slot *s, const void *owner) {
    return owner == NULL || s->owner == owner;
}

static hr__ring_slot *oldest_in_flight(hr__ring *ring, const void *owner) {
    hr__ring_slot *oldest = NULL;
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        hr__ring_slot *s = &ring->slots[i];
        if (s->state == HR__SLOT_IN_FLIGHT && is_of(s, owner) &&
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

/* --- tables --- */

static uint64_t aligned(uint64_t nbytes) {
    return (nbytes + TABLES_ALIGNMENT - 1) / TABLES_ALIGNMENT * TABLES_ALIGNMENT;
}

/* The share that is a slot's in any case or, beyond it, so much that it is seldom done
 * again: freeing waits for all that the device does. */
static hr__need ample_tables(const hr__ring *ring, hr__need need) {
    const uint64_t share = ring->usual.payload / HR__TABLES_SHARE;
    const uint64_t more = need.payload + need.payload / 2;
    return (hr__need){.payload = aligned(need.payload <= share ? share : more),
                      .scratch = aligned(need.scratch + need.scratch / 2)};
}

/* Let idle slots go and wait for those that are on their way: not for others, whose
 * holders may be here, too. Where slabs of very small chunks are all held, their tables
 * have to exceed the budget. */
static void make_budget(hr__ring *ring, hr__need need) {
    hr__ring_slot *oldest = NULL;
    while (!fits_budget(ring, need) &&
           (release_idle(ring) || (oldest = oldest_in_flight(ring, NULL)) != NULL)) {
        if (oldest != NULL) {
            land(ring, oldest);
            oldest = NULL;
        }
    }
}

hr_status hr__ring_grow_tables(hr__ring *ring, hr__ring_slot *slot, hr__need need,
                               hr_error *err) {
    const hr__twin *t = &slot->tables;
    if (need.payload <= t->pinned_nbytes &&
        need.scratch <= t->device_nbytes - t->pinned_nbytes) {
        return HR_OK;
    }
    const hr__need ample = ample_tables(ring, need);
    hr_error own = HR_ERROR_INIT;
    hr_status status = HR_ERR_MEMORY;
    need.payload = aligned(need.payload);
    pthread_mutex_lock(&ring->lock);
    hr__ring_tables_release(ring, slot);
    if (fits_budget(ring, ample)) {
        status = hr__ring_tables_allocate(ring, slot, ample, &own);
    }
    if (status == HR_ERR_MEMORY) { /* then no more than it must be */
        make_budget(ring, need);
        status = hr__ring_tables_allocate(ring, slot, need, &own);
    }
    if (status == HR_ERR_MEMORY) {
        release_all_idle(ring);
        status = hr__ring_tables_allocate(ring, slot, need, &own);
    }
    pthread_mutex_unlock(&ring->lock);
    if (status != HR_OK) {
        hr__error_copy(err, &own);
    }
    return status;
}

/* --- taking --- */

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

/* Will one of those in use do, once it comes back? */
static bool has_enough(const hr__ring *ring, hr__need need) {
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        if (is_allocated(&ring->slots[i]) && is_enough(&ring->slots[i], need)) {
            return true;
        }
    }
    return false;
}

/* A new slot if there is room for one: of that size or, where memory is short, as small
 * as it may be. *out stays NULL where only waiting helps. */
static hr_status add_slot(hr__ring *ring, hr__need size, hr__need need,
                          hr__ring_slot **out, hr_error *err) {
    hr_error own = HR_ERROR_INIT;
    hr__ring_slot *unused = make_room(ring, size);
    if (unused == NULL) {
        return HR_OK;
    }
    hr_status status = hr__ring_slot_allocate(ring, unused, size, &own);
    if (status == HR_ERR_MEMORY) {
        release_all_idle(ring);
        unused = make_room(ring, need);
        if (unused == NULL) {
            return HR_OK;
        }
        status = hr__ring_slot_allocate(ring, unused, need, &own);
    }
    if (status == HR_OK) {
        *out = unused;
        return HR_OK;
    }
    if (status == HR_ERR_MEMORY && has_enough(ring, need)) {
        *out = find_idle(ring, need); /* it may have come back meanwhile */
        return HR_OK;
    }
    pthread_cond_broadcast(&ring->changed); /* others may have waited for the budget */
    hr__error_copy(err, &own);
    return status;
}

/* Chunks of about one size shall be served by the same slots. */
static uint64_t rounded(uint64_t nbytes) {
    uint64_t step = TABLES_ALIGNMENT;
    while (step < nbytes / ROUNDING) {
        step *= 2;
    }
    return nbytes / step * step + (nbytes % step > 0 ? step : 0);
}

hr_status hr__ring_acquire(hr__ring *ring, hr__need need, bool wait, hr__ring_slot **out,
                           hr_error *err) {
    HR__TRY(check_possible(ring, need, err));
    const hr__need ample = {.payload = rounded(need.payload),
                            .scratch = rounded(need.scratch)};
    hr__need size = at_least(ample, ring->usual);
    if (!hr__ring_allows(ring, size)) {
        size = need;
    }
    hr_status status = HR_OK;
    hr__ring_slot *slot = NULL;
    pthread_mutex_lock(&ring->lock);
    for (;;) {
        slot = find_idle(ring, need);
        if (slot == NULL) {
            status = add_slot(ring, size, need, &slot, err);
        }
        if (slot != NULL || status != HR_OK || !wait) {
            break;
        }
        ring->nwaiting++;
        hr__ring_slot *oldest = oldest_in_flight(ring, NULL);
        if (oldest != NULL) {
            land(ring, oldest);
        } else {
            pthread_cond_wait(&ring->changed, &ring->lock);
        }
        ring->nwaiting--;
    }
    if (slot != NULL) {
        slot->state = HR__SLOT_HELD;
        slot->last = slot->stream;
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
        ops->event_record(ring->device, slot->event, slot->last, &err) == HR_OK;
    if (!recorded) {
        (void)ops->stream_sync(ring->device, slot->last, NULL);
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

hr_status hr__ring_order(hr__ring *ring, const void *owner, hr__stream stream,
                         hr_error *err) {
    hr_status status = HR_OK;
    pthread_mutex_lock(&ring->lock);
    for (uint32_t i = 0; i < ring->max_slots && status == HR_OK; i++) {
        const hr__ring_slot *s = &ring->slots[i];
        if ((s->state == HR__SLOT_IN_FLIGHT || s->state == HR__SLOT_LANDING) &&
            is_of(s, owner)) {
            status = ring->device->ops->stream_wait(ring->device, stream, s->event, err);
        }
    }
    pthread_mutex_unlock(&ring->lock);
    return status;
}

static bool is_landing(const hr__ring *ring, const void *owner, uint64_t before) {
    for (uint32_t i = 0; i < ring->max_slots; i++) {
        const hr__ring_slot *s = &ring->slots[i];
        if (s->state == HR__SLOT_LANDING && is_of(s, owner) && s->ticket < before) {
            return true;
        }
    }
    return false;
}

bool hr__ring_land(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    hr__ring_slot *oldest = oldest_in_flight(ring, NULL);
    bool any = oldest != NULL || is_landing(ring, NULL, UINT64_MAX);
    ring->nwaiting++;
    if (oldest != NULL) {
        land(ring, oldest);
    } else if (any) {
        pthread_cond_wait(&ring->changed, &ring->lock);
    }
    ring->nwaiting--;
    pthread_mutex_unlock(&ring->lock);
    return any;
}

void hr__ring_drain(hr__ring *ring, const void *owner) {
    pthread_mutex_lock(&ring->lock);
    uint64_t before = ring->next_ticket;
    for (;;) {
        hr__ring_slot *s = oldest_in_flight(ring, owner);
        if (s != NULL && s->ticket < before) {
            land(ring, s);
        } else if (is_landing(ring, owner, before)) {
            pthread_cond_wait(&ring->changed, &ring->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&ring->lock);
}

void hr__ring_trim(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    release_all_idle(ring);
    pthread_mutex_unlock(&ring->lock);
}

bool hr__ring_is_starved(hr__ring *ring) {
    pthread_mutex_lock(&ring->lock);
    bool starved = ring->nwaiting > 0 && oldest_in_flight(ring, NULL) == NULL &&
                   !is_landing(ring, NULL, UINT64_MAX);
    pthread_mutex_unlock(&ring->lock);
    return starved;
}
