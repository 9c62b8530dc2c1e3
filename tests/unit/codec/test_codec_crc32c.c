/* CRC-32C with and without the processor's instruction. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/checksum.h"

enum { NBYTES = 4 * 3072 + 64 };

static uint8_t bytes[NBYTES];

static void known_sums_come_out(void **state) {
    static const uint8_t zeros[32];
    (void)state;
    assert_int_equal(hr__crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(hr__crc32c_portable((const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(hr__crc32c(zeros, sizeof zeros), 0x8a9136aa);
    assert_int_equal(hr__crc32c(zeros, 0), 0);
}

/* Around the ends of the stretches that are summed side by side, at any alignment. */
static void the_instruction_gives_what_the_table_gives(void **state) {
    (void)state;
    for (size_t whole = 0; whole <= 9216; whole += 1024) {
        for (size_t n = whole < 17 ? 0 : whole - 17; n <= whole + 17; n++) {
            const uint8_t *data = bytes + n % 9;
            assert_int_equal(hr__crc32c(data, n), hr__crc32c_portable(data, n));
        }
    }
}

static void every_byte_counts(void **state) {
    const uint32_t sum = hr__crc32c(bytes, NBYTES);
    (void)state;
    for (size_t i = 0; i < NBYTES; i += 61) {
        bytes[i] ^= 0x10;
        assert_int_not_equal(hr__crc32c(bytes, NBYTES), sum);
        bytes[i] ^= 0x10;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums_come_out),
        cmocka_unit_test(the_instruction_gives_what_the_table_gives),
        cmocka_unit_test(every_byte_counts),
    };
    uint32_t x = 1;
    for (size_t i = 0; i < NBYTES; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
