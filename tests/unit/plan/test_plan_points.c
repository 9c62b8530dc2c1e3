/* Points and masks, many of them. SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

static hr__array cube(int64_t length, int64_t chunk) {
    hr__array a = {.ndim = 3, .shape = {length, length, length}, .order = {1, 2, 0}};
    for (int axis = 0; axis < 3; axis++) {
        a.grid[axis] = a.outer[axis] = regular_axis(length, chunk);
    }
    return a;
}

/* Element by element, without the model's array of decoded values. */
static void run_flat(const hr__plan *plan, int64_t *dst) {
    for (const hr__object_plan *o = plan->objects; o != NULL; o = o->next) {
        const hr__array *a = o->array;
        assert_int_equal(o->nchunks, 1);
        const hr__use *use = o->chunks->uses;
        assert_null(use->next);
        assert_int_equal(use->ndim, 1);
        assert_int_equal(use->dims[0].src_stride, 1);
        assert_int_equal(use->dims[0].dst_stride, 8);
        const hr__piece *p = use->dims[0].piece;
        for (int64_t k = 0; k < p->n; k++) {
            int64_t rest = piece_src(p, k);
            int64_t place[3];
            for (int i = 2; i >= 0; i--) {
                const hr__grid_axis *g = &a->grid[a->order[i]];
                place[a->order[i]] =
                    hr__grid_start(g, o->coords[a->order[i]]) + rest % g->chunk;
                rest /= g->chunk;
            }
            assert_true(rest == 0);
            int64_t value = (place[0] * a->shape[1] + place[1]) * a->shape[2] + place[2];
            int64_t *to = &dst[piece_dst(p, k)];
            assert_true(*to == UNSET);
            *to = value;
        }
    }
}

static void check_points(uint64_t seed, int64_t n, int64_t length, int64_t chunk) {
    random_source r = random_from(seed);
    hr__array a = cube(length, chunk);
    int64_t *points = test_malloc((size_t)n * 3 * sizeof *points);
    int64_t *dst = test_malloc((size_t)n * sizeof *dst);
    for (int64_t i = 0; i < 3 * n; i++) {
        points[i] = pick(&r, -length, length - 1);
    }
    for (int64_t i = 0; i < n; i++) {
        dst[i] = UNSET;
    }
    hr_selection s = {.kind = HR_SELECT_POINTS, .npoints = (uint64_t)n, .points = points};
    hr__plan_request request = {
        .array = &a, .selection = &s, .dst_itemsize = 8, .dst_ndim = 1, .dst_shape = &n};
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
    run_flat(&plan, dst);
    for (int64_t i = 0; i < n; i++) {
        int64_t value = 0;
        for (int axis = 0; axis < 3; axis++) {
            value = value * length + (points[3 * i + axis] + length) % length;
        }
        EXPECT(&r, dst[i] == value);
    }
    hr__arena_free(&arena);
    test_free(dst);
    test_free(points);
}

static void gathered_points_are_exact_at_any_count(void **state) {
    (void)state;
    static const int64_t counts[] = {1, 5, 999, 1000, 1001, 4096, 50000, 200000};
    for (uint64_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_points(i + 1, counts[i], 50, 7);
        check_points(i + 100, counts[i], 1000, 13); /* keys of three digits */
    }
}

static void masks_gather_in_c_order(void **state) {
    (void)state;
    enum { LENGTH = 60, N = LENGTH * LENGTH * LENGTH };
    for (int64_t density = 0; density <= 100; density += 20) {
        random_source r = random_from((uint64_t)density + 1);
        hr__array a = cube(LENGTH, 16);
        uint8_t *mask = test_malloc(N);
        int64_t n = 0;
        for (int64_t i = 0; i < N; i++) {
            mask[i] = pick(&r, 0, 99) < density ? 0x80 : 0;
            n += mask[i] != 0;
        }
        int64_t *dst = test_malloc((size_t)n * sizeof *dst + 1);
        for (int64_t i = 0; i < n; i++) {
            dst[i] = UNSET;
        }
        hr_selection s = {.kind = HR_SELECT_MASK, .mask = mask};
        hr__plan_request request = {.array = &a,
                                    .selection = &s,
                                    .dst_itemsize = 8,
                                    .dst_ndim = 1,
                                    .dst_shape = &n};
        hr__arena arena;
        hr__arena_init(&arena, &hr__malloc_allocator);
        hr__plan plan;
        assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
        run_flat(&plan, dst);
        for (int64_t i = 0, k = 0; i < N; i++) {
            EXPECT(&r, mask[i] == 0 || dst[k++] == i);
        }
        assert_int_equal(plan.nchunks, density == 0 ? 0 : 64);
        hr__arena_free(&arena);
        test_free(dst);
        test_free(mask);
    }
}

static void points_of_an_array_without_axes_repeat_it(void **state) {
    (void)state;
    hr__array a = {.ndim = 0};
    hr_selection s = {.kind = HR_SELECT_POINTS, .npoints = 4};
    hr__plan_request request = {.array = &a,
                                .selection = &s,
                                .dst_itemsize = 8,
                                .dst_ndim = 1,
                                .dst_shape = (int64_t[]){4}};
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__plan plan;
    assert_int_equal(hr__plan_build(&request, 1, &arena, &plan, NULL), HR_OK);
    assert_int_equal(plan.nchunks, 1);
    const hr__use *use = plan.objects->chunks->uses;
    assert_int_equal(use->ndim, 1);
    for (int64_t k = 0; k < 4; k++) {
        assert_int_equal(piece_src(use->dims[0].piece, k), 0);
        assert_int_equal(piece_dst(use->dims[0].piece, k), k);
    }
    assert_false(plan.objects->chunks->is_whole);
    hr__arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathered_points_are_exact_at_any_count),
        cmocka_unit_test(masks_gather_in_c_order),
        cmocka_unit_test(points_of_an_array_without_axes_repeat_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
