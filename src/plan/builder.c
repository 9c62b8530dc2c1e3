/* From requests to uses of chunks, which are not brought together yet.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "core/table.h"
#include "plan/build.h"

static bool number_array(const hr__plan_request *requests, size_t i,
                         const hr_allocator *a, hr__table *arrays, uint32_t *id) {
    if (!hr__table_grow(a, arrays)) {
        return false;
    }
    const uint64_t hash = hr__hash_mix(0, (uintptr_t)requests[i].array);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(arrays, hash, &at))->item != NULL) {
        const hr__plan_request *first = slot->item;
        if (first->array == requests[i].array) {
            *id = (uint32_t)(first - requests);
            return true;
        }
    }
    hr__table_fill(arrays, slot, hash, (void *)&requests[i]);
    *id = (uint32_t)i;
    return true;
}

hr_status hr__plan_number_arrays(const hr__plan_request *requests, size_t n,
                                 hr__arena *arena, hr__numbers *out, hr_error *err) {
    uint32_t *ids = hr__arena_array(arena, n, sizeof *ids);
    hr__table arrays = {0};
    bool has_memory = ids != NULL;
    for (size_t i = 0; has_memory && i < n; i++) {
        if (i > 0 && requests[i].array == requests[i - 1].array) {
            ids[i] = ids[i - 1];
        } else {
            has_memory = number_array(requests, i, arena->allocator, &arrays, &ids[i]);
        }
    }
    *out = (hr__numbers){.ids = ids, .narrays = arrays.count};
    hr__table_free(arena->allocator, &arrays);
    return has_memory ? HR_OK : hr__fail_memory(err, n * sizeof *ids);
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

hr_status hr__builder_fail_uses(const hr__builder *b, hr_error *err) {
    return hr__fail(err, HR_ERR_OVERFLOW,
                    "request %" PRIu32
                    ": the chunks are too many and too small to be read "
                    "at once: more than %" PRIu64 ", expected some %d bytes of each",
                    b->number, b->max_nuses, HR__PLAN_USE_NBYTES);
}

/* Of the object that holds the chunk at coords. */
static uint64_t hash_object(const hr__builder *b, const int64_t *coords) {
    const hr__array *a = b->request->array;
    int64_t outer[HR_MAX_NDIM];
    if (a->nlevels > 0) {
        hr__plan_outer(a, coords, outer);
        coords = outer;
    }
    return hr__plan_hash(b->array_id, coords, a->ndim);
}

hr_status hr__builder_use(hr__builder *b, const int64_t *coords, int32_t ndim,
                          hr__use **out, hr_error *err) {
    if (b->drafts.n == b->max_nuses) {
        return hr__builder_fail_uses(b, err);
    }
    const hr__array *a = b->request->array;
    const size_t coords_nbytes = (size_t)a->ndim * sizeof *coords;
    const size_t nbytes = sizeof(hr__use) + (size_t)ndim * sizeof(hr__dim);
    hr__use *use = hr__arena_alloc(b->arena, nbytes + coords_nbytes);
    hr__draft *draft =
        use == NULL ? NULL : hr__vec_push(b->arena->allocator, &b->drafts, sizeof *draft);
    if (draft == NULL) {
        return hr__fail_memory(err, nbytes + coords_nbytes);
    }
    int64_t *kept = memcpy(&use->dims[ndim], coords, coords_nbytes);
    use->request = b->number;
    use->ndim = ndim;
    *draft = (hr__draft){.use = use,
                         .coords = kept,
                         .array_id = b->array_id,
                         .hash = hash_object(b, coords)};
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
