/* Reads through the public API. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "plain_world.h"
#include "support/sanitizers.h"

static const int64_t whole[] = {NROWS, NCOLS};

static hr_status read_batch(world *w, const hr_request *r, size_t n,
                            const hr_read_options *o, hr_batch_stats *stats) {
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, r, n, NULL, o, &b, &w->err), HR_OK);
    hr_status status = hr_batch_wait(b, -1, &w->err);
    if (stats != NULL) {
        assert_int_equal(hr_batch_get_stats(b, stats, NULL), HR_OK);
    }
    hr_batch_unref(b);
    return status;
}

static void whole_array_with_a_missing_chunk(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    hr_request r = request(w->array, out, 2, whole);
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(read_batch(w, &r, 1, NULL, &stats), HR_OK);
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            assert_int_equal(out[i][j], expected(i, j));
        }
    }
    assert_int_equal(stats.nchunks, 9);
    assert_int_equal(stats.nchunks_missing, 1);
    assert_int_equal(stats.read_nbytes, 8 * sizeof(int32_t) * CHUNK_ROWS * CHUNK_COLS);
    assert_true(stats.read_ns > 0);
    assert_int_equal(stats.nslabs, 0); /* the host needs none */
}

static void strict_names_the_missing_key(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    hr_request r = request(w->array, out, 2, whole);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.strict = 1;
    assert_int_equal(read_batch(w, &r, 1, &o, NULL), HR_ERR_MISSING_CHUNK);
    assert_string_equal(w->err.key, "a/c/1/1");
    assert_non_null(strstr(w->err.message, "(1,1)"));
}

static void many_selections_read_each_chunk_once(void **state) {
    world *w = *state;
    hr_axis back[2] = {
        {.kind = HR_AXIS_SLICE, .start = HR_NONE, .stop = HR_NONE, .step = -3},
        {.kind = HR_AXIS_INTEGER, .start = -1}};
    int64_t rows[] = {9, 0, 9};
    int64_t cols[] = {11, 1};
    hr_axis lists[2] = {{.kind = HR_AXIS_INDICES, .indices = rows, .nindices = 3},
                        {.kind = HR_AXIS_INDICES, .indices = cols, .nindices = 2}};
    int64_t points[] = {5, 6, 0, 0, -1, -1};
    int32_t a[4];
    int32_t b[3][2];
    int32_t c[3];
    const int64_t shape_a[] = {4};
    const int64_t shape_b[] = {3, 2};
    const int64_t shape_c[] = {3};
    hr_request r[3] = {request(w->array, a, 1, shape_a), request(w->array, b, 2, shape_b),
                       request(w->array, c, 1, shape_c)};
    r[0].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = back};
    r[1].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = lists};
    r[2].selection =
        (hr_selection){.kind = HR_SELECT_POINTS, .npoints = 3, .points = points};
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(read_batch(w, r, 3, NULL, &stats), HR_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a[i], expected(9 - 3 * i, 11));
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            assert_int_equal(b[i][j], expected(rows[i], cols[j]));
        }
    }
    assert_int_equal(c[0], -7);
    assert_int_equal(c[1], 0);
    assert_int_equal(c[2], expected(9, 11));
    assert_int_equal(stats.nchunks, 6); /* column 2 of the grid; (0,0), (2,0); (1,1) */
    assert_int_equal(stats.nreads, 5);
}

static void casts_only_when_asked(void **state) {
    world *w = *state;
    double out[NCOLS][NROWS]; /* transposed through its strides */
    const int64_t strides[] = {sizeof(double), NROWS * sizeof(double)};
    hr_request r = request(w->array, out, 2, whole);
    assert_int_equal(hr_dtype_parse("<f8", &r.dst.dtype, NULL), HR_OK);
    r.dst.strides_nbytes = strides;
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_DTYPE);
    assert_null(b);
    r.allow_cast = 1;
    assert_int_equal(read_batch(w, &r, 1, NULL, NULL), HR_OK);
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            assert_true(out[j][i] == expected(i, j));
        }
    }
}

static void big_endian_destination(void **state) {
    world *w = *state;
    uint8_t out[NROWS][NCOLS][4];
    hr_request r = request(w->array, out, 2, whole);
    assert_int_equal(hr_dtype_parse(">i4", &r.dst.dtype, NULL), HR_OK);
    assert_int_equal(read_batch(w, &r, 1, NULL, NULL), HR_OK);
    assert_int_equal(out[9][11][0], 0);
    assert_int_equal(out[9][11][2] << 8 | out[9][11][3], expected(9, 11));
    assert_int_equal(out[5][6][0], 0xFF); /* the fill value too */
    assert_int_equal(out[5][6][3], 0xF9);
}

static void one_bad_chunk_spoils_only_its_request(void **state) {
    world *w = *state;
    int32_t half[3] = {1, 2, 3};
    put(w->store, "a/c/0/0", half, sizeof half);
    put(w->store, "a/c/0/1", half, 0);
    int32_t a;
    int32_t b;
    int32_t c;
    hr_axis at[3][2] = {
        {{.kind = HR_AXIS_INTEGER, .start = 0}, {.kind = HR_AXIS_INTEGER}},
        {{.kind = HR_AXIS_INTEGER}, {.kind = HR_AXIS_INTEGER, .start = 5}},
        {{.kind = HR_AXIS_INTEGER, .start = 9}, {.kind = HR_AXIS_INTEGER, .start = 9}}};
    hr_request r[3] = {request(w->array, &a, 0, NULL), request(w->array, &b, 0, NULL),
                       request(w->array, &c, 0, NULL)};
    for (int i = 0; i < 3; i++) {
        r[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = at[i]};
    }
    hr_batch *batch = NULL;
    assert_int_equal(hr_read_submit(w->context, r, 3, NULL, NULL, &batch, &w->err),
                     HR_OK);
    assert_int_equal(hr_batch_wait(batch, -1, &w->err), HR_ERR_DATA);
    assert_int_equal(hr_batch_error(batch, 0, &w->err), HR_ERR_DATA);
    assert_string_equal(w->err.key, "a/c/0/0");
    assert_non_null(strstr(w->err.message, "12 bytes, expected 80"));
    assert_int_equal(hr_batch_error(batch, 1, &w->err), HR_ERR_DATA);
    assert_non_null(strstr(w->err.message, "0 bytes"));
    assert_int_equal(hr_batch_error(batch, 2, &w->err), HR_OK);
    assert_int_equal(c, expected(9, 9));
    hr_batch_unref(batch);
}

static void wrong_requests_start_nothing(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    const int64_t wrong[] = {NROWS, NCOLS - 1};
    hr_batch *b = NULL;
    hr_request r = request(w->array, out, 2, wrong);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_SHAPE);
    r.dst.shape = whole;
    r.dst.data = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_ARGUMENT);
    r.dst.data = out;
    hr_axis beyond = {.kind = HR_AXIS_INTEGER, .start = 10};
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &beyond};
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_SELECTION);
    assert_non_null(strstr(w->err.message, "10"));
    struct {
        hr_request known;
        uint64_t future;
    } newer = {.known = request(w->array, out, 2, whole), .future = 0};
    newer.known.struct_size = sizeof newer;
    assert_int_equal(read_batch(w, &newer.known, 1, NULL, NULL), HR_OK);
    newer.future = 1;
    assert_int_equal(hr_read_submit(w->context, &newer.known, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_ARGUMENT);
    assert_null(b);
}

static void cancel_and_release_leave_nothing_running(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    hr_request r = request(w->array, out, 2, whole);
    for (int i = 0; i < 200; i++) {
        hr_batch *b = NULL;
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                         HR_OK);
        if (i % 2 == 0) {
            hr_batch_cancel(b);
        }
        if (i % 3 == 0) {
            hr_status status = hr_batch_wait(b, -1, &w->err);
            assert_true(status == HR_OK || status == HR_ERR_CANCELLED);
        }
        hr_batch_unref(b);
        memset(out, 0, sizeof out); /* nobody writes here now: TSan and ASan watch */
    }
}

static void a_forked_child_reads_or_fails_at_once(void **state) {
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    hr_request r = request(w->array, out, 2, whole);
    assert_int_equal(read_batch(w, &r, 1, NULL, NULL), HR_OK); /* threads are up */
    hr_batch *before = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &before, &w->err),
                     HR_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a hang kills the child */
        memset(out, 0, sizeof out);
        bool ok =
            read_batch(w, &r, 1, NULL, NULL) == HR_OK && out[9][11] == expected(9, 11);
        ok = ok && hr_batch_wait(before, -1, &w->err) == HR_ERR_FORKED;
        hr_batch_unref(before);
        _exit(ok ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(hr_batch_wait(before, -1, &w->err), HR_OK);
    hr_batch_unref(before);
}

static void the_simt_device_gets_the_same_array(void **state) {
    world *w = *state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_device simt = {.type = HR_DEVICE_SIMT};
    if (hr_device_describe(simt, &info, &w->err) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    int32_t out[NROWS][NCOLS];
    memset(out, 0x55, sizeof out);
    hr_axis axes[2] = {
        {.kind = HR_AXIS_SLICE, .start = HR_NONE, .stop = HR_NONE, .step = -1},
        {.kind = HR_AXIS_SLICE, .start = HR_NONE, .stop = HR_NONE}};
    hr_request r[2] = {request(w->array, out, 2, whole),
                       request(w->array, out, 2, whole)};
    r[0].dst.device = simt;
    r[0].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(read_batch(w, r, 1, NULL, &stats), HR_OK);
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            assert_int_equal(out[i][j], expected(NROWS - 1 - i, j));
        }
    }
    assert_true(stats.copied_nbytes > 0);
    assert_true(stats.nslabs > 0);
    assert_true(stats.read_ns > 0);
}

/* The NULL stream of simt works at once: what it waits for has happened. */
static void a_stream_waits_for_a_batch(void **state) {
    world *w = *state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_device simt = {.type = HR_DEVICE_SIMT};
    if (hr_device_describe(simt, &info, &w->err) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    for (int turn = 0; turn < 20; turn++) {
        int32_t out[2][NROWS][NCOLS];
        memset(out, 0x55, sizeof out);
        hr_request r[2] = {request(w->array, out[0], 2, whole),
                           request(w->array, out[1], 2, whole)};
        hr_batch *b = NULL;
        r[0].dst.device = simt;
        assert_int_equal(hr_read_submit(w->context, r, 2, NULL, NULL, &b, &w->err),
                         HR_OK);
        assert_int_equal(hr_batch_wait_on_stream(b, NULL, &w->err), HR_OK);
        for (int i = 0; i < NROWS * NCOLS; i++) {
            const int32_t want = expected(i / NCOLS, i % NCOLS);
            assert_int_equal(out[0][i / NCOLS][i % NCOLS], want);
            assert_int_equal(out[1][i / NCOLS][i % NCOLS], want);
        }
        assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
        assert_int_equal(hr_batch_wait_on_stream(b, NULL, &w->err), HR_OK);
        hr_batch_unref(b);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(whole_array_with_a_missing_chunk),
        TEST(strict_names_the_missing_key),
        TEST(many_selections_read_each_chunk_once),
        TEST(casts_only_when_asked),
        TEST(big_endian_destination),
        TEST(one_bad_chunk_spoils_only_its_request),
        TEST(wrong_requests_start_nothing),
        TEST(cancel_and_release_leave_nothing_running),
        TEST(a_forked_child_reads_or_fails_at_once),
        TEST(the_simt_device_gets_the_same_array),
        TEST(a_stream_waits_for_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
