/* So many requests in one call that several threads plan them. SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "plain_world.h"

#include "support/sanitizers.h"

enum { NREQUESTS = 3000, ROWS = 3, COLUMNS = 4 };

static hr_axis axes[NREQUESTS][2];
static hr_request requests[NREQUESTS];
static int32_t got[NREQUESTS][ROWS][COLUMNS];

static int open_world(void **state) {
    static const int64_t shape[] = {ROWS, COLUMNS};
    (void)make_world(state);
    const world *w = *state;
    for (int64_t i = 0; i < NREQUESTS; i++) {
        const int64_t at[] = {i % (NROWS - ROWS + 1), i / 8 % (NCOLS - COLUMNS + 1)};
        for (int d = 0; d < 2; d++) {
            axes[i][d] = (hr_axis){.start = at[d], .stop = at[d] + shape[d], .step = 1};
        }
        requests[i] = request(w->array, got[i], 2, shape);
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes[i]};
    }
    return 0;
}

static bool read_right(world *w) {
    hr_batch *b = NULL;
    memset(got, 0x55, sizeof got);
    bool ok = hr_read_submit(w->context, requests, NREQUESTS, NULL, NULL, &b, &w->err) ==
                  HR_OK &&
              hr_batch_wait(b, -1, &w->err) == HR_OK;
    hr_batch_unref(b);
    for (int64_t i = 0; i < NREQUESTS; i++) {
        for (int64_t r = 0; r < ROWS; r++) {
            for (int64_t c = 0; c < COLUMNS; c++) {
                ok = ok &&
                     got[i][r][c] == expected(axes[i][0].start + r, axes[i][1].start + c);
            }
        }
    }
    return ok;
}

static void each_gets_its_own(void **state) {
    for (int i = 0; i < 20; i++) {
        assert_true(read_right(*state));
    }
}

static void the_wrong_one_is_named(void **state) {
    world *w = *state;
    hr_batch *b = NULL;
    axes[2222][1].kind = HR_AXIS_INTEGER;
    axes[2900][0].kind = 9;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(
            hr_read_submit(w->context, requests, NREQUESTS, NULL, NULL, &b, &w->err),
            HR_ERR_SHAPE);
        assert_non_null(strstr(w->err.message, "request 2222: "));
        assert_null(b);
    }
}

/* Threads of the parent are not there. */
static void a_child_plans_with_threads_of_its_own(void **state) {
    world *w = *state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    assert_true(read_right(w));
    const pid_t child = fork();
    if (child == 0) {
        _exit(read_right(w) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(each_gets_its_own),
                                       TEST(the_wrong_one_is_named),
                                       TEST(a_child_plans_with_threads_of_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
