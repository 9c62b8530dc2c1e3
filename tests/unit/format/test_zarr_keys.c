/* Keys of chunks. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define REGULAR(shape)                                                                   \
    "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" shape "}}"

static void check_key(const hr__array *a, const int64_t *chunk, const char *expected) {
    char key[64];
    hr_error err = HR_ERROR_INIT;
    size_t n = strlen(expected);
    assert_int_equal(a->key(a, chunk, key, sizeof key, &err), HR_OK);
    assert_string_equal(key, expected);
    assert_int_equal(a->key(a, chunk, key, n + 1, &err), HR_OK);
    for (size_t capacity = 0; capacity <= n; capacity++) {
        memset(key, 'x', sizeof key);
        assert_int_equal(a->key(a, chunk, key, capacity, &err), HR_ERR_OVERFLOW);
        assert_int_equal(key[capacity], 'x');
    }
}

static void keys_follow_their_encoding(void **state) {
    (void)state;
#define ENCODING(name, separator)                                                        \
    "{\"name\":\"" name "\",\"configuration\":{\"separator\":\"" separator "\"}}"
    static const struct {
        const char *encoding, *two, *none;
    } rows[] = {
        {"\"default\"", "c/12/0", "c"},
        {ENCODING("default", "/"), "c/12/0", "c"},
        {ENCODING("default", "."), "c.12.0", "c"},
        {"{\"name\":\"v2\"}", "12.0", "0"},
        {ENCODING("v2", "/"), "12/0", "0"},
        {ENCODING("v2", "."), "12.0", "0"},
    };
    const int64_t chunk[] = {12, 0};
    zarr_opened o;
    for (size_t i = 0; i < COUNT(rows); i++) {
        ZARR_V3(&o, "chunk_key_encoding", rows[i].encoding, "shape", "[100,1]",
                "chunk_grid", REGULAR("[4,1]"));
        zarr_assert_ok(&o);
        check_key(&o.node.array, chunk, rows[i].two);
        zarr_close(&o);
        ZARR_V3(&o, "chunk_key_encoding", rows[i].encoding, "shape", "[]", "chunk_grid",
                REGULAR("[]"));
        zarr_assert_ok(&o);
        check_key(&o.node.array, chunk, rows[i].none);
        zarr_close(&o);
    }
    static const char *const separators[][2] = {
        {NULL, "12.0"}, {"null", "12.0"}, {"\".\"", "12.0"}, {"\"/\"", "12/0"}};
    for (size_t i = 0; i < COUNT(separators); i++) {
        ZARR_V2(&o, "shape", "[100,1]", "chunks", "[4,1]", "dimension_separator",
                separators[i][0]);
        zarr_assert_ok(&o);
        check_key(&o.node.array, chunk, separators[i][1]);
        zarr_close(&o);
    }
    ZARR_V2(&o, "shape", "[]", "chunks", "[]");
    zarr_assert_ok(&o);
    check_key(&o.node.array, chunk, "0");
    assert_int_equal(o.node.array.chain.decoded.nbytes, 4);
    zarr_close(&o);
    ZARR_V2(&o, "dimension_separator", "\"_\"");
    zarr_assert_fails(&o, HR_ERR_METADATA, "separator is \"_\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_follow_their_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
