/* A store in memory before another store. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <headrace/headrace.h>

#include "names.h"

typedef struct world {
    hr_context *context;
    hr_store *below, *store;
} world;

static world w;

static int set_up(void **state) {
    (void)state;
    assert_int_equal(hr_context_create(NULL, &w.context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &w.below, NULL), HR_OK);
    assert_int_equal(hr_store_create_overlay(w.below, &w.store, NULL), HR_OK);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hr_store_unref(w.below); /* any order */
    hr_store_unref(w.store);
    hr_context_unref(w.context);
    return 0;
}

static void set_text(hr_store *store, const char *key, const char *text) {
    assert_int_equal(hr_store_set(store, key, text, strlen(text), NULL), HR_OK);
}

static void assert_text(hr_store *store, const char *key, const char *text) {
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    char *got = NULL;
    size_t n = 0;
    assert_int_equal(hr__store_get(store, key, 1000, &arena, &got, &n, NULL), HR_OK);
    assert_string_equal(got, text);
    hr__arena_free(&arena);
}

static void what_was_set_goes_before_what_lies_below(void **state) {
    (void)state;
    set_text(w.below, "a/b", "below");
    set_text(w.below, "a/c", "only below");
    set_text(w.store, "a/b", "before");
    assert_text(w.store, "a/b", "before");
    assert_text(w.store, "a/c", "only below");
    assert_text(w.below, "a/b", "below");
    hr__object *o = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__store_open(w.store, "a/d", &o, &err), HR_ERR_NOT_FOUND);
    assert_string_equal(err.key, "a/d");
}

static uint64_t version_of(hr_store *store, const char *key) {
    hr__object *o = NULL;
    assert_int_equal(hr__store_open(store, key, &o, NULL), HR_OK);
    uint64_t version = o->version;
    hr__object_close(o);
    return version;
}

static void a_value_set_before_another_has_another_version(void **state) {
    (void)state;
    set_text(w.below, "a", "below");
    uint64_t below = version_of(w.store, "a");
    set_text(w.store, "a", "before");
    assert_true(version_of(w.store, "a") != below && below != 0);
}

static void errors_below_are_told(void **state) {
    (void)state;
    hr_store *directory = NULL;
    hr_store *store = NULL;
    assert_int_equal(hr_store_open_directory(w.context, "/", &directory, NULL), HR_OK);
    assert_int_equal(hr_store_create_overlay(directory, &store, NULL), HR_OK);
    hr_store_unref(directory);
    hr__object *o = NULL;
    assert_int_equal(hr__store_open(store, "dev", &o, NULL), HR_ERR_IO);
    set_text(store, "dev", "a value");
    assert_text(store, "dev", "a value");
    hr_store_unref(store);
}

static void an_array_opens_by_other_metadata(void **state) {
    (void)state;
    static const char format[] =
        "{\"zarr_format\":2,\"shape\":[%s],\"chunks\":[2],\"dtype\":\"|u1\","
        "\"compressor\":null,\"fill_value\":9,\"order\":\"C\",\"filters\":null}";
    char text[256];
    (void)snprintf(text, sizeof text, format, "3");
    set_text(w.below, ".zarray", text);
    set_text(w.below, "1", "ab");
    (void)snprintf(text, sizeof text, format, "5");
    set_text(w.store, ".zarray", text);
    hr_node *node = NULL;
    assert_int_equal(hr_open_store(w.store, "", NULL, &node, NULL), HR_OK);
    uint8_t out[5];
    const int64_t shape[1] = {5};
    hr_tensor dst = {.data = out, .ndim = 1, .shape = shape};
    assert_int_equal(hr_dtype_parse("|u1", &dst.dtype, NULL), HR_OK);
    assert_int_equal(hr_read(node, NULL, &dst, NULL), HR_OK);
    assert_memory_equal(out, "\t\tab\t", 5);
    hr_node_unref(node);
}

static void null_is_refused(void **state) {
    (void)state;
    hr_store *store = NULL;
    assert_int_equal(hr_store_create_overlay(NULL, &store, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_store_create_overlay(w.below, NULL, NULL), HR_ERR_ARGUMENT);
    assert_null(store);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_was_set_goes_before_what_lies_below),
        TEST(a_value_set_before_another_has_another_version),
        TEST(errors_below_are_told),
        TEST(an_array_opens_by_other_metadata),
        TEST(null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
