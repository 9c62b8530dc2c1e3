/* Shapes of selections, and refusals. SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

#define NONE HR_NONE

static hr__array array_2d(int64_t rows, int64_t columns, int64_t chunk) {
    hr__array a = {.ndim = 2, .shape = {rows, columns}, .order = {0, 1}};
    a.grid[0] = a.outer[0] = regular_axis(rows, chunk);
    a.grid[1] = a.outer[1] = regular_axis(columns, chunk);
    return a;
}

static hr_selection axes_of(hr_axis *axes, int32_t n) {
    return (hr_selection){.kind = HR_SELECT_AXES, .naxes = n, .axes = axes};
}

/* What NumPy gives for numpy.arange(10)[start:stop:step]. */
static void slices_are_numpys(void **state) {
    (void)state;
    static const struct {
        int64_t start, stop, step, n, first, second;
    } cases[] = {
        {NONE, NONE, 0, 10, 0, 1},
        {NONE, NONE, NONE, 10, 0, 1},
        {2, 5, 1, 3, 2, 3},
        {-3, NONE, 1, 3, 7, 8},
        {NONE, -3, 1, 7, 0, 1},
        {0, 100, 1, 10, 0, 1},
        {-100, 100, 3, 4, 0, 3},
        {100, 200, 1, 0, 0, 0},
        {5, 2, 1, 0, 0, 0},
        {NONE, NONE, -1, 10, 9, 8},
        {NONE, NONE, -4, 3, 9, 5},
        {100, -100, -3, 4, 9, 6},
        {2, NONE, -1, 3, 2, 1},
        {-100, NONE, -1, 0, 0, 0},
        {7, 2, -2, 3, 7, 5},
        {2, 7, -1, 0, 0, 0},
        {-1, 0, -5, 2, 9, 4},
        {3, NONE, INT64_MAX, 1, 3, 0},
        {3, NONE, -INT64_MAX, 1, 3, 0},
        {INT64_MAX, -INT64_MAX, -9, 2, 9, 0},
        {-INT64_MAX, INT64_MAX, 9, 2, 0, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr__array a = {.ndim = 1, .shape = {10}};
        a.grid[0] = a.outer[0] = regular_axis(10, 10);
        hr_axis x = {
            .start = cases[i].start, .stop = cases[i].stop, .step = cases[i].step};
        hr_selection s = axes_of(&x, 1);
        hr__arena arena;
        hr__arena_init(&arena, &hr__malloc_allocator);
        hr__plan plan;
        hr__plan_request request = {.array = &a,
                                    .selection = &s,
                                    .dst_itemsize = 1,
                                    .dst_ndim = 1,
                                    .dst_shape = &cases[i].n};
        assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
        assert_int_equal(plan.nchunks, cases[i].n > 0);
        if (cases[i].n > 0) {
            const hr__piece *p = plan.objects->chunks->uses->dims[0].piece;
            assert_int_equal(p->src0, cases[i].first);
            assert_int_equal(p->n, cases[i].n);
            assert_int_equal(p->src_step,
                             p->n > 1 ? cases[i].second - cases[i].first : 1);
        }
        hr__arena_free(&arena);
    }
}

static void integers_drop_their_axis_and_missing_axes_are_whole(void **state) {
    (void)state;
    hr__array a = array_2d(10, 7, 4);
    hr_axis x = {.kind = HR_AXIS_INTEGER, .start = -10};
    hr_selection s = axes_of(&x, 1);
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    assert_int_equal(hr__selection_shape(&a, &s, NULL, &ndim, shape, NULL), HR_OK);
    assert_int_equal(ndim, 1);
    assert_int_equal(shape[0], 7);
    s = (hr_selection){.kind = HR_SELECT_ALL, .naxes = 99}; /* axes are not looked at */
    assert_int_equal(hr__selection_shape(&a, &s, NULL, &ndim, shape, NULL), HR_OK);
    assert_int_equal(ndim, 2);
    assert_int_equal(shape[0] * 100 + shape[1], 1007);
}

static void blocks_keep_their_axes_and_end_with_the_array(void **state) {
    (void)state;
    hr__array a = array_2d(10, 7, 4);
    hr_axis axes[] = {{.kind = HR_AXIS_INTEGER, .start = -1}, {.start = 1, .stop = 9}};
    hr_selection s = axes_of(axes, 2);
    s.kind = HR_SELECT_BLOCKS;
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    assert_int_equal(hr__selection_shape(&a, &s, NULL, &ndim, shape, NULL), HR_OK);
    assert_int_equal(ndim, 2);
    assert_int_equal(shape[0], 2); /* rows 8 and 9 */
    assert_int_equal(shape[1], 3);
    int64_t block_shape[] = {9, 2};
    assert_int_equal(hr__selection_shape(&a, &s, block_shape, &ndim, shape, NULL), HR_OK);
    assert_int_equal(shape[0], 1);
    assert_int_equal(shape[1], 5);
}

static void refuse(const hr__array *a, hr_selection s, hr_status status,
                   const char *message) {
    hr_error err = HR_ERROR_INIT;
    int32_t ndim = -5;
    int64_t shape[HR_MAX_NDIM] = {-5};
    assert_int_equal(hr__selection_shape(a, &s, NULL, &ndim, shape, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(err.status, status);
    assert_int_equal(ndim, -5);
    assert_int_equal(shape[0], -5);
}

static void selections_out_of_bounds_name_axis_index_and_length(void **state) {
    (void)state;
    hr__array a = array_2d(20, 10, 4);
    int64_t list[] = {3, -10, -11};
    hr_axis axes[] = {{.kind = HR_AXIS_SLICE, .start = NONE, .stop = NONE},
                      {.kind = HR_AXIS_INTEGER, .start = 12}};
    refuse(&a, axes_of(axes, 2), HR_ERR_SELECTION,
           "axis 1: index 12 is out of bounds for length 10");
    axes[1].start = INT64_MIN;
    refuse(&a, axes_of(axes, 2), HR_ERR_SELECTION,
           "axis 1: index -9223372036854775808 is out of bounds for length 10");
    axes[1] = (hr_axis){.kind = HR_AXIS_INDICES, .indices = list, .nindices = 3};
    refuse(&a, axes_of(axes, 2), HR_ERR_SELECTION,
           "axis 1: index -11 is out of bounds for length 10");
    int64_t points[] = {19, 9, -20, -10, 20, 0};
    hr_selection s = {.kind = HR_SELECT_POINTS, .npoints = 3, .points = points};
    refuse(&a, s, HR_ERR_SELECTION,
           "point 2, axis 0: index 20 is out of bounds for length 20");
    hr__array empty = array_2d(0, 10, 4);
    axes[0] = (hr_axis){.kind = HR_AXIS_INTEGER, .start = 0};
    refuse(&empty, axes_of(axes, 1), HR_ERR_SELECTION,
           "axis 0: index 0 is out of bounds for length 0");
    s = axes_of(axes, 1);
    s.kind = HR_SELECT_BLOCKS;
    axes[0].start = 5;
    refuse(&a, s, HR_ERR_SELECTION, "axis 0: index 5 is out of bounds for length 5");
}

static void ill_formed_selections_are_refused(void **state) {
    (void)state;
    hr__array a = array_2d(20, 10, 4);
    hr_axis axes[3] = {{.start = NONE, .stop = NONE, .step = 2}};
    refuse(&a, axes_of(axes, 3), HR_ERR_SELECTION, "selection: 3 axes for an array of 2");
    refuse(&a, axes_of(axes, -1), HR_ERR_SELECTION,
           "selection: -1 axes for an array of 2");
    refuse(&a, axes_of(NULL, 1), HR_ERR_ARGUMENT, "selection: axes is NULL");
    hr_selection s = axes_of(axes, 1);
    s.kind = HR_SELECT_BLOCKS;
    refuse(&a, s, HR_ERR_SELECTION, "axis 0: blocks with step 2, expected 1");
    axes[0].kind = HR_AXIS_INDICES;
    refuse(&a, s, HR_ERR_SELECTION, "axis 0: a list cannot select blocks");
    axes[0].nindices = 5;
    refuse(&a, axes_of(axes, 1), HR_ERR_ARGUMENT, "axis 0: list of 5 indices is NULL");
    axes[0].nindices = UINT64_MAX;
    refuse(&a, axes_of(axes, 1), HR_ERR_OVERFLOW,
           "axis 0: 18446744073709551615 indices do not fit in memory");
    axes[0].kind = (hr_axis_kind)9;
    refuse(&a, axes_of(axes, 1), HR_ERR_ARGUMENT, "axis 0: no such kind of axis: 9");
    s = (hr_selection){.kind = HR_SELECT_POINTS, .npoints = 1};
    refuse(&a, s, HR_ERR_ARGUMENT, "selection: points is NULL");
    s.npoints = UINT64_MAX / 8;
    refuse(&a, s, HR_ERR_OVERFLOW,
           "selection: 2305843009213693951 points do not fit in memory");
    s = (hr_selection){.kind = HR_SELECT_MASK};
    refuse(&a, s, HR_ERR_ARGUMENT, "selection: mask is NULL");
    hr__array vast = array_2d(INT64_MAX, 2, 4);
    refuse(&vast, s, HR_ERR_OVERFLOW,
           "selection: no mask fits an array of more than 2^63 elements");
    s.kind = (hr_selection_kind)7;
    refuse(&a, s, HR_ERR_ARGUMENT, "selection: no such kind: 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_numpys),
        cmocka_unit_test(integers_drop_their_axis_and_missing_axes_are_whole),
        cmocka_unit_test(blocks_keep_their_axes_and_end_with_the_array),
        cmocka_unit_test(selections_out_of_bounds_name_axis_index_and_length),
        cmocka_unit_test(ill_formed_selections_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
