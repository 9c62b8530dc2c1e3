/* Filters and checksums against numcodecs, byte for byte.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support/chain_run.h"

#include "golden_rows.h"

#define NGOLDEN (sizeof golden / sizeof *golden)

static void every_row_decodes_to_the_same_bytes(void **state) {
    (void)state;
    chain_runner r = {0};
    for (size_t i = 0; i < NGOLDEN; i++) {
        size_t n, want_n;
        uint8_t *encoded = unhex(golden[i].encoded, &n);
        uint8_t *want = unhex(golden[i].decoded, &want_n);
        CHUNK(&r, golden[i].dtype, golden[i].nelems);
        if (chain_open_v2(&r, golden[i].filters, "null") != HR_OK ||
            chain_decode(&r, encoded, n) != HR_OK) {
            fail_msg("row %zu %s: %s", i, golden[i].filters, r.err.message);
        }
        if (r.out_nbytes != want_n || memcmp(r.out, want, want_n) != 0) {
            fail_msg("row %zu %s: other bytes", i, golden[i].filters);
        }
        assert_chain_gives(&r, encoded, n, want, want_n);
        free(encoded);
        free(want);
    }
    chain_close(&r);
}

static void every_row_may_be_a_compressor(void **state) {
    (void)state;
    chain_runner r = {0};
    for (size_t i = 0; i < NGOLDEN; i++) {
        size_t n, want_n, length = strlen(golden[i].filters);
        uint8_t *encoded = unhex(golden[i].encoded, &n);
        uint8_t *want = unhex(golden[i].decoded, &want_n);
        char *compressor = strndup(golden[i].filters + 1, length - 2);
        assert_non_null(compressor);
        CHUNK(&r, golden[i].dtype, golden[i].nelems);
        assert_opens(chain_open_v2(&r, "[]", compressor), &r);
        assert_chain_gives(&r, encoded, n, want, want_n);
        free(compressor);
        free(encoded);
        free(want);
    }
    chain_close(&r);
}

/* The same codecs where only a bound of what they decode is known beforehand, as behind a
 * compressor. */
static void sizes_may_be_unknown(void **state) {
    (void)state;
    chain_runner r = {0};
    for (size_t i = 0; i < NGOLDEN; i++) {
        size_t n, want_n;
        uint8_t *encoded = unhex(golden[i].encoded, &n);
        uint8_t *want = unhex(golden[i].decoded, &want_n);
        codec_runner one = {0};
        CHUNK(&r, golden[i].dtype, golden[i].nelems);
        assert_opens(chain_open_v2(&r, golden[i].filters, "null"), &r);
        hr__codec *codec = &r.chain.codecs[0];
        codec->decoded.nbytes = HR__SIZE_UNKNOWN;
        codec->decoded.max_nbytes = 1 << 20;
        one.codec = *codec;
        hr__worker_init(&one.worker, &hr__malloc_allocator);
        if (runner_decode_growing(&one, encoded, n, 1 << 20) != HR_OK) {
            fail_msg("row %zu %s: %s", i, golden[i].filters, one.err.message);
        }
        assert_int_equal(one.out_nbytes, want_n);
        if (!codec->type->view && want_n > 0) {
            assert_memory_equal(one.out, want, want_n);
        }
        hr__worker_free(&one.worker);
        free(one.out);
        free(encoded);
        free(want);
    }
    chain_close(&r);
}

static void mutants_give_errors_or_bytes(void **state) {
    (void)state;
    chain_runner r = {0};
    for (size_t i = 0; i < NGOLDEN; i++) {
        size_t n;
        uint8_t *encoded = unhex(golden[i].encoded, &n);
        CHUNK(&r, golden[i].dtype, golden[i].nelems);
        assert_opens(chain_open_v2(&r, golden[i].filters, "null"), &r);
        chain_survives_mutants(&r, encoded, n);
        if (n > 0) {
            assert_int_not_equal(chain_decode(&r, encoded, n - 1), HR_OK);
        }
        free(encoded);
    }
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_decodes_to_the_same_bytes),
        cmocka_unit_test(every_row_may_be_a_compressor),
        cmocka_unit_test(sizes_may_be_unknown),
        cmocka_unit_test(mutants_give_errors_or_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
