/* Custom stores are told of all that is selected. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/forward_store.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* How often each request takes each element: what was asked for, and what was told. */
typedef struct counts {
    uint16_t of[4][NROWS][NCOLS];
} counts;

static counts asked, told;

static int64_t index_of(const hr_axis *a, uint64_t i) {
    return a->kind == HR_AXIS_INDICES ? a->indices[i] : a->start + (int64_t)i * a->step;
}

/* Elements at start and within axes that have so many indices. */
static void count(counts *c, uint64_t request, const int64_t *start,
                  const hr_axis *axes) {
    for (uint64_t i = 0; i < axes[0].nindices; i++) {
        for (uint64_t k = 0; k < axes[1].nindices; k++) {
            int64_t row = start[0] + index_of(&axes[0], i);
            int64_t column = start[1] + index_of(&axes[1], k);
            assert_in_range(row, 0, NROWS - 1);
            assert_in_range(column, 0, NCOLS - 1);
            c->of[request][row][column]++;
        }
    }
}

static void count_told(void *probe, const char *key, const hr_read_context *reading) {
    (void)key;
    (void)probe;
    pthread_mutex_lock(&lock);
    hr_read_chunk chunk = HR_READ_CHUNK_INIT;
    while (hr_read_context_next_chunk(reading, &chunk) != 0) {
        hr_read_use use = HR_READ_USE_INIT;
        while (hr_read_context_next_use(reading, &chunk, &use) != 0) {
            assert_int_equal(use.nelems, use.axes[0].nindices * use.axes[1].nindices);
            count(&told, use.request, chunk.start, use.axes);
        }
    }
    pthread_mutex_unlock(&lock);
}

static uint32_t seed = 1;

static int64_t random_below(int64_t n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Some indices below n, with their number in nindices. */
static hr_axis random_axis(int64_t n, int64_t *list) {
    int64_t kind = random_below(3), start = random_below(n);
    if (kind == 0) {
        int64_t step = random_below(2) == 0 ? 1 + random_below(3) : -1 - random_below(3);
        int64_t room = step > 0 ? (n - 1 - start) / step : start / -step;
        int64_t nindices = 1 + random_below(room + 1);
        int64_t stop = start + nindices * step;
        return (hr_axis){.start = start,
                         .stop = stop < 0 ? HR_NONE : stop,
                         .step = step,
                         .nindices = (uint64_t)nindices};
    }
    if (kind == 1) {
        return (hr_axis){.kind = HR_AXIS_INTEGER, .start = start, .nindices = 1};
    }
    for (int64_t i = 0; i < 6; i++) {
        list[i] = random_below(n);
    }
    return (hr_axis){.kind = HR_AXIS_INDICES,
                     .indices = list,
                     .nindices = (uint64_t)(1 + random_below(6))};
}

static void all_that_is_selected_is_told_and_nothing_else(void **state) {
    (void)state;
    hr_context *context = NULL;
    hr_store *memory = NULL;
    hr_node *array = NULL;
    forward f = {.on_open = count_told};
    assert_int_equal(hr_context_create(NULL, &context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(context, &memory, NULL), HR_OK);
    put_plain_array(memory, "a");
    hr_store *store = forward_create(context, memory, &f);
    assert_int_equal(hr_open_store(store, "a", NULL, &array, NULL), HR_OK);
    static int32_t out[4][NROWS * NCOLS];
    static const int64_t lengths[2] = {NROWS, NCOLS}, origin[2] = {0, 0};
    for (int round = 0; round < 300; round++) {
        hr_axis axes[4][2];
        int64_t lists[4][2][6], shapes[4][2];
        hr_request requests[4];
        const size_t n = (size_t)(1 + random_below(4));
        memset(&asked, 0, sizeof asked);
        memset(&told, 0, sizeof told);
        for (size_t i = 0; i < n; i++) {
            int32_t ndim = 0;
            for (int k = 0; k < 2; k++) {
                axes[i][k] = random_axis(lengths[k], lists[i][k]);
                shapes[i][ndim] = (int64_t)axes[i][k].nindices;
                ndim += axes[i][k].kind != HR_AXIS_INTEGER;
            }
            count(&asked, i, origin, axes[i]);
            requests[i] = request(array, out[i], ndim, shapes[i]);
            requests[i].selection =
                (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes[i]};
        }
        hr_batch *batch = NULL;
        assert_int_equal(hr_read_submit(context, requests, n, NULL, NULL, &batch, NULL),
                         HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, NULL), HR_OK);
        hr_batch_unref(batch);
        assert_memory_equal(&asked, &told, sizeof asked);
    }
    hr_node_unref(array);
    hr_store_unref(store);
    hr_store_unref(memory);
    hr_context_unref(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_selected_is_told_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
