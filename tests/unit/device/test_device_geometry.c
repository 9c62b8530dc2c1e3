/* Scatters made ready for the kernels. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/geometry.h"

static hr_k_dim loop(uint64_t n, int64_t src_step, int64_t dst_step) {
    return (hr_k_dim){.n = n, .src_step = src_step, .dst_step = dst_step};
}

static hr_k_tiles tiles_of(const hr_k_scatter *s) {
    hr_k_tiles t;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__geometry_tiles(HR__KERNEL_SCATTER, s, &t, &err), HR_OK);
    return t;
}

static const hr_k_axis *x_of(const hr_k_tiles *t) {
    return t->items_along_y ? &t->across : &t->along;
}

static const hr_k_axis *y_of(const hr_k_tiles *t) {
    return t->items_along_y ? &t->along : &t->across;
}

static void contiguous_loops_become_one_of_wide_items(void **state) {
    (void)state;
    hr_k_scatter s = {.src = 4096,
                      .dst = 8192,
                      .nitems = 6000,
                      .itemsize = 4,
                      .ndim = 3,
                      .dims = {loop(10, 2400, 2400), loop(20, 120, 120), loop(30, 4, 4)}};
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(t.width, 16);
    assert_int_equal(x_of(&t)->n, 1500);
    assert_int_equal(x_of(&t)->src_step, 16);
    assert_int_equal(y_of(&t)->n, 1);
    assert_int_equal(t.nouter, 0);
}

static void the_order_of_the_loops_does_not_matter(void **state) {
    (void)state;
    hr_k_scatter s = {.nitems = 6000,
                      .itemsize = 4,
                      .ndim = 3,
                      .dims = {loop(30, 4, 4), loop(10, 2400, 2400), loop(20, 120, 120)}};
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(x_of(&t)->n, 1500);
}

static void items_are_as_wide_as_everything_is_aligned(void **state) {
    (void)state;
    hr_k_scatter s = {.nitems = 500,
                      .itemsize = 4,
                      .ndim = 2,
                      .dims = {loop(5, 512, 400), loop(100, 4, 4)}};
    assert_int_equal(tiles_of(&s).width, 16);
    s.src = 8;
    assert_int_equal(tiles_of(&s).width, 8);
    s.dst = 4;
    assert_int_equal(tiles_of(&s).width, 4);
    s.dims[0].dst_step = 402;
    assert_int_equal(tiles_of(&s).width, 2);
    s.dims[0].src0 = 1;
    assert_int_equal(tiles_of(&s).width, 1);
    s.dims[0].src_list = 4096; /* the start does not count where a list is */
    assert_int_equal(tiles_of(&s).width, 2);
}

static void an_item_that_is_no_power_of_two_becomes_a_loop(void **state) {
    (void)state;
    hr_k_scatter s = {
        .nitems = 100, .itemsize = 12, .ndim = 1, .dims = {loop(100, 24, 12)}};
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(t.width, 4);
    assert_int_equal(x_of(&t)->n, 3);
    assert_int_equal(y_of(&t)->n, 100);
    assert_int_equal(y_of(&t)->src_step, 24);
}

static void a_copy_backwards_on_both_sides_is_a_copy_forwards(void **state) {
    (void)state;
    hr_k_scatter s = {.src = 1000 * 4 - 4 + 64,
                      .dst = 1000 * 4 - 4 + 128,
                      .nitems = 1000,
                      .itemsize = 4,
                      .ndim = 1,
                      .dims = {loop(1000, -4, -4)}};
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(t.width, 16);
    assert_int_equal(t.src, 64);
    assert_int_equal(t.dst, 128);
    assert_int_equal(x_of(&t)->src_step, 16);
}

static void lists_stay_apart(void **state) {
    (void)state;
    hr_k_scatter s = {.nitems = 800,
                      .itemsize = 8,
                      .ndim = 2,
                      .dims = {loop(8, 800, 800), loop(100, 8, 8)}};
    s.dims[0].src_list = 4096;
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(t.width, 16);
    assert_int_equal(x_of(&t)->n, 50);
    assert_int_equal(y_of(&t)->src_list, 4096);
    assert_int_equal(t.has_lists, 1);
}

static void both_sides_of_a_transposition_get_threads(void **state) {
    (void)state;
    hr_k_scatter s = {
        .nitems = 3 * 1000 * 2000,
        .itemsize = 4,
        .ndim = 3,
        .dims = {loop(3, 8000000, 8000000), loop(1000, 4, 8000), loop(2000, 4000, 4)}};
    hr_k_tiles t = tiles_of(&s);
    assert_int_equal(x_of(&t)->n, 2000);
    assert_int_equal(y_of(&t)->n, 1000);
    assert_int_equal(y_of(&t)->src_step, 4);
    assert_int_equal(t.log_threads_x, 3);
    assert_int_equal(t.nouter, 1);
    assert_int_equal(t.ntiles, 3 * t.tiles_x.divisor * t.tiles_y.divisor);
}

static void tiles_cover_the_loops(void **state) {
    (void)state;
    for (uint64_t nx = 1; nx < 5000; nx = nx * 3 / 2 + 1) {
        for (uint64_t ny = 1; ny < 5000; ny = ny * 5 / 3 + 1) {
            hr_k_scatter s = {.nitems = nx * ny,
                              .itemsize = 1,
                              .ndim = 2,
                              .dims = {loop(ny, 100001, 100003), loop(nx, 3, 1)}};
            hr_k_tiles t = tiles_of(&s);
            assert_int_equal(t.log_tile_x + t.log_tile_y,
                             HR_K_LOG_THREADS + HR_K_LOG_ITEMS(1));
            assert_true((uint64_t)t.tiles_x.divisor << t.log_tile_x >= x_of(&t)->n);
            assert_true((uint64_t)t.tiles_y.divisor << t.log_tile_y >= y_of(&t)->n);
            assert_int_equal(x_of(&t)->n * y_of(&t)->n, nx * ny);
        }
    }
}

static void a_fill_reads_the_item_alone(void **state) {
    (void)state;
    hr_k_fill f = {.where = {.src = 256,
                             .dst = 4096,
                             .nitems = 1000,
                             .itemsize = 8,
                             .ndim = 2,
                             .dims = {loop(10, 7, 800), loop(100, 3, 8)}}};
    f.where.dims[0].src0 = 5;
    f.where.dims[1].src_list = 64;
    hr_k_tiles t;
    assert_int_equal(hr__geometry_tiles(HR__KERNEL_FILL, &f, &t, NULL), HR_OK);
    assert_int_equal(t.width, 8);
    assert_int_equal(t.src, 256);
    assert_int_equal(x_of(&t)->n, 1000);
    assert_int_equal(x_of(&t)->src_step, 0);
    assert_int_equal(t.has_lists, 0);
}

static void a_copy_of_nothing_has_no_tiles(void **state) {
    (void)state;
    hr_k_scatter s = {
        .itemsize = 4, .ndim = 2, .dims = {loop(UINT64_MAX, 4, 4), loop(0, 4, 4)}};
    assert_int_equal(tiles_of(&s).ntiles, 0);
    s = (hr_k_scatter){.nitems = 1, .itemsize = 4};
    assert_int_equal(tiles_of(&s).ntiles, 1);
}

static hr_status status_of(const hr_k_scatter *s) {
    hr_k_tiles t = {.width = 77};
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr__geometry_tiles(HR__KERNEL_SCATTER, s, &t, &err);
    assert_int_equal(err.status, status);
    assert_true((t.width == 77) == (status != HR_OK));
    return status;
}

static void blocks_that_contradict_themselves_are_refused(void **state) {
    (void)state;
    hr_k_scatter s = {
        .nitems = 12, .itemsize = 4, .ndim = 2, .dims = {loop(3, 16, 16), loop(4, 4, 4)}};
    assert_int_equal(status_of(&s), HR_OK);
    s.nitems = 13;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s.nitems = 0;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s.nitems = 12;
    s.itemsize = 0;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s.itemsize = 4;
    s.ndim = HR_K_MAX_DIMS + 1;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s.ndim = -1;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s.ndim = 2;
    s.dims[0].n = UINT64_MAX;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    hr_k_tiles t;
    assert_int_equal(hr__geometry_tiles(HR__NKERNELS, &s, &t, NULL), HR_ERR_ARGUMENT);
}

static void too_many_tiles_are_an_overflow(void **state) {
    (void)state;
    hr_k_scatter s = {.nitems = UINT64_C(1) << 60,
                      .itemsize = 1,
                      .ndim = 3,
                      .dims = {loop(1 << 20, INT64_C(1) << 44, INT64_C(1) << 45),
                               loop(1 << 20, 1 << 22, 1 << 23), loop(1 << 20, 2, 4)}};
    assert_int_equal(status_of(&s), HR_ERR_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_loops_become_one_of_wide_items),
        cmocka_unit_test(the_order_of_the_loops_does_not_matter),
        cmocka_unit_test(items_are_as_wide_as_everything_is_aligned),
        cmocka_unit_test(an_item_that_is_no_power_of_two_becomes_a_loop),
        cmocka_unit_test(a_copy_backwards_on_both_sides_is_a_copy_forwards),
        cmocka_unit_test(lists_stay_apart),
        cmocka_unit_test(both_sides_of_a_transposition_get_threads),
        cmocka_unit_test(tiles_cover_the_loops),
        cmocka_unit_test(a_fill_reads_the_item_alone),
        cmocka_unit_test(a_copy_of_nothing_has_no_tiles),
        cmocka_unit_test(blocks_that_contradict_themselves_are_refused),
        cmocka_unit_test(too_many_tiles_are_an_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
