/* Plans made in parts are those made in one. SPDX-License-Identifier: Apache-2.0 */
#include "plan/parts.h"

#include "plan_model.h"
#include "plan_pool.h"

enum { NREQUESTS = 2000, NARRAYS = 3, NTHREADS = 3 };

typedef struct world {
    hr__array arrays[NARRAYS]; /* chunks, shards of chunks, the same again */
    hr_axis axes[NREQUESTS][2];
    hr_selection selections[NREQUESTS];
    int64_t shapes[NREQUESTS][2];
    hr__plan_request requests[NREQUESTS];
    hr__pool *pool;
} world;

static void make_array(hr__array *a, bool has_shards) {
    *a = (hr__array){.ndim = 2, .shape = {1000, 700}, .order = {0, 1}};
    for (int axis = 0; axis < 2; axis++) {
        a->grid[axis] = regular_axis(a->shape[axis], 10);
        a->outer[axis] = regular_axis(a->shape[axis], has_shards ? 50 : 10);
    }
    if (has_shards) {
        a->nlevels = 1;
        a->levels[0] = (hr__level){
            .order = {0, 1}, .counts = {5, 5}, .shape = {10, 10}, .ninner = 25};
    }
}

static int open_world(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    random_source r = random_from(5);
    for (int i = 0; i < NARRAYS; i++) {
        make_array(&w->arrays[i], i > 0);
    }
    for (int i = 0; i < NREQUESTS; i++) {
        const hr__array *a = &w->arrays[pick(&r, 0, 9) == 0 ? pick(&r, 0, 2) : i % 2];
        for (int axis = 0; axis < 2; axis++) {
            const int64_t n = pick(&r, 0, 25);
            const int64_t start = pick(&r, 0, a->shape[axis] - n);
            w->axes[i][axis] = (hr_axis){.start = start, .stop = start + n, .step = 1};
            w->shapes[i][axis] = n;
        }
        w->selections[i] =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = w->axes[i]};
        w->requests[i] = (hr__plan_request){.array = a,
                                            .selection = &w->selections[i],
                                            .dst_itemsize = 4,
                                            .dst_ndim = 2,
                                            .dst_shape = w->shapes[i]};
    }
    w->pool = plan_pool(NTHREADS);
    *state = w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    hr__pool_destroy(w->pool);
    free(w);
    return 0;
}

static void assert_same_uses(const hr__use *a, const hr__use *b) {
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        assert_int_equal(a->request, b->request);
        assert_int_equal(a->ndim, b->ndim);
        for (int32_t i = 0; i < a->ndim; i++) {
            assert_memory_equal(a->dims[i].piece, b->dims[i].piece, sizeof(hr__piece));
            assert_int_equal(a->dims[i].src_stride, b->dims[i].src_stride);
            assert_int_equal(a->dims[i].dst_stride, b->dims[i].dst_stride);
        }
    }
    assert_true(a == NULL && b == NULL);
}

static void assert_same_object(const hr__object_plan *a, const hr__object_plan *b) {
    assert_ptr_equal(a->array, b->array);
    assert_int_equal(a->array_id, b->array_id);
    assert_int_equal(a->nchunks, b->nchunks);
    assert_memory_equal(a->coords, b->coords, 2 * sizeof *a->coords);
    const hr__chunk *d = b->chunks;
    for (const hr__chunk *c = a->chunks; c != NULL; c = c->next, d = d->next) {
        assert_ptr_equal(c->object, a);
        assert_ptr_equal(d->object, b);
        assert_memory_equal(c->coords, d->coords, 2 * sizeof *c->coords);
        assert_int_equal(c->is_whole, d->is_whole);
        assert_same_uses(c->uses, d->uses);
    }
    assert_null(d);
}

static void any_number_of_parts_gives_the_same(void **state) {
    world *w = *state;
    static const uint32_t nparts[] = {2, 3, 4, 7, 64, NREQUESTS};
    for (size_t k = 0; k < sizeof nparts / sizeof *nparts; k++) {
        hr__arena arenas[2];
        hr__plan one, many;
        hr__arena_init(&arenas[0], &hr__malloc_allocator);
        hr__arena_init(&arenas[1], &hr__malloc_allocator);
        assert_int_equal(hr__plan_build(w->requests, NREQUESTS, &arenas[0], &one, NULL),
                         HR_OK);
        assert_int_equal(hr__plan_build_parts(w->requests, NREQUESTS, w->pool, nparts[k],
                                              &arenas[1], &many, NULL),
                         HR_OK);
        assert_int_equal(one.nobjects, many.nobjects);
        assert_int_equal(one.nchunks, many.nchunks);
        const hr__object_plan *p = many.objects;
        for (const hr__object_plan *o = one.objects; o != NULL;
             o = o->next, p = p->next) {
            assert_same_object(o, p);
        }
        assert_null(p);
        hr__arena_free(&arenas[0]);
        hr__arena_free(&arenas[1]);
    }
}

/* Item i of a list hashes as the array without axes of request i does: the chunks of one
 * are not looked for among those of the other, which have fewer coordinates. */
static void arrays_of_fewer_axes_are_kept_apart(void **state) {
    world *w = *state;
    hr__array list = {.ndim = 1, .shape = {NREQUESTS}};
    list.grid[0] = list.outer[0] = regular_axis(NREQUESTS, 1);
    hr__array *scalars = calloc(NREQUESTS, sizeof *scalars);
    assert_non_null(scalars);
    for (int i = 0; i < NREQUESTS; i++) {
        const bool is_scalar = i % 2 == 1;
        const int64_t item = i == 0 ? 0 : i - 1; /* of the request before */
        w->axes[i][0] = (hr_axis){.start = item, .stop = item + 1, .step = 1};
        w->selections[i].naxes = is_scalar ? 0 : 1;
        w->shapes[i][0] = 1;
        w->requests[i].array = is_scalar ? &scalars[i] : &list;
        w->requests[i].dst_ndim = is_scalar ? 0 : 1;
    }
    for (int i = 0; i < 20; i++) { /* what is wrong here, ThreadSanitizer may see */
        hr__arena arena;
        hr__plan plan;
        hr__arena_init(&arena, &hr__malloc_allocator);
        assert_int_equal(hr__plan_build_parts(w->requests, NREQUESTS, w->pool, NTHREADS,
                                              &arena, &plan, NULL),
                         HR_OK);
        assert_int_equal(plan.nobjects, NREQUESTS);
        assert_int_equal(plan.nchunks, NREQUESTS);
        hr__arena_free(&arena);
    }
    free(scalars);
}

/* Whoever comes upon the other wrong one first. */
static void the_first_request_that_is_wrong_is_named(void **state) {
    world *w = *state;
    hr__arena arena;
    hr__plan plan = {.nchunks = 77};
    hr__arena_init(&arena, &hr__malloc_allocator);
    w->requests[700].dst_ndim = 1;
    w->requests[1900].dst_ndim = 1;
    for (int i = 0; i < 20; i++) {
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(
            hr__plan_build_parts(w->requests, NREQUESTS, w->pool, 4, &arena, &plan, &err),
            HR_ERR_SHAPE);
        assert_non_null(strstr(err.message, "request 700: "));
        assert_int_equal(plan.nchunks, 77);
    }
    hr__arena_free(&arena);
}

/* Enough of them for one another to do something. */
static void few_requests_or_threads_are_one_part(void **state) {
    (void)state;
    assert_int_equal(hr__plan_nparts(0, 16), 1);
    assert_int_equal(hr__plan_nparts(1000, 16), 1);
    assert_int_equal(hr__plan_nparts(10000, 2), 1);
    assert_int_equal(hr__plan_nparts(10000, 16), 16);
    assert_int_equal(hr__plan_nparts(2048, 16), 4);
    assert_int_equal(hr__plan_nparts(SIZE_MAX, UINT32_MAX), UINT32_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(any_number_of_parts_gives_the_same),
        TEST(arrays_of_fewer_axes_are_kept_apart),
        TEST(the_first_request_that_is_wrong_is_named),
        cmocka_unit_test(few_requests_or_threads_are_one_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
