/* Memory of the slots of a ring. SPDX-License-Identifier: Apache-2.0
 *
 * All of these are called with the ring's lock and let go of it meanwhile: a hook of the
 * caller's may want a lock (Python's, say) whose holder wants the ring's. So budgets are
 * charged before memory is allocated, and have it back once it is freed. Between the
 * device's enter and leave. */
#ifndef HR_EXEC_RING_MEMORY_H
#define HR_EXEC_RING_MEMORY_H

#include "exec/ring.h"

/* Of an idle slot, which is as it was before its first allocation at once. Wakes those
 * who wait for the ring. */
void hr__ring_slot_release(hr__ring *ring, hr__ring_slot *s);
/* Of an unallocated slot, which is held at once, and unallocated again on failure: of
 * that nobody who waits is told. */
hr_status hr__ring_slot_allocate(hr__ring *ring, hr__ring_slot *s, hr__need need,
                                 hr_error *err);
/* What slots share, where nobody has it now. */
bool hr__ring_shared_release(hr__ring *ring);
/* Make room in the budget by letting idle slots go. False: there is none. */
bool hr__ring_make_budget(hr__ring *ring, hr__need need);
/* Of the tables of a slot that the caller holds, likewise. */
void hr__ring_tables_release(hr__ring *ring, hr__ring_slot *s);
hr_status hr__ring_tables_allocate(hr__ring *ring, hr__ring_slot *s, hr__need need,
                                   hr_error *err);

#endif
