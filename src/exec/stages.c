/* What a run spends its time in. SPDX-License-Identifier: Apache-2.0 */
#include "exec/stages.h"

#include "exec/run.h"

_Static_assert(HR_STAGE_COPY + HR__NDEVICE_STAGES == HR_NSTAGES &&
                   HR__SLOT_MARKS == HR__NDEVICE_STAGES,
               "each stage of a device begins at a mark");

static hr__start *start_of(hr__run *run, const hr__ring *ring) {
    uint32_t i = 0;
    while (run->starts[i].ring != ring) {
        i++;
    }
    return &run->starts[i];
}

/* Slabs overlap, and land about in the order in which they were sent: what lies before
 * the latest end of a stage has been counted. */
void hr__stages_landed(hr__run *run, const hr__ring *ring, const hr__ring_slot *slot,
                       bool is_led) {
    const int nstages = is_led ? 1 : HR__NDEVICE_STAGES; /* COPY is the first */
    hr__start *start = start_of(run, ring);
    hr__device *d = ring->device;
    const hr__event ends[HR__NDEVICE_STAGES] = {
        slot->copied, slot->marks[HR_STAGE_STORE - HR_STAGE_COPY], slot->event};
    uint64_t from[HR__NDEVICE_STAGES] = {0}, to[HR__NDEVICE_STAGES] = {0};
    for (int i = 0; i < nstages; i++) {
        if (d->ops->event_elapsed(d, start->event, slot->marks[i], &from[i], NULL) !=
                HR_OK ||
            d->ops->event_elapsed(d, start->event, ends[i], &to[i], NULL) != HR_OK) {
            return;
        }
    }
    pthread_mutex_lock(&run->lock);
    for (int i = 0; i < nstages; i++) {
        uint64_t *counted = &start->counted_ns[i];
        from[i] = from[i] > *counted ? from[i] : *counted;
        if (to[i] > from[i]) {
            atomic_fetch_add(&run->stages.ns[HR_STAGE_COPY + i], to[i] - from[i]);
            *counted = to[i];
        }
    }
    pthread_mutex_unlock(&run->lock);
}

/* That could work at the run at once. */
static uint32_t count_threads(const hr__run *run) {
    uint32_t n = run->context->nthreads + atomic_load(&run->stages.is_helped);
    return run->job.wanted != 0 && run->job.wanted < n ? run->job.wanted : n;
}

void hr__stages_tell(const hr__run *run, hr_stage_times *out) {
    const uint64_t ended = atomic_load(&run->stages.ended_ns);
    out->nthreads = count_threads(run);
    out->ndevices = run->nstarts;
    out->wall_ns = (ended != 0 ? ended : hr__clock_ns()) - run->stages.begun_ns;
    for (int i = 0; i < HR_NSTAGES; i++) {
        out->ns[i] = atomic_load(&run->stages.ns[i]);
    }
    (void)hr__stages_busiest(out, &out->bound);
}

/* --- shares --- */

static bool is_of_threads(int stage) {
    return stage > HR_STAGE_PLAN && stage < HR_STAGE_COPY;
}

static double busy_ns(const hr_stage_times *t, int stage) {
    const uint32_t lanes = is_of_threads(stage)     ? t->nthreads
                           : stage == HR_STAGE_PLAN ? 1
                                                    : t->ndevices;
    return t->ns[stage] == HR_UNKNOWN || lanes == 0 ? 0 : (double)t->ns[stage] / lanes;
}

double hr_stage_share(const hr_stage_times *times, hr_stage stage) {
    return times == NULL || (int)stage < 0 || stage >= HR_NSTAGES || times->wall_ns == 0
               ? 0
               : busy_ns(times, (int)stage) / (double)times->wall_ns;
}

uint64_t hr__stages_busiest(const hr_stage_times *times, int32_t *bound) {
    double of_threads = 0, most = 0;
    int largest = HR_STAGE_OPEN;
    *bound = -1;
    for (int i = 0; i < HR_NSTAGES; i++) {
        const double busy = busy_ns(times, i);
        if (is_of_threads(i)) {
            of_threads += busy;
            largest = busy > busy_ns(times, largest) ? i : largest;
        } else if (busy > most) {
            most = busy;
            *bound = i;
        }
    }
    if (of_threads > most) {
        most = of_threads;
        *bound = largest;
    }
    return (uint64_t)most;
}

const char *hr_stage_name(hr_stage stage) {
    static const char *const names[HR_NSTAGES] = {
        "plan", "open", "read", "decode", "scatter", "queue", "copy", "kernels", "store"};
    return (int)stage >= 0 && stage < HR_NSTAGES ? names[stage] : "";
}
