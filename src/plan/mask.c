/* Masks: taken chunk by chunk. SPDX-License-Identifier: Apache-2.0
 *
 * A true element goes to its rank among the trues of the whole array. Chunks are visited
 * in C order, so a row of the array is passed over from left to right, one chunk after
 * the other: a cursor per row knows the rank at which its next part begins. */
#include <string.h>

#include "core/checked.h"
#include "plan/build.h"

typedef struct walk {
    hr__builder *b;
    int64_t row_length; /* along the last axis; 1 for an array without axes */
    int64_t nrows;
    int64_t *ranks;     /* per row */
    int64_t *src, *dst; /* the places of the trues, as they are found */
    int64_t n;          /* found so far */
} walk;

static void count_ranks(walk *w) {
    const uint8_t *mask = w->b->request->selection->mask;
    int64_t rank = 0;
    for (int64_t row = 0; row < w->nrows; row++) {
        w->ranks[row] = rank;
        for (int64_t i = 0; i < w->row_length; i++) {
            rank += *mask++ != 0;
        }
    }
}

/* Part of a row: length elements from `mask` on, stored at src0, src0 + stride, … An
 * element is always written; one that is not selected is overwritten by the next. */
static void scan_part(walk *w, const uint8_t *mask, int64_t length, int64_t row,
                      int64_t src0, int64_t stride) {
    int64_t rank = w->ranks[row] - w->n;
    int64_t n = w->n;
    for (int64_t i = 0; i < length; i++) {
        uint64_t eight;
        if (length - i >= 8 && (memcpy(&eight, mask + i, 8), eight == 0)) {
            i += 7;
        } else {
            w->src[n] = src0 + i * stride;
            w->dst[n] = rank + n;
            n += mask[i] != 0;
        }
    }
    w->ranks[row] = rank + n;
    w->n = n;
}

/* The part of the array along one axis that a chunk covers. */
static int64_t extent(const hr__grid_axis *g, int64_t chunk) {
    int64_t rest = g->length - hr__grid_start(g, chunk);
    int64_t length = hr__grid_length(g, chunk);
    return length < rest ? length : rest;
}

/* All the rows that the chunk at coords has elements of. */
static hr_status scan_chunk(walk *w, const int64_t *coords, hr_error *err) {
    const hr__array *a = w->b->request->array;
    const uint8_t *mask = w->b->request->selection->mask;
    const int64_t *strides = w->b->src_strides;
    HR__TRY(hr__builder_strides(w->b, coords, err));
    int64_t start[HR_MAX_NDIM] = {0};
    int64_t extents[HR_MAX_NDIM] = {1}; /* without axes: one row of one element */
    int64_t at[HR_MAX_NDIM] = {0};
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        start[axis] = hr__grid_start(&a->grid[axis], coords[axis]);
        extents[axis] = extent(&a->grid[axis], coords[axis]);
    }
    int32_t last = a->ndim == 0 ? 0 : a->ndim - 1;
    int64_t stride = a->ndim == 0 ? 1 : strides[last];
    do {
        int64_t row = 0;
        int64_t src0 = 0;
        for (int32_t axis = 0; axis < last; axis++) {
            row = row * a->shape[axis] + start[axis] + at[axis];
            src0 += at[axis] * strides[axis];
        }
        scan_part(w, mask + row * w->row_length + start[last], extents[last], row, src0,
                  stride);
    } while (hr__next_tuple(last, extents, at));
    return HR_OK;
}

static hr_status walk_chunks(walk *w, hr_error *err) {
    const hr__array *a = w->b->request->array;
    int64_t nchunks[HR_MAX_NDIM] = {0};
    int64_t coords[HR_MAX_NDIM] = {0};
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        nchunks[axis] = a->grid[axis].nchunks;
    }
    do {
        int64_t first = w->n;
        HR__TRY(scan_chunk(w, coords, err));
        if (w->n > first) {
            hr__piece piece = hr__piece_of(w->src + first, w->dst + first, w->n - first);
            HR__TRY(hr__builder_flat(w->b, coords, piece, err));
        }
    } while (hr__next_tuple(a->ndim, nchunks, coords));
    return HR_OK;
}

hr_status hr__plan_mask(hr__builder *b, int64_t n, hr_error *err) {
    const hr__array *a = b->request->array;
    walk w = {.b = b, .row_length = 1, .nrows = 1};
    for (int32_t axis = 0; axis < a->ndim; axis++) { /* the mask has as many bytes */
        w.nrows *= w.row_length;
        w.row_length = a->shape[axis];
    }
    uint64_t ranks_nbytes = 0;
    if (hr__mul_u64((uint64_t)w.nrows, sizeof *w.ranks, &ranks_nbytes)) {
        w.ranks = hr__alloc(b->arena->allocator, ranks_nbytes);
    }
    if (w.ranks == NULL) {
        return hr__fail_memory(err, (size_t)w.nrows * sizeof *w.ranks);
    }
    hr_status status = HR_OK;
    size_t room = (size_t)n + 1;
    w.src = hr__arena_array(b->arena, room, 2 * sizeof *w.src);
    if (w.src == NULL) {
        status = hr__fail_memory(err, room * 2 * sizeof *w.src);
    } else {
        w.dst = w.src + room;
        count_ranks(&w);
        status = walk_chunks(&w, err);
    }
    hr__free(b->arena->allocator, w.ranks, ranks_nbytes);
    return status;
}
