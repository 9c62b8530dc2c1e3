/* The asynchronous contract: descriptor, progress, what follows from a failure.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/sanitizers.h"

#define LONG_ENOUGH_MS 60000

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *array, *broken; /* chunk (0, 1) of the latter is too short */
    int32_t out[2][NROWS][NCOLS];
    hr_error err;
} world;

static const int64_t whole[] = {NROWS, NCOLS};

static int make_world_of(void **state, uint32_t nthreads) {
    world *w = calloc(1, sizeof *w);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = nthreads;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put_plain_array(w->store, "a");
    put_plain_array(w->store, "b");
    put(w->store, "b/c/0/1", "short", 5);
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->array, &w->err), HR_OK);
    assert_int_equal(hr_open_store(w->store, "b", NULL, &w->broken, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int make_world(void **state) {
    return make_world_of(state, 3);
}

static int make_narrow_world(void **state) {
    return make_world_of(state, 1);
}

static int end_world(void **state) {
    world *w = *state;
    hr_node_unref(w->array);
    hr_node_unref(w->broken);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

/* The broken array to out[0], then the sound one to out[1]. */
static hr_batch *submit_both(world *w, int32_t device_type, hr_on_error on_error) {
    hr_request r[2] = {request(w->broken, w->out[0], 2, whole),
                       request(w->array, w->out[1], 2, whole)};
    hr_read_options o = HR_READ_OPTIONS_INIT;
    hr_batch *b = NULL;
    o.on_error = on_error;
    memset(w->out, 0x55, sizeof w->out);
    r[0].dst.device.type = r[1].dst.device.type = device_type;
    assert_int_equal(hr_read_submit(w->context, r, 2, NULL, &o, &b, &w->err), HR_OK);
    return b;
}

static hr_batch *submit(world *w) {
    hr_request r = request(w->array, w->out[0], 2, whole);
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    return b;
}

static bool is_readable(int fd, int timeout_ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 && p.revents == POLLIN;
}

/* --- the descriptor --- */

static void the_descriptor_tells_that_a_batch_is_done_and_stays_so(void **state) {
    world *w = *state;
    for (int i = 0; i < 100; i++) {
        int fd = -1, again = -1;
        hr_batch *b = submit(w);
        if (i % 3 == 0) { /* asked for late */
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
        } else if (i % 3 == 1) {
            hr_batch_cancel(b);
        }
        assert_int_equal(hr_batch_get_fd(b, &fd, &w->err), HR_OK);
        assert_true(is_readable(fd, LONG_ENOUGH_MS));
        assert_int_equal(hr_batch_poll(b), 1);
        assert_int_equal(hr_batch_get_fd(b, &again, &w->err), HR_OK);
        assert_int_equal(again, fd);
        assert_true(is_readable(fd, 0));
        hr_batch_unref(b);
        assert_int_equal(write(fd, "", 0), -1); /* closed with the batch */
    }
}

static void a_batch_without_chunks_is_done_at_once(void **state) {
    world *w = *state;
    int fd = -1;
    uint64_t ndone = 1, nchunks = 1;
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, NULL, 0, NULL, NULL, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_get_fd(b, &fd, &w->err), HR_OK);
    assert_true(is_readable(fd, 0));
    hr_batch_get_progress(b, &ndone, &nchunks);
    assert_int_equal(ndone, 0);
    assert_int_equal(nchunks, 0);
    assert_int_equal(hr_batch_get_fd(NULL, &fd, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_batch_get_fd(b, NULL, &w->err), HR_ERR_ARGUMENT);
    hr_batch_unref(b);
}

static void a_forked_child_has_no_descriptor_of_the_parents_batch(void **state) {
    world *w = *state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    hr_batch *b = submit(w);
    int fd = -1;
    assert_int_equal(hr_batch_get_fd(b, &fd, &w->err), HR_OK);
    pid_t child = fork();
    if (child == 0) {
        int other = -1;
        bool ok = hr_batch_get_fd(b, &other, NULL) == HR_ERR_FORKED && other == -1;
        hr_batch_unref(b);
        _exit(ok ? 0 : 1);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_true(is_readable(fd, LONG_ENOUGH_MS)); /* the child took nothing away */
    hr_batch_unref(b);
}

/* --- progress --- */

static void every_chunk_is_counted_once_whatever_becomes_of_it(void **state) {
    world *w = *state;
    for (int i = 0; i < 60; i++) {
        hr_on_error on_error = (hr_on_error)(i % 3);
        hr_batch *b = submit_both(w, HR_DEVICE_CPU, on_error);
        if (i % 4 == 3) {
            hr_batch_cancel(b);
        }
        uint64_t ndone, nchunks, before = 0;
        do {
            hr_batch_get_progress(b, &ndone, &nchunks);
            assert_in_range(ndone, before, nchunks);
            before = ndone;
        } while (hr_batch_wait(b, 1000, NULL) == HR_ERR_TIMEOUT);
        hr_batch_get_progress(b, &ndone, &nchunks);
        assert_int_equal(nchunks, 18);
        assert_int_equal(ndone, 18);
        hr_batch_unref(b);
    }
}

static void no_batch_is_done_with_no_chunks(void **state) {
    (void)state;
    uint64_t ndone = 1, nchunks = 1;
    hr_batch_get_progress(NULL, &ndone, &nchunks);
    assert_int_equal(ndone, 0);
    assert_int_equal(nchunks, 0);
}

/* --- on_error --- */

static void check_both(world *w, bool is_filled) {
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            bool bad = i / CHUNK_ROWS == 0 && j / CHUNK_COLS == 1;
            assert_int_equal(w->out[1][i][j], expected(i, j));
            if (!bad || is_filled) {
                assert_int_equal(w->out[0][i][j], bad ? -7 : expected(i, j));
            }
        }
    }
}

static void
other_chunks_are_delivered_and_the_failed_one_is_filled_if_asked(void **state) {
    world *w = *state;
    const int32_t devices[] = {HR_DEVICE_CPU, HR_DEVICE_SIMT};
    for (int k = 0; k < (has_simt() ? 2 : 1); k++) {
        for (int fills = 0; fills <= 1; fills++) {
            hr_batch *b = submit_both(w, devices[k],
                                      fills ? HR_ON_ERROR_FILL : HR_ON_ERROR_DELIVER);
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_ERR_DATA);
            assert_string_equal(w->err.key, "b/c/0/1");
            assert_int_equal(hr_batch_error(b, 0, &w->err), HR_ERR_DATA);
            assert_int_equal(hr_batch_error(b, 1, &w->err), HR_OK);
            check_both(w, fills);
            hr_batch_unref(b);
        }
    }
}

/* With one thread, and nobody who helps, the order is known. */
static void the_first_failure_stops_the_batch_if_asked(void **state) {
    world *w = *state;
    hr_batch *b = submit_both(w, HR_DEVICE_CPU, HR_ON_ERROR_STOP);
    assert_int_equal(hr_batch_wait(b, INT64_MAX, &w->err), HR_ERR_DATA);
    assert_string_equal(w->err.key, "b/c/0/1");
    assert_int_equal(hr_batch_error(b, 0, &w->err), HR_ERR_DATA);
    assert_int_equal(hr_batch_error(b, 1, &w->err), HR_ERR_CANCELLED);
    assert_string_equal(w->err.message,
                        "the batch was stopped by the failure of request 0");
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_batch_get_stats(b, &stats, &w->err), HR_OK);
    assert_int_equal(stats.nreads,
                     1); /* the good chunk before it: its own size was wrong */
    hr_batch_unref(b);
}

static void what_stopped_a_batch_is_told_whichever_request_it_was(void **state) {
    world *w = *state;
    hr_request r[2] = {request(w->array, w->out[1], 2, whole),
                       request(w->broken, w->out[0], 2, whole)};
    /* so that the sound one is not done when the other fails */
    static const hr_axis first = {
        .kind = HR_AXIS_SLICE, .start = 0, .stop = 4, .step = 1};
    static const int64_t four[] = {4, NCOLS};
    hr_request late = r[0];
    r[0].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &first};
    r[0].dst.shape = four;
    hr_request all[] = {r[0], r[1], late};
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.on_error = HR_ON_ERROR_STOP;
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, all, 3, NULL, &o, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_wait(b, INT64_MAX, &w->err), HR_ERR_DATA);
    assert_int_equal(hr_batch_error(b, 0, &w->err), HR_OK);
    assert_int_equal(hr_batch_error(b, 1, &w->err), HR_ERR_DATA);
    hr_batch_unref(b);
}

static void an_unknown_policy_is_refused(void **state) {
    world *w = *state;
    hr_request r = request(w->array, w->out[0], 2, whole);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.on_error = (hr_on_error)3;
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &b, &w->err),
                     HR_ERR_ARGUMENT);
    assert_string_equal(w->err.message, "on_error is 3");
    assert_null(b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)
#define NARROW(f) cmocka_unit_test_setup_teardown(f, make_narrow_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_batch_is_done_with_no_chunks),
        TEST(the_descriptor_tells_that_a_batch_is_done_and_stays_so),
        TEST(a_batch_without_chunks_is_done_at_once),
        TEST(a_forked_child_has_no_descriptor_of_the_parents_batch),
        TEST(every_chunk_is_counted_once_whatever_becomes_of_it),
        TEST(other_chunks_are_delivered_and_the_failed_one_is_filled_if_asked),
        NARROW(the_first_failure_stops_the_batch_if_asked),
        NARROW(what_stopped_a_batch_is_told_whichever_request_it_was),
        TEST(an_unknown_policy_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
