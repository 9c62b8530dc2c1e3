/* Contexts, options and nodes through the public API.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static void keep_line(void *user, hr_log_level level, const char *line) {
    char *kept = user;
    assert_int_equal(level, HR_LOG_DEBUG);
    (void)snprintf(kept, 256, "%s", line);
}

static hr_context *make_context(const hr_context_options *options) {
    hr_context *context = NULL;
    assert_int_equal(hr_context_create(options, &context, NULL), HR_OK);
    return context;
}

/* A group "g" with an array, a group with another array, and something that is neither.
 */
static hr_store *make_store(hr_context *context) {
    static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    hr_store *store = NULL;
    assert_int_equal(hr_store_create_memory(context, &store, NULL), HR_OK);
    put(store, "g/zarr.json", group, strlen(group));
    put(store, "g/sub/zarr.json", group, strlen(group));
    put_plain_array(store, "g/b");
    put_plain_array(store, "g/sub/a");
    put(store, "g/notes/readme.txt", "hello", 5);
    return store;
}

static hr_node *open_node(hr_store *store, const char *path) {
    hr_node *node = NULL;
    assert_int_equal(hr_open_store(store, path, NULL, &node, NULL), HR_OK);
    return node;
}

static void the_log_gets_the_levels_that_were_asked_for(void **state) {
    (void)state;
    for (int level = HR_LOG_ERROR; level <= HR_LOG_DEBUG; level++) {
        char line[256] = "";
        hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
        options.log = keep_line;
        options.log_user = line;
        options.log_level = (hr_log_level)level;
        hr_context *context = make_context(&options);
        hr_store *store = make_store(context);
        hr_node_unref(open_node(store, "g/b"));
        assert_string_equal(
            line, level == HR_LOG_DEBUG ? "opened memory:///g/b: array of Zarr v3" : "");
        hr_store_unref(store);
        hr_context_unref(context);
    }
}

/* Options of a later version: longer by one member. */
typedef struct later_options {
    hr_context_options known;
    uint64_t unknown;
} later_options;

static void options_of_other_versions_are_taken(void **state) {
    (void)state;
    later_options later = {.known = HR_CONTEXT_OPTIONS_INIT};
    later.known.struct_size = sizeof later;
    hr_context_unref(make_context(&later.known));

    hr_context_options earlier = HR_CONTEXT_OPTIONS_INIT;
    earlier.struct_size = offsetof(hr_context_options, scratch_nbytes);
    earlier.scratch_nbytes = 1; /* behind the end: not read */
    hr_context_unref(make_context(&earlier));
}

static void options_that_are_not_understood_are_refused(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    hr_context *context = NULL;
    later_options later = {.known = HR_CONTEXT_OPTIONS_INIT, .unknown = 1};
    later.known.struct_size = sizeof later;
    assert_int_equal(hr_context_create(&later.known, &context, &err), HR_ERR_ARGUMENT);
    later.known.struct_size = 0;
    assert_int_equal(hr_context_create(&later.known, &context, &err), HR_ERR_ARGUMENT);
    assert_null(context);
}

static void assert_members(hr_node *group, int32_t recursive, const char *const *paths) {
    hr_member_list *list = NULL;
    assert_int_equal(hr_node_list(group, recursive, &list, NULL), HR_OK);
    size_t n = 0;
    for (; paths[n] != NULL; n++) {
        assert_true(n < hr_member_list_size(list));
        assert_string_equal(hr_member_list_get(list, n).path, paths[n]);
    }
    assert_int_equal(hr_member_list_size(list), n);
    hr_member_list_free(list);
}

static void members_are_listed_in_order_and_chunks_are_none(void **state) {
    (void)state;
    hr_context *context = make_context(NULL);
    hr_store *store = make_store(context);
    hr_node *group = open_node(store, "g");
    assert_members(group, 0, (const char *const[]){"b", "sub", NULL});
    assert_members(group, 1, (const char *const[]){"b", "sub", "sub/a", NULL});
    hr_node_unref(group);
    hr_store_unref(store);
    hr_context_unref(context);
}

/* It is there, and says to whom opens it what is wrong with it. */
static void malformed_members_hide_no_others(void **state) {
    (void)state;
    static const struct {
        const char *key, *text;
        hr_status status;
    } rows[] = {
        {"g/bad/zarr.json", "{", HR_ERR_METADATA},
        {"g/bad/zarr.json", "{\"zarr_format\":3,\"node_type\":\"?\"}", HR_ERR_METADATA},
        {"g/bad/.zarray", "[", HR_ERR_METADATA},
        {"g/bad/.zgroup", "", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hr_context *context = make_context(NULL);
        hr_store *store = make_store(context);
        put(store, rows[i].key, rows[i].text, strlen(rows[i].text));
        hr_node *group = open_node(store, "g");
        assert_members(group, 1, (const char *const[]){"b", "bad", "sub", "sub/a", NULL});
        hr_member_list *list = NULL;
        assert_int_equal(hr_node_list(group, 0, &list, NULL), HR_OK);
        assert_int_equal(hr_member_list_get(list, 1).kind, HR_NODE_UNREADABLE);
        hr_member_list_free(list);
        hr_error err = HR_ERROR_INIT;
        hr_node *bad = NULL;
        assert_int_equal(hr_node_open(group, "bad", &bad, &err), rows[i].status);
        assert_string_equal(err.key, rows[i].key);
        hr_node_unref(group);
        hr_store_unref(store);
        hr_context_unref(context);
    }
}

static void a_member_outlives_its_group_store_and_context(void **state) {
    (void)state;
    hr_context *context = make_context(NULL);
    hr_store *store = make_store(context);
    hr_node *group = open_node(store, "g");
    hr_node *array = NULL;
    assert_int_equal(hr_node_open(group, "sub/a", &array, NULL), HR_OK);
    hr_context_unref(context);
    hr_store_unref(store);
    hr_node_unref(group);

    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(array, &info, NULL), HR_OK);
    assert_string_equal(info.url, "memory:///g/sub/a");
    assert_int_equal(info.grid_shape[0], 3);
    int32_t data[NROWS * NCOLS];
    const int64_t shape[] = {NROWS, NCOLS};
    hr_request r = request(array, data, 2, shape);
    assert_int_equal(hr_read(array, NULL, &r.dst, NULL), HR_OK);
    assert_int_equal(data[NCOLS + 3], element(1, 3));
    hr_node_unref(array);
}

static void what_is_not_there_is_not_found(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    hr_context *context = make_context(NULL);
    hr_store *store = make_store(context);
    hr_node *group = open_node(store, "g");
    hr_node *node = NULL;
    assert_int_equal(hr_node_open(group, "notes", &node, &err), HR_ERR_NOT_FOUND);
    assert_string_equal(err.url, "memory:///g/notes");
    assert_int_equal(hr_open_store(store, "../g", NULL, &node, &err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_open(context, "s3://bucket/a", NULL, &node, &err),
                     HR_ERR_UNSUPPORTED);
    assert_null(node);
    hr_node_unref(group);
    hr_store_unref(store);
    hr_context_unref(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_gets_the_levels_that_were_asked_for),
        cmocka_unit_test(options_of_other_versions_are_taken),
        cmocka_unit_test(options_that_are_not_understood_are_refused),
        cmocka_unit_test(members_are_listed_in_order_and_chunks_are_none),
        cmocka_unit_test(malformed_members_hide_no_others),
        cmocka_unit_test(a_member_outlives_its_group_store_and_context),
        cmocka_unit_test(what_is_not_there_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
