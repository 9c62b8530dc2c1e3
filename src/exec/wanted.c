/* What the uses of a chunk take of it. SPDX-License-Identifier: Apache-2.0 */
#include "exec/wanted.h"

#include <stdlib.h>

#include "exec/kept.h"
#include "exec/scatter.h"

#define LEAST_NBYTES (UINT64_C(32) << 10) /* smaller chunks are not worth the look */
#define MOST_TURNS 16384                  /* of a use's outer loops */
#define LEAST_GAP (UINT64_C(4) << 10)     /* less is not worth another read */

/* A use as loops over its source, the widest step first. Bytes that the loops from one
 * level on take lie in [lo, hi) from where they start, and are marked as a whole where
 * they leave no gaps to speak of. */
typedef struct marker {
    hr__wanted *out;
    hr__copy copy;
    int64_t lo[HR_MAX_NDIM + 1], hi[HR_MAX_NDIM + 1];
    bool is_dense[HR_MAX_NDIM + 1];
} marker;

static int by_step(const void *a, const void *b) {
    int64_t x = llabs(((const hr__loop *)a)->src_step);
    int64_t y = llabs(((const hr__loop *)b)->src_step);
    return (x < y) - (x > y);
}

/* First and last place of a loop, in bytes. */
static void extent(const hr__loop *l, int64_t *first, int64_t *last) {
    *first = 0;
    *last = l->n - 1;
    if (l->src_list != NULL) {
        *first = *last = l->src_list[0];
        for (int64_t k = 1; k < l->n; k++) {
            *first = l->src_list[k] < *first ? l->src_list[k] : *first;
            *last = l->src_list[k] > *last ? l->src_list[k] : *last;
        }
    }
    *first *= l->src_step;
    *last *= l->src_step;
    if (*first > *last) {
        int64_t swapped = *first;
        *first = *last;
        *last = swapped;
    }
}

static void measure(marker *m, uint64_t itemsize) {
    int32_t n = m->copy.nloops;
    m->lo[n] = 0;
    m->hi[n] = (int64_t)itemsize;
    m->is_dense[n] = true;
    for (int32_t i = n - 1; i >= 0; i--) {
        const hr__loop *l = &m->copy.loops[i];
        int64_t first;
        int64_t last;
        int64_t inner = m->hi[i + 1] - m->lo[i + 1];
        extent(l, &first, &last);
        m->lo[i] = m->lo[i + 1] + first;
        m->hi[i] = m->hi[i + 1] + last;
        m->is_dense[i] = m->is_dense[i + 1] && l->src_list == NULL &&
                         llabs(l->src_step) <= inner + (int64_t)m->out->granule_nbytes;
    }
    int64_t turns = 1;
    for (int32_t i = 0; i < n && !m->is_dense[i]; i++) {
        m->is_dense[i] = m->copy.loops[i].n > MOST_TURNS / turns;
        turns *= m->is_dense[i] ? 1 : m->copy.loops[i].n;
    }
}

static void add(hr__wanted *w, uint64_t lo, uint64_t hi) {
    for (uint64_t g = lo / w->granule_nbytes; g * w->granule_nbytes < hi; g++) {
        w->bits[g / 64] |= UINT64_C(1) << g % 64;
    }
}

/* The loops above the first dense level, turn by turn. */
static void mark(const marker *m) {
    int64_t turn[HR_MAX_NDIM] = {0};
    int32_t depth = 0;
    while (!m->is_dense[depth]) {
        depth++;
    }
    int32_t i = depth;
    while (i >= 0) {
        int64_t at = m->copy.src_offset;
        for (int32_t l = 0; l < depth; l++) {
            const hr__loop *loop = &m->copy.loops[l];
            at += (loop->src_list != NULL ? loop->src_list[turn[l]] : turn[l]) *
                  loop->src_step;
        }
        add(m->out, (uint64_t)(at + m->lo[depth]), (uint64_t)(at + m->hi[depth]));
        for (i = depth - 1; i >= 0 && ++turn[i] == m->copy.loops[i].n; i--) {
            turn[i] = 0;
        }
    }
}

bool hr__wanted_find(const hr__chunk *chunk, const hr__chain *chain, hr__wanted *out) {
    const uint64_t itemsize = chunk->object->array->stored.itemsize;
    const uint64_t nbytes = chain->decoded.nbytes;
    if (chunk->is_whole || nbytes < LEAST_NBYTES || nbytes == HR__SIZE_UNKNOWN) {
        return false;
    }
    *out = (hr__wanted){.granule_nbytes = (nbytes - 1) / HR__WANTED_NBITS + 1};
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        marker m = {.out = out};
        hr__copy_from_use(u, itemsize, &m.copy);
        qsort(m.copy.loops, (size_t)m.copy.nloops, sizeof *m.copy.loops, by_step);
        measure(&m, itemsize);
        mark(&m);
    }
    uint64_t n = (nbytes - 1) / out->granule_nbytes + 1;
    uint64_t g = 0;
    while (g < n && hr__wanted_has(out, g)) {
        g++;
    }
    return g < n;
}

const hr__wanted *hr__wanted_to_decode(const hr__run *run, const hr__chunk *chunk,
                                       const hr__chain *chain, hr__wanted *own) {
    bool is_part = hr__chain_partial(chain) >= 0 && !hr__kept_wants(run, chunk, chain) &&
                   hr__wanted_find(chunk, chain, own);
    return is_part ? own : NULL;
}

/* --- uncompressed chunks --- */

/* Bytes that are to be read next. */
typedef struct reader {
    hr__run *run;
    hr__object *object;
    const hr__range *range;
    uint8_t *dst;
    uint64_t gap;
    uint64_t lo, hi; /* in the object; lo = hi: none yet */
} reader;

static hr_status flush(reader *r, hr_error *err) {
    if (r->lo == r->hi) {
        return HR_OK;
    }
    const hr__range part = {
        .offset = r->lo, .nbytes = r->hi - r->lo, .chunks = r->range->chunks};
    return hr__run_read(r->run, r->object, &part, r->dst + (r->lo - r->range->offset),
                        err);
}

static hr_status read_part(reader *r, uint64_t lo, uint64_t hi, hr_error *err) {
    if (r->lo == r->hi || lo < r->lo || (lo > r->hi && lo - r->hi > r->gap)) {
        HR__TRY(flush(r, err));
        r->lo = lo;
        r->hi = hi;
    } else if (hi > r->hi) {
        r->hi = hi;
    }
    return HR_OK;
}

static hr_status read_chunk(reader *r, const hr__chunk *c, const hr__chain *chain,
                            hr_error *err) {
    hr__wanted w;
    if (!hr__wanted_find(c, chain, &w)) {
        return read_part(r, c->offset, c->offset + c->nbytes, err);
    }
    for (uint64_t g = 0; g * w.granule_nbytes < c->nbytes; g++) {
        if (hr__wanted_has(&w, g)) {
            uint64_t lo = g * w.granule_nbytes;
            uint64_t hi = lo + w.granule_nbytes;
            hi = hi < c->nbytes ? hi : c->nbytes;
            HR__TRY(read_part(r, c->offset + lo, c->offset + hi, err));
        }
    }
    return HR_OK;
}

/* Are all chunks of a range as they are in memory, and of the size that they should have,
 * and is any not taken whole? */
static bool has_parts(const hr__range *range) {
    bool any = false;
    for (const hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        const hr__chain *chain = NULL;
        if (hr__array_chain(c->object->array, c->coords, &chain, NULL) != HR_OK ||
            !hr__chain_is_raw(chain) || chain->encoded.nbytes != c->nbytes ||
            chain->decoded.nbytes != c->nbytes) {
            return false;
        }
        any |= !c->is_whole;
    }
    return any;
}

hr_status hr__wanted_read(hr__run *run, hr__object *object, const hr__range *range,
                          uint8_t *dst, hr_error *err) {
    if (range->nbytes < LEAST_NBYTES || !has_parts(range)) {
        return hr__run_read(run, object, range, dst, err);
    }
    const hr__object_plan *plan = range->chunks->object;
    uint64_t gap = run->targets[plan->array_id].source->store->gap_nbytes;
    reader r = {.run = run,
                .object = object,
                .range = range,
                .dst = dst,
                .gap = gap > LEAST_GAP ? gap : LEAST_GAP};
    for (const hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        const hr__chain *chain = NULL;
        HR__TRY(hr__array_chain(plan->array, c->coords, &chain, err));
        HR__TRY(read_chunk(&r, c, chain, err));
    }
    return flush(&r, err);
}
