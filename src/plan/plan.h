/* From requests to chunks and copies: pure, no I/O.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_PLAN_PLAN_H
#define HR_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/read.h>

#include "core/alloc.h"
#include "format/array.h"

/* The part of a selection along one axis that lies in one chunk: n elements, at
 * src0 + k·src_step inside the chunk, to dst0 + k·dst_step along the destination axis
 * (both in elements); a list replaces the arithmetic where it is not NULL. */
typedef struct hr__piece {
    int64_t n;
    int64_t src0, src_step;
    int64_t dst0, dst_step;
    const int64_t *src_list;
    const int64_t *dst_list;
} hr__piece;

/* One loop of a copy. Pieces are shared between the chunks of a row of the grid. */
typedef struct hr__dim {
    const hr__piece *piece;
    int64_t src_stride; /* in elements of the decoded chunk */
    int64_t dst_stride; /* in bytes; 0 for an axis that the selection dropped */
} hr__dim;

/* One request's use of one chunk: a copy with ndim loops. */
typedef struct hr__use {
    struct hr__use *next;
    uint32_t request;
    int32_t ndim;
    hr__dim dims[];
} hr__use;

/* One chunk (innermost, or a part of an uncompressed one) that somebody needs. */
typedef struct hr__chunk {
    struct hr__chunk *next; /* in its object */
    hr__use *uses;
    struct hr__object_plan *object;
    const int64_t *coords; /* in the innermost grid */
    bool is_whole;    /* exactly one use, which takes every element that the decoded chunk
                         has (no crop), in order, one loop per array axis: may be decoded
                         straight into a contiguous destination */
    bool is_for_host; /* though kernels could decode it: see exec/host_share.h */
    /* Filled when the indexes on the way are known: */
    bool is_missing;
    bool is_kept;            /* its encoded bytes came from the context's cache */
    bool is_left;            /* not in the slab that its bytes were read into, … */
    bool needs_room;         /* … for want of scratch; else no kernel decodes it */
    uint64_t offset, nbytes; /* in the object; nbytes = UINT64_MAX: all of it */
} hr__chunk;

/* One store key, with the chunks needed from it. */
typedef struct hr__object_plan {
    struct hr__object_plan *next;
    const hr__array *array;
    uint32_t array_id;     /* index of the first request on this array */
    const int64_t *coords; /* in the outer grid */
    hr__chunk *chunks;
    uint64_t nchunks;
    uint64_t version; /* of the store's object; filled when that is open */
} hr__object_plan;

typedef struct hr__plan_request {
    const hr__array *array;
    const hr_selection *selection;
    const int64_t
        *block_shape; /* what BLOCKS count in, per axis; NULL = the grid's own */
    uint64_t dst_itemsize;
    int32_t dst_ndim;
    const int64_t *dst_shape;
    const int64_t *dst_strides; /* bytes; NULL = C order */
} hr__plan_request;

typedef struct hr__plan {
    hr__object_plan *objects; /* in order of first use */
    uint64_t nobjects;
    uint64_t nchunks;
} hr__plan;

/* Shape of a selection's result; `shape` has room for HR_MAX_NDIM. BLOCKS select whole
 * blocks, so that an integer among them keeps its axis; block_shape as below. Errors:
 * HR_ERR_SELECTION naming axis and bounds; HR_ERR_ARGUMENT; HR_ERR_OVERFLOW. */
hr_status hr__selection_shape(const hr__array *a, const hr_selection *selection,
                              const int64_t *block_shape, int32_t *ndim, int64_t *shape,
                              hr_error *err);

/* Plan n requests; everything lives in the arena. `grid` of the arrays may be finer than
 * what BLOCKS selections count in: block_shape of a request gives the chunk lengths in
 * elements. A use has one loop per array axis, in their order; POINTS and MASK give one
 * loop over elements of the decoded chunk. Errors: those of hr__selection_shape and
 * HR_ERR_SHAPE, with the request's number in the message; HR_ERR_MEMORY; HR_ERR_OVERFLOW
 * where the chunks are so many and so small that the plan would dwarf the data. */
hr_status hr__plan_build(const hr__plan_request *requests, size_t n, hr__arena *arena,
                         hr__plan *plan, hr_error *err);

/* Place of a chunk inside the container at one level (0 = in the outer chunk): which
 * inner chunk it is. coords: of the chunk, in the innermost grid. */
uint64_t hr__plan_inner_number(const hr__array *a, int32_t level, const int64_t *coords);

/* Group an object's chunks into byte ranges to read: sorted by offset, merged where the
 * gap is at most gap_nbytes and the range stays within max_nbytes (one chunk may be
 * larger). So at most gap_nbytes for each chunk but the first are read in vain. Chunks of
 * a range are linked by next. Missing chunks must have been taken out; chunks may share
 * bytes, and may have none (a range of them alone is 0 bytes). A chunk of UINT64_MAX
 * bytes gets a range of its own of UINT64_MAX. `chunks` is sorted in place; `ranges` has
 * room for nchunks. Errors: HR_ERR_OVERFLOW when a chunk ends beyond 2^64. */
typedef struct hr__range {
    struct hr__range *next;
    uint64_t offset, nbytes;
    hr__chunk *chunks;
} hr__range;
hr_status hr__plan_ranges(hr__chunk **chunks, uint64_t nchunks, uint64_t gap_nbytes,
                          uint64_t max_nbytes, hr__range *ranges, uint64_t *nranges);

#endif
