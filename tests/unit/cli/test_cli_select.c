/* Selections as the command takes them. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pieces.h"
#include "select.h"

static const int64_t shape3[] = {10, 6, 4};

static cli_selection parse3(const char *text) {
    cli_selection s;
    cli_select_error error = {.column = 0};
    if (!cli_select_parse(text, 3, shape3, &s, &error)) {
        fail_msg("'%s': %s at column %zu", text, error.message, error.column);
    }
    return s;
}

static void expect_slice(const cli_axis *axis, int64_t start, int64_t step,
                         int64_t count) {
    assert_int_equal(axis->kind, HR_AXIS_SLICE);
    assert_int_equal(axis->start, start);
    assert_int_equal(axis->step, step);
    assert_int_equal(axis->count, count);
}

static void expect_error(const char *text, size_t column, const char *part) {
    cli_selection s;
    cli_select_error error = {.column = 0};
    assert_false(cli_select_parse(text, 3, shape3, &s, &error));
    if (error.column != column || strstr(error.message, part) == NULL) {
        fail_msg("'%s' gave '%s' at column %zu", text, error.message, error.column);
    }
}

static void blank_text_selects_everything(void **state) {
    (void)state;
    const char *const texts[] = {NULL, "",      "  ",        "...",
                                 ":",  ":,:,:", " : , ... ", "...,:,"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cli_selection s = parse3(texts[i]);
        for (int32_t k = 0; k < 3; k++) {
            expect_slice(&s.axes[k], 0, 1, shape3[k]);
        }
        cli_select_free(&s);
    }
}

static void slices_clip_as_in_python(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t start, step, count;
    } cases[] = {
        {"2:5", 2, 1, 3},      {"-3:", 7, 1, 3},       {":100", 0, 1, 10},
        {"-100:2", 0, 1, 2},   {"::3", 0, 3, 4},       {"::-1", 9, -1, 10},
        {"8:2:-3", 8, -3, 2},  {"5:5", 0, 1, 0},       {"7:3", 0, 1, 0},
        {"3:7:-1", 0, 1, 0},   {"20:", 0, 1, 0},       {"::100", 0, 1, 1},
        {"100::-4", 9, -4, 3}, {":-11:-1", 9, -1, 10}, {"9223372036854775807:", 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cli_selection s = parse3(cases[i].text);
        expect_slice(&s.axes[0], cases[i].start, cases[i].step, cases[i].count);
        cli_select_free(&s);
    }
}

static void integers_drop_their_axis_and_lists_keep_it(void **state) {
    (void)state;
    cli_selection s = parse3("-1, [5, 0,-1, ], 2");
    assert_int_equal(s.axes[0].kind, HR_AXIS_INTEGER);
    assert_int_equal(s.axes[0].start, 9);
    assert_int_equal(s.axes[1].kind, HR_AXIS_INDICES);
    assert_int_equal(s.axes[1].count, 3);
    assert_int_equal(s.axes[1].indices[0], 5);
    assert_int_equal(s.axes[1].indices[1], 0);
    assert_int_equal(s.axes[1].indices[2], 5);
    int64_t shape[HR_MAX_NDIM];
    assert_int_equal(cli_select_shape(&s, shape), 1);
    assert_int_equal(shape[0], 3);
    cli_select_free(&s);
}

static void ellipsis_stands_for_the_axes_not_named(void **state) {
    (void)state;
    cli_selection s = parse3("..., 1");
    expect_slice(&s.axes[0], 0, 1, 10);
    expect_slice(&s.axes[1], 0, 1, 6);
    assert_int_equal(s.axes[2].start, 1);
    cli_select_free(&s);
    s = parse3("[1,2], ..., 0");
    assert_int_equal(s.axes[0].count, 2);
    expect_slice(&s.axes[1], 0, 1, 6);
    assert_int_equal(s.axes[2].kind, HR_AXIS_INTEGER);
    cli_select_free(&s);
    s = parse3("0,1,2,...");
    assert_int_equal(s.axes[2].start, 2);
    cli_select_free(&s);
}

static void errors_point_at_their_column(void **state) {
    (void)state;
    expect_error("x", 1, "expected an index");
    expect_error("1:2:3:4", 6, "expected ','");
    expect_error("::0", 3, "zero");
    expect_error(": , 6", 5, "out of bounds for axis 1 of length 6");
    expect_error("0, -7", 4, "out of bounds");
    expect_error("[1, 10]", 5, "out of bounds for axis 0");
    expect_error("[1 2]", 4, "expected ',' or ']'");
    expect_error("[1, :]", 5, "expected an index or ']'");
    expect_error(":, [1", 4, "not closed");
    expect_error("...,...", 5, "one '...'");
    expect_error(":,:,:,0", 7, "3 axes");
    expect_error("0,0,0,...,0", 11, "3 axes");
    expect_error("-", 1, "sign");
    expect_error("99999999999999999999", 1, "64 bits");
    expect_error("0,,1", 3, "expected an index");
    expect_error("None", 1, "expected an index");
}

static void the_request_selects_the_same(void **state) {
    (void)state;
    hr_axis axes[HR_MAX_NDIM];
    cli_selection s = parse3("::-1, [3], 1:2");
    hr_selection request = cli_select_request(&s, axes);
    assert_int_equal(request.kind, HR_SELECT_AXES);
    assert_int_equal(request.naxes, 3);
    assert_int_equal(axes[0].start, 9);
    assert_true(axes[0].stop == HR_NONE);
    assert_int_equal(axes[0].step, -1);
    assert_int_equal(axes[1].nindices, 1);
    assert_int_equal(axes[1].indices[0], 3);
    assert_int_equal(axes[2].start, 1);
    assert_int_equal(axes[2].stop, 2);
    cli_select_free(&s);
    s = parse3("4:4");
    (void)cli_select_request(&s, axes);
    assert_int_equal(axes[0].start, axes[0].stop);
    cli_select_free(&s);
}

/* Number in the array of selected element `i` of an axis. */
static int64_t element(const cli_axis *axis, int64_t i) {
    return axis->kind == HR_AXIS_INDICES ? axis->indices[i]
                                         : axis->start + i * axis->step;
}

static const char *const piece_texts[] = {
    "",    "::-1, 1:5:2",  "[9,0,3,3,7], ::3",  "3, :, -1", "1:9:3, [5,4], ::-2",
    "5:5", "-1, ..., ::2", "::-4, ::-1, [0,0]",
};
enum { NPIECE_TEXTS = sizeof piece_texts / sizeof piece_texts[0] };

static void pieces_cover_every_element_once(void **state) {
    (void)state;
    const int64_t chunks[] = {4, 3, 2};
    for (size_t t = 0; t < NPIECE_TEXTS; t++) {
        for (uint64_t budget = 1; budget < 2000; budget = budget * 2 + 1) {
            int seen[10][6][4] = {{{0}}};
            cli_selection s = parse3(piece_texts[t]);
            cli_pieces pieces;
            cli_selection p;
            cli_pieces_begin(&pieces, &s, chunks, 8, budget, false);
            while (cli_pieces_next(&pieces, &p)) {
                for (int64_t a = 0; a < p.axes[0].count; a++) {
                    for (int64_t b = 0; b < p.axes[1].count; b++) {
                        for (int64_t c = 0; c < p.axes[2].count; c++) {
                            seen[element(&p.axes[0], a)][element(&p.axes[1], b)]
                                [element(&p.axes[2], c)]++;
                        }
                    }
                }
            }
            for (int64_t a = 0; a < s.axes[0].count; a++) {
                for (int64_t b = 0; b < s.axes[1].count; b++) {
                    for (int64_t c = 0; c < s.axes[2].count; c++) {
                        seen[element(&s.axes[0], a)][element(&s.axes[1], b)]
                            [element(&s.axes[2], c)]--;
                    }
                }
            }
            for (size_t i = 0; i < 240; i++) {
                assert_int_equal((&seen[0][0][0])[i], 0);
            }
            cli_select_free(&s);
        }
    }
}

static void ordered_pieces_follow_each_other(void **state) {
    (void)state;
    const int64_t chunks[] = {4, 3, 2};
    for (size_t t = 0; t < NPIECE_TEXTS; t++) {
        cli_selection s = parse3(piece_texts[t]);
        cli_pieces pieces;
        cli_selection p;
        int32_t lead = s.axes[0].count > 1 ? 0 : 1;
        int64_t at = 0;
        cli_pieces_begin(&pieces, &s, chunks, 8, 1, true);
        while (cli_pieces_next(&pieces, &p)) {
            for (int32_t k = 0; k < 3; k++) {
                assert_true(k == lead || p.axes[k].count == s.axes[k].count);
            }
            for (int64_t i = 0; i < p.axes[lead].count; i++, at++) {
                assert_int_equal(element(&p.axes[lead], i), element(&s.axes[lead], at));
            }
        }
        assert_int_equal(at, s.axes[0].count == 0 ? 0 : s.axes[lead].count);
        cli_select_free(&s);
    }
}

static void pieces_end_at_chunk_borders(void **state) {
    (void)state;
    const int64_t chunks[] = {4, 6, 4};
    cli_selection s = parse3("1:");
    cli_pieces pieces;
    cli_selection p;
    cli_pieces_begin(&pieces, &s, chunks, 1, 4 * 24, true);
    assert_true(cli_pieces_next(&pieces, &p));
    expect_slice(&p.axes[0], 1, 1, 3);
    assert_true(cli_pieces_next(&pieces, &p));
    expect_slice(&p.axes[0], 4, 1, 4);
    assert_true(cli_pieces_next(&pieces, &p));
    expect_slice(&p.axes[0], 8, 1, 2);
    assert_false(cli_pieces_next(&pieces, &p));
    cli_select_free(&s);
}

static void a_scalar_is_one_piece(void **state) {
    (void)state;
    cli_selection s;
    cli_select_error error;
    cli_pieces pieces;
    cli_selection p;
    assert_true(cli_select_parse("", 0, NULL, &s, &error));
    cli_pieces_begin(&pieces, &s, NULL, 8, 1, true);
    assert_true(cli_pieces_next(&pieces, &p));
    assert_false(cli_pieces_next(&pieces, &p));
    cli_select_free(&s);
    assert_false(cli_select_parse("0", 0, NULL, &s, &error));
}

static void thinning_keeps_every_nth(void **state) {
    (void)state;
    cli_selection s = parse3("1::2, [5,4,3,2,1], 3");
    for (int32_t k = 0; k < 3; k++) {
        cli_axis_thin(&s.axes[k], 2);
    }
    expect_slice(&s.axes[0], 1, 4, 3);
    assert_int_equal(s.axes[1].count, 3);
    assert_int_equal(s.axes[1].indices[2], 1);
    assert_int_equal(s.axes[2].count, 1);
    cli_select_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blank_text_selects_everything),
        cmocka_unit_test(slices_clip_as_in_python),
        cmocka_unit_test(integers_drop_their_axis_and_lists_keep_it),
        cmocka_unit_test(ellipsis_stands_for_the_axes_not_named),
        cmocka_unit_test(errors_point_at_their_column),
        cmocka_unit_test(the_request_selects_the_same),
        cmocka_unit_test(pieces_cover_every_element_once),
        cmocka_unit_test(ordered_pieces_follow_each_other),
        cmocka_unit_test(pieces_end_at_chunk_borders),
        cmocka_unit_test(a_scalar_is_one_piece),
        cmocka_unit_test(thinning_keeps_every_nth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
