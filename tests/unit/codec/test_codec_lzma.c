/* LZMA in its three containers. SPDX-License-Identifier: Apache-2.0 */
#include <lzma.h>

#include "support/codec_run.h"

#define N 3000
#define LARGE ((size_t)5 << 19) /* more than two steps */

static size_t finish(lzma_stream *s, const uint8_t *data, size_t n, uint8_t *packed,
                     size_t capacity) {
    s->next_in = data;
    s->avail_in = n;
    s->next_out = packed;
    s->avail_out = capacity;
    assert_int_equal(lzma_code(s, LZMA_FINISH), LZMA_STREAM_END);
    size_t made = (size_t)s->total_out;
    lzma_end(s);
    return made;
}

static size_t pack_xz(const uint8_t *data, size_t n, lzma_check check, uint8_t *packed,
                      size_t capacity) {
    lzma_stream s = LZMA_STREAM_INIT;
    assert_int_equal(lzma_easy_encoder(&s, 1, check), LZMA_OK);
    return finish(&s, data, n, packed, capacity);
}

static size_t pack_alone(const uint8_t *data, size_t n, uint32_t dict_size,
                         uint8_t *packed, size_t capacity) {
    lzma_stream s = LZMA_STREAM_INIT;
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 1));
    options.dict_size = dict_size;
    assert_int_equal(lzma_alone_encoder(&s, &options), LZMA_OK);
    return finish(&s, data, n, packed, capacity);
}

static size_t pack_raw(const uint8_t *data, size_t n, const lzma_filter *filters,
                       uint8_t *packed, size_t capacity) {
    lzma_stream s = LZMA_STREAM_INIT;
    assert_int_equal(lzma_raw_encoder(&s, filters), LZMA_OK);
    return finish(&s, data, n, packed, capacity);
}

static void open_codec(codec_runner *r, const char *json) {
    if (runner_open(r, &hr__codec_lzma, json) != HR_OK) {
        fail_msg("%s", r->err.message);
    }
}

static void xz_streams_with_every_check_decode(void **state) {
    (void)state;
    static const lzma_check checks[] = {LZMA_CHECK_NONE, LZMA_CHECK_CRC32,
                                        LZMA_CHECK_CRC64, LZMA_CHECK_SHA256};
    codec_runner r;
    open_codec(&r, "{\"format\":1,\"check\":-1,\"preset\":null,\"filters\":null}");
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    for (size_t i = 0; i < 4; i++) {
        size_t n = pack_xz(data, N, checks[i], packed, sizeof packed);
        assert_decodes(&r, packed, n, data, N);
        assert_refused(&r, packed, n, N - 1, HR_ERR_DATA,
                       "lzma stream makes more than the 2999 bytes expected");
        assert_int_equal(runner_decode(&r, packed, n - 1, N), HR_ERR_DATA);
        assert_non_null(strstr(r.err.message, "lzma stream is cut off at the end of"));
    }
    free(data);
    runner_close(&r);
}

static void several_xz_streams_decode_to_one_chunk(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, NULL);
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_xz(data, 1000, LZMA_CHECK_CRC32, packed, sizeof packed);
    memset(packed + n, 0, 8); /* stream padding */
    n += 8;
    n += pack_xz(data + 1000, N - 1000, LZMA_CHECK_CRC64, packed + n, sizeof packed - n);
    assert_decodes(&r, packed, n, data, N);
    free(data);
    runner_close(&r);
}

static void alone_streams_decode(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, "{\"format\":2}");
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    for (size_t n = 0; n <= N; n += 500) {
        size_t made = pack_alone(data, n, 1 << 16, packed, sizeof packed);
        assert_decodes(&r, packed, made, data, n);
    }
    free(data);
    runner_close(&r);
}

static void raw_streams_decode_with_the_filters_of_the_metadata(void **state) {
    (void)state;
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 1));
    lzma_options_lzma special = options;
    special.dict_size = 1 << 16;
    special.lc = 1;
    special.lp = 2;
    special.pb = 0;
    lzma_options_delta delta = {.type = LZMA_DELTA_TYPE_BYTE, .dist = 4};
    const struct {
        lzma_filter filters[4];
        const char *json;
    } cases[] = {
        {{{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}},
         "{\"format\":3,\"filters\":[{\"id\":33,\"preset\":1}]}"},
        {{{LZMA_FILTER_LZMA1, &special}, {LZMA_VLI_UNKNOWN, NULL}},
         "{\"format\":3,\"filters\":[{\"id\":4611686018427387905,\"dict_size\":65536,"
         "\"lc\":1,\"lp\":2,\"pb\":0,\"mode\":2,\"nice_len\":64,\"mf\":20,\"depth\":0}]"
         "}"},
        {{{LZMA_FILTER_DELTA, &delta},
          {LZMA_FILTER_LZMA2, &options},
          {LZMA_VLI_UNKNOWN, NULL}},
         "{\"format\":3,\"filters\":[{\"id\":3,\"dist\":4},{\"id\":33,\"preset\":1}]}"},
        {{{LZMA_FILTER_X86, NULL},
          {LZMA_FILTER_DELTA, &delta},
          {LZMA_FILTER_LZMA2, &options},
          {LZMA_VLI_UNKNOWN, NULL}},
         "{\"format\":3,\"filters\":[{\"id\":4},{\"id\":3,\"dist\":4},{\"id\":33}]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codec_runner r;
        open_codec(&r, cases[i].json);
        size_t n = pack_raw(data, N, cases[i].filters, packed, sizeof packed);
        assert_decodes(&r, packed, n, data, N);
        assert_int_equal(runner_decode_growing(&r, packed, n, N), HR_OK);
        assert_memory_equal(r.out, data, N);
        assert_int_equal(runner_decode(&r, packed, n, N - 1), HR_ERR_DATA);
        runner_close(&r);
    }
    free(data);
}

static void impossible_parameters_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *json;
        hr_status status;
    } cases[] = {
        {"{\"format\":0}", HR_ERR_METADATA},
        {"{\"format\":4}", HR_ERR_METADATA},
        {"{\"format\":\"xz\"}", HR_ERR_METADATA},
        {"{\"format\":1,\"preset\":\"fast\"}", HR_ERR_METADATA},
        {"{\"format\":3}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[]}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":{}}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[33]}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{}]}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{\"id\":99}]}", HR_ERR_UNSUPPORTED},
        {"{\"format\":3,\"filters\":[{\"id\":33,\"preset\":10}]}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{\"id\":33,\"lc\":5}]}", HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{\"id\":4611686018427387905,\"lc\":4,\"lp\":4}]}",
         HR_ERR_UNSUPPORTED},
        {"{\"format\":3,\"filters\":[{\"id\":3}]}", HR_ERR_UNSUPPORTED},
        {"{\"format\":3,\"filters\":[{\"id\":3,\"dist\":0},{\"id\":33}]}",
         HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{\"id\":3},{\"id\":3},{\"id\":3},{\"id\":3},"
         "{\"id\":33}]}",
         HR_ERR_METADATA},
        {"{\"format\":3,\"filters\":[{\"id\":33,\"dict_size\":1073741824}]}",
         HR_ERR_MEMORY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codec_runner r;
        hr_status status = runner_open(&r, &hr__codec_lzma, cases[i].json);
        if (status != cases[i].status) {
            fail_msg("%s gives %s", cases[i].json, hr_status_name(status));
        }
        runner_close(&r);
    }
}

static void a_stream_that_needs_too_much_memory_is_refused(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, "{\"format\":2}");
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_alone(data, N, 1 << 16, packed, sizeof packed);
    packed[4] = 0x40; /* a dictionary of 1 GiB */
    assert_int_equal(runner_decode(&r, packed, n, N), HR_ERR_MEMORY);
    assert_non_null(strstr(r.err.message, ", the limit is 268435456"));
    free(data);
    runner_close(&r);
}

static void the_size_may_be_unknown(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, NULL);
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_xz(data, N, LZMA_CHECK_CRC64, packed, sizeof packed);
    assert_int_equal(runner_decode_growing(&r, packed, n, N), HR_OK);
    assert_int_equal(r.out_nbytes, N);
    assert_memory_equal(r.out, data, N);
    assert_int_equal(runner_decode_growing(&r, packed, n, N - 1), HR_ERR_DATA);
    free(data);
    runner_close(&r);
}

static void a_wrong_check_is_an_error_unless_skipped(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, NULL);
    uint8_t *data = sample_data(N, 4), packed[2 * N];
    size_t n = pack_xz(data, N, LZMA_CHECK_SHA256, packed, sizeof packed);
    packed[n - 40] ^= 1; /* before index (16 bytes here) and footer (12) */
    assert_int_equal(runner_decode(&r, packed, n, N), HR_ERR_DATA);
    r.skip_checksums = true;
    assert_decodes(&r, packed, n, data, N);
    free(data);
    runner_close(&r);
}

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    uint8_t want[300];
    uint64_t limit = UINT64_MAX;
    size_t in = 0, out = 0;
    if (runner_decode(r, data, n, sizeof want) == HR_OK && r->out_nbytes > 0) {
        assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, data, &in, n, want,
                                                   &out, sizeof want),
                         LZMA_OK);
        assert_int_equal(r->out_nbytes, out);
        assert_memory_equal(r->out, want, out);
    }
}

static void damaged_streams_give_an_error_or_what_liblzma_gives(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, NULL);
    uint8_t *data = sample_data(300, 4), packed[N];
    size_t n = pack_xz(data, 300, LZMA_CHECK_CRC32, packed, sizeof packed);
    for_each_mutant(packed, n, check_mutant, &r);
    free(data);
    runner_close(&r);
}

static void a_cancelled_decode_ends_early(void **state) {
    (void)state;
    codec_runner r;
    open_codec(&r, NULL);
    uint8_t *data = sample_data(LARGE, 4), *packed = malloc(2 * LARGE);
    assert_non_null(packed);
    size_t n = pack_xz(data, LARGE, LZMA_CHECK_CRC32, packed, 2 * LARGE);
    runner_check_cancel(&r, packed, n, data, LARGE); /* in several steps */
    free(packed);
    free(data);
    runner_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xz_streams_with_every_check_decode),
        cmocka_unit_test(several_xz_streams_decode_to_one_chunk),
        cmocka_unit_test(alone_streams_decode),
        cmocka_unit_test(raw_streams_decode_with_the_filters_of_the_metadata),
        cmocka_unit_test(impossible_parameters_are_refused),
        cmocka_unit_test(a_stream_that_needs_too_much_memory_is_refused),
        cmocka_unit_test(the_size_may_be_unknown),
        cmocka_unit_test(a_wrong_check_is_an_error_unless_skipped),
        cmocka_unit_test(a_cancelled_decode_ends_early),
        cmocka_unit_test(damaged_streams_give_an_error_or_what_liblzma_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
