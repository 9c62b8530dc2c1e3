/* From requests to chunks and their uses. SPDX-License-Identifier: Apache-2.0 */
#include "plan/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"

/* Every combination of one piece along each axis is a use of a chunk. */
static hr_status plan_axes(hr__builder *b, const hr__picked *picked, hr_error *err) {
    const hr__array *a = b->request->array;
    int32_t ndim = a->ndim;
    const hr__cut *cuts[HR_MAX_NDIM]; /* per array axis */
    int64_t ncuts[HR_MAX_NDIM];
    int64_t dst_strides[HR_MAX_NDIM];
    int64_t coords[HR_MAX_NDIM];
    int64_t at[HR_MAX_NDIM];
    uint64_t nuses = 1;
    for (int32_t axis = 0, d = 0; axis < ndim; axis++) {
        const hr__axis_range *range = &picked->axes[axis];
        at[axis] = 0;
        if (range->indices == NULL &&
            hr__slice_max_cuts(&a->grid[axis], range) > b->max_nuses) {
            return hr__builder_fail_uses(b, err);
        }
        cuts[axis] = hr__axis_cut(&a->grid[axis], range, b->arena, &ncuts[axis]);
        if (cuts[axis] == NULL) {
            return hr__fail_memory(err, (size_t)range->n * sizeof(hr__cut));
        }
        dst_strides[axis] = range->is_dropped ? 0 : b->dst_strides[d++];
        if (!hr__mul_u64(nuses, (uint64_t)ncuts[axis], &nuses) ||
            nuses > b->max_nuses - b->drafts.n) {
            return hr__builder_fail_uses(b, err);
        }
    }
    do {
        for (int32_t axis = 0; axis < ndim; axis++) {
            coords[axis] = cuts[axis][at[axis]].chunk;
        }
        HR__TRY(hr__builder_strides(b, coords, err));
        hr__use *use;
        HR__TRY(hr__builder_use(b, coords, ndim, &use, err));
        for (int32_t axis = 0; axis < ndim; axis++) {
            use->dims[axis] = (hr__dim){.piece = &cuts[axis][at[axis]].piece,
                                        .src_stride = b->src_strides[axis],
                                        .dst_stride = dst_strides[axis]};
        }
    } while (hr__next_tuple(ndim, ncuts, at));
    return HR_OK;
}

static const char *shape_text(char *text, size_t capacity, int32_t ndim,
                              const int64_t *shape) {
    size_t used = 0;
    const char *before = "(";
    for (int32_t d = 0; d < ndim && used + 1 < capacity; d++) {
        int n = snprintf(text + used, capacity - used, "%s%" PRId64, before, shape[d]);
        used += n < 0 ? 0 : (size_t)n;
        before = ",";
    }
    if (used + 1 < capacity) {
        (void)snprintf(text + used, capacity - used, "%s",
                       ndim == 0   ? "()"
                       : ndim == 1 ? ",)"
                                   : ")");
    }
    return text;
}

static hr_status check_shape(const hr__builder *b, const hr__picked *picked,
                             hr_error *err) {
    const hr__plan_request *r = b->request;
    bool is_same = r->dst_ndim == picked->ndim;
    for (int32_t d = 0; is_same && d < picked->ndim; d++) {
        is_same = r->dst_shape[d] == picked->shape[d];
    }
    if (is_same) {
        return HR_OK;
    }
    if (r->dst_ndim < 0 || r->dst_ndim > HR_MAX_NDIM) {
        return hr__fail(err, HR_ERR_SHAPE,
                        "request %" PRIu32 ": destination has %" PRId32
                        " axes, selection gives %" PRId32,
                        b->number, r->dst_ndim, picked->ndim);
    }
    char actual[200], expected[200];
    return hr__fail(err, HR_ERR_SHAPE,
                    "request %" PRIu32 ": destination has shape %s, selection gives %s",
                    b->number,
                    shape_text(actual, sizeof actual, r->dst_ndim, r->dst_shape),
                    shape_text(expected, sizeof expected, picked->ndim, picked->shape));
}

/* Does every byte offset within the destination fit? Strides may be of either sign. */
static bool reach_fits(const hr__plan_request *r) {
    int64_t reach = 0;
    for (int32_t d = 0; d < r->dst_ndim; d++) {
        int64_t stride = r->dst_strides[d];
        int64_t last;
        if (stride == INT64_MIN ||
            !hr__mul_i64(r->dst_shape[d] - 1, stride < 0 ? -stride : stride, &last) ||
            !hr__add_i64(reach, last, &reach)) {
            return false;
        }
    }
    return true;
}

static hr_status set_dst_strides(hr__builder *b, hr_error *err) {
    const hr__plan_request *r = b->request;
    uint64_t nbytes;
    bool fits = r->dst_strides == NULL ? hr__shape_nbytes(r->dst_ndim, r->dst_shape,
                                                          r->dst_itemsize, &nbytes)
                                       : reach_fits(r);
    if (!fits) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "request %" PRIu32 ": destination spans more than 2^63 bytes",
                        b->number);
    }
    if (r->dst_strides == NULL) {
        hr__strides_c(r->dst_ndim, r->dst_shape, r->dst_itemsize, b->dst_strides);
    } else {
        memcpy(b->dst_strides, r->dst_strides,
               (size_t)r->dst_ndim * sizeof *r->dst_strides);
    }
    return HR_OK;
}

/* What the chunks of the request's array have in common. */
static hr_status set_array(hr__builder *b, hr_error *err) {
    const hr__array *a = b->request->array;
    static const int64_t origin[HR_MAX_NDIM];
    if (a == b->array) {
        return HR_OK;
    }
    b->array = NULL;
    b->is_regular = false;
    bool is_regular = true;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        is_regular = is_regular && a->grid[axis].starts == NULL;
    }
    if (is_regular) {
        HR__TRY(hr__builder_strides(b, origin, err));
        b->is_regular = true;
    }
    b->array = a;
    b->array_id = b->numbers.ids[b->number];
    return HR_OK;
}

static hr_status plan_request(hr__builder *b, uint32_t number, hr_error *err) {
    const hr__plan_request *r = &b->requests[number];
    b->request = r;
    b->number = number;
    hr__picked picked; /* kilobytes: to clear them for each of many requests shows */
    hr_status status =
        hr__selection_pick(r->array, r->selection, r->block_shape, &picked, &b->detail);
    if (status != HR_OK) {
        return hr__fail(err, status, "request %" PRIu32 ", %s", number,
                        b->detail.message);
    }
    HR__TRY(check_shape(b, &picked, err));
    for (int32_t d = 0; d < picked.ndim; d++) {
        if (picked.shape[d] == 0) {
            return HR_OK;
        }
    }
    HR__TRY(set_dst_strides(b, err));
    HR__TRY(set_array(b, err));
    switch (r->selection->kind) {
    case HR_SELECT_POINTS:
        return hr__plan_points(b, picked.shape[0], err);
    case HR_SELECT_MASK:
        return hr__plan_mask(b, picked.shape[0], err);
    default:
        return plan_axes(b, &picked, err);
    }
}

hr_status hr__builder_run(hr__builder *b, size_t first, size_t last, hr_error *err) {
    hr_status status = HR_OK;
    b->detail = (hr_error)HR_ERROR_INIT;
    for (size_t i = first; i < last && status == HR_OK; i++) {
        status = plan_request(b, (uint32_t)i, err);
    }
    return status;
}
