/* Grids of chunks along an axis. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/array.h"

/* Every element lies in the chunk that find names, and chunks follow on one another. */
static void check(const hr__grid_axis *g) {
    for (int64_t i = 0; i < g->length; i++) {
        int64_t c = hr__grid_find(g, i);
        assert_in_range(c, 0, g->nchunks - 1);
        int64_t start = hr__grid_start(g, c);
        assert_true(start <= i && i - start < hr__grid_length(g, c));
    }
    int64_t next = 0;
    for (int64_t c = 0; c < g->nchunks; c++) {
        assert_int_equal(hr__grid_start(g, c), next);
        next += hr__grid_length(g, c);
    }
    assert_true(next >= g->length);
}

static void regular_grids_find_each_element(void **state) {
    (void)state;
    for (int64_t chunk = 1; chunk < 14; chunk++) {
        for (int64_t length = 0; length < 30; length++) {
            hr__grid_axis g = {.length = length,
                               .chunk = chunk,
                               .nchunks = (length + chunk - 1) / chunk};
            check(&g);
        }
    }
}

static void the_last_chunk_keeps_its_full_length(void **state) {
    (void)state;
    hr__grid_axis regular = {.length = 10, .chunk = 4, .nchunks = 3};
    assert_int_equal(hr__grid_start(&regular, 2), 8);
    assert_int_equal(hr__grid_length(&regular, 2), 4);
    const int64_t starts[] = {0, 3, 9, 16};
    hr__grid_axis rectilinear = {
        .length = 12, .chunk = 7, .nchunks = 3, .starts = starts};
    assert_int_equal(hr__grid_start(&rectilinear, 2), 9);
    assert_int_equal(hr__grid_length(&rectilinear, 2), 7);
}

static void rectilinear_grids_find_each_element(void **state) {
    (void)state;
    const int64_t starts[] = {0, 1, 2, 9, 10, 30, 34};
    for (int64_t n = 1; n < 7; n++) {
        hr__grid_axis g = {
            .length = starts[n], .chunk = 20, .nchunks = n, .starts = starts};
        check(&g);
        g.length = starts[n - 1] + 1;
        check(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_grids_find_each_element),
        cmocka_unit_test(the_last_chunk_keeps_its_full_length),
        cmocka_unit_test(rectilinear_grids_find_each_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
