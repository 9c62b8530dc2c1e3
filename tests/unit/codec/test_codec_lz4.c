/* LZ4 blocks behind a size, and Snappy. SPDX-License-Identifier: Apache-2.0 */
#include <lz4.h>
#include <snappy-c.h>

#include "support/codec_run.h"

#define N ((size_t)1000)

static void set_size(uint8_t *packed, uint32_t n) {
    for (int i = 0; i < 4; i++) {
        packed[i] = (uint8_t)(n >> 8 * i);
    }
}

static size_t pack_lz4(const uint8_t *data, size_t n, uint8_t *packed, size_t capacity) {
    int made = LZ4_compress_default((const char *)data, (char *)packed + 4, (int)n,
                                    (int)capacity - 4);
    assert_true(made > 0);
    set_size(packed, (uint32_t)n);
    return (size_t)made + 4;
}

static void lz4_blocks_decode(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_lz4, "{\"acceleration\":1}"), HR_OK);
    uint8_t *data = sample_data(70000, 4), packed[71000];
    for (size_t n = 0; n <= 70000; n = n * 2 + 1) {
        size_t made = pack_lz4(data, n, packed, sizeof packed);
        assert_decodes(&r, packed, made, data, n);
    }
    free(data);
    runner_close(&r);
}

static void lz4_header_must_say_the_chunks_size(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_lz4, NULL), HR_OK);
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_lz4(data, N, packed, sizeof packed);
    assert_decodes(&r, packed, n, data, N);
    static const struct {
        uint32_t said;
        const char *message;
    } cases[] = {{0, "LZ4 header says 0 bytes, chunk is 1000"},
                 {N - 1, "LZ4 header says 999 bytes, chunk is 1000"},
                 {N + 1, "LZ4 header says 1001 bytes, chunk is 1000"},
                 {0x80000000, "LZ4 header says 2147483648 bytes, chunk is 1000"},
                 {0xffffffff, "LZ4 header says 4294967295 bytes, chunk is 1000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_size(packed, cases[i].said);
        assert_refused(&r, packed, n, N, HR_ERR_DATA, cases[i].message);
    }
    set_size(packed, N + 1); /* as the metadata say, but not so the block */
    assert_refused(&r, packed, n, N + 1, HR_ERR_DATA,
                   "LZ4 block makes 1000 bytes, its header says 1001");
    set_size(packed, N - 1);
    assert_int_equal(runner_decode(&r, packed, n, N - 1), HR_ERR_DATA);
    assert_non_null(strstr(r.err.message, "makes more than 999 bytes"));
    assert_refused(&r, packed, 3, N, HR_ERR_DATA,
                   "LZ4 data are 3 bytes, less than their 4-byte header");
    free(data);
    runner_close(&r);
}

static void lz4_size_may_be_unknown(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_lz4, NULL), HR_OK);
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_lz4(data, N, packed, sizeof packed);
    assert_int_equal(runner_decode_growing(&r, packed, n, 100 * N), HR_OK);
    assert_int_equal(r.out_nbytes, N);
    assert_memory_equal(r.out, data, N);
    assert_int_equal(runner_decode_growing(&r, packed, n, N - 1), HR_ERR_DATA);
    set_size(packed, 0x80000000); /* does not make it allocate so much */
    assert_int_equal(runner_decode_growing(&r, packed, n, 10 * N), HR_ERR_DATA);
    free(data);
    runner_close(&r);
}

static void check_lz4_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    char want[400] = {0};
    if (runner_decode(r, data, n, sizeof want) == HR_OK) {
        int made = LZ4_decompress_safe((const char *)data + 4, want, (int)n - 4, 400);
        assert_int_equal(made, 400);
        assert_memory_equal(r->out, want, 400);
    }
}

static void damaged_lz4_gives_an_error_or_what_liblz4_gives(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_lz4, NULL), HR_OK);
    uint8_t *data = sample_data(400, 4), packed[600];
    size_t n = pack_lz4(data, 400, packed, sizeof packed);
    for_each_mutant(packed, n, check_lz4_mutant, &r);
    free(data);
    runner_close(&r);
}

static void snappy_decodes_and_checks_sizes(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_snappy, NULL), HR_OK);
    uint8_t *data = sample_data(N, 4);
    char packed[2 * N];
    size_t n = sizeof packed;
    assert_int_equal(snappy_compress((const char *)data, N, packed, &n), SNAPPY_OK);
    assert_decodes(&r, packed, n, data, N);
    assert_refused(&r, packed, n, N - 1, HR_ERR_DATA,
                   "Snappy data makes 1000 bytes, expected 999");
    assert_refused(&r, packed, 0, N, HR_ERR_DATA,
                   "0 bytes of Snappy data begin with no size");
    assert_int_equal(runner_decode(&r, packed, n - 1, N), HR_ERR_DATA);
    assert_non_null(strstr(r.err.message, "malformed Snappy data"));
    free(data);
    runner_close(&r);
}

static void snappy_size_may_be_unknown(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_snappy, NULL), HR_OK);
    uint8_t *data = sample_data(N, 4);
    char packed[2 * N];
    size_t n = sizeof packed;
    assert_int_equal(snappy_compress((const char *)data, N, packed, &n), SNAPPY_OK);
    assert_int_equal(runner_decode_growing(&r, packed, n, N), HR_OK);
    assert_memory_equal(r.out, data, N);
    assert_int_equal(runner_decode_growing(&r, packed, n, N - 1), HR_ERR_DATA);
    free(data);
    runner_close(&r);
}

/* libsnappy takes such a run for none. */
static void snappy_literals_without_end_are_refused(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_snappy, NULL), HR_OK);
    static const uint8_t inside[] = {9, 8 << 2, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4};
    static const uint8_t element[] = {4,      0xFC, 0xFF, 0xFF, 0xFF, 0xFF,
                                      3 << 2, 1,    2,    3,    4};
    assert_decodes(&r, inside, sizeof inside, inside + 2, 9);
    assert_refused(&r, element, sizeof element, 4, HR_ERR_DATA,
                   "malformed Snappy data: 11 bytes for 4");
    runner_close(&r);
}

static void check_snappy_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    char want[400] = {0};
    size_t made = sizeof want;
    if (runner_decode(r, data, n, sizeof want) == HR_OK) {
        assert_int_equal(snappy_uncompress((const char *)data, n, want, &made),
                         SNAPPY_OK);
        assert_int_equal(r->out_nbytes, made);
        assert_memory_equal(r->out, want, made);
    }
}

static void damaged_snappy_gives_an_error_or_what_libsnappy_gives(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_snappy, NULL), HR_OK);
    uint8_t *data = sample_data(400, 4), packed[600];
    size_t n = sizeof packed;
    assert_int_equal(snappy_compress((const char *)data, 400, (char *)packed, &n),
                     SNAPPY_OK);
    for_each_mutant(packed, n, check_snappy_mutant, &r);
    free(data);
    runner_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lz4_blocks_decode),
        cmocka_unit_test(lz4_header_must_say_the_chunks_size),
        cmocka_unit_test(lz4_size_may_be_unknown),
        cmocka_unit_test(damaged_lz4_gives_an_error_or_what_liblz4_gives),
        cmocka_unit_test(snappy_decodes_and_checks_sizes),
        cmocka_unit_test(snappy_size_may_be_unknown),
        cmocka_unit_test(snappy_literals_without_end_are_refused),
        cmocka_unit_test(damaged_snappy_gives_an_error_or_what_libsnappy_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
