/* Arenas, scratch, checked sizes. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/checked.h"
#include "core/error.h"

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    for (size_t n = 0; n < 10000; n += 37) {
        uint8_t *p = hr__arena_alloc(&arena, n);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xAA, n);
    }
    assert_string_equal(hr__arena_printf(&arena, "%s/%d", "c", 7), "c/7");
    assert_null(hr__arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(hr__arena_alloc(&arena, SIZE_MAX - 3));
    hr__arena_free(&arena);
    assert_non_null(hr__arena_alloc(&arena, 1));
    hr__arena_free(&arena);
}

/* What each of two gave stays as it is, and both give more. */
static void an_arena_takes_what_another_holds(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { /* either may be empty */
        hr__arena to, from;
        hr__arena_init(&to, &hr__malloc_allocator);
        hr__arena_init(&from, &hr__malloc_allocator);
        const char *a = (i & 1) != 0 ? hr__arena_strdup(&to, "to") : "to";
        const char *b = "from";
        for (int k = 0; (i & 2) != 0 && k < 1000; k++) { /* of several blocks */
            b = hr__arena_strdup(&from, "from");
        }
        hr__arena_take(&to, &from);
        const char *c = hr__arena_strdup(&to, "after");
        const char *d = hr__arena_strdup(&from, "again");
        assert_string_equal(a, "to");
        assert_string_equal(b, "from");
        assert_string_equal(c, "after");
        assert_string_equal(d, "again");
        hr__arena_free(&from);
        assert_string_equal(c, "after");
        hr__arena_free(&to);
    }
}

static void shape_products_are_checked(void **state) {
    (void)state;
    uint64_t n = 5;
    int64_t big[] = {INT64_MAX, 2};
    assert_false(hr__shape_nelems(2, big, &n));
    int64_t empty[] = {INT64_MAX, INT64_MAX, 0};
    assert_true(hr__shape_nelems(3, empty, &n));
    assert_int_equal(n, 0);
    int64_t negative[] = {-1};
    assert_false(hr__shape_nelems(1, negative, &n));
    assert_true(hr__shape_nbytes(0, NULL, 8, &n));
    assert_int_equal(n, 8);
    int64_t shape[] = {2, 0, 3};
    int64_t strides[3];
    hr__strides_c(3, shape, 4, strides);
    assert_int_equal(strides[2], 4);
}

static void errors_keep_to_their_struct_size(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__fail(&err, HR_ERR_DATA, "is %d, expected %d", 1, 2),
                     HR_ERR_DATA);
    assert_string_equal(err.message, "is 1, expected 2");
    hr__error_add_place(&err, "u", "k", 7);
    hr__error_add_place(&err, "v", "l", 9);
    assert_string_equal(err.key, "k");
    assert_int_equal(err.offset, 7);

    hr_error small = HR_ERROR_INIT;
    small.struct_size = offsetof(hr_error, codec);
    memset(small.message, 'x', sizeof small.message);
    (void)hr__fail(&small, HR_ERR_IO, "hello");
    assert_int_equal(small.status, HR_ERR_IO);
    assert_int_equal(small.message[0], 'x');
    (void)hr__fail(NULL, HR_ERR_IO, "no record");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(an_arena_takes_what_another_holds),
        cmocka_unit_test(shape_products_are_checked),
        cmocka_unit_test(errors_keep_to_their_struct_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
