/* Random selections against direct evaluation. SPDX-License-Identifier: Apache-2.0 */
#include "plan/parts.h"
#include "plan_model.h"
#include "plan_pool.h"

#define MAX_ELEMS 4000 /* of a model and of a result */
#define MAX_LIST 40
#define MAX_LENGTH 200 /* of an axis */
#define NREQUESTS 3

/* A random selection with its memory, and what it should give. */
typedef struct wish {
    hr_selection selection;
    hr_axis axes[HR_MAX_NDIM];
    int64_t lists[HR_MAX_NDIM][MAX_LIST];
    int64_t points[MAX_LIST * HR_MAX_NDIM];
    uint8_t mask[MAX_ELEMS];
    int64_t block_shape[HR_MAX_NDIM];
    bool has_block_shape;
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    int64_t *expected;
    int64_t n;
    /* the destination */
    int64_t *memory;
    int64_t memory_n;
    uint8_t *dst;
    int64_t strides[HR_MAX_NDIM];
    bool is_c_order;
} wish;

static int64_t pick_bound(random_source *r, int64_t n) {
    return pick(r, 0, 3) == 0 ? HR_NONE : pick(r, -n - 3, n + 3);
}

static int64_t pick_step(random_source *r) {
    static const int64_t odd[] = {0, 100, -100, INT64_MAX, -INT64_MAX};
    return pick(r, 0, 9) == 0 ? odd[pick(r, 0, 4)] : pick(r, 0, 1) ? 1 : pick(r, -4, 4);
}

/* Elements start, start + step, … before stop, by trying them all. */
static int64_t walk_slice(const hr_axis *x, int64_t n, int64_t *list) {
    int64_t step = x->step == 0 ? 1 : x->step;
    int64_t count = 0;
    int64_t first = step > 0 ? 0 : n - 1;
    int64_t last = step > 0 ? n : -1;
    int64_t start = x->start == HR_NONE ? first : x->start < 0 ? x->start + n : x->start;
    int64_t stop = x->stop == HR_NONE ? last : x->stop < 0 ? x->stop + n : x->stop;
    if (step > 0 && start < 0) {
        start = 0;
    }
    if (step < 0 && start >= n) {
        start = n - 1;
    }
    for (int64_t i = first; i != last; i += step > 0 ? 1 : -1) {
        bool inside = step > 0 ? i >= start && i < stop : i <= start && i > stop;
        if (inside && (i - start) % step == 0) {
            list[count++] = i;
        }
    }
    return count;
}

/* A random axis; the elements it takes go to `list`. */
static int64_t random_axis(random_source *r, int64_t n, hr_axis *x, int64_t *own_list,
                           int64_t *list) {
    x->kind = n == 0 ? HR_AXIS_SLICE : (hr_axis_kind)pick(r, 0, 2);
    if (x->kind == HR_AXIS_SLICE) {
        x->start = pick_bound(r, n);
        x->stop = pick_bound(r, n);
        x->step = pick_step(r);
        return walk_slice(x, n, list);
    }
    if (x->kind == HR_AXIS_INTEGER) {
        x->start = pick(r, -n, n - 1);
        list[0] = (x->start + n) % n;
        return 1;
    }
    x->nindices = (uint64_t)pick(r, 0, pick(r, 0, 1) ? 4 : MAX_LIST / 2);
    x->indices = own_list;
    bool has_runs = pick(r, 0, 1) == 1;
    int64_t step = pick(r, -1, 1);
    for (uint64_t i = 0; i < x->nindices; i++) {
        bool goes_on = has_runs && i > 0 && pick(r, 0, 11) > 0;
        own_list[i] = goes_on ? own_list[i - 1] + step : pick(r, -n, n - 1);
        own_list[i] = own_list[i] < -n || own_list[i] >= n ? 0 : own_list[i];
        list[i] = (own_list[i] + n) % n;
    }
    return (int64_t)x->nindices;
}

/* A random axis of blocks, by looking at the block of every element. */
static int64_t random_blocks(random_source *r, const hr__grid_axis *g, int64_t block,
                             hr_axis *x, int64_t *list) {
    int64_t nblocks = block == 0 ? g->nchunks : (g->length + block - 1) / block;
    int64_t taken[MAX_LENGTH];
    int64_t ntaken = 1;
    x->kind = nblocks == 0 ? HR_AXIS_SLICE : (hr_axis_kind)pick(r, 0, 1);
    if (x->kind == HR_AXIS_INTEGER) {
        x->start = pick(r, -nblocks, nblocks - 1);
        taken[0] = (x->start + nblocks) % nblocks;
    } else {
        x->start = pick_bound(r, nblocks);
        x->stop = pick_bound(r, nblocks);
        x->step = pick(r, 0, 1);
        ntaken = walk_slice(x, nblocks, taken);
    }
    int64_t count = 0;
    for (int64_t i = 0; i < g->length; i++) {
        int64_t of = block == 0 ? hr__grid_find(g, i) : i / block;
        for (int64_t k = 0; k < ntaken; k++) {
            if (taken[k] == of) {
                list[count++] = i;
            }
        }
    }
    return count;
}

static void make_outer_product(random_source *r, const hr__array *a, wish *w) {
    static int64_t lists[HR_MAX_NDIM][MAX_LENGTH];
    int64_t counts[HR_MAX_NDIM];
    bool is_blocks = w->selection.kind == HR_SELECT_BLOCKS;
    w->selection.naxes =
        w->selection.kind == HR_SELECT_ALL ? 0 : (int32_t)pick(r, 0, a->ndim);
    w->selection.axes = w->axes;
    w->has_block_shape = is_blocks && pick(r, 0, 1) == 1;
    w->n = 1;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        w->block_shape[axis] = w->has_block_shape ? pick(r, 1, 8) : 0;
        hr_axis *x = &w->axes[axis];
        bool is_dropped = false;
        if (axis >= w->selection.naxes) {
            hr_axis whole = {.start = HR_NONE, .stop = HR_NONE};
            counts[axis] = walk_slice(&whole, a->shape[axis], lists[axis]);
        } else if (is_blocks) {
            counts[axis] =
                random_blocks(r, &a->grid[axis], w->block_shape[axis], x, lists[axis]);
        } else {
            counts[axis] = random_axis(r, a->shape[axis], x, w->lists[axis], lists[axis]);
            is_dropped = x->kind == HR_AXIS_INTEGER;
        }
        if (!is_dropped) {
            w->shape[w->ndim++] = counts[axis];
        }
        w->n *= counts[axis];
    }
    w->expected = test_calloc((size_t)w->n + 1, sizeof *w->expected);
    int64_t at[HR_MAX_NDIM] = {0};
    for (int64_t k = 0; k < w->n; k++) {
        for (int32_t axis = 0; axis < a->ndim; axis++) {
            w->expected[k] = w->expected[k] * a->shape[axis] + lists[axis][at[axis]];
        }
        next_tuple(a->ndim, counts, at);
    }
}

static void make_points(random_source *r, const hr__array *a, wish *w) {
    w->ndim = 1;
    w->n = pick(r, 0, MAX_LIST);
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        w->n = a->shape[axis] == 0 ? 0 : w->n;
    }
    w->shape[0] = w->n;
    w->selection.npoints = (uint64_t)w->n;
    w->selection.points = w->points;
    w->expected = test_calloc((size_t)w->n + 1, sizeof *w->expected);
    bool in_order = pick(r, 0, 2) == 0;
    for (int64_t k = 0; k < w->n; k++) {
        for (int32_t axis = 0; axis < a->ndim; axis++) {
            int64_t n = a->shape[axis];
            int64_t i = in_order ? (axis + 1 < a->ndim ? 0 : k % n) : pick(r, -n, n - 1);
            w->points[k * a->ndim + axis] = i;
            w->expected[k] = w->expected[k] * n + (i + n) % n;
        }
    }
}

static void make_mask(random_source *r, int64_t nelems, wish *w) {
    w->ndim = 1;
    w->selection.mask = w->mask;
    w->expected = test_calloc((size_t)nelems + 1, sizeof *w->expected);
    int64_t density = pick(r, 0, 10);
    for (int64_t i = 0; i < nelems; i++) {
        w->mask[i] = (uint8_t)(pick(r, 0, 9) < density ? pick(r, 1, 255) : 0);
        if (w->mask[i] != 0) {
            w->expected[w->n++] = i;
        }
    }
    w->shape[0] = w->n;
}

/* Memory in a random layout: axes in any order, either direction, with or without gaps.
 */
static void make_destination(random_source *r, wish *w) {
    int32_t order[HR_MAX_NDIM];
    pick_order(r, w->ndim, order);
    int64_t n = 1;
    int64_t first = 0;
    for (int32_t i = 0; i < w->ndim; i++) {
        int32_t d = order[i];
        int64_t stride = n * (pick(r, 0, 3) == 0 ? 2 : 1);
        n = stride * (w->shape[d] > 0 ? w->shape[d] : 1);
        w->strides[d] = stride * 8;
        if (pick(r, 0, 3) == 0 && w->shape[d] > 0) {
            w->strides[d] = -stride * 8;
            first += stride * (w->shape[d] - 1);
        }
    }
    w->is_c_order = pick(r, 0, 2) == 0;
    if (w->is_c_order) {
        hr__strides_c(w->ndim, w->shape, 8, w->strides);
        first = 0;
    }
    w->memory_n = n;
    w->memory = test_malloc((size_t)n * sizeof *w->memory);
    for (int64_t i = 0; i < n; i++) {
        w->memory[i] = UNSET;
    }
    w->dst = (uint8_t *)(w->memory + first);
}

static void make_wish(random_source *r, const hr__array *a, int64_t nelems, wish *w) {
    do {
        test_free(w->expected);
        memset(w, 0, sizeof *w);
        w->selection.kind = (hr_selection_kind)pick(r, 0, 4);
        if (w->selection.kind == HR_SELECT_POINTS) {
            make_points(r, a, w);
        } else if (w->selection.kind == HR_SELECT_MASK) {
            make_mask(r, nelems, w);
        } else {
            make_outer_product(r, a, w);
        }
    } while (w->n > 4 * MAX_ELEMS);
    make_destination(r, w);
}

static void check_delivered(random_source *r, const wish *w) {
    int64_t at[HR_MAX_NDIM] = {0};
    int64_t nset = 0;
    for (int64_t k = 0; k < w->n; k++) {
        int64_t offset = 0;
        for (int32_t d = 0; d < w->ndim; d++) {
            offset += at[d] * w->strides[d];
        }
        int64_t value;
        memcpy(&value, w->dst + offset, sizeof value);
        EXPECT(r, value == w->expected[k]);
        next_tuple(w->ndim, w->shape, at);
    }
    for (int64_t i = 0; i < w->memory_n; i++) {
        nset += w->memory[i] != UNSET;
    }
    EXPECT(r, nset == w->n);
}

static int64_t make_model(random_source *r, model *m) {
    uint64_t nelems;
    do {
        model_random(r, m);
        assert_true(hr__shape_nelems(m->a.ndim, m->a.shape, &nelems));
    } while (nelems > MAX_ELEMS);
    return (int64_t)nelems;
}

/* Some requests on one or two arrays, planned together in one part or several. */
static void run_case(uint64_t seed, hr__pool *pool) {
    static model models[2];
    static wish wishes[NREQUESTS];
    random_source source = random_from(seed);
    random_source *r = &source;
    int64_t nelems[2];
    for (size_t i = 0; i < 2; i++) {
        nelems[i] = make_model(r, &models[i]);
    }
    hr__plan_request requests[NREQUESTS];
    uint8_t *dsts[NREQUESTS];
    size_t n = (size_t)pick(r, 1, NREQUESTS);
    for (size_t i = 0; i < n; i++) {
        size_t which = pick(r, 0, 3) == 0;
        wish *w = &wishes[i];
        w->expected = NULL;
        make_wish(r, &models[which].a, nelems[which], w);
        requests[i] =
            (hr__plan_request){.array = &models[which].a,
                               .selection = &w->selection,
                               .block_shape = w->has_block_shape ? w->block_shape : NULL,
                               .dst_itemsize = 8,
                               .dst_ndim = w->ndim,
                               .dst_shape = w->shape,
                               .dst_strides = w->is_c_order ? NULL : w->strides};
        dsts[i] = w->dst;
        int32_t ndim = -1;
        int64_t shape[HR_MAX_NDIM];
        EXPECT(r,
               hr__selection_shape(&models[which].a, &w->selection,
                                   requests[i].block_shape, &ndim, shape, NULL) == HR_OK);
        EXPECT(r, ndim == w->ndim && memcmp(shape, w->shape, (size_t)ndim * 8) == 0);
    }
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    hr_error err = HR_ERROR_INIT;
    const uint32_t nparts = (uint32_t)pick(r, 1, (int64_t)n);
    hr_status status =
        hr__plan_build_parts(requests, n, pool, nparts, &arena, &plan, &err);
    if (status != HR_OK) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    }
    model_run(r, &plan, dsts);
    hr__arena_free(&arena);
    for (size_t i = 0; i < n; i++) {
        check_delivered(r, &wishes[i]);
        test_free(wishes[i].expected);
        test_free(wishes[i].memory);
    }
}

static void plans_deliver_what_selections_ask_for(void **state) {
    (void)state;
    hr__pool *pool = plan_pool(2);
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        run_case(seed, pool);
    }
    hr__pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_deliver_what_selections_ask_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
