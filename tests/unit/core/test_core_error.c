/* Error messages. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"

static void a_message_is_one_line_of_utf8(void **state) {
    (void)state;
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"plain", "plain"},
        {"two\nlines\r\x1b[2J\x7f", "two?lines??[2J?"},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8C\x8D", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8C\x8D"},
        {"\xC2\x9B"
         "2J\xC2\xA0",
         "??2J\xC2\xA0"}, /* a control sequence in one character; a space */
        {"\xFF\xC0\x80\xE2\x82 \xC3", "????? ?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr__fail(&err, HR_ERR_METADATA, "%s", rows[i].name),
                         HR_ERR_METADATA);
        assert_string_equal(err.message, rows[i].shown);
        hr__error_add_codec(&err, rows[i].name);
        assert_string_equal(err.codec, rows[i].shown);
        (void)hr__fail_errno(&err, HR_ERR_IO, EACCES, "%s", rows[i].name);
        assert_memory_equal(err.message, rows[i].shown, strlen(rows[i].shown));
    }
}

static void a_cut_message_ends_with_a_whole_character(void **state) {
    (void)state;
    char text[1024];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 3) {
            memcpy(text + i, "\xE2\x82\xAC", 4);
        }
        hr_error err = HR_ERROR_INIT;
        (void)hr__fail(&err, HR_ERR_DATA, "%s", text);
        size_t n = strlen(err.message);
        assert_int_equal(n, sizeof err.message - 1);
        size_t whole = shift + (n - shift) / 3 * 3;
        assert_memory_equal(err.message, text, whole);
        assert_int_equal(strspn(err.message + whole, "?"), n - whole);
    }
}

/* Records of any size are filled as far as they go, and no further. */
static void a_record_of_another_version_is_kept_within(void **state) {
    (void)state;
    for (uint32_t size = 0; size <= sizeof(hr_error); size++) {
        union {
            hr_error err;
            uint8_t bytes[sizeof(hr_error)];
        } u;
        memset(&u, 0xEE, sizeof u);
        u.err.struct_size = size;
        (void)hr__fail_errno(&u.err, HR_ERR_IO, EACCES, "no");
        hr__error_add_codec(&u.err, "zstd");
        hr__error_add_place(&u.err, "url", "key", 7);
        for (size_t i = size > 4 ? size : 4; i < sizeof u; i++) {
            assert_int_equal(u.bytes[i], 0xEE);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_one_line_of_utf8),
        cmocka_unit_test(a_cut_message_ends_with_a_whole_character),
        cmocka_unit_test(a_record_of_another_version_is_kept_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
