/* The metadata of every array and group of the corpus.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/corpus.h"
#include "support/zarr_docs.h"

/* Documents below a folder of the corpus. */
static hr_status get(void *user, const char *key, hr__arena *arena, char **text,
                     size_t *nbytes, hr_error *err) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s/%s", HR_CORPUS, (const char *)user, key);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return hr__fail(err, HR_ERR_NOT_FOUND, "no %s", path);
    }
    (void)fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    (void)fseek(f, 0, SEEK_SET);
    *text = hr__arena_alloc(arena, size + 1);
    *nbytes = *text == NULL ? 0 : fread(*text, 1, size, f);
    (void)fclose(f);
    return *nbytes == size ? HR_OK : hr__fail(err, HR_ERR_IO, "cannot read %s", path);
}

/* As the manifest writes a shape: "[10, 5]". */
static void show(int32_t ndim, const int64_t *sizes, char *text, size_t capacity) {
    size_t n = (size_t)snprintf(text, capacity, "[");
    for (int32_t i = 0; i < ndim; i++) {
        n += (size_t)snprintf(text + n, capacity - n, "%s%lld", i > 0 ? ", " : "",
                              (long long)sizes[i]);
    }
    (void)snprintf(text + n, capacity - n, "]");
}

static void normalise(const char *json, char *text, size_t capacity) {
    json_object *value = json_tokener_parse(json);
    (void)snprintf(text, capacity, "%s",
                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
    json_object_put(value);
}

/* NumPy's name of the manifest's dtype, or "" where the test has none for it. */
static void expected_dtype(const char *dtype, bool is_v3, char *text, size_t capacity) {
    hr_dtype t;
    text[0] = '\0';
    if (hr_dtype_parse(dtype, &t, NULL) == HR_OK) {
        (void)hr_dtype_format(&t, text, capacity);
    } else if (!is_v3 && strcmp(dtype, "|O") == 0) {
        (void)snprintf(text, capacity, "string");
    }
}

static void check_array(const corpus_row *row, const hr__zarr_node *node) {
    char got[512];
    char expected[512];
    const hr__array *a = &node->array;
    show(a->ndim, a->shape, got, sizeof got);
    assert_string_equal(got, row->shape);
    show(a->ndim, node->has_shards ? node->shard_shape : node->chunk_shape, got,
         sizeof got);
    assert_string_equal(got, row->block);
    normalise(node->fill_value_json, got, sizeof got);
    normalise(row->fill, expected, sizeof expected);
    assert_string_equal(got, expected);
    expected_dtype(row->dtype, node->format == 3, expected, sizeof expected);
    if (expected[0] != '\0') {
        (void)hr_dtype_format(node->format == 2 ? &a->stored : &a->dtype, got,
                              sizeof got);
        assert_string_equal(got, expected);
    }
    assert_non_null(a->fill);
    for (int32_t i = 0; i < a->ndim; i++) {
        assert_int_equal(a->grid[i].length, a->shape[i]);
        assert_true(a->outer[i].chunk % a->grid[i].chunk == 0);
    }
}

/* Codecs that the readers the manifest was made with have and this library does not. */
static bool is_unsupported(const corpus_row *row) {
    static const char *const names[] = {"pcodec", "zfpy", "optional"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strstr(row->compression, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

typedef struct tally {
    int arrays, groups, bad, unsupported;
} tally;

static void check_row(const corpus_row *row, const char *format, tally *t) {
    hr__doc_source source = {.user = (void *)(uintptr_t)row->path, .get = get};
    hr_open_options options = HR_OPEN_OPTIONS_INIT;
    options.zarr_format = strcmp(format, "zarr2") == 0   ? 2
                          : strcmp(format, "zarr3") == 0 ? 3
                                                         : 0;
    hr__arena arena;
    hr__zarr_node node;
    hr_error err = HR_ERROR_INIT;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr_status status = hr__zarr_open(&source, "", &options, NULL, &arena, &node, &err);
    if (strncmp(row->klass, "bad-", 4) == 0) {
        assert_true(status == HR_OK || status == HR_ERR_METADATA ||
                    status == HR_ERR_UNSUPPORTED || status == HR_ERR_NOT_FOUND);
        t->bad++;
    } else if (status != HR_OK) {
        if (status != HR_ERR_UNSUPPORTED || !is_unsupported(row)) {
            fail_msg("%s: %s: %s", row->path, hr_status_name(status), err.message);
        }
        t->unsupported++;
    } else if (strcmp(row->klass, "zarr-array") == 0) {
        assert_int_equal(node.kind, HR_NODE_ARRAY);
        check_array(row, &node);
        t->arrays++;
    } else {
        assert_int_equal(node.kind, HR_NODE_GROUP);
        t->groups++;
    }
    if (status == HR_OK) {
        hr__zarr_close(&node);
    }
    hr__arena_free(&arena);
}

static void every_node_opens_as_the_manifest_says(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "metadata of the corpus's Zarr nodes")) {
        skip();
    }
    corpus_row row;
    tally t = {0};
    while (corpus_next(&c, &row)) {
        if (strcmp(row.klass, "zarr-array") == 0 ||
            strcmp(row.klass, "zarr-group") == 0 ||
            strncmp(row.klass, "bad-zarr", 8) == 0) {
            check_row(&row, row.format, &t);
        }
    }
    corpus_close(&c);
    print_message("%d arrays, %d groups, %d malformed, %d with codecs of others\n",
                  t.arrays, t.groups, t.bad, t.unsupported);
    assert_true(t.arrays > 200 && t.groups > 60 && t.bad > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_opens_as_the_manifest_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
