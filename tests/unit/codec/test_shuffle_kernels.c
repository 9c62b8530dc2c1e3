/* Un-shuffles against their definitions. SPDX-License-Identifier: Apache-2.0 */
#include "codec/shuffle_kernels.h"

#include "support/codec_run.h"

typedef void kernel(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst);

static void shuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst) {
    size_t n = nbytes / typesize;
    memcpy(dst, src, nbytes);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < typesize; j++) {
            dst[j * n + i] = src[i * typesize + j];
        }
    }
}

static void bitshuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst) {
    size_t n = nbytes / typesize;
    memcpy(dst, src, nbytes);
    if (n % 8 != 0) {
        return;
    }
    memset(dst, 0, n * typesize);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 8 * typesize; k++) {
            unsigned bit = (unsigned)src[i * typesize + k / 8] >> k % 8 & 1;
            dst[k * (n / 8) + i / 8] |= (uint8_t)(bit << i % 8);
        }
    }
}

/* Blocks of exactly nbytes, so that a sanitizer sees what is outside. */
static void check(kernel *forward, kernel *back, size_t typesize, size_t nbytes) {
    uint8_t *data = sample_data(nbytes, 1), *mixed = sample_data(nbytes, 1);
    uint8_t *out = sample_data(nbytes, 1);
    uint32_t x = (uint32_t)(typesize * 7919 + nbytes);
    for (size_t i = 0; i < nbytes; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    forward(typesize, nbytes, data, mixed);
    memset(out, 0xA5, nbytes);
    back(typesize, nbytes, mixed, out);
    if (memcmp(out, data, nbytes) != 0) {
        fail_msg("typesize %zu, %zu bytes", typesize, nbytes);
    }
    free(data);
    free(mixed);
    free(out);
}

static void check_sizes(kernel *forward, kernel *back, size_t items, size_t typesize) {
    static const size_t tails[] = {0, 1, 7, 15};
    for (size_t n = 0; n < 300; n += items) {
        for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
            if (tails[t] < typesize) {
                check(forward, back, typesize, n * typesize + tails[t]);
            }
        }
    }
}

static void bytes_come_back_in_order(void **state) {
    (void)state;
    for (size_t typesize = 1; typesize <= 33; typesize++) {
        check_sizes(shuffle, hr__unshuffle, 1, typesize);
    }
    check_sizes(shuffle, hr__unshuffle, 1, 255);
}

static void bits_come_back_in_order(void **state) {
    (void)state;
    for (size_t typesize = 1; typesize <= 17; typesize++) {
        check_sizes(bitshuffle, hr__bitunshuffle, 8, typesize);
    }
    check_sizes(bitshuffle, hr__bitunshuffle, 8, 255);
}

static void bits_of_a_broken_group_of_eight_items_are_left_alone(void **state) {
    (void)state;
    check_sizes(bitshuffle, hr__bitunshuffle, 13, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_in_order),
        cmocka_unit_test(bits_come_back_in_order),
        cmocka_unit_test(bits_of_a_broken_group_of_eight_items_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
