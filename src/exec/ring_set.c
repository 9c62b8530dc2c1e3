/* The rings of a context. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring.h"

#define MIB (UINT64_C(1) << 20)

/* Copies of this size reach the bus's speed, and so many fit that several are always on
 * their way. Decoded bytes need more room than the encoded ones they come from. */
#define USUAL_PAYLOAD (8 * MIB)
#define USUAL_SCRATCH (32 * MIB)

/* Smaller slots hold not even one chunk of usual size with what its kernels need, and
 * give way to larger ones, again and again: rather fewer. */
#define LEAST_SLOT (8 * MIB)
#define LEAST_SLOTS 4

static uint32_t count_slots(uint64_t device_budget, uint32_t most) {
    const uint64_t n = device_budget / LEAST_SLOT;
    const uint32_t fit = n < LEAST_SLOTS      ? LEAST_SLOTS
                         : n < HR__RING_SLOTS ? (uint32_t)n
                                              : HR__RING_SLOTS;
    return most < fit ? most : fit;
}

void hr__ring_set_init(hr__ring_set *set, const hr_allocator *a, uint64_t pinned_budget,
                       uint64_t device_budget, uint32_t max_slots) {
    *set = (hr__ring_set){.allocator = a,
                          .pinned_budget = pinned_budget,
                          .device_budget = device_budget,
                          .max_slots = count_slots(device_budget, max_slots),
                          .generation = hr__fork_generation()};
    hr__lock_init(&set->lock);
}

static void ring_close(hr__ring_set *set, hr__ring *ring) {
    void *saved = NULL;
    hr__device *d = ring->device;
    bool entered = d->ops->enter(d, &saved, NULL) == HR_OK;
    hr__ring_drain(ring, NULL);
    hr__ring_trim(ring); /* in any case: slots have memory of the host, too */
    if (entered) {
        d->ops->leave(d, saved);
    }
    d->ops->close(d);
    pthread_cond_destroy(&ring->changed);
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

static uint64_t without_tables(uint64_t budget) {
    return budget - budget / HR__TABLES_SHARE;
}

hr__need hr__ring_set_usual(const hr__ring_set *set) {
    uint64_t pinned = without_tables(set->pinned_budget) / set->max_slots;
    uint64_t device = without_tables(set->device_budget) / set->max_slots;
    uint64_t payload = pinned < device / 4 ? pinned : device / 4;
    payload = payload < USUAL_PAYLOAD ? payload : USUAL_PAYLOAD;
    uint64_t scratch = device - payload;
    return (hr__need){.payload = payload,
                      .scratch = scratch < USUAL_SCRATCH ? scratch : USUAL_SCRATCH};
}

static hr_status ring_open(hr__ring_set *set, hr_device device, hr__ring **out,
                           hr_error *err) {
    const hr__device_ops *ops = NULL;
    HR__TRY(hr__device_require(device.type, &ops, err));
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
    pthread_cond_init(&ring->changed, NULL);
    ring->device->hooks = set->hooks;
    ring->allocator = *set->allocator;
    ring->pinned_budget = set->pinned_budget;
    ring->device_budget = set->device_budget;
    ring->usual = hr__ring_set_usual(set);
    ring->max_slots = set->max_slots;
    *out = ring;
    return HR_OK;
}

static hr__ring *ring_find(const hr__ring_set *set, hr_device device) {
    for (uint32_t i = 0; i < set->nrings; i++) {
        if (hr__device_equal(set->rings[i]->device->id, device)) {
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
