/* Chunks found once, destinations checked, big grids.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

static hr__array array_2d(int64_t rows, int64_t columns, int64_t chunk) {
    hr__array a = {.ndim = 2, .shape = {rows, columns}, .order = {0, 1}};
    a.grid[0] = a.outer[0] = regular_axis(rows, chunk);
    a.grid[1] = a.outer[1] = regular_axis(columns, chunk);
    return a;
}

static const hr_selection all = {.kind = HR_SELECT_ALL};

static hr__plan_request request_of(const hr__array *a, const hr_selection *s,
                                   int32_t ndim, const int64_t *shape) {
    return (hr__plan_request){.array = a,
                              .selection = s,
                              .dst_itemsize = 8,
                              .dst_ndim = ndim,
                              .dst_shape = shape};
}

static void a_chunk_that_two_requests_use_is_planned_once(void **state) {
    (void)state;
    hr__array a = array_2d(8, 8, 4);
    hr__array other = a;
    hr_axis axes[] = {{.start = 0, .stop = 4}, {.start = 2, .stop = 6}};
    hr_selection part = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    hr_axis none = {.start = 3, .stop = 3};
    hr_selection nothing = {.kind = HR_SELECT_AXES, .naxes = 1, .axes = &none};
    hr__plan_request requests[] = {request_of(&a, &nothing, 2, (int64_t[]){0, 8}),
                                   request_of(&other, &all, 2, (int64_t[]){8, 8}),
                                   request_of(&a, &all, 2, (int64_t[]){8, 8}),
                                   request_of(&a, &part, 2, (int64_t[]){4, 4})};
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    assert_int_equal(hr__plan_build(requests, 4, &arena, &plan, NULL), HR_OK);
    assert_int_equal(plan.nchunks, 8);
    assert_int_equal(plan.nobjects, 8);
    int nwhole = 0;
    int ntwice = 0;
    for (const hr__object_plan *o = plan.objects; o != NULL; o = o->next) {
        assert_int_equal(o->array_id, o->array == &other ? 1 : 0);
        nwhole += o->chunks->is_whole;
        const hr__use *use = o->chunks->uses;
        if (use->next != NULL) {
            ntwice++;
            assert_int_equal(use->request + use->next->request, 2 + 3);
            assert_null(use->next->next);
            assert_int_equal(o->chunks->coords[0], 0);
        }
    }
    assert_int_equal(nwhole, 6);
    assert_int_equal(ntwice, 2);
    assert_ptr_equal(plan.objects->array, &other); /* in order of first use */
    assert_int_equal(plan.objects->next->coords[1], 1);
    hr__arena_free(&arena);
}

static void dropped_axes_have_no_stride(void **state) {
    (void)state;
    hr__array a = array_2d(8, 8, 4);
    hr_axis x = {.kind = HR_AXIS_INTEGER, .start = 5};
    hr_selection row = {.kind = HR_SELECT_AXES, .naxes = 1, .axes = &x};
    int64_t shape[] = {8};
    hr__plan_request request = request_of(&a, &row, 1, shape);
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
    const hr__use *use = plan.objects->chunks->uses;
    assert_int_equal(use->ndim, 2);
    assert_int_equal(use->dims[0].piece->n, 1);
    assert_int_equal(use->dims[0].piece->src0, 1);
    assert_int_equal(use->dims[0].src_stride, 4);
    assert_int_equal(use->dims[0].dst_stride, 0);
    assert_int_equal(use->dims[1].dst_stride, 8);
    hr__arena_free(&arena);
}

/* A narrow stride over a tall array: one chunk per row taken, no more. */
static void strided_slices_cost_by_chunk(void **state) {
    (void)state;
    hr__array a = {.ndim = 3, .shape = {149568, 66369, 3}, .order = {0, 1, 2}};
    a.grid[0] = regular_axis(149568, 1);
    a.grid[1] = regular_axis(66369, 66369);
    a.grid[2] = regular_axis(3, 3);
    memcpy(a.outer, a.grid, sizeof a.outer);
    hr_axis step = {.start = HR_NONE, .stop = HR_NONE, .step = 512};
    hr_axis axes[] = {step, step};
    hr_selection s = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    hr__plan_request request = request_of(&a, &s, 3, (int64_t[]){293, 130, 3});
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
    assert_int_equal(plan.nchunks, 293);
    int64_t row = 0;
    for (const hr__object_plan *o = plan.objects; o != NULL; o = o->next, row += 512) {
        assert_int_equal(o->coords[0], row);
        assert_int_equal(o->nchunks, 1);
        const hr__use *use = o->chunks->uses;
        assert_null(use->next);
        assert_int_equal(use->dims[1].piece->n, 130);
        assert_int_equal(use->dims[1].piece->src_step, 512);
        assert_null(use->dims[1].piece->src_list);
        assert_ptr_equal(use->dims[1].piece, plan.objects->chunks->uses->dims[1].piece);
    }
    hr__arena_free(&arena);
}

static void refuse(hr__plan_request *requests, size_t n, hr_status status,
                   const char *message) {
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan = {.nchunks = 77};
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__plan_build(requests, n, &arena, &plan, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(plan.nchunks, 77);
    assert_int_equal(hr__plan_build(requests, n, &arena, &plan, NULL), status);
    hr__arena_free(&arena);
}

static void errors_name_the_request(void **state) {
    (void)state;
    hr__array a = array_2d(3, 10, 4);
    hr__plan_request ok = request_of(&a, &all, 2, (int64_t[]){3, 10});
    hr_axis axes[] = {{.start = HR_NONE, .stop = HR_NONE, .step = 1},
                      {.kind = HR_AXIS_INTEGER, .start = 12}};
    hr_selection s = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    hr__plan_request requests[] = {ok, ok, request_of(&a, &s, 1, (int64_t[]){3})};
    refuse(requests, 3, HR_ERR_SELECTION,
           "request 2, axis 1: index 12 is out of bounds for length 10");
    axes[1] = (hr_axis){.start = 0, .stop = 5};
    requests[0] = request_of(&a, &s, 2, (int64_t[]){3, 4});
    refuse(requests, 1, HR_ERR_SHAPE,
           "request 0: destination has shape (3,4), selection gives (3,5)");
    requests[0].dst_ndim = 0;
    refuse(requests, 1, HR_ERR_SHAPE,
           "request 0: destination has shape (), selection gives (3,5)");
    requests[0].dst_ndim = 1;
    refuse(requests, 1, HR_ERR_SHAPE,
           "request 0: destination has shape (3,), selection gives (3,5)");
    requests[0].dst_ndim = 33;
    refuse(requests, 1, HR_ERR_SHAPE,
           "request 0: destination has 33 axes, selection gives 2");
    hr_selection points = {.kind = HR_SELECT_POINTS, .npoints = 0};
    requests[1] = request_of(&a, &points, 1, (int64_t[]){1});
    requests[0] = ok;
    refuse(requests, 2, HR_ERR_SHAPE,
           "request 1: destination has shape (1,), selection gives (0,)");
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hr__array a = array_2d(INT64_C(1) << 40, INT64_C(1) << 21, INT64_C(1) << 20);
    hr__plan_request request =
        request_of(&a, &all, 2, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 21});
    refuse(&request, 1, HR_ERR_OVERFLOW,
           "request 0: destination spans more than 2^63 bytes");
    int64_t strides[] = {1, INT64_MIN};
    request.dst_strides = strides;
    refuse(&request, 1, HR_ERR_OVERFLOW,
           "request 0: destination spans more than 2^63 bytes");
    strides[1] = -(INT64_C(1) << 43);
    refuse(&request, 1, HR_ERR_OVERFLOW,
           "request 0: destination spans more than 2^63 bytes");

    int64_t starts[] = {0, INT64_C(1) << 32};
    hr__array odd = array_2d(1, 1, 1);
    odd.grid[0].starts = odd.grid[1].starts = starts;
    request = request_of(&odd, &all, 2, (int64_t[]){1, 1});
    refuse(&request, 1, HR_ERR_OVERFLOW,
           "request 0: a chunk has more than 2^63 elements");
    hr__array fine = array_2d(INT64_C(1) << 40, INT64_C(1) << 40, 1);
    int64_t point[] = {5, 7};
    hr_selection s = {.kind = HR_SELECT_POINTS, .npoints = 1, .points = point};
    request = request_of(&fine, &s, 1, (int64_t[]){1});
    refuse(&request, 1, HR_ERR_OVERFLOW,
           "request 0: points in an array of more than 2^64 chunks");
}

typedef struct failing {
    int until;
    int64_t live_nbytes;
} failing;

static void *failing_alloc(void *user, size_t nbytes) {
    failing *f = user;
    if (f->until-- <= 0) {
        return NULL;
    }
    f->live_nbytes += (int64_t)nbytes;
    return aligned_alloc(64, (nbytes + 63) / 64 * 64);
}

static void failing_free(void *user, void *ptr, size_t nbytes) {
    ((failing *)user)->live_nbytes -= (int64_t)nbytes;
    free(ptr);
}

/* Whichever allocation fails, the plan says so and leaks nothing. */
static void memory_failures_come_back(void **state) {
    (void)state;
    hr__array a = array_2d(300, 300, 4);
    random_source r = random_from(1);
    model_levels(&r, &a, 1);
    static int64_t list[700];
    static int64_t points[1400];
    static uint8_t mask[90000];
    for (int i = 0; i < 700; i++) {
        list[i] = pick(&r, 0, 299);
        points[2 * i] = list[i];
        points[2 * i + 1] = pick(&r, 0, 299);
        mask[list[i] * 300 + list[i]] = 1;
    }
    hr_axis x = {.kind = HR_AXIS_INDICES, .indices = list, .nindices = 700};
    hr_selection ss[] = {
        all,
        {.kind = HR_SELECT_AXES, .naxes = 1, .axes = &x},
        {.kind = HR_SELECT_POINTS, .npoints = 700, .points = points},
        {.kind = HR_SELECT_MASK, .mask = mask},
    };
    int64_t shapes[4][HR_MAX_NDIM];
    hr__plan_request requests[4];
    for (int i = 0; i < 4; i++) {
        int32_t ndim;
        assert_int_equal(hr__selection_shape(&a, &ss[i], NULL, &ndim, shapes[i], NULL),
                         HR_OK);
        requests[i] = request_of(&a, &ss[i], ndim, shapes[i]);
    }
    hr_status status = HR_ERR_MEMORY;
    int until = 0;
    for (; status != HR_OK; until++) {
        failing f = {.until = until};
        hr_allocator allocator = hr__malloc_allocator;
        allocator.alloc = failing_alloc;
        allocator.free = failing_free;
        allocator.user = &f;
        hr__arena arena;
        hr__arena_init(&arena, &allocator);
        hr__plan plan;
        hr_error err = HR_ERROR_INIT;
        status = hr__plan_build(requests, 4, &arena, &plan, &err);
        assert_true(status == HR_OK || status == HR_ERR_MEMORY);
        assert_true(status == err.status);
        hr__arena_free(&arena);
        assert_int_equal(f.live_nbytes, 0);
    }
    assert_true(until > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_that_two_requests_use_is_planned_once),
        cmocka_unit_test(dropped_axes_have_no_stride),
        cmocka_unit_test(strided_slices_cost_by_chunk),
        cmocka_unit_test(errors_name_the_request),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(memory_failures_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
