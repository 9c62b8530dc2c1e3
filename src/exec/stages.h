/* What a run spends its time in. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_STAGES_H
#define HR_EXEC_STAGES_H

#include <stdatomic.h>
#include <stdbool.h>

#include <headrace/read.h>

#include "core/clock.h"
#include "exec/ring.h"

struct hr__run;

/* Stages of the host: of all threads together. Stages of devices: while at least one slab
 * was in them. */
typedef struct hr__stages {
    uint64_t begun_ns;             /* on the clock */
    atomic_uint_fast64_t ended_ns; /* 0: not yet */
    atomic_bool is_helped;         /* by a caller, beside the context's threads */
    atomic_uint_fast64_t ns[HR_NSTAGES];
} hr__stages;

/* Count what has passed since `start`; returns the time now. */
static inline uint64_t hr__stages_lap(hr__stages *s, hr_stage stage, uint64_t start) {
    const uint64_t now = hr__clock_ns();
    atomic_fetch_add_explicit(&s->ns[stage], now - start, memory_order_relaxed);
    return now;
}

#define HR__NDEVICE_STAGES                                                               \
    3 /* COPY, KERNELS, STORE: between a slot's marks and its event */

/* Count the stages of a slab that has landed: of one that was led only its copy, for the
 * others are those of the slab that took it over. Between the device's enter and leave.
 */
void hr__stages_landed(struct hr__run *run, const hr__ring *ring,
                       const hr__ring_slot *slot, bool is_led);
/* As they are now. `out`: a whole record. */
void hr__stages_tell(const struct hr__run *run, hr_stage_times *out);

/* How long what is busiest, threads or devices, is so, and the stage that bounds: of the
 * threads the largest. −1: no time is known. */
uint64_t hr__stages_busiest(const hr_stage_times *times, int32_t *bound);

#endif
