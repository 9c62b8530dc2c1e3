/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/host_share.h"

#include "core/checked.h"
#include "exec/run.h"
#include "plan/host_share.h"

uint64_t hr__host_share_measured(hr_context *context, const hr__host_share_work *work) {
    hr__host_share_costs costs;
    if (work->nchunks == 0 ||
        !hr__history_costs(&context->history, work->key,
                           (double)work->nbytes / (double)work->nchunks, &costs)) {
        return 0;
    }
    return costs.decode < 0
               ? 1
               : hr__host_share_choose(&costs, work->nchunks, context->nthreads);
}

/* Kernels would decode it, and there is something to decode. */
static bool is_for_kernels(const hr__run *run, const hr__chunk *chunk) {
    const hr__array *a = chunk->object->array;
    hr__kernel_chain kernels;
    return !hr__chain_is_raw(&a->chain) && hr__run_only_ring(run, chunk) != NULL &&
           hr__run_has_kernels(a, &kernels);
}

static hr__history_key key_of(const hr__run *run, const hr__chunk *chunk) {
    const hr__target *t = &run->targets[chunk->object->array_id];
    return (hr__history_key){.alike = t->source->alike,
                             .device = hr__run_only_ring(run, chunk)->device->id};
}

/* Chunks for kernels; false where they are not alike. */
static bool add_up(const hr__run *run, hr__host_share_work *work) {
    bool alike = true;
    for (const hr__object_plan *o = run->plan.objects; o != NULL; o = o->next) {
        for (const hr__chunk *c = o->chunks; c != NULL; c = c->next) {
            if (is_for_kernels(run, c)) {
                const hr__history_key key = key_of(run, c);
                work->key = work->nchunks == 0 ? key : work->key;
                alike = alike && hr__history_key_equal(work->key, key);
                work->nchunks++;
                alike = hr__add_u64(work->nbytes, o->array->chain.decoded.nbytes,
                                    &work->nbytes) &&
                        alike;
            }
        }
    }
    return alike;
}

void hr__host_share_mark(hr__run *run, int32_t share) {
    hr__host_share_work work = {0};
    const bool alike = add_up(run, &work);
    uint64_t chosen = 0, due = 0;
    if (share == HR_HOST_SHARE_MEASURED) {
        chosen = alike ? hr__host_share_measured(run->context, &work) : 0;
    } else {
        chosen = work.nchunks / 100 * (uint64_t)share +
                 work.nchunks % 100 * (uint64_t)share / 100;
    }
    run->nhost_share = chosen;
    if (chosen == 0) {
        return;
    }
    for (hr__object_plan *o = run->plan.objects; o != NULL; o = o->next) {
        for (hr__chunk *c = o->chunks; c != NULL; c = c->next) {
            if (is_for_kernels(run, c)) {
                due += chosen;
                c->is_for_host = due >= work.nchunks;
                due -= c->is_for_host ? work.nchunks : 0;
            }
        }
    }
}
