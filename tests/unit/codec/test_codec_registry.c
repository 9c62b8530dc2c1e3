/* The table of codecs. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <headrace/context.h>

#include "codec/codec.h"

static void every_codec_stands_in_the_table_once(void **state) {
    (void)state;
    for (size_t i = 0; hr__codec_type_at(i) != NULL; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_ptr_not_equal(hr__codec_type_at(i), hr__codec_type_at(k));
        }
    }
}

static void every_name_finds_its_codec(void **state) {
    (void)state;
    for (size_t i = 0; hr__codec_type_at(i) != NULL; i++) {
        const hr__codec_type *type = hr__codec_type_at(i);
        for (const char *const *id = type->v2_ids; id != NULL && *id != NULL; id++) {
            assert_ptr_equal(hr__codec_find_v2(*id), type);
        }
        for (const char *const *name = type->v3_names; name != NULL && *name != NULL;
             name++) {
            hr__codec_dialect dialect;
            assert_ptr_equal(hr__codec_find_v3(*name, &dialect), type);
        }
    }
}

static void the_public_list_ends(void **state) {
    (void)state;
    hr_codec_support support;
    size_t n = 0;
    while (hr_codec_list(n, &support)) {
        assert_true(strlen(support.name) > 0 && strlen(support.library) > 0);
        assert_int_equal(support.on_cpu, 1);
        n++;
        assert_true(n < 1000);
    }
    assert_true(n > 10);
    assert_int_equal(hr_codec_list(n + 1, &support), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_stands_in_the_table_once),
        cmocka_unit_test(every_name_finds_its_codec),
        cmocka_unit_test(the_public_list_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
