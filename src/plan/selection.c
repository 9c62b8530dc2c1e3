/* Selections checked and made plain. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "plan/build.h"

static int64_t clip(int64_t value, int64_t n, int64_t low, int64_t high) {
    if (value < 0) {
        value += n;
    }
    return value < low ? low : value > high ? high : value;
}

/* start:stop:step as NumPy reads it, along n elements. */
static hr__axis_range pick_slice(const hr_axis *x, int64_t n) {
    int64_t step = x->step == 0 || x->step == HR_NONE ? 1 : x->step;
    bool up = step > 0;
    int64_t low = up ? 0 : -1;
    int64_t high = up ? n : n - 1;
    int64_t start = up ? low : high;
    int64_t stop = up ? high : low;
    if (x->start != HR_NONE) {
        start = clip(x->start, n, low, high);
    }
    if (x->stop != HR_NONE) {
        stop = clip(x->stop, n, low, high);
    }
    int64_t span = up ? stop - start : start - stop;
    int64_t count = span <= 0 ? 0 : (span - 1) / (up ? step : -step) + 1;
    return (hr__axis_range){.n = count, .start = start, .step = count > 1 ? step : 1};
}

static hr_status check_index(int64_t index, int64_t n, int32_t axis, hr_error *err) {
    if (index >= n || index < -n) {
        return hr__fail(err, HR_ERR_SELECTION,
                        "axis %" PRId32 ": index %" PRId64
                        " is out of bounds for length %" PRId64,
                        axis, index, n);
    }
    return HR_OK;
}

static hr_status pick_list(const hr_axis *x, int64_t n, int32_t axis,
                           hr__axis_range *range, hr_error *err) {
    if (x->nindices > INT64_MAX / sizeof *x->indices) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "axis %" PRId32 ": %" PRIu64 " indices do not fit in memory",
                        axis, x->nindices);
    }
    if (x->indices == NULL && x->nindices > 0) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "axis %" PRId32 ": list of %" PRIu64 " indices is NULL", axis,
                        x->nindices);
    }
    for (uint64_t i = 0; i < x->nindices; i++) {
        HR__TRY(check_index(x->indices[i], n, axis, err));
    }
    *range = (hr__axis_range){.n = (int64_t)x->nindices, .indices = x->indices};
    return HR_OK;
}

static hr_status pick_axis(const hr_axis *x, int64_t n, int32_t axis,
                           hr__axis_range *range, hr_error *err) {
    switch (x->kind) {
    case HR_AXIS_SLICE:
        *range = pick_slice(x, n);
        return HR_OK;
    case HR_AXIS_INTEGER:
        HR__TRY(check_index(x->start, n, axis, err));
        *range = (hr__axis_range){.n = 1,
                                  .start = x->start < 0 ? x->start + n : x->start,
                                  .step = 1,
                                  .is_dropped = true};
        return HR_OK;
    case HR_AXIS_INDICES:
        return pick_list(x, n, axis, range, err);
    }
    return hr__fail(err, HR_ERR_ARGUMENT, "axis %" PRId32 ": no such kind of axis: %d",
                    axis, (int)x->kind);
}

/* First element of a block; of the one past the last, the length of the axis. */
static int64_t block_start(const hr__grid_axis *g, int64_t block_length, int64_t block,
                           int64_t nblocks) {
    if (block == nblocks) {
        return g->length;
    }
    return block_length == 0 ? hr__grid_start(g, block) : block * block_length;
}

/* block_length 0: blocks are the grid's chunks. */
static hr_status pick_blocks(const hr_axis *x, const hr__grid_axis *g,
                             int64_t block_length, int32_t axis, hr__axis_range *range,
                             hr_error *err) {
    if (x->kind == HR_AXIS_INDICES) {
        return hr__fail(err, HR_ERR_SELECTION,
                        "axis %" PRId32 ": a list cannot select blocks", axis);
    }
    if (x->kind == HR_AXIS_SLICE && x->step != 0 && x->step != 1 && x->step != HR_NONE) {
        return hr__fail(err, HR_ERR_SELECTION,
                        "axis %" PRId32 ": blocks with step %" PRId64 ", expected 1",
                        axis, x->step);
    }
    int64_t nblocks =
        block_length == 0 ? g->nchunks : hr__ceil_div_i64(g->length, block_length);
    hr__axis_range blocks;
    HR__TRY(pick_axis(x, nblocks, axis, &blocks, err));
    int64_t start = block_start(g, block_length, blocks.start, nblocks);
    int64_t stop = block_start(g, block_length, blocks.start + blocks.n, nblocks);
    *range = (hr__axis_range){.n = stop - start, .start = start, .step = 1};
    return HR_OK;
}

static hr_status pick_axes(const hr__array *a, const hr_selection *s,
                           const int64_t *block_shape, hr__picked *picked,
                           hr_error *err) {
    int32_t naxes = s->kind == HR_SELECT_ALL ? 0 : s->naxes;
    if (naxes < 0 || naxes > a->ndim) {
        return hr__fail(err, HR_ERR_SELECTION,
                        "selection: %" PRId32 " axes for an array of %" PRId32, naxes,
                        a->ndim);
    }
    if (naxes > 0 && s->axes == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "selection: axes is NULL");
    }
    static const hr_axis whole = {.start = HR_NONE, .stop = HR_NONE, .step = 1};
    picked->ndim = 0;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        const hr_axis *x = axis < naxes ? &s->axes[axis] : &whole;
        hr__axis_range *range = &picked->axes[axis];
        *range = (hr__axis_range){0};
        if (s->kind == HR_SELECT_BLOCKS) {
            int64_t block_length = block_shape == NULL ? 0 : block_shape[axis];
            HR__TRY(pick_blocks(x, &a->grid[axis], block_length, axis, range, err));
        } else {
            HR__TRY(pick_axis(x, a->shape[axis], axis, range, err));
        }
        if (!range->is_dropped) {
            picked->shape[picked->ndim++] = range->n;
        }
    }
    return HR_OK;
}

static hr_status pick_points(const hr__array *a, const hr_selection *s,
                             hr__picked *picked, hr_error *err) {
    uint64_t n = s->npoints;
    uint64_t ndim = (uint64_t)a->ndim;
    if (n > INT64_MAX / sizeof *s->points / (ndim == 0 ? 1 : ndim)) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "selection: %" PRIu64 " points do not fit in memory", n);
    }
    if (s->points == NULL && n > 0 && ndim > 0) {
        return hr__fail(err, HR_ERR_ARGUMENT, "selection: points is NULL");
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t axis = 0; axis < ndim; axis++) {
            int64_t index = s->points[i * ndim + axis];
            int64_t length = a->shape[axis];
            if (index >= length || index < -length) {
                return hr__fail(err, HR_ERR_SELECTION,
                                "point %" PRIu64 ", axis %" PRIu64 ": index %" PRId64
                                " is out of bounds for length %" PRId64,
                                i, axis, index, length);
            }
        }
    }
    picked->ndim = 1;
    picked->shape[0] = (int64_t)n;
    return HR_OK;
}

static hr_status pick_mask(const hr__array *a, const hr_selection *s, hr__picked *picked,
                           hr_error *err) {
    uint64_t nelems;
    if (!hr__shape_nelems(a->ndim, a->shape, &nelems)) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "selection: no mask fits an array of more than 2^63 elements");
    }
    if (s->mask == NULL && nelems > 0) {
        return hr__fail(err, HR_ERR_ARGUMENT, "selection: mask is NULL");
    }
    int64_t n = 0;
    for (uint64_t i = 0; i < nelems; i++) {
        n += s->mask[i] != 0;
    }
    picked->ndim = 1;
    picked->shape[0] = n;
    return HR_OK;
}

hr_status hr__selection_pick(const hr__array *a, const hr_selection *selection,
                             const int64_t *block_shape, hr__picked *picked,
                             hr_error *err) {
    switch (selection->kind) {
    case HR_SELECT_ALL:
    case HR_SELECT_AXES:
    case HR_SELECT_BLOCKS:
        return pick_axes(a, selection, block_shape, picked, err);
    case HR_SELECT_POINTS:
        return pick_points(a, selection, picked, err);
    case HR_SELECT_MASK:
        return pick_mask(a, selection, picked, err);
    }
    return hr__fail(err, HR_ERR_ARGUMENT, "selection: no such kind: %d",
                    (int)selection->kind);
}

hr_status hr__selection_shape(const hr__array *a, const hr_selection *selection,
                              const int64_t *block_shape, int32_t *ndim, int64_t *shape,
                              hr_error *err) {
    hr__picked picked = {0};
    HR__TRY(hr__selection_pick(a, selection, block_shape, &picked, err));
    memcpy(shape, picked.shape, (size_t)picked.ndim * sizeof *shape);
    *ndim = picked.ndim;
    return HR_OK;
}
