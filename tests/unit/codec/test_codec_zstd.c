/* Zstandard frames of every shape. SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_writeSkippableFrame */
#include <zstd.h>

#include "codec/decode.h"
#include "support/codec_run.h"

#define N 3000

typedef struct frames {
    uint8_t bytes[4 * N];
    size_t n;
} frames;

static void add_frame(frames *f, const uint8_t *data, size_t n, int with_size,
                      int checksum) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    assert_non_null(c);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, with_size);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum);
    size_t made = ZSTD_compress2(c, f->bytes + f->n, sizeof f->bytes - f->n, data, n);
    assert_false(ZSTD_isError(made));
    f->n += made;
    (void)ZSTD_freeCCtx(c);
}

static void add_skippable(frames *f) {
    size_t made =
        ZSTD_writeSkippableFrame(f->bytes + f->n, sizeof f->bytes - f->n, "hello", 5, 3);
    assert_false(ZSTD_isError(made));
    f->n += made;
}

static int open_codec(void **state) {
    codec_runner *r = malloc(sizeof *r);
    assert_non_null(r);
    assert_int_equal(runner_open(r, &hr__codec_zstd, "{\"level\":3,\"checksum\":false}"),
                     HR_OK);
    *state = r;
    return 0;
}

static int close_codec(void **state) {
    runner_close(*state);
    free(*state);
    return 0;
}

static void frames_without_a_size_decode(void **state) {
    uint8_t *data = sample_data(N, 4);
    for (int checksum = 0; checksum <= 1; checksum++) {
        frames f = {.n = 0};
        add_frame(&f, data, N, 0, checksum);
        assert_int_equal(ZSTD_getFrameContentSize(f.bytes, f.n),
                         ZSTD_CONTENTSIZE_UNKNOWN);
        assert_decodes(*state, f.bytes, f.n, data, N);
    }
    free(data);
}

static void several_and_skippable_frames_decode_to_one_chunk(void **state) {
    uint8_t *data = sample_data(N, 4);
    frames f = {.n = 0};
    add_skippable(&f);
    add_frame(&f, data, 1000, 1, 1);
    add_frame(&f, data, 0, 1, 0);
    add_skippable(&f);
    add_frame(&f, data + 1000, N - 1000, 0, 0);
    add_skippable(&f);
    assert_decodes(*state, f.bytes, f.n, data, N);
    free(data);
}

static void an_empty_chunk_decodes(void **state) {
    frames f = {.n = 0};
    add_frame(&f, (const uint8_t *)"", 0, 1, 0);
    assert_decodes(*state, f.bytes, f.n, "", 0);
}

static void a_frame_of_another_size_is_refused_with_both_sizes(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    frames f = {.n = 0};
    add_frame(&f, data, N, 1, 0);
    assert_refused(r, f.bytes, f.n, N - 1, HR_ERR_DATA,
                   "zstd data makes 3000 bytes, expected 2999");
    f.n = 0;
    add_frame(&f, data, N, 0, 0);
    assert_refused(r, f.bytes, f.n, N - 1, HR_ERR_DATA,
                   "zstd data makes more than the 2999 bytes expected");
    assert_int_equal(runner_decode(r, f.bytes, f.n, N + 1), HR_OK);
    assert_int_equal(r->out_nbytes, N); /* left to the chain */
    free(data);
}

static void a_claim_of_an_enormous_size_costs_no_memory(void **state) {
    /* A window of 2^41 bytes, then a run of 100 bytes in a frame of 2^62. */
    static const uint8_t window[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 0x23, 3, 0, 'x'};
    static const uint8_t size[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,  0,
                                   0,    0,    0,    0x40, 0x23, 3, 0, 'x'};
    assert_int_equal(runner_decode(*state, window, sizeof window, 100), HR_ERR_DATA);
    assert_refused(*state, size, sizeof size, 10, HR_ERR_DATA,
                   "zstd data makes 4611686018427387904 bytes, expected 10");
}

static void the_size_may_be_unknown(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    frames f = {.n = 0};
    add_frame(&f, data, N, 0, 1);
    assert_int_equal(runner_decode_growing(r, f.bytes, f.n, N), HR_OK);
    assert_int_equal(r->out_nbytes, N);
    assert_memory_equal(r->out, data, N);
    assert_int_equal(runner_decode_growing(r, f.bytes, f.n, N - 1), HR_ERR_DATA);
    free(data);
}

static void a_wrong_checksum_is_named_unless_skipped(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    frames f = {.n = 0};
    add_frame(&f, data, N, 1, 1);
    f.bytes[f.n - 1] ^= 1;
    assert_refused(r, f.bytes, f.n, N, HR_ERR_CHECKSUM,
                   "zstd frame's checksum does not match");
    r->skip_checksums = true;
    assert_decodes(r, f.bytes, f.n, data, N);
    r->skip_checksums = false;
    assert_int_equal(runner_decode(r, f.bytes, f.n, N), HR_ERR_CHECKSUM);
    free(data);
}

/* Bytes that do not compress, so many that they are taken in slices. */
enum { LARGE = 9 << 20 };

typedef struct large {
    uint8_t *data, *bytes; /* plain; three frames of it */
    size_t n;              /* of bytes */
} large;

static large make_large(void) {
    uint64_t random = 11;
    large l = {.data = malloc(LARGE), .bytes = malloc(LARGE + 65536)};
    assert_true(l.data != NULL && l.bytes != NULL);
    for (size_t i = 0; i < LARGE; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        l.data[i] = (uint8_t)(random >> 56);
    }
    for (size_t at = 0; at < LARGE; at += LARGE / 3) {
        size_t made =
            ZSTD_compress(l.bytes + l.n, LARGE + 65536 - l.n, l.data + at, LARGE / 3, 1);
        assert_false(ZSTD_isError(made));
        l.n += made;
    }
    return l;
}

static void free_large(large *l) {
    free(l->data);
    free(l->bytes);
}

static void large_data_decode_in_slices(void **state) {
    codec_runner *r = *state;
    large l = make_large();
    assert_in_range(l.n, LARGE, LARGE + 65536);
    assert_decodes(r, l.bytes, l.n, l.data, LARGE);
    assert_int_equal(runner_decode(r, l.bytes, l.n, LARGE - 1), HR_ERR_DATA);
    assert_int_equal(runner_decode(r, l.bytes, l.n - 1, LARGE), HR_ERR_DATA);
    memset(l.bytes, 0xFF, 4);
    assert_int_equal(runner_decode(r, l.bytes, l.n, LARGE), HR_ERR_DATA);
    free_large(&l);
}

static void a_cancelled_decode_ends_early(void **state) {
    codec_runner *r = *state;
    large l = make_large();
    uint8_t *out = calloc(1, LARGE);
    static const uint8_t untouched[1024];
    atomic_bool cancelled = true;
    hr_error err = HR_ERROR_INIT;
    hr__decode d = {.worker = &r->worker,
                    .cancelled = &cancelled,
                    .src = l.bytes,
                    .src_nbytes = l.n,
                    .dst = out,
                    .dst_nbytes = LARGE};
    assert_non_null(out);
    assert_int_equal(hr__zstd_decode(&d, &err), HR_ERR_CANCELLED);
    assert_memory_equal(out, untouched, sizeof untouched);
    atomic_store(&cancelled, false);
    assert_int_equal(hr__zstd_decode(&d, &err), HR_OK);
    assert_memory_equal(out, l.data, LARGE);
    free(out);
    free_large(&l);
}

static void a_frame_with_a_dictionary_is_refused_by_its_number(void **state) {
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x21, 77, 1, 9, 0, 0, 'x'};
    assert_refused(*state, frame, sizeof frame, 1, HR_ERR_UNSUPPORTED,
                   "zstd frame needs dictionary 77");
}

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    uint8_t want[512] = {0};
    size_t made = ZSTD_decompress(want, 400, data, n);
    if (runner_decode(r, data, n, 400) == HR_OK) {
        assert_int_equal(r->out_nbytes, made);
        assert_memory_equal(r->out, want, made);
    } else {
        assert_true(ZSTD_isError(made));
    }
}

static void damaged_frames_give_an_error_or_what_libzstd_gives(void **state) {
    uint8_t *data = sample_data(400, 4);
    for (int kind = 0; kind < 4; kind++) {
        frames f = {.n = 0};
        add_skippable(&f);
        add_frame(&f, data, 400, kind & 1, kind >> 1);
        for_each_mutant(f.bytes, f.n, check_mutant, *state);
    }
    free(data);
}

static void parameters_are_checked_for_their_types(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_zstd, "{\"level\":\"3\"}"), HR_OK);
    runner_close(&r);
    assert_int_equal(runner_open(&r, &hr__codec_zstd, "{\"checksum\":\"no\"}"),
                     HR_ERR_METADATA);
    assert_string_equal(r.err.message,
                        "zstd: \"checksum\" is \"no\", expected true or false");
    runner_close(&r);
}

#define with_codec(test) cmocka_unit_test_setup_teardown(test, open_codec, close_codec)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_codec(frames_without_a_size_decode),
        with_codec(several_and_skippable_frames_decode_to_one_chunk),
        with_codec(an_empty_chunk_decodes),
        with_codec(a_frame_of_another_size_is_refused_with_both_sizes),
        with_codec(a_claim_of_an_enormous_size_costs_no_memory),
        with_codec(the_size_may_be_unknown),
        with_codec(a_wrong_checksum_is_named_unless_skipped),
        with_codec(large_data_decode_in_slices),
        with_codec(a_cancelled_decode_ends_early),
        with_codec(a_frame_with_a_dictionary_is_refused_by_its_number),
        with_codec(damaged_frames_give_an_error_or_what_libzstd_gives),
        cmocka_unit_test(parameters_are_checked_for_their_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
