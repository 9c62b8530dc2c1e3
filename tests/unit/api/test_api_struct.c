/* Structures into destinations of any byte order. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"

enum { ITEM = 10, N = 3 };

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_error err;
} world;

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(NULL, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

/* Items of (int32 a, (2 × int16) b, int16 c): the bytes of a number count up from the
 * lowest to the highest, so that swapped ones show. */
static void write_item(uint8_t *item, const bool big[3], int seed) {
    static const int sizes[] = {4, 2, 2, 2};
    for (int f = 0; f < 4; f++) {
        bool is_big = big[f == 0 ? 0 : f == 3 ? 2 : 1];
        for (int i = 0; i < sizes[f]; i++) {
            item[is_big ? sizes[f] - 1 - i : i] = (uint8_t)(seed + 16 * f + i);
        }
        item += sizes[f];
    }
}

/* The third item lies in a chunk that is absent: its fill value is zero. */
static hr_node *put_array(world *w, const bool big[3]) {
    char meta[512];
    uint8_t chunk[2 * ITEM];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[2],\"dtype\":"
                   "[[\"a\",\"%ci4\"],[\"b\",\"%ci2\",[2]],[\"c\",\"%ci2\"]],"
                   "\"compressor\":null,\"filters\":null,\"fill_value\":null,"
                   "\"order\":\"C\"}",
                   N, big[0] ? '>' : '<', big[1] ? '>' : '<', big[2] ? '>' : '<');
    put(w->store, ".zarray", meta, strlen(meta));
    write_item(chunk, big, 1);
    write_item(chunk + ITEM, big, 129);
    put(w->store, "0", chunk, sizeof chunk);
    hr_node *array = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &array, &w->err), HR_OK);
    return array;
}

/* A type of the caller's own, in memory that goes away once the read is submitted. */
static hr_field *make_fields(const hr_dtype *like, const bool big[3], hr_dtype *dtype) {
    hr_field *fields = malloc(3 * sizeof *fields);
    memcpy(fields, like->fields, 3 * sizeof *fields);
    *dtype = *like;
    dtype->fields = fields;
    dtype->byte_order = HR_LITTLE;
    for (int f = 0; f < 3; f++) {
        fields[f].dtype.byte_order = big[f] ? HR_BIG : HR_LITTLE;
        dtype->byte_order |= fields[f].dtype.byte_order;
    }
    return fields;
}

static void read_as(world *w, hr_node *array, const bool big[3], bool reversed) {
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(array, &info, &w->err), HR_OK);
    uint8_t out[N * ITEM];
    uint8_t expected_items[N * ITEM] = {0};
    const int64_t shape[] = {N};
    hr_axis back = {.kind = HR_AXIS_SLICE, .start = HR_NONE, .stop = HR_NONE, .step = -1};
    hr_request r = request(array, out, 1, shape);
    hr_field *fields = make_fields(&info.dtype, big, &r.dst.dtype);
    if (reversed) {
        r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &back};
    }
    memset(out, 0x55, sizeof out);
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    memset(fields, 0xEE, 3 * sizeof *fields);
    free(fields);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    hr_batch_unref(b);
    write_item(expected_items + (reversed ? 2 * ITEM : 0), big, 1);
    write_item(expected_items + ITEM, big, 129);
    assert_memory_equal(out, expected_items, sizeof out);
}

static void every_field_has_the_order_asked_for(void **state) {
    world *w = *state;
    for (int stored = 0; stored < 8; stored++) {
        const bool from[] = {(stored & 1) != 0, (stored & 2) != 0, (stored & 4) != 0};
        hr_node *array = put_array(w, from);
        for (int asked = 0; asked < 16; asked++) {
            const bool to[] = {(asked & 1) != 0, (asked & 2) != 0, (asked & 4) != 0};
            read_as(w, array, to, (asked & 8) != 0);
        }
        hr_node_unref(array);
    }
}

/* The items of a variable-length element are delivered as they are stored: no destination
 * can ask for others. */
static void items_of_variable_length_keep_their_order(void **state) {
    world *w = *state;
    const char *meta =
        "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"|O\","
        "\"compressor\":null,\"filters\":[{\"id\":\"vlen-array\",\"dtype\":"
        "\">i2\"}],\"fill_value\":null,\"order\":\"C\"}";
    const uint8_t chunk[] = {1, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0, 2};
    put(w->store, ".zarray", meta, strlen(meta));
    put(w->store, "0", chunk, sizeof chunk);
    hr_node *array = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &array, &w->err), HR_OK);
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(array, &info, &w->err), HR_OK);
    hr_vlen out = {.data = NULL};
    const int64_t shape[] = {1};
    hr_request r = request(array, &out, 1, shape);
    r.dst.dtype = info.dtype;
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    assert_int_equal(out.nbytes, 4);
    assert_memory_equal(out.data, chunk + 8, 4);
    hr_batch_unref(b);
    hr_dtype base = *info.dtype.base;
    base.byte_order = base.byte_order == HR_BIG ? HR_LITTLE : HR_BIG;
    r.dst.dtype.base = &base;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err),
                     HR_ERR_DTYPE);
    hr_node_unref(array);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_field_has_the_order_asked_for),
        TEST(items_of_variable_length_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
