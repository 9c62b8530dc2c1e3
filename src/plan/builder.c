/* The chunks of a plan, each once. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "core/hash.h"
#include "plan/build.h"

hr_status hr__builder_set_array_id(hr__builder *b, hr_error *err) {
    if (!hr__table_grow(b->arena->allocator, &b->arrays)) {
        return hr__fail_memory(err, b->arrays.capacity * sizeof *b->arrays.slots);
    }
    const hr__array *a = b->request->array;
    uint64_t hash = hr__hash_mix(0, (uintptr_t)a);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&b->arrays, hash, &at))->item != NULL) {
        const hr__plan_request *first = slot->item;
        if (first->array == a) {
            b->array_id = (uint32_t)(first - b->requests);
            return HR_OK;
        }
    }
    hr__table_fill(&b->arrays, slot, hash, (void *)b->request);
    b->array_id = b->number;
    return HR_OK;
}

hr_status hr__builder_strides(hr__builder *b, const int64_t *coords, hr_error *err) {
    if (b->is_regular) {
        return HR_OK;
    }
    const hr__array *a = b->request->array;
    int64_t stride = 1;
    for (int32_t i = a->ndim - 1; i >= 0; i--) {
        int32_t axis = a->order[i];
        b->src_strides[axis] = stride;
        if (!hr__mul_i64(stride, hr__grid_length(&a->grid[axis], coords[axis]),
                         &stride)) {
            return hr__fail(err, HR_ERR_OVERFLOW,
                            "request %" PRIu32 ": a chunk has more than 2^63 elements",
                            b->number);
        }
    }
    return HR_OK;
}

static uint64_t hash_coords(uint32_t array_id, const int64_t *coords, int32_t ndim) {
    uint64_t hash = hr__hash_mix(0, array_id);
    for (int32_t axis = 0; axis < ndim; axis++) {
        hash = hr__hash_mix(hash, (uint64_t)coords[axis]);
    }
    return hash;
}

static bool same_coords(const int64_t *x, const int64_t *y, int32_t ndim) {
    int32_t axis = 0;
    while (axis < ndim && x[axis] == y[axis]) {
        axis++;
    }
    return axis == ndim;
}

static hr__object_plan *add_object(hr__builder *b, const int64_t *coords) {
    hr__object_plan *object = hr__arena_alloc(b->arena, sizeof *object);
    if (object != NULL) {
        object->array = b->request->array;
        object->array_id = b->array_id;
        object->coords = coords;
        *b->objects_tail = object;
        b->objects_tail = &object->next;
        b->plan->nobjects++;
    }
    return object;
}

/* The object, new or known, that holds the chunk at coords. */
static hr__object_plan *object_of(hr__builder *b, const int64_t *coords) {
    int32_t ndim = b->request->array->ndim;
    if (b->request->array->nlevels == 0) { /* a new chunk is then a new object */
        return add_object(b, coords);
    }
    int64_t outer[HR_MAX_NDIM];
    for (int32_t axis = 0; axis < ndim; axis++) {
        outer[axis] = coords[axis] / b->outer_counts[axis];
    }
    if (!hr__table_grow(b->arena->allocator, &b->objects)) {
        return NULL;
    }
    uint64_t hash = hash_coords(b->array_id, outer, ndim);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&b->objects, hash, &at))->item != NULL) {
        hr__object_plan *known = slot->item;
        if (known->array_id == b->array_id && same_coords(known->coords, outer, ndim)) {
            return known;
        }
    }
    const int64_t *kept = hr__arena_copy(b->arena, outer, (size_t)ndim * sizeof *outer);
    hr__object_plan *object = kept == NULL ? NULL : add_object(b, kept);
    if (object != NULL) {
        hr__table_fill(&b->objects, slot, hash, object);
    }
    return object;
}

static hr__chunk *add_chunk(hr__builder *b, const int64_t *coords) {
    size_t coords_nbytes = (size_t)b->request->array->ndim * sizeof *coords;
    hr__chunk *chunk = hr__arena_alloc(b->arena, sizeof *chunk + coords_nbytes);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->coords = memcpy(chunk + 1, coords, coords_nbytes);
    chunk->object = object_of(b, chunk->coords);
    if (chunk->object == NULL) {
        return NULL;
    }
    chunk->next = chunk->object->chunks;
    chunk->object->chunks = chunk;
    chunk->object->nchunks++;
    b->plan->nchunks++;
    return chunk;
}

/* The chunk, new or known, at coords of the request's array. */
static hr__chunk *chunk_at(hr__builder *b, const int64_t *coords) {
    if (!hr__table_grow(b->arena->allocator, &b->chunks)) {
        return NULL;
    }
    int32_t ndim = b->request->array->ndim;
    uint64_t hash = hash_coords(b->array_id, coords, ndim);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&b->chunks, hash, &at))->item != NULL) {
        hr__chunk *known = slot->item;
        if (same_coords(known->coords, coords, ndim) &&
            (b->arrays.count == 1 || known->object->array_id == b->array_id)) {
            return known;
        }
    }
    hr__chunk *chunk = add_chunk(b, coords);
    if (chunk != NULL) {
        hr__table_fill(&b->chunks, slot, hash, chunk);
    }
    return chunk;
}

hr_status hr__builder_fail_uses(const hr__builder *b, hr_error *err) {
    return hr__fail(err, HR_ERR_OVERFLOW,
                    "request %" PRIu32
                    ": the chunks are too many and too small to be read "
                    "at once: more than %" PRIu64 ", expected some %d bytes of each",
                    b->number, b->max_nuses, HR__PLAN_USE_NBYTES);
}

hr_status hr__builder_use(hr__builder *b, const int64_t *coords, int32_t ndim,
                          hr__use **out, hr_error *err) {
    if (b->nuses == b->max_nuses) {
        return hr__builder_fail_uses(b, err);
    }
    b->nuses++;
    size_t nbytes = sizeof(hr__use) + (size_t)ndim * sizeof(hr__dim);
    hr__chunk *chunk = chunk_at(b, coords);
    hr__use *use = chunk == NULL ? NULL : hr__arena_alloc(b->arena, nbytes);
    if (use == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    use->request = b->number;
    use->ndim = ndim;
    use->next = chunk->uses;
    chunk->uses = use;
    *out = use;
    return HR_OK;
}

hr_status hr__builder_flat(hr__builder *b, const int64_t *coords, hr__piece piece,
                           hr_error *err) {
    const hr__piece *kept = hr__arena_copy(b->arena, &piece, sizeof piece);
    if (kept == NULL) {
        return hr__fail_memory(err, sizeof piece);
    }
    hr__use *use;
    HR__TRY(hr__builder_use(b, coords, 1, &use, err));
    use->dims[0] =
        (hr__dim){.piece = kept, .src_stride = 1, .dst_stride = b->dst_strides[0]};
    return HR_OK;
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

void hr__plan_finish(hr__plan *plan) {
    for (hr__object_plan *object = plan->objects; object != NULL; object = object->next) {
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
