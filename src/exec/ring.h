/* The staging ring of a device: pinned slots, each with its device twin and stream.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_RING_H
#define HR_EXEC_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "device/device.h"

/* One slot: a thread fills `pinned`, queues the copy to `device` and the kernels that
 * read it on `stream`, and gives the slot back. It is used again once `event` is past. */
typedef struct hr__slot_buffer {
    uint8_t *pinned;
    hr__devptr device;
    uint64_t capacity;
    hr__stream stream;
    hr__event event;
    enum { HR__SLOT_IDLE, HR__SLOT_HELD, HR__SLOT_IN_FLIGHT } state;
    uint64_t ticket; /* order of the giving back */
} hr__slot_buffer;

#define HR__RING_SLOTS 64
#define HR__MAX_RINGS 16

typedef struct hr__ring {
    hr__device *device;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint64_t max_nbytes; /* of all slots together: pinned, and again on the device */
    uint64_t nbytes;
    uint32_t max_slots;
    uint64_t next_ticket;
    hr__slot_buffer slots[HR__RING_SLOTS]; /* capacity 0: not allocated */
} hr__ring;

/* A slot of at least nbytes, waiting for one if the budget is used up. Between
 * hr__device enter and leave. HR_ERR_MEMORY naming both numbers if nbytes alone exceeds
 * the budget. */
hr_status hr__ring_acquire(hr__ring *ring, uint64_t nbytes, hr__slot_buffer **out,
                           hr_error *err);
/* Everything queued on slot->stream belongs to it; records the event. */
hr_status hr__ring_give_back(hr__ring *ring, hr__slot_buffer *slot, hr_error *err);
/* Wait until every slot given back so far is past. */
hr_status hr__ring_drain(hr__ring *ring, hr_error *err);

/* The rings of a context, one per device, opened on first use. */
typedef struct hr__ring_set {
    const hr_allocator *allocator;
    uint64_t max_nbytes; /* for each */
    uint32_t max_slots;
    hr__lock lock;
    uint64_t generation; /* of the process whose driver the rings belong to */
    uint32_t nrings;
    hr__ring *rings[HR__MAX_RINGS];
} hr__ring_set;

void hr__ring_set_init(hr__ring_set *set, const hr_allocator *a, uint64_t max_nbytes,
                       uint32_t max_slots);
void hr__ring_set_free(hr__ring_set *set);
/* Errors: HR_ERR_DEVICE with the reason; HR_ERR_FORKED. The set keeps the ring. */
hr_status hr__ring_set_get(hr__ring_set *set, hr_device device, hr__ring **out,
                           hr_error *err);

#endif
