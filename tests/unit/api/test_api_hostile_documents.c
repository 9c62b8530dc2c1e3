/* Metadata that asks for too much. SPDX-License-Identifier: Apache-2.0 */
#include "hostile_world.h"

static char *repeat(const char *head, const char *unit, size_t n, const char *tail) {
    size_t nhead = strlen(head);
    size_t nunit = strlen(unit);
    char *text = malloc(nhead + n * nunit + strlen(tail) + 1);
    memcpy(text, head, nhead);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + nhead + i * nunit, unit, nunit);
    }
    (void)strcpy(text + nhead + n * nunit, tail);
    return text;
}

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":"

/* Two bytes of a document can be hundreds in memory. */
static void documents_that_grow_in_memory(void **state) {
    world *w = *state;
    static const struct {
        const char *unit;
        size_t n;
        hr_status status;
    } rows[] = {
        {",{}", 1400000, HR_ERR_OVERFLOW}, /* 4 MB for a gigabyte */
        {",{\"a\":1}", 1400000, HR_ERR_OVERFLOW},
        {",[]", 4600000, HR_ERR_OVERFLOW},
        {",1", 13500000, HR_ERR_OVERFLOW},
        {",{}", 50000, HR_OK},
        {",\"{{{{{{{{{{{{[[[[[[,,,,,,\\\"{{{{{{{\"", 200000, HR_OK}, /* text is text */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeat(GROUP "{\"a\":[0", rows[i].unit, rows[i].n, "]}}");
        put_text(w, "zarr.json", text);
        free(text);
        begin(w);
        hr_node *group = NULL;
        assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err),
                         rows[i].status);
        if (rows[i].status != HR_OK) {
            assert_string_equal(w->err.key, "zarr.json");
        }
        hr_node_unref(group);
        end(w);
    }
}

static void documents_of_the_largest_size(void **state) {
    world *w = *state;
    size_t n = ((size_t)64 << 20) - 100;
    char *text = repeat(GROUP "{\"a\":\"", "x", n, "\"}}");
    put_text(w, "zarr.json", text);
    begin(w);
    hr_node *group = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_OK);
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(group, &info, &w->err), HR_OK);
    assert_int_equal(strlen(info.attributes_json), n + 8);
    hr_node_unref(group);
    end(w);
    free(text);
    text = repeat(GROUP "{\"a\":\"", "x", n + 100, "\"}}");
    put_text(w, "zarr.json", text);
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_ERR_OVERFLOW);
    assert_string_equal(w->err.key, "zarr.json");
    free(text);
}

static void nesting_without_end(void **state) {
    world *w = *state;
    const char *open =
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":"
        "[1],\"index_codecs\":[" BYTES "],\"codecs\":[";
    for (size_t depth = 2; depth < 40; depth += 3) {
        char *head = repeat("", open, depth, BYTES);
        char *codecs = repeat(head, "]}}", depth, "");
        char *meta = malloc(strlen(codecs) + 1000);
        (void)sprintf(meta,
                      "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[1],"
                      "\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\","
                      "\"configuration\":{\"chunk_shape\":[1]}},\"chunk_key_encoding\":"
                      "{\"name\":\"default\"},\"codecs\":[%s],\"fill_value\":0}",
                      codecs);
        put_text(w, "zarr.json", meta);
        begin(w);
        hr_node *array = NULL;
        hr_status status = hr_open_store(w->store, "", NULL, &array, &w->err);
        assert_true(status == HR_OK
                        ? depth <= 8
                        : status == HR_ERR_METADATA || status == HR_ERR_UNSUPPORTED);
        hr_node_unref(array);
        end(w);
        free(head);
        free(codecs);
        free(meta);
    }
    char *text = repeat(GROUP "{\"a\":", "[", 1 << 20, "");
    put_text(w, "zarr.json", text);
    begin(w);
    hr_node *group = NULL;
    assert_int_equal(hr_open_store(w->store, "", NULL, &group, &w->err), HR_ERR_METADATA);
    end(w);
    free(text);
}

static void fill_values_of_ten_megabytes(void **state) {
    world *w = *state;
    size_t n = 10000000;
    const char *head =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[1000000000000],"
        "\"data_type\":\"string\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[1000]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"codecs\":[{\"name\":\"vlen-utf8\"}],\"fill_value\":\"";
    char *text = repeat(head, "x", n, "\"}");
    put_text(w, "zarr.json", text);
    free(text);
    begin(w);
    hr_node *array = open_array(w);
    hr_vlen *out = calloc(100000, sizeof *out);
    assert_int_equal(read_some(w, array, 123456, 100000, out), HR_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(out[i].nbytes, n);
    }
    assert_int_equal(((const char *)out[99999].data)[n - 1], 'x');
    free(out);
    hr_node_unref(array);
    end(w);
    begin(w); /* items of ten megabytes, in an array of more than 2^63 bytes */
    put_text(
        w, ".zarray",
        "{\"zarr_format\":2,\"shape\":[9007199254740992],\"chunks\":[100],\"dtype\":"
        "\"|S10000000\",\"compressor\":null,\"filters\":null,\"fill_value\":\"eA==\","
        "\"order\":\"C\"}");
    hr_open_options v2 = HR_OPEN_OPTIONS_INIT;
    v2.zarr_format = 2;
    assert_int_equal(hr_open_store(w->store, "", &v2, &array, &w->err), HR_OK);
    char *item = malloc(n);
    assert_int_equal(read_some(w, array, 9007199254740991, 1, item), HR_OK);
    assert_true(item[0] == 'x' && item[1] == 0 && item[n - 1] == 0);
    free(item);
    hr_node_unref(array);
    end(w);
}

static void groups_of_many_members(void **state) {
    world *w = *state;
    enum { N = 30000 };
    put_text(w, "zarr.json", GROUP "{}}");
    for (int i = 0; i < N; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "m%d/zarr.json", i);
        put_text(w, key, GROUP "{}}");
    }
    begin(w);
    hr_node *group = open_array(w);
    hr_member_list *list = NULL;
    assert_int_equal(hr_node_list(group, 1, &list, &w->err), HR_OK);
    assert_int_equal(hr_member_list_size(list), N);
    assert_string_equal(hr_member_list_get(list, 1).path, "m1");
    hr_member_list_free(list);
    hr_node_unref(group);
    end(w);
}

static void members_with_large_documents(void **state) {
    world *w = *state;
    enum { N = 20, LARGE = 4 << 20 };
    char *text = repeat(GROUP "{\"a\":\"", "x", LARGE, "\"}}");
    put_text(w, "zarr.json", GROUP "{}}");
    for (int i = 0; i < N; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "m%d/zarr.json", i);
        put_text(w, key, text);
    }
    free(text);
    begin(w);
    hr_node *group = open_array(w);
    hr_member_list *list = NULL;
    long before = atomic_load(&w->probe.nlive);
    assert_int_equal(hr_node_list(group, 1, &list, &w->err), HR_OK);
    assert_int_equal(hr_member_list_size(list), N);
    /* the list is names and no documents: an arena block or two */
    assert_in_range(atomic_load(&w->probe.nlive) - before, 1, 4);
    hr_member_list_free(list);
    hr_node_unref(group);
    end(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(documents_that_grow_in_memory), TEST(documents_of_the_largest_size),
        TEST(nesting_without_end),           TEST(fill_values_of_ten_megabytes),
        TEST(groups_of_many_members),        TEST(members_with_large_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
