/* The table of codecs. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <headrace/context.h>

#include "codec/codec.h"
#include "device/cuda_kernels.h"

static void every_codec_stands_in_the_table_once(void **state) {
    (void)state;
    for (size_t i = 0; hr__codec_type_at(i) != NULL; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_ptr_not_equal(hr__codec_type_at(i), hr__codec_type_at(k));
            assert_string_not_equal(hr__codec_type_at(i)->name,
                                    hr__codec_type_at(k)->name);
        }
    }
}

static void every_codec_is_complete(void **state) {
    (void)state;
    for (size_t i = 0; hr__codec_type_at(i) != NULL; i++) {
        const hr__codec_type *type = hr__codec_type_at(i);
        assert_non_null(type->parse);
        assert_non_null(type->decode);
        assert_true(type->v2_ids != NULL || type->v3_names != NULL);
    }
}

static void every_name_finds_its_codec(void **state) {
    (void)state;
    for (size_t i = 0; hr__codec_type_at(i) != NULL; i++) {
        const hr__codec_type *type = hr__codec_type_at(i);
        for (const char *const *id = type->v2_ids; id != NULL && *id != NULL; id++) {
            assert_ptr_equal(hr__codec_find_v2(NULL, *id), type);
        }
        for (const char *const *name = type->v3_names; name != NULL && *name != NULL;
             name++) {
            hr__codec_dialect dialect;
            assert_ptr_equal(hr__codec_find_v3(NULL, *name, &dialect), type);
            assert_int_equal(dialect, HR__DIALECT_V3);
        }
    }
}

static void the_public_list_is_the_table(void **state) {
    (void)state;
    hr_codec_support support;
    size_t n = 0;
    for (; hr_codec_list(n, &support) == 1; n++) {
        assert_non_null(hr__codec_type_at(n));
        assert_string_equal(support.name, hr__codec_type_at(n)->name);
        assert_true(strlen(support.name) > 0 && strlen(support.library) > 0);
        assert_int_equal(support.on_cpu, 1);
    }
    assert_true(n > 10);
    assert_null(hr__codec_type_at(n));
    assert_int_equal(hr_codec_list(n + 1, &support), 0);
}

static void assert_on_cuda(const char *name, bool want) {
    hr_codec_support support;
    for (size_t i = 0; hr_codec_list(i, &support) == 1; i++) {
        if (strcmp(support.name, name) == 0) {
            assert_int_equal(support.on_cuda, want);
            return;
        }
    }
    fail_msg("no codec %s", name);
}

static void the_public_list_says_what_kernels_decode(void **state) {
    (void)state;
    bool has_kernels = hr__cuda_kernels_serve(99, 0); /* by PTX, if there are any */
    static const char *const with[] = {"zstd",
                                       "lz4",
                                       "blosc",
                                       "shuffle",
                                       "bytes",
                                       "crc32c",
                                       "fixedscaleoffset",
                                       "transpose",
                                       "delta",
                                       "tiff_lzw",
                                       "tiff_packbits",
                                       "tiff_predictor2",
                                       "tiff_predictor3",
                                       "sharding_indexed"};
    static const char *const without[] = {"bz2", "lzma", "zfpy"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        assert_on_cuda(with[i], has_kernels);
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        assert_on_cuda(without[i], false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_stands_in_the_table_once),
        cmocka_unit_test(every_codec_is_complete),
        cmocka_unit_test(every_name_finds_its_codec),
        cmocka_unit_test(the_public_list_is_the_table),
        cmocka_unit_test(the_public_list_says_what_kernels_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
