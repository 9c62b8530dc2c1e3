/* From uses to the chunks that they are of, each once. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "core/table.h"
#include "plan/build.h"

/* What falls to one thread. */
typedef struct gatherer {
    hr__arena *arena;
    const hr__plan_request *requests;
    bool is_one_array;
    hr__table objects, chunks;
    hr__object_plan *first; /* linked by next */
} gatherer;

static hr__object_plan *add_object(gatherer *g, hr__draft *d, const int64_t *coords) {
    hr__object_plan *object = hr__arena_alloc(g->arena, sizeof *object);
    if (object != NULL) {
        object->array = g->requests[d->array_id].array;
        object->array_id = d->array_id;
        object->coords = coords;
        object->next = g->first;
        g->first = object;
        d->object = object;
    }
    return object;
}

/* The object, new or known, that holds a new chunk. */
static hr__object_plan *object_of(gatherer *g, hr__draft *d) {
    const hr__array *a = g->requests[d->array_id].array;
    if (a->nlevels == 0) { /* a new chunk is then a new object */
        return add_object(g, d, d->coords);
    }
    int64_t outer[HR_MAX_NDIM];
    hr__plan_outer(a, d->coords, outer);
    if (!hr__table_grow(g->arena->allocator, &g->objects)) {
        return NULL;
    }
    uint64_t at = d->hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&g->objects, d->hash, &at))->item != NULL) {
        hr__object_plan *known = slot->item;
        if (known->array_id == d->array_id &&
            hr__plan_same_coords(known->coords, outer, a->ndim)) {
            return known;
        }
    }
    const int64_t *kept =
        hr__arena_copy(g->arena, outer, (size_t)a->ndim * sizeof *outer);
    hr__object_plan *object = kept == NULL ? NULL : add_object(g, d, kept);
    if (object != NULL) {
        hr__table_fill(&g->objects, slot, d->hash, object);
    }
    return object;
}

static hr__chunk *add_chunk(gatherer *g, hr__draft *d) {
    hr__chunk *chunk = hr__arena_alloc(g->arena, sizeof *chunk);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->coords = d->coords;
    chunk->object = object_of(g, d);
    if (chunk->object == NULL) {
        return NULL;
    }
    chunk->next = chunk->object->chunks;
    chunk->object->chunks = chunk;
    chunk->object->nchunks++;
    return chunk;
}

/* The chunk, new or known. */
static hr__chunk *chunk_of(gatherer *g, hr__draft *d) {
    if (!hr__table_grow(g->arena->allocator, &g->chunks)) {
        return NULL;
    }
    const hr__array *a = g->requests[d->array_id].array;
    const uint64_t hash =
        a->nlevels == 0 ? d->hash : hr__plan_hash(d->array_id, d->coords, a->ndim);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&g->chunks, hash, &at))->item != NULL) {
        hr__chunk *known = slot->item;
        if ((g->is_one_array || known->object->array_id == d->array_id) &&
            hr__plan_same_coords(known->coords, d->coords, a->ndim)) {
            return known;
        }
    }
    hr__chunk *chunk = add_chunk(g, d);
    if (chunk != NULL) {
        hr__table_fill(&g->chunks, slot, hash, chunk);
    }
    return chunk;
}

static bool is_whole(const hr__chunk *chunk) {
    const hr__array *a = chunk->object->array;
    const hr__use *use = chunk->uses;
    bool whole = use->next == NULL && use->ndim == a->ndim;
    for (int32_t axis = 0; whole && axis < a->ndim; axis++) {
        const hr__piece *p = use->dims[axis].piece;
        whole = p->n == hr__grid_length(&a->grid[axis], chunk->coords[axis]) &&
                p->src_step == 1 && p->dst_step == 1 && p->src_list == NULL &&
                p->dst_list == NULL;
    }
    return whole;
}

/* Bring its chunks in order of first use, set is_whole. */
static void finish(hr__object_plan *object) {
    hr__chunk *chunk = object->chunks; /* newest first */
    object->chunks = NULL;
    while (chunk != NULL) {
        hr__chunk *next = chunk->next;
        chunk->is_whole = is_whole(chunk);
        chunk->next = object->chunks;
        object->chunks = chunk;
        chunk = next;
    }
}

/* Whose a use is: by other bits of the hash than the tables go by. */
static bool is_of(const hr__draft *d, uint32_t share, uint32_t nshares) {
    return nshares == 1 || (d->hash >> 32) * nshares >> 32 == share;
}

static bool gather(gatherer *g, hr__draft *drafts, size_t n, uint32_t share,
                   uint32_t nshares) {
    for (size_t i = 0; i < n; i++) {
        hr__draft *d = &drafts[i];
        if (!is_of(d, share, nshares)) {
            continue;
        }
        hr__chunk *chunk = chunk_of(g, d);
        if (chunk == NULL) {
            return false;
        }
        d->use->next = chunk->uses;
        chunk->uses = d->use;
    }
    return true;
}

bool hr__plan_gather(hr__builder *parts, uint32_t nparts, uint32_t share) {
    gatherer g = {.arena = parts[share].arena,
                  .requests = parts[share].requests,
                  .is_one_array = parts[share].numbers.narrays == 1};
    bool ok = true;
    for (uint32_t i = 0; i < nparts && ok; i++) {
        ok = gather(&g, parts[i].drafts.items, parts[i].drafts.n, share, nparts);
    }
    for (hr__object_plan *o = g.first; o != NULL && ok; o = o->next) {
        finish(o);
    }
    hr__table_free(g.arena->allocator, &g.objects);
    hr__table_free(g.arena->allocator, &g.chunks);
    return ok;
}

uint64_t hr__plan_inner_number(const hr__array *a, int32_t level, const int64_t *coords) {
    const hr__level *l = &a->levels[level];
    uint64_t number = 0;
    for (int32_t i = 0; i < a->ndim; i++) {
        int32_t axis = l->order[i];
        int64_t coord = coords[axis];
        for (int32_t inner = a->nlevels - 1; inner > level; inner--) {
            coord /= a->levels[inner].counts[axis];
        }
        number = number * (uint64_t)l->counts[axis] + (uint64_t)(coord % l->counts[axis]);
    }
    return number;
}
