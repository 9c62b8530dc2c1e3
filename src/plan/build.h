/* The parts of the planner. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_PLAN_BUILD_H
#define HR_PLAN_BUILD_H

#include "core/error.h"
#include "core/table.h"
#include "plan/plan.h"

/* What is selected along one axis: n elements from start on, or a list (whose negative
 * indices count from the end; within bounds). */
typedef struct hr__axis_range {
    int64_t n;
    int64_t start, step;
    const int64_t *indices;
    bool is_dropped;
} hr__axis_range;

/* A selection that has been checked against its array. */
typedef struct hr__picked {
    int32_t ndim; /* of the result */
    int64_t shape[HR_MAX_NDIM];
    hr__axis_range axes[HR_MAX_NDIM]; /* per array axis; not for POINTS and MASK */
} hr__picked;

/* Its errors begin with the place, so that "request 2, " can stand before them. */
hr_status hr__selection_pick(const hr__array *a, const hr_selection *selection,
                             const int64_t *block_shape, hr__picked *picked,
                             hr_error *err);

typedef struct hr__cut {
    int64_t chunk;
    hr__piece piece;
} hr__cut;

/* Pieces that a slice of n > 0 elements may be cut into, at most. */
uint64_t hr__slice_max_cuts(const hr__grid_axis *g, const hr__axis_range *range);

/* The pieces that the grid cuts a range of n > 0 elements into, in order of chunk; NULL
 * without memory. */
hr__cut *hr__axis_cut(const hr__grid_axis *g, const hr__axis_range *range,
                      hr__arena *arena, int64_t *ncuts);

/* A piece of n elements from src[i] to dst[i]: arithmetic where the steps are constant,
 * else it keeps the lists. */
hr__piece hr__piece_of(const int64_t *src, const int64_t *dst, int64_t n);

/* Step to the next tuple below `shape`, the last axis fastest; false after the last one,
 * with all of them 0 again. */
static inline bool hr__next_tuple(int32_t ndim, const int64_t *shape, int64_t *tuple) {
    for (int32_t axis = ndim; axis-- > 0;) {
        if (++tuple[axis] < shape[axis]) {
            return true;
        }
        tuple[axis] = 0;
    }
    return false;
}

/* Elements to be grouped by chunk. */
typedef struct hr__item {
    uint64_t key; /* number of the chunk */
    int64_t src, dst;
} hr__item;

/* Sort n items by key, stably, between two buffers; returns the one that has the result.
 */
hr__item *hr__items_sort(hr__item *items, hr__item *spare, int64_t n);

/* A plan has a use of a chunk for every so many bytes of the destinations, or this many.
 * A use and its chunk take some 300 bytes. */
#define HR__PLAN_USE_NBYTES 64
#define HR__PLAN_MIN_USES ((uint64_t)1 << 22)

typedef struct hr__builder {
    hr__arena *arena;
    const hr__plan_request *requests;
    hr__plan *plan;
    hr__object_plan **objects_tail;
    hr__table arrays, objects, chunks;
    uint64_t nuses, max_nuses;
    hr_error detail; /* of what is wrong with a selection */
    /* Of the request being planned: */
    const hr__plan_request *request;
    uint32_t number;
    int64_t dst_strides[HR_MAX_NDIM]; /* bytes, per axis of the result */
    /* Of its array, which many requests may have one after the other: */
    const hr__array *array;
    uint32_t array_id;
    int64_t src_strides[HR_MAX_NDIM];  /* elements of the decoded chunk, per array axis */
    int64_t outer_counts[HR_MAX_NDIM]; /* innermost chunks per outer one */
    bool is_regular;                   /* src_strides serve all chunks */
} hr__builder;

/* Set array_id for the request. */
hr_status hr__builder_set_array_id(hr__builder *b, hr_error *err);
/* Set src_strides for the chunk at coords. */
hr_status hr__builder_strides(hr__builder *b, const int64_t *coords, hr_error *err);
/* More uses than a plan may have. */
hr_status hr__builder_fail_uses(const hr__builder *b, hr_error *err);
/* A new use, with ndim loops to fill, of the chunk at coords. */
hr_status hr__builder_use(hr__builder *b, const int64_t *coords, int32_t ndim,
                          hr__use **out, hr_error *err);
/* A use with a single loop over elements of the decoded chunk. */
hr_status hr__builder_flat(hr__builder *b, const int64_t *coords, hr__piece piece,
                           hr_error *err);

/* Plan the request of n > 0 points, or with n > 0 true elements in its mask. */
hr_status hr__plan_points(hr__builder *b, int64_t n, hr_error *err);
hr_status hr__plan_mask(hr__builder *b, int64_t n, hr_error *err);

/* Once all requests are in: bring chunks in order of first use, set is_whole. */
void hr__plan_finish(hr__plan *plan);

#endif
