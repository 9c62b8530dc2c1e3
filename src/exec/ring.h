/* The staging ring of a device: pinned slots, each with its device memory and stream.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_RING_H
#define HR_EXEC_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "core/vec.h"
#include "device/device.h"

/* A piece of host memory and the device memory that it is copied to. */
typedef struct hr__twin {
    uint8_t *pinned;
    hr__devptr device;
    uint64_t pinned_nbytes, device_nbytes;
} hr__twin;

#define HR__SLOT_VECS 7
#define HR__SLOT_MARKS 3

/* One slot. Its holder fills the pinned sides, queues copies and kernels on `stream`, and
 * gives the slot back; once `event` is past, `past` is called and the slot is idle. */
typedef struct hr__ring_slot {
    hr__twin payload; /* device side: the copy, and scratch behind it */
    hr__twin tables;  /* small, grows as the holder needs it */
    hr__stream stream;
    hr__stream last; /* has the end of its work; the slot's own at first */
    hr__event event;
    hr__event copied, marks[HR__SLOT_MARKS]; /* on the way, the holder's to record */
    hr__vec vecs[HR__SLOT_VECS]; /* the holder's; the memory is kept from use to use */
    enum { HR__SLOT_IDLE, HR__SLOT_HELD, HR__SLOT_IN_FLIGHT, HR__SLOT_LANDING } state;
    uint64_t ticket; /* order of the giving back */
    /* err: NULL, or why the device did not finish. Called outside the ring's lock. */
    void (*past)(void *user, struct hr__ring_slot *slot, const hr_error *err);
    void *user;
    const void *owner; /* whose work it is; the holder's to set */
} hr__ring_slot;

#define HR__RING_SLOTS 64
#define HR__TABLES_SHARE 16 /* so much of a budget is left to tables, as a rule */
#define HR__MAX_RINGS 16

/* Bytes of payload (on both sides) and of scratch (on the device, behind it). */
typedef struct hr__need {
    uint64_t payload, scratch;
} hr__need;

/* Scratch beside that of the slots, which their holders have one after the other. */
typedef struct hr__ring_shared {
    hr__devptr memory;
    uint64_t nbytes;
    hr__stream stream; /* that the memory is asked for: slots come and go */
    hr__event past;    /* of who had it last, or of the asking */
    bool is_taken;
} hr__ring_shared;

typedef struct hr__ring {
    hr__device *device;
    hr_allocator allocator;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t pinned_budget, pinned_used; /* of all slots together */
    uint64_t device_budget, device_used;
    hr__need usual; /* size of a slot that nobody needs larger */
    uint32_t max_slots;
    uint32_t nwaiting; /* threads that could use a slot now */
    uint64_t next_ticket;
    hr__ring_shared shared;
    hr__ring_slot slots[HR__RING_SLOTS];
} hr__ring;

/* All of the following between the device's enter and leave. */

/* A slot whose payload is large enough: at least `need`, and as a rule the usual size.
 * Without one: waits, or with wait false gives *out = NULL. HR_ERR_MEMORY naming the
 * numbers if the budget can never give it. */
hr_status hr__ring_acquire(hr__ring *ring, hr__need need, bool wait, hr__ring_slot **out,
                           hr_error *err);
/* Wait for a slot that is on its way. False: there is none. */
bool hr__ring_land(hr__ring *ring);
/* Make the tables of a held slot at least so large; what was in them is lost. Errors:
 * HR_ERR_MEMORY. */
hr_status hr__ring_grow_tables(hr__ring *ring, hr__ring_slot *slot, hr__need need,
                               hr_error *err);
/* Shared scratch for what is queued on slot->stream until it is left, which has to
 * follow; waits for others that have it. At least so many bytes, and as many as are
 * wanted if the budget has them; *out = 0: it has not even the least now. */
hr_status hr__ring_share(hr__ring *ring, const hr__ring_slot *slot, uint64_t least,
                         uint64_t wanted, hr__devptr *out, uint64_t *nbytes,
                         hr_error *err);
hr_status hr__ring_share_leave(hr__ring *ring, const hr__ring_slot *slot, hr_error *err);
/* Everything queued on slot->last belongs to it; records the event. If that fails the
 * stream is waited for. */
void hr__ring_give_back(hr__ring *ring, hr__ring_slot *slot);
/* Could the ring ever give such a slot? */
bool hr__ring_allows(const hr__ring *ring, hr__need need);
/* The same of budgets. */
bool hr__need_fits(hr__need need, uint64_t pinned_budget, uint64_t device_budget);
/* Have a stream wait for the work of all slots that an owner has given back so far. NULL,
 * here and in the next: of any. */
hr_status hr__ring_order(hr__ring *ring, const void *owner, hr__stream stream,
                         hr_error *err);
/* Wait until each of these slots has landed. */
void hr__ring_drain(hr__ring *ring, const void *owner);
/* Free all idle slots. */
void hr__ring_trim(hr__ring *ring);
/* Is somebody waiting for a slot while none is on its way? Only a holder can help then.
 * (To hurry whenever somebody waits would make the waiting last: slots would travel
 * nearly empty, and each takes as long as a full one.) */
bool hr__ring_is_starved(hr__ring *ring);

/* The rings of a context, one per device, opened on first use. */
typedef struct hr__ring_set {
    const hr_allocator *allocator;
    const hr_device_allocator *hooks;      /* NULL: none */
    uint64_t pinned_budget, device_budget; /* for each */
    uint32_t max_slots;
    hr__lock lock;
    uint64_t generation; /* of the process whose driver the rings belong to */
    uint32_t nrings;
    hr__ring *rings[HR__MAX_RINGS];
} hr__ring_set;

void hr__ring_set_init(hr__ring_set *set, const hr_allocator *a, uint64_t pinned_budget,
                       uint64_t device_budget, uint32_t max_slots);
void hr__ring_set_free(hr__ring_set *set);
/* Slots so large that all may be in use at once within the budget. */
hr__need hr__ring_set_usual(const hr__ring_set *set);
/* Errors: HR_ERR_DEVICE with the reason; HR_ERR_FORKED. The set keeps the ring. */
hr_status hr__ring_set_get(hr__ring_set *set, hr_device device, hr__ring **out,
                           hr_error *err);

#endif
