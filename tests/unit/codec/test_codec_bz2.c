/* bzip2 streams. SPDX-License-Identifier: Apache-2.0 */
#include <bzlib.h>

#include "support/codec_run.h"

#define N 3000
#define LARGE ((size_t)5 << 19) /* more than two steps */

static size_t pack(const uint8_t *data, size_t n, uint8_t *packed, size_t capacity) {
    unsigned made = (unsigned)capacity;
    assert_int_equal(BZ2_bzBuffToBuffCompress((char *)packed, &made,
                                              (char *)(uintptr_t)data, (unsigned)n, 1, 0,
                                              0),
                     BZ_OK);
    return made;
}

static int open_codec(void **state) {
    codec_runner *r = malloc(sizeof *r);
    assert_non_null(r);
    assert_int_equal(runner_open(r, &hr__codec_bz2, "{\"level\":1}"), HR_OK);
    *state = r;
    return 0;
}

static int close_codec(void **state) {
    runner_close(*state);
    free(*state);
    return 0;
}

static void several_streams_decode_to_one_chunk(void **state) {
    uint8_t *data = sample_data(N, 4), packed[3 * N];
    size_t n = pack(data, 1000, packed, sizeof packed);
    n += pack(data, 0, packed + n, sizeof packed - n);
    n += pack(data + 1000, N - 1000, packed + n, sizeof packed - n);
    assert_decodes(*state, packed, n, data, N);
    memset(packed + n, 'x', 4); /* ignored */
    assert_decodes(*state, packed, n + 4, data, N);
    free(data);
}

static void runs_that_end_with_the_chunk_decode(void **state) {
    uint8_t data[700], packed[N];
    memset(data, 'r', sizeof data);
    for (size_t n = 0; n < sizeof data; n++) {
        size_t made = pack(data, n, packed, sizeof packed);
        assert_decodes(*state, packed, made, data, n);
    }
}

static void wrong_sizes_are_refused(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack(data, N, packed, sizeof packed);
    assert_refused(r, packed, n, N - 1, HR_ERR_DATA,
                   "bzip2 stream makes more than the 2999 bytes expected");
    assert_int_equal(runner_decode(r, packed, n - 1, N + 1), HR_ERR_DATA);
    assert_non_null(strstr(r->err.message, "bzip2 stream is cut off at the end of"));
    assert_int_equal(runner_decode(r, "BZx", 3, N), HR_ERR_DATA);
    assert_int_equal(runner_decode(r, "", 0, N), HR_ERR_DATA);
    free(data);
}

static void the_size_may_be_unknown(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack(data, N, packed, sizeof packed);
    assert_int_equal(runner_decode_growing(r, packed, n, N), HR_OK);
    assert_int_equal(r->out_nbytes, N);
    assert_memory_equal(r->out, data, N);
    assert_int_equal(runner_decode_growing(r, packed, n, N - 1), HR_ERR_DATA);
    free(data);
}

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    char want[200];
    unsigned made = sizeof want;
    if (runner_decode(r, data, n, sizeof want) == HR_OK) {
        assert_int_equal(BZ2_bzBuffToBuffDecompress(want, &made, (char *)(uintptr_t)data,
                                                    (unsigned)n, 0, 0),
                         BZ_OK);
        assert_int_equal(r->out_nbytes, made);
        assert_memory_equal(r->out, want, made);
    }
}

static void damaged_streams_give_an_error_or_what_libbz2_gives(void **state) {
    uint8_t *data = sample_data(200, 4), packed[N];
    size_t n = pack(data, 200, packed, sizeof packed);
    for_each_mutant(packed, n, check_mutant, *state);
    free(data);
}

static void a_cancelled_decode_ends_early(void **state) {
    uint8_t *data = sample_data(LARGE, 4), *packed = malloc(2 * LARGE);
    assert_non_null(packed);
    size_t n = pack(data, LARGE, packed, 2 * LARGE);
    runner_check_cancel(*state, packed, n, data, LARGE); /* in several steps */
    free(packed);
    free(data);
}

#define with_codec(test) cmocka_unit_test_setup_teardown(test, open_codec, close_codec)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_codec(several_streams_decode_to_one_chunk),
        with_codec(runs_that_end_with_the_chunk_decode),
        with_codec(wrong_sizes_are_refused),
        with_codec(the_size_may_be_unknown),
        with_codec(a_cancelled_decode_ends_early),
        with_codec(damaged_streams_give_an_error_or_what_libbz2_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
