/* Stores of the caller's own, honest and hostile. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/forward_store.h"

typedef struct world {
    hr_context *context;
    hr_store *memory, *store;
    forward forward;
    hr_node *array;
    hr_device device; /* to read to */
} world;

static world w;

static int set_up(void **state) {
    (void)state;
    w = (world){0};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 4;
    assert_int_equal(hr_context_create(&o, &w.context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &w.memory, NULL), HR_OK);
    put_plain_array(w.memory, "a");
    put(w.memory, "zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}", 37);
    w.store = forward_create(w.context, w.memory, &w.forward);
    assert_non_null(w.store);
    assert_int_equal(hr_open_store(w.store, "a", NULL, &w.array, NULL), HR_OK);
    return 0;
}

/* Whatever happened, everything that was opened was closed, and the store ends once. */
static int tear_down(void **state) {
    (void)state;
    hr_node_unref(w.array);
    hr_store_unref(w.memory);
    assert_int_equal(atomic_load(&w.forward.ndestroyed), 0);
    hr_store_unref(w.store);
    assert_int_equal(atomic_load(&w.forward.ndestroyed), 1);
    assert_int_equal(atomic_load(&w.forward.nopened), atomic_load(&w.forward.nclosed));
    hr_context_unref(w.context);
    return 0;
}

static hr_status read_all(int32_t *out, int32_t strict, hr_error *err) {
    const int64_t shape[2] = {NROWS, NCOLS};
    hr_request r = request(w.array, out, 2, shape);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    r.dst.device = w.device;
    o.strict = strict;
    hr_batch *batch = NULL;
    hr_status status = hr_read_submit(w.context, &r, 1, NULL, &o, &batch, err);
    if (status == HR_OK) {
        status = hr_batch_wait(batch, -1, err);
    }
    hr_batch_unref(batch);
    return status;
}

static void assert_right(const int32_t *out) {
    for (int64_t i = 0; i < (int64_t)NROWS * NCOLS; i++) {
        assert_int_equal(out[i], expected(i / NCOLS, i % NCOLS));
    }
}

static void an_array_is_read_through_it(void **state) {
    (void)state;
    int32_t out[NROWS * NCOLS] = {0};
    assert_int_equal(read_all(out, 0, NULL), HR_OK);
    assert_right(out);
    hr_error err = HR_ERROR_INIT; /* an absent key is absent */
    assert_int_equal(read_all(out, 1, &err), HR_ERR_MISSING_CHUNK);
    assert_string_equal(err.key, "a/c/1/1");
    assert_string_equal(err.url, "forward://place/a");
}

static void members_are_listed_through_it(void **state) {
    (void)state;
    hr_node *group = NULL;
    hr_member_list *list = NULL;
    assert_int_equal(hr_open_store(w.store, "", NULL, &group, NULL), HR_OK);
    assert_int_equal(hr_node_list(group, 1, &list, NULL), HR_OK);
    assert_int_equal(hr_member_list_size(list), 1);
    assert_string_equal(hr_member_list_get(list, 0).path, "a");
    hr_member_list_free(list);
    hr_node_unref(group);
}

/* An overlay, so that metadata of the caller's stands before it. */
static void an_overlay_passes_on_to_it(void **state) {
    (void)state;
    hr_store *overlay = NULL;
    hr_node *array = NULL;
    assert_int_equal(hr_store_create_overlay(w.store, &overlay, NULL), HR_OK);
    assert_int_equal(hr_open_store(overlay, "a", NULL, &array, NULL), HR_OK);
    hr_node *own = w.array;
    w.array = array;
    int32_t out[NROWS * NCOLS] = {0};
    assert_int_equal(read_all(out, 0, NULL), HR_OK);
    assert_right(out);
    w.array = own;
    hr_node_unref(array);
    hr_store_unref(overlay);
}

typedef struct wrong_row {
    const char *what;
    forward f;
    hr_status status;
    const char *text; /* in the message */
} wrong_row;

static void what_it_does_wrong_is_an_error(hr_device device) {
    static const wrong_row rows[] = {
        {"short reads",
         {.give = -1},
         HR_ERR_IO,
         "gave 79 bytes at offset 0, expected 80"},
        {"no bytes", {.give = -80}, HR_ERR_IO, "gave 0 bytes"},
        {"too long answers", {.give = 1}, HR_ERR_IO, "gave 81 bytes"},
        {"values too long", {.claim = 3}, HR_ERR_DATA, "83 bytes, expected 80"},
        {"values too short", {.claim = -80}, HR_ERR_DATA, "0 bytes, expected 80"},
        {"enormous values", {.claim = INT64_MAX}, HR_ERR_DATA, "expected 80"},
        {"the largest number", {.claim = -81}, HR_ERR_DATA, "expected 80"},
        {"absent once open", {.read_status = HR_ERR_NOT_FOUND}, HR_ERR_IO, "read of"},
        {"no rights",
         {.open_status = HR_ERR_IO, .message = "no\nrights "},
         HR_ERR_IO,
         "no?rights xxx"},
        {"a failing read",
         {.read_status = HR_ERR_STRICT, .message = "late"},
         HR_ERR_STRICT,
         "late"},
        {"no message",
         {.open_status = HR_ERR_MEMORY},
         HR_ERR_MEMORY,
         "open of the custom store failed (HR_ERR_MEMORY, -2)"},
        {"what ends a wait", {.read_status = HR_ERR_TIMEOUT}, HR_ERR_IO, "_TIMEOUT, -17"},
        {"nobody's child", {.open_status = HR_ERR_FORKED}, HR_ERR_IO, "_FORKED, -16"},
        {"no status", {.open_status = (hr_status)-77}, HR_ERR_IO, "(HR_ERR_?, -77)"},
        {"a number instead", {.read_status = (hr_status)9}, HR_ERR_IO, "(HR_ERR_?, 9)"},
    };
    w.device = device;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t out[NROWS * NCOLS] = {0};
        w.forward.open_status = rows[i].f.open_status;
        w.forward.read_status = rows[i].f.read_status;
        w.forward.message = rows[i].f.message;
        w.forward.claim = rows[i].f.claim;
        w.forward.give = rows[i].f.give;
        hr_error err = HR_ERROR_INIT;
        if (read_all(out, 0, &err) != rows[i].status ||
            strstr(err.message, rows[i].text) == NULL) {
            fail_msg("%s: %s: %s", rows[i].what, hr_status_name(err.status), err.message);
        }
        assert_non_null(strstr(err.key, "a/c/"));
        assert_int_equal(strncmp(err.url, "forward://place", 15), 0);
        assert_string_equal(err.codec, "");
        assert_int_equal(err.struct_size, sizeof err);
        assert_true(rows[i].f.message == NULL || err.os_errno == 5);
    }
}

static void what_it_does_wrong_is_an_error_of_the_read(void **state) {
    (void)state;
    what_it_does_wrong_is_an_error((hr_device){.type = HR_DEVICE_CPU});
    if (has_simt()) {
        what_it_does_wrong_is_an_error((hr_device){.type = HR_DEVICE_SIMT});
    }
}

/* Though a batch that is cancelled leaves the rest be: this one is not. */
static void what_it_gives_up_by_itself_is_filled_if_asked(void **state) {
    (void)state;
    for (int opens = 0; opens < 2; opens++) {
        int32_t out[NROWS * NCOLS] = {0};
        const int64_t shape[2] = {NROWS, NCOLS};
        hr_request r = request(w.array, out, 2, shape);
        hr_read_options o = HR_READ_OPTIONS_INIT;
        hr_batch *batch = NULL;
        hr_error err = HR_ERROR_INIT;
        o.on_error = HR_ON_ERROR_FILL;
        w.forward.open_status = opens ? HR_OK : HR_ERR_CANCELLED;
        w.forward.read_status = opens ? HR_ERR_CANCELLED : HR_OK;
        w.forward.message = "given up";
        assert_int_equal(hr_read_submit(w.context, &r, 1, NULL, &o, &batch, &err), HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, &err), HR_ERR_CANCELLED);
        assert_non_null(strstr(err.message, "given up"));
        for (int i = 0; i < NROWS * NCOLS; i++) {
            assert_int_equal(out[i], -7);
        }
        hr_batch_unref(batch);
    }
}

/* Only open may say so: everything else would make a fill of what is there. */
static void metadata_that_cannot_be_read_is_not_absent(void **state) {
    (void)state;
    hr_node *node = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_open_store(w.store, "b", NULL, &node, &err), HR_ERR_NOT_FOUND);
    put(w.memory, "b/c/0/zarr.json", "{", 1);
    assert_int_equal(hr_open_store(w.store, "b/c/0", NULL, &node, &err), HR_ERR_METADATA);
}

static void names_that_are_none_do_not_pass(void **state) {
    (void)state;
    static char longest[5000];
    memset(longest, 'n', sizeof longest - 1);
    static const struct {
        const char *const names[4];
        hr_status status;
    } rows[] = {
        {{"a", "b/c", "d"}, HR_ERR_IO},
        {{"a", longest}, HR_ERR_IO},
        {{"..", ".", "", "a"}, HR_OK}, /* passed over, as of other stores */
        {{"nothing", "a", "a"}, HR_OK},
    };
    hr_node *group = NULL;
    assert_int_equal(hr_open_store(w.store, "", NULL, &group, NULL), HR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *names[5] = {0};
        memcpy(names, rows[i].names, sizeof rows[i].names);
        w.forward.names = names;
        hr_member_list *list = NULL;
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr_node_list(group, 0, &list, &err), rows[i].status);
        assert_true(list == NULL || hr_member_list_size(list) >= 1);
        hr_member_list_free(list);
    }
    w.forward.names = NULL;
    w.forward.list_status = HR_ERR_IO;
    w.forward.message = "no lists today";
    hr_member_list *list = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_node_list(group, 0, &list, &err), HR_ERR_IO);
    assert_non_null(strstr(err.message, "no lists today"));
    w.forward.list_status = HR_ERR_NOT_FOUND;
    assert_int_equal(hr_node_list(group, 0, &list, &err), HR_OK);
    assert_int_equal(hr_member_list_size(list), 0);
    hr_member_list_free(list);
    hr_node_unref(group);
}

static void *read_often(void *arg) {
    (void)arg;
    int32_t out[NROWS * NCOLS];
    for (int i = 0; i < 20; i++) {
        memset(out, 0, sizeof out);
        if (read_all(out, 0, NULL) != HR_OK || out[0] != 0 || out[13] != 101) {
            return "wrong";
        }
    }
    return NULL;
}

static void many_threads_read_through_a_slow_one(void **state) {
    (void)state;
    w.forward.delay = 50;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, NULL), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *problem;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    assert_int_equal(atomic_load(&w.forward.nread), 8 * 20 * 8 + 1);
}

static void what_is_no_store_is_refused(void **state) {
    (void)state;
    forward f = {0};
    const hr_custom_store good = forward_functions(&f);
    hr_custom_store bad[3] = {good, good, good};
    bad[0].abi_version = HR_CUSTOM_STORE_VERSION + 1;
    bad[1].open = NULL;
    bad[2].read = NULL;
    static const hr_status expected_status[3] = {HR_ERR_UNSUPPORTED, HR_ERR_ARGUMENT,
                                                 HR_ERR_ARGUMENT};
    hr_store *store = NULL;
    for (int i = 0; i < 3; i++) {
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr_store_create_custom(w.context, &bad[i], &store, &err),
                         expected_status[i]);
    }
    assert_int_equal(hr_store_create_custom(NULL, &good, &store, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_store_create_custom(w.context, NULL, &store, NULL),
                     HR_ERR_ARGUMENT);
    assert_int_equal(hr_store_create_custom(w.context, &good, NULL, NULL),
                     HR_ERR_ARGUMENT);
    assert_null(store);
    assert_int_equal(f.ndestroyed, 0);
    assert_int_equal(hr_store_set(w.store, "k", "v", 1, NULL), HR_ERR_UNSUPPORTED);
}

static hr_status open_letter(void *user, const char *key, const hr_read_context *reading,
                             hr_custom_value *out, hr_error *err) {
    (void)user;
    (void)reading;
    (void)err;
    if (strcmp(key, "zarr.json") != 0) {
        return HR_ERR_NOT_FOUND;
    }
    out->nbytes = 37;
    return HR_OK;
}

static hr_status read_letter(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                             void *dst, const hr_read_context *reading, uint64_t *nread,
                             hr_error *err) {
    (void)user;
    (void)handle;
    (void)err;
    static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    assert_null(reading);
    memcpy(dst, &group[offset], nbytes);
    *nread = nbytes;
    return HR_OK;
}

static void two_functions_are_enough(void **state) {
    (void)state;
    const hr_custom_store least = {
        .abi_version = HR_CUSTOM_STORE_VERSION, .open = open_letter, .read = read_letter};
    hr_store *store = NULL;
    hr_node *group = NULL;
    hr_member_list *list = NULL;
    assert_int_equal(hr_store_create_custom(w.context, &least, &store, NULL), HR_OK);
    assert_int_equal(hr_open_store(store, "", NULL, &group, NULL), HR_OK);
    assert_int_equal(hr_node_list(group, 0, &list, NULL), HR_ERR_UNSUPPORTED);
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(group, &info, NULL), HR_OK);
    assert_string_equal(info.url, "custom:");
    hr_store_unref(store);
    hr_node_unref(group);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_array_is_read_through_it),
        TEST(members_are_listed_through_it),
        TEST(an_overlay_passes_on_to_it),
        TEST(what_it_does_wrong_is_an_error_of_the_read),
        TEST(what_it_gives_up_by_itself_is_filled_if_asked),
        TEST(metadata_that_cannot_be_read_is_not_absent),
        TEST(names_that_are_none_do_not_pass),
        TEST(many_threads_read_through_a_slow_one),
        TEST(what_is_no_store_is_refused),
        TEST(two_functions_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
