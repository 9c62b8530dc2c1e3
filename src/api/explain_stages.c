/* How often memory is filled and what stages take, before a read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/explain.h"

#include "core/checked.h"
#include "exec/stages.h"

void hr__explain_share(hr_explanation *e, hr__history_key key, uint64_t nbytes,
                       bool is_for_kernels) {
    uint32_t i = 0;
    while (i < e->nshares && i < HR__HISTORY_SIZE &&
           !hr__history_key_equal(e->shares[i].key, key)) {
        i++;
    }
    if (i < HR__HISTORY_SIZE) {
        e->nshares = i == e->nshares ? i + 1 : e->nshares;
        hr__share *s = &e->shares[i];
        s->key = s->work.key = key;
        s->nbytes = hr__explain_sum(s->nbytes, nbytes);
        s->work.nchunks += is_for_kernels;
        s->work.nbytes = hr__explain_sum(s->work.nbytes, is_for_kernels ? nbytes : 0);
    } else {
        e->nshares = HR__HISTORY_SIZE + 1;
    }
}

/* --- waves --- */

/* What the slabs of a row's chunks hold, at most: encoded bytes and, decoded by kernels,
 * what they make, or decoded bytes. */
static hr__need row_need(const hr_planned_chain *row) {
    const bool is_encoded = row->is_on_device && row->read_nbytes != HR_UNKNOWN;
    return (hr__need){.payload = is_encoded ? row->read_nbytes : row->decoded_nbytes,
                      .scratch = row->is_on_device ? row->decoded_nbytes : 0};
}

static uint64_t waves_on(const hr_explanation *e, hr_device device) {
    const hr__ring_set *rings = &e->context->rings;
    const hr__need usual = hr__ring_set_usual(rings);
    hr__need all = {0};
    for (const hr__planned_row *r = e->rows; r != NULL; r = r->next) {
        if (hr__device_equal(r->chain.device, device)) {
            const hr__need need = row_need(&r->chain);
            all.payload = hr__explain_sum(all.payload, need.payload);
            all.scratch = hr__explain_sum(all.scratch, need.scratch);
        }
    }
    if (all.payload == HR_UNKNOWN || all.scratch == HR_UNKNOWN) {
        return HR_UNKNOWN;
    }
    const uint64_t payload = usual.payload * rings->max_slots;
    const uint64_t scratch = usual.scratch * rings->max_slots;
    const uint64_t by_payload = payload > 0 ? all.payload / payload : 0;
    const uint64_t by_scratch = scratch > 0 ? all.scratch / scratch : 0;
    return 1 + (by_payload > by_scratch ? by_payload : by_scratch);
}

void hr__explain_waves(hr_explanation *e) {
    for (const hr__planned_row *r = e->rows; r != NULL; r = r->next) {
        if (r->chain.device.type != HR_DEVICE_CPU) {
            const uint64_t n = waves_on(e, r->chain.device);
            e->totals.nwaves = n > e->totals.nwaves ? n : e->totals.nwaves;
        }
    }
}

/* --- the host share --- */

/* As hr__host_share_mark: where all chunks that kernels decode are alike. */
void hr__explain_host_share(hr_explanation *e) {
    const hr__host_share_work *only = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nshares && i < HR__HISTORY_SIZE; i++) {
        if (e->shares[i].work.nchunks > 0) {
            only = &e->shares[i].work;
            n++;
        }
    }
    e->totals.nchunks_host_share =
        n == 1 && e->nshares <= HR__HISTORY_SIZE && only->nbytes != HR_UNKNOWN
            ? hr__host_share_measured(e->context, only)
            : 0;
}

/* --- times --- */

static uint32_t count_devices(const hr_explanation *e) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nshares; i++) {
        const hr_device device = e->shares[i].key.device;
        uint32_t k = 0;
        while (!hr__device_equal(e->shares[k].key.device, device)) {
            k++;
        }
        n += k == i && device.type != HR_DEVICE_CPU;
    }
    return n;
}

void hr__explain_stages(hr_explanation *e) {
    hr_stage_times *t = &e->stages;
    const uint64_t plan_ns = t->ns[HR_STAGE_PLAN];
    bool is_known = e->nshares <= HR__HISTORY_SIZE;
    for (uint32_t i = 0; is_known && i < e->nshares; i++) {
        const hr__share *s = &e->shares[i];
        is_known = s->nbytes != HR_UNKNOWN &&
                   hr__history_foretell(&e->context->history, s->key, s->nbytes, t->ns);
    }
    for (int i = 0; i < HR_NSTAGES && !is_known; i++) {
        t->ns[i] = HR_UNKNOWN;
    }
    t->ns[HR_STAGE_PLAN] = plan_ns;
    t->nthreads = e->context->nthreads;
    t->ndevices = is_known ? count_devices(e) : 0;
    t->wall_ns = hr__stages_busiest(t, &t->bound);
    if (!is_known) {
        t->wall_ns = HR_UNKNOWN;
        t->bound = -1;
    }
}
