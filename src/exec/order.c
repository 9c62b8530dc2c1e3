/* In what order the objects of a run are taken. SPDX-License-Identifier: Apache-2.0 */
#include "exec/order.h"

/* The objects of one destination device, or of host memory. */
typedef struct share {
    const hr__ring *ring;
    hr__object_plan *first, *last;
    uint64_t nchunks, ntaken;
} share;

/* The ring of the first use: a chunk for several devices goes by it. */
static const hr__ring *ring_of(const hr__run *run, const hr__object_plan *o) {
    return run->targets[o->chunks->uses->request].ring;
}

static share *share_of(share *shares, uint32_t *n, const hr__ring *ring) {
    for (uint32_t i = 0; i < *n; i++) {
        if (shares[i].ring == ring) {
            return &shares[i];
        }
    }
    share *s = &shares[(*n)++];
    *s = (share){.ring = ring};
    return s;
}

static void append(share *s, hr__object_plan *o) {
    if (s->first == NULL) {
        s->first = o;
    } else {
        s->last->next = o;
    }
    s->last = o;
    s->nchunks += o->nchunks;
}

/* Of those that have some left, the one of which the least part is taken. */
static share *furthest_behind(share *shares, uint32_t n) {
    share *least = NULL;
    double least_part = 0;
    for (uint32_t i = 0; i < n; i++) {
        share *s = &shares[i];
        const double part = (double)s->ntaken / (double)s->nchunks;
        if (s->first != NULL && (least == NULL || part < least_part)) {
            least = s;
            least_part = part;
        }
    }
    return least;
}

void hr__run_order(hr__run *run) {
    share shares[HR__MAX_RINGS + 1]; /* and host memory */
    uint32_t n = 0;
    for (hr__object_plan *o = run->plan.objects; o != NULL; o = o->next) {
        append(share_of(shares, &n, ring_of(run, o)), o);
    }
    for (uint32_t i = 0; i < n; i++) {
        shares[i].last->next = NULL;
    }
    hr__object_plan **place = &run->plan.objects;
    for (share *s; (s = furthest_behind(shares, n)) != NULL; place = &(*place)->next) {
        *place = s->first;
        s->ntaken += s->first->nchunks;
        s->first = s->first->next;
    }
}
