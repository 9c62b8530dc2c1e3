/* Being told that a batch is done, and device memory. SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <headrace/memory.h>

#include "plain_world.h"
#include "support/sanitizers.h"

static const int64_t whole[] = {NROWS, NCOLS};

static hr_batch *submit(world *w, void *out, hr_device device) {
    hr_batch *b = NULL;
    hr_request r = request(w->array, out, 2, whole);
    r.dst.device = device;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    return b;
}

static const hr_device host = {.type = HR_DEVICE_CPU};

static void count(void *user) {
    (void)usleep(100); /* the release of the batch has to wait for this */
    atomic_fetch_add((atomic_int *)user, 1);
}

static void the_callback_comes_once_before_the_batch_is_gone(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    for (int i = 0; i < 200; i++) {
        atomic_int calls = 0;
        hr_batch *b = submit(w, out, host);
        if (i % 3 == 0) {
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
        }
        assert_int_equal(hr_batch_on_done(b, count, &calls, &w->err), HR_OK);
        if (i % 3 == 0) { /* done already: called at once */
            assert_int_equal(atomic_load(&calls), 1);
        } else if (i % 3 == 1) {
            hr_batch_cancel(b);
        }
        hr_batch_unref(b);
        assert_int_equal(atomic_load(&calls), 1);
    }
}

static void a_second_callback_is_refused(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    atomic_int calls = 0;
    hr_batch *b = submit(w, out, host);
    assert_int_equal(hr_batch_on_done(b, NULL, NULL, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_batch_on_done(NULL, count, NULL, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_batch_on_done(b, count, &calls, &w->err), HR_OK);
    assert_int_equal(hr_batch_on_done(b, count, &calls, &w->err), HR_ERR_ARGUMENT);
    hr_batch_unref(b);
    assert_int_equal(atomic_load(&calls), 1);
}

static hr_device need_simt(void) {
    hr_device simt = {.type = HR_DEVICE_SIMT};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe(simt, &info, NULL) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    return simt;
}

static void device_memory_takes_a_read_and_gives_it_back(void **state) {
    world *w = *state;
    hr_device simt = need_simt();
    int32_t out[NROWS][NCOLS];
    void *memory = NULL;
    assert_int_equal(hr_memory_alloc(w->context, simt, sizeof out, &memory, &w->err),
                     HR_OK);
    assert_non_null(memory);
    hr_batch *b = submit(w, memory, simt);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    hr_batch_unref(b);
    assert_int_equal(
        hr_memory_to_host(w->context, simt, out, memory, sizeof out, &w->err), HR_OK);
    assert_int_equal(out[NROWS - 1][2], expected(NROWS - 1, 2));
    hr_memory_free(w->context, simt, memory);
    hr_memory_free(w->context, simt, NULL);
    memory = out;
    assert_int_equal(hr_memory_alloc(w->context, simt, 0, &memory, &w->err), HR_OK);
    assert_null(memory);
    assert_int_equal(hr_memory_to_host(w->context, simt, NULL, NULL, 0, &w->err), HR_OK);
}

static void memory_is_for_devices(void **state) {
    world *w = *state;
    void *memory = w;
    uint8_t byte = 0;
    hr_device tpu = {.type = 77};
    assert_int_equal(hr_memory_alloc(w->context, host, 8, &memory, &w->err),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(hr_memory_alloc(w->context, tpu, 8, &memory, &w->err),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(hr_memory_to_host(w->context, tpu, &byte, &byte, 1, &w->err),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(hr_memory_alloc(NULL, host, 8, &memory, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_memory_alloc(w->context, host, 8, NULL, &w->err),
                     HR_ERR_ARGUMENT);
    assert_int_equal(hr_memory_to_host(w->context, host, NULL, &byte, 1, &w->err),
                     HR_ERR_ARGUMENT);
    assert_ptr_equal(memory, w);
    hr_memory_free(NULL, host, NULL);
}

static void a_forked_child_leaves_the_parents_memory_alone(void **state) {
    world *w = *state;
    hr_device simt = need_simt();
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    void *memory = NULL;
    assert_int_equal(hr_memory_alloc(w->context, simt, 64, &memory, &w->err), HR_OK);
    pid_t child = fork();
    if (child == 0) {
        void *other = NULL;
        hr_memory_free(w->context, simt, memory);
        _exit(hr_memory_alloc(w->context, simt, 64, &other, NULL) == HR_ERR_FORKED ? 0
                                                                                   : 1);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    hr_memory_free(w->context, simt, memory);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_callback_comes_once_before_the_batch_is_gone),
        TEST(a_second_callback_is_refused),
        TEST(device_memory_takes_a_read_and_gives_it_back),
        TEST(memory_is_for_devices),
        TEST(a_forked_child_leaves_the_parents_memory_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
