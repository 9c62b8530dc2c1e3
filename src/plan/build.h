/* The parts of the planner. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_PLAN_BUILD_H
#define HR_PLAN_BUILD_H

#include "core/error.h"
#include "core/hash.h"
#include "core/vec.h"
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

/* Which requests are of the same array. */
typedef struct hr__numbers {
    const uint32_t *ids; /* per request: the first one of its array */
    uint64_t narrays;
} hr__numbers;
hr_status hr__plan_number_arrays(const hr__plan_request *requests, size_t n,
                                 hr__arena *arena, hr__numbers *out, hr_error *err);

/* Of an object or a chunk. */
static inline uint64_t hr__plan_hash(uint32_t array_id, const int64_t *coords,
                                     int32_t ndim) {
    uint64_t hash = hr__hash_mix(0, array_id);
    for (int32_t axis = 0; axis < ndim; axis++) {
        hash = hr__hash_mix(hash, (uint64_t)coords[axis]);
    }
    return hash;
}

static inline bool hr__plan_same_coords(const int64_t *x, const int64_t *y,
                                        int32_t ndim) {
    int32_t axis = 0;
    while (axis < ndim && x[axis] == y[axis]) {
        axis++;
    }
    return axis == ndim;
}

/* A use, and the chunk that it is of. */
typedef struct hr__draft {
    hr__use *use;
    const int64_t *coords;   /* of the chunk */
    uint64_t hash;           /* of the object that holds it */
    hr__object_plan *object; /* first used here; NULL: known before, or not known yet */
    uint32_t array_id;
} hr__draft;

/* The object that holds the innermost chunk at coords. */
static inline void hr__plan_outer(const hr__array *a, const int64_t *coords,
                                  int64_t *outer) {
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        int64_t count = 1;
        for (int32_t level = 0; level < a->nlevels; level++) {
            count *= a->levels[level].counts[axis];
        }
        outer[axis] = coords[axis] / count;
    }
}

/* Makes the uses of some of the requests. */
typedef struct hr__builder {
    hr__arena *arena;
    const hr__plan_request *requests;
    hr__numbers numbers;
    hr__vec drafts; /* in order of use; freed by the owner */
    uint64_t max_nuses;
    hr_error detail; /* of what is wrong with a selection */
    /* Of the request being planned: */
    const hr__plan_request *request;
    uint32_t number;
    int64_t dst_strides[HR_MAX_NDIM]; /* bytes, per axis of the result */
    /* Of its array, which many requests may have one after the other: */
    const hr__array *array;
    uint32_t array_id;
    int64_t src_strides[HR_MAX_NDIM]; /* elements of the decoded chunk, per array axis */
    bool is_regular;                  /* src_strides serve all chunks */
} hr__builder;

/* Requests first … last − 1. */
hr_status hr__builder_run(hr__builder *b, size_t first, size_t last, hr_error *err);

/* Bring together what the builders have made of the objects of one share of as many as
 * there are builders, in the arena of the builder of that number. False without memory.
 */
bool hr__plan_gather(hr__builder *builders, uint32_t n, uint32_t share);

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

#endif
