/* Codecs of the caller's own that do wrong. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "custom_codecs.h"

static void what_it_does_wrong_is_an_error_of_the_read(void **state) {
    (void)state;
    static const struct {
        hr_status status;
        const char *message;
        int64_t claim;
        hr_status expected;
        const char *text;
    } rows[] = {
        {.claim = -1,
         .expected = HR_ERR_DATA,
         .text = "gives 199999 bytes, expected 200000"},
        {.claim = 1,
         .expected = HR_ERR_DATA,
         .text = "makes 200001 bytes, expected 2000"},
        {.claim = INT64_MAX, .expected = HR_ERR_DATA, .text = "expected 200000"},
        {HR_ERR_CHECKSUM, "the sum\tis 3", 0, HR_ERR_CHECKSUM, "the sum?is 3"},
        {HR_ERR_NOT_FOUND, "gone", 0, HR_ERR_DATA, "gone"}, /* never a fill */
        {HR_ERR_UNSUPPORTED, "too new", 0, HR_ERR_UNSUPPORTED, "too new"},
        {(hr_status)1234, NULL, 0, HR_ERR_DATA,
         "decode of the custom codec failed (HR_ERR_?, 1234)"},
    };
    add(&w.xor, "x-xor", HR_CODEC_BYTES_TO_BYTES);
    put_chunks("c", 90, false);
    assert_int_equal(open_v3(XOR), HR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        w.xor.status = rows[i].status;
        w.xor.message = rows[i].message;
        w.xor.claim = rows[i].claim;
        assert_int_equal(read_all(w.out), rows[i].expected);
        if (strstr(w.err.message, rows[i].text) == NULL) {
            fail_msg("%s", w.err.message);
        }
        assert_string_equal(w.err.codec, "x-xor");
        assert_int_equal(strncmp(w.err.key, "c/", 2), 0);
    }
}

static void one_that_always_wants_more_ends(void **state) {
    (void)state;
    add(&w.xor, "x-xor", HR_CODEC_BYTES_TO_BYTES);
    put_chunks("c", 90, true);
    assert_int_equal(open_v3(BOTH), HR_OK);
    w.runs.always_more = true;
    assert_int_equal(read_all(w.out), HR_ERR_DATA);
    assert_string_equal(w.err.codec, "x-runs");
    assert_true(w.runs.ndecoded < 20);
}

static void a_configuration_may_be_refused(void **state) {
    (void)state;
    w.runs.parse_status = HR_ERR_UNSUPPORTED;
    w.runs.message = "no such level";
    assert_int_equal(open_v3("\"bytes\",\"x-runs\""), HR_ERR_UNSUPPORTED);
    assert_string_equal(w.err.message, "no such level");
    assert_string_equal(w.err.codec, "x-runs");
    w.runs.parse_status = HR_ERR_NOT_FOUND; /* an array that is there is no absent one */
    assert_int_equal(open_v3("\"bytes\",\"x-runs\""), HR_ERR_METADATA);
}

static void what_is_no_codec_is_refused(void **state) {
    (void)state;
    const hr_custom_codec good = functions_of(&w.xor, "x-new");
    hr_custom_codec bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].abi_version = 0;
    bad[1].decode = NULL;
    bad[2].v2_id = bad[2].v3_name = NULL;
    bad[3].kind = (hr_codec_kind)0;
    bad[4].v3_name = "zstd"; /* built in: it would be another codec in silence */
    bad[5].v2_id = "blosc";
    bad[6].v3_name = "x-runs";
    bad[7].v3_name = "numcodecs.zlib";
    for (int i = 0; i < 8; i++) {
        assert_int_equal(hr_context_add_codec(w.context, &bad[i], NULL),
                         i == 0 ? HR_ERR_UNSUPPORTED : HR_ERR_ARGUMENT);
    }
    assert_int_equal(hr_context_add_codec(NULL, &good, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_context_add_codec(w.context, NULL, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(w.xor.ndestroyed, 0);
    hr_custom_codec known = good; /* one that the library refuses is free */
    known.v2_id = "pickle";
    known.v3_name = NULL;
    assert_int_equal(hr_context_add_codec(w.context, &known, NULL), HR_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_it_does_wrong_is_an_error_of_the_read),
        TEST(one_that_always_wants_more_ends),
        TEST(a_configuration_may_be_refused),
        TEST(what_is_no_codec_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
