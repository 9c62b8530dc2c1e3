/* Small random arrays, and plans carried out on them. SPDX-License-Identifier: Apache-2.0
 *
 * The element at a place is its index in C order, so that what a plan delivers can be
 * compared with what the selection asks for. */
#ifndef TESTS_PLAN_MODEL_H
#define TESTS_PLAN_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/checked.h"
#include "plan/plan.h"

#define BEYOND INT64_C(-2) /* elements of a chunk outside the array */
#define UNSET INT64_C(-1)

typedef struct random_source {
    uint64_t state;
    uint64_t seed;
} random_source;

#define EXPECT(r, condition)                                                             \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fail_msg("seed %llu: %s", (unsigned long long)(r)->seed, #condition);        \
        }                                                                                \
    } while (0)

static inline random_source random_from(uint64_t seed) {
    return (random_source){.state = seed * 0x9E3779B97F4A7C15U + 1, .seed = seed};
}

/* In [low, high]. */
static inline int64_t pick(random_source *r, int64_t low, int64_t high) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return low + (int64_t)((r->state >> 11) % (uint64_t)(high - low + 1));
}

static inline void pick_order(random_source *r, int32_t ndim, int32_t *order) {
    for (int32_t i = 0; i < ndim; i++) {
        int32_t j = (int32_t)pick(r, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
}

typedef struct model {
    hr__array a;
    int64_t starts[HR_MAX_NDIM][201];
} model;

static inline hr__grid_axis regular_axis(int64_t length, int64_t chunk) {
    return (hr__grid_axis){
        .length = length, .chunk = chunk, .nchunks = hr__ceil_div_i64(length, chunk)};
}

/* Levels of chunks inside chunks: outer chunks are as many inner ones as `counts` says.
 */
static inline void model_levels(random_source *r, hr__array *a, int32_t nlevels) {
    a->nlevels = nlevels;
    int64_t shape[HR_MAX_NDIM];
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        shape[axis] = a->grid[axis].chunk;
    }
    for (int32_t i = nlevels - 1; i >= 0; i--) {
        hr__level *level = &a->levels[i];
        level->ninner = 1;
        pick_order(r, a->ndim, level->order);
        for (int32_t axis = 0; axis < a->ndim; axis++) {
            level->shape[axis] = shape[axis];
            level->counts[axis] = pick(r, 1, 3);
            level->ninner *= (uint64_t)level->counts[axis];
            shape[axis] *= level->counts[axis];
        }
    }
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        a->outer[axis] = regular_axis(a->shape[axis], shape[axis]);
    }
}

static inline void model_random(random_source *r, model *m) {
    memset(m, 0, sizeof *m);
    hr__array *a = &m->a;
    a->ndim = (int32_t)pick(r, 0, 5);
    pick_order(r, a->ndim, a->order);
    int32_t nlevels = (int32_t)pick(r, 0, 2);
    bool is_rectilinear = nlevels == 0 && pick(r, 0, 1) == 1;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        int64_t longest = a->ndim <= 1 ? 200 : a->ndim <= 3 ? 14 : 6;
        a->shape[axis] = pick(r, pick(r, 0, 9) == 0 ? 0 : 1, longest);
        a->grid[axis] = regular_axis(a->shape[axis], pick(r, 1,
                                                          nlevels > 0    ? 3
                                                          : a->ndim <= 1 ? 40
                                                                         : 9));
        if (is_rectilinear && pick(r, 0, 3) > 0) {
            hr__grid_axis *g = &a->grid[axis];
            int64_t *starts = m->starts[axis];
            g->starts = starts;
            g->chunk = g->nchunks = 0;
            while (starts[g->nchunks] < g->length) {
                int64_t length = pick(r, 1, a->ndim <= 1 ? 30 : 6);
                starts[g->nchunks + 1] = starts[g->nchunks] + length;
                g->chunk = length > g->chunk ? length : g->chunk;
                g->nchunks++;
            }
        }
        a->outer[axis] = a->grid[axis];
    }
    if (nlevels > 0) {
        model_levels(r, a, nlevels);
    }
}

/* Step to the next tuple below `shape` in C order; false after the last. */
static inline bool next_tuple(int32_t ndim, const int64_t *shape, int64_t *at) {
    for (int32_t d = ndim - 1; d >= 0; d--) {
        if (++at[d] < shape[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

/* The chunk's elements as a decoder would leave them; the caller frees. */
static inline int64_t *model_decode(const hr__array *a, const int64_t *coords,
                                    int64_t *nelems) {
    int64_t lengths[HR_MAX_NDIM]; /* in stored order */
    *nelems = 1;
    for (int32_t i = 0; i < a->ndim; i++) {
        int32_t axis = a->order[i];
        lengths[i] = hr__grid_length(&a->grid[axis], coords[axis]);
        *nelems *= lengths[i];
    }
    int64_t *decoded = test_malloc((size_t)*nelems * sizeof *decoded);
    int64_t at[HR_MAX_NDIM] = {0};
    int64_t n = 0;
    do {
        int64_t place[HR_MAX_NDIM];
        for (int32_t i = 0; i < a->ndim; i++) {
            int32_t axis = a->order[i];
            place[axis] = hr__grid_start(&a->grid[axis], coords[axis]) + at[i];
        }
        int64_t value = 0;
        for (int32_t axis = 0; axis < a->ndim && value != BEYOND; axis++) {
            value = place[axis] < a->shape[axis] ? value * a->shape[axis] + place[axis]
                                                 : BEYOND;
        }
        decoded[n++] = value;
    } while (next_tuple(a->ndim, lengths, at));
    assert_int_equal(n, *nelems);
    return decoded;
}

static inline int64_t piece_src(const hr__piece *p, int64_t k) {
    return p->src_list != NULL ? p->src_list[k] : p->src0 + k * p->src_step;
}

static inline int64_t piece_dst(const hr__piece *p, int64_t k) {
    return p->dst_list != NULL ? p->dst_list[k] : p->dst0 + k * p->dst_step;
}

/* Carry out a use; every element of the destination may be written once. */
static inline void model_copy(random_source *r, const hr__use *use,
                              const int64_t *decoded, int64_t nelems, uint8_t *dst) {
    int64_t shape[HR_MAX_NDIM];
    for (int32_t d = 0; d < use->ndim; d++) {
        shape[d] = use->dims[d].piece->n;
        EXPECT(r, shape[d] > 0);
    }
    int64_t at[HR_MAX_NDIM] = {0};
    do {
        int64_t from = 0;
        int64_t to = 0;
        for (int32_t d = 0; d < use->ndim; d++) {
            from += piece_src(use->dims[d].piece, at[d]) * use->dims[d].src_stride;
            to += piece_dst(use->dims[d].piece, at[d]) * use->dims[d].dst_stride;
        }
        EXPECT(r, from >= 0 && from < nelems);
        EXPECT(r, decoded[from] != BEYOND);
        int64_t old;
        memcpy(&old, dst + to, sizeof old);
        EXPECT(r, old == UNSET);
        memcpy(dst + to, &decoded[from], sizeof old);
    } while (next_tuple(use->ndim, shape, at));
}

/* Is the chunk's only use the identity along every axis? */
static inline bool model_is_whole(const hr__chunk *chunk) {
    const hr__array *a = chunk->object->array;
    const hr__use *use = chunk->uses;
    if (use->next != NULL || use->ndim != a->ndim) {
        return false;
    }
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        const hr__piece *p = use->dims[axis].piece;
        if (p->n != hr__grid_length(&a->grid[axis], chunk->coords[axis])) {
            return false;
        }
        for (int64_t k = 0; k < p->n; k++) {
            if (piece_src(p, k) != k || piece_dst(p, k) != piece_dst(p, 0) + k) {
                return false;
            }
        }
    }
    return true;
}

/* Objects hold the chunks that lie in them, each chunk once, numbered as documented. */
static inline void model_check_chunk(random_source *r, const hr__chunk *chunk) {
    const hr__array *a = chunk->object->array;
    for (const hr__chunk *other = chunk->next; other != NULL; other = other->next) {
        EXPECT(r, memcmp(other->coords, chunk->coords,
                         (size_t)a->ndim * sizeof *chunk->coords) != 0);
    }
    int64_t start[HR_MAX_NDIM];
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        start[axis] = hr__grid_start(&a->grid[axis], chunk->coords[axis]);
        EXPECT(r, hr__grid_find(&a->outer[axis], start[axis]) ==
                      chunk->object->coords[axis]);
    }
    for (int32_t i = 0; i < a->nlevels; i++) {
        const hr__level *level = &a->levels[i];
        uint64_t number = 0;
        for (int32_t d = 0; d < a->ndim; d++) {
            int32_t axis = level->order[d];
            int64_t inside = start[axis] % (level->shape[axis] * level->counts[axis]);
            number = number * (uint64_t)level->counts[axis] +
                     (uint64_t)(inside / level->shape[axis]);
        }
        EXPECT(r, number < level->ninner);
        EXPECT(r, hr__plan_inner_number(a, i, chunk->coords) == number);
    }
    EXPECT(r, chunk->is_whole == model_is_whole(chunk));
}

/* Carry out a plan whose request i writes int64 elements from dsts[i] on. */
static inline void model_run(random_source *r, const hr__plan *plan, uint8_t **dsts) {
    uint64_t nchunks = 0;
    uint64_t nobjects = 0;
    for (const hr__object_plan *o = plan->objects; o != NULL; o = o->next) {
        nobjects++;
        for (const hr__object_plan *other = o->next; other != NULL; other = other->next) {
            EXPECT(r, o->array_id != other->array_id ||
                          memcmp(o->coords, other->coords,
                                 (size_t)o->array->ndim * sizeof *o->coords) != 0);
        }
        uint64_t in_object = 0;
        for (const hr__chunk *c = o->chunks; c != NULL; c = c->next) {
            EXPECT(r, c->object == o && c->uses != NULL);
            in_object++;
            model_check_chunk(r, c);
            int64_t nelems;
            int64_t *decoded = model_decode(o->array, c->coords, &nelems);
            for (const hr__use *use = c->uses; use != NULL; use = use->next) {
                model_copy(r, use, decoded, nelems, dsts[use->request]);
            }
            test_free(decoded);
        }
        EXPECT(r, in_object == o->nchunks && in_object > 0);
        nchunks += in_object;
    }
    EXPECT(r, nchunks == plan->nchunks && nobjects == plan->nobjects);
}

#endif
