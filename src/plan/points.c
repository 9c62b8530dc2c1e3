/* Points: elements one by one, grouped by chunk. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/checked.h"
#include "plan/build.h"

/* Chunk and place of point number i of the request. */
static hr_status locate(hr__builder *b, int64_t i, hr__item *item, hr_error *err) {
    const hr__array *a = b->request->array;
    const int64_t *points = b->request->selection->points; /* NULL without axes */
    int64_t coords[HR_MAX_NDIM];
    int64_t inside[HR_MAX_NDIM];
    item->key = 0;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        const hr__grid_axis *g = &a->grid[axis];
        int64_t index = points[i * a->ndim + axis];
        index = index < 0 ? index + g->length : index;
        coords[axis] = hr__grid_find(g, index);
        inside[axis] = index - hr__grid_start(g, coords[axis]);
        item->key = item->key * (uint64_t)g->nchunks + (uint64_t)coords[axis];
    }
    HR__TRY(hr__builder_strides(b, coords, err));
    item->src = 0;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        item->src += inside[axis] * b->src_strides[axis];
    }
    item->dst = i;
    return HR_OK;
}

static void coords_of_key(const hr__array *a, uint64_t key, int64_t *coords) {
    for (int32_t axis = a->ndim - 1; axis >= 0; axis--) {
        uint64_t nchunks = (uint64_t)a->grid[axis].nchunks;
        coords[axis] = (int64_t)(key % nchunks);
        key /= nchunks;
    }
}

static hr_status add_groups(hr__builder *b, const hr__item *items, int64_t n,
                            hr_error *err) {
    int64_t *src = hr__arena_array(b->arena, (size_t)n, 2 * sizeof *src);
    if (src == NULL) {
        return hr__fail_memory(err, (size_t)n * 2 * sizeof *src);
    }
    int64_t *dst = src + n;
    int64_t coords[HR_MAX_NDIM];
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && items[end].key == items[first].key; end++) {
            src[end] = items[end].src;
            dst[end] = items[end].dst;
        }
        coords_of_key(b->request->array, items[first].key, coords);
        hr__piece piece = hr__piece_of(src + first, dst + first, end - first);
        HR__TRY(hr__builder_flat(b, coords, piece, err));
    }
    return HR_OK;
}

hr_status hr__plan_points(hr__builder *b, int64_t n, hr_error *err) {
    const hr__array *a = b->request->array;
    uint64_t nchunks = 1;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        if (!hr__mul_u64(nchunks, (uint64_t)a->grid[axis].nchunks, &nchunks)) {
            return hr__fail(err, HR_ERR_OVERFLOW,
                            "request %" PRIu32
                            ": points in an array of more than 2^64 chunks",
                            b->number);
        }
    }
    uint64_t nbytes = 0;
    hr__item *items = NULL;
    if (hr__mul_u64((uint64_t)n, 2 * sizeof *items, &nbytes)) {
        items = hr__alloc(b->arena->allocator, nbytes);
    }
    if (items == NULL) {
        return hr__fail_memory(err, (size_t)n * sizeof *items);
    }
    hr_status status = HR_OK;
    for (int64_t i = 0; i < n && status == HR_OK; i++) {
        status = locate(b, i, &items[i], err);
    }
    if (status == HR_OK) {
        status = add_groups(b, hr__items_sort(items, items + n, n), n, err);
    }
    hr__free(b->arena->allocator, items, nbytes);
    return status;
}
