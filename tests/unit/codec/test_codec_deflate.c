/* gzip and zlib streams of every shape. SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "support/codec_run.h"

#define N 3000
enum { ZLIB = 15, GZIP = 31 };

typedef struct stream {
    uint8_t bytes[4 * N];
    size_t n;
} stream;

static void add(stream *s, int format, const uint8_t *data, size_t n, int level,
                gz_header *header) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    if (header != NULL) {
        assert_int_equal(deflateSetHeader(&z, header), Z_OK);
    }
    z.next_in = (uint8_t *)(uintptr_t)data;
    z.avail_in = (unsigned)n;
    z.next_out = s->bytes + s->n;
    z.avail_out = (unsigned)(sizeof s->bytes - s->n);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    s->n += z.total_out;
    (void)deflateEnd(&z);
}

static int open_as(void **state, const hr__codec_type *type) {
    codec_runner *r = malloc(sizeof *r);
    assert_non_null(r);
    assert_int_equal(runner_open(r, type, "{\"level\":1}"), HR_OK);
    *state = r;
    return 0;
}

static int open_gzip(void **state) {
    return open_as(state, &hr__codec_gzip);
}

static int open_zlib(void **state) {
    return open_as(state, &hr__codec_zlib);
}

static int close_codec(void **state) {
    runner_close(*state);
    free(*state);
    return 0;
}

static void every_level_decodes_in_either_wrapper(void **state) {
    uint8_t *data = sample_data(N, 4);
    for (int level = 0; level <= 9; level++) {
        stream s = {.n = 0};
        add(&s, GZIP, data, N, level, NULL);
        assert_decodes(*state, s.bytes, s.n, data, N);
        s.n = 0;
        add(&s, ZLIB, data, N, level, NULL);
        assert_decodes(*state, s.bytes, s.n, data, N);
    }
    free(data);
}

static void gzip_members_and_padding_decode_to_one_chunk(void **state) {
    uint8_t *data = sample_data(N, 4);
    stream s = {.n = 0};
    add(&s, GZIP, data, 1000, 6, NULL);
    add(&s, GZIP, data, 0, 6, NULL);
    add(&s, GZIP, data + 1000, N - 1000, 0, NULL);
    assert_decodes(*state, s.bytes, s.n, data, N);
    memset(s.bytes + s.n, 0, 512);
    assert_decodes(*state, s.bytes, s.n + 512, data, N);
    s.bytes[s.n + 100] = 1;
    assert_refused(*state, s.bytes, s.n + 512, N, HR_ERR_DATA,
                   "512 bytes follow the last gzip member");
    free(data);
}

static void gzip_header_fields_are_passed_over(void **state) {
    uint8_t *data = sample_data(N, 4);
    for (int fields = 0; fields < 16; fields++) {
        uint8_t extra[300] = {1, 2, 0}, name[] = "name", comment[] = "a comment";
        gz_header header = {0};
        header.extra = (fields & 1) != 0 ? extra : NULL;
        header.extra_len = sizeof extra;
        header.name = (fields & 2) != 0 ? name : NULL;
        header.comment = (fields & 4) != 0 ? comment : NULL;
        header.hcrc = (fields & 8) != 0;
        stream s = {.n = 0};
        add(&s, GZIP, data, N, 6, &header);
        assert_decodes(*state, s.bytes, s.n, data, N);
        for (size_t n = 0; n < s.n; n += n < 340 ? 1 : 50) {
            assert_int_equal(runner_decode(*state, s.bytes, n, N), HR_ERR_DATA);
        }
    }
    free(data);
}

static void gzip_sizes_are_checked_and_never_believed(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    stream s = {.n = 0};
    add(&s, GZIP, data, N, 6, NULL);
    assert_refused(r, s.bytes, s.n, N - 1, HR_ERR_DATA,
                   "Deflate stream makes more than the 2999 bytes expected");
    s.bytes[s.n - 1] = 0x7f;
    assert_refused(r, s.bytes, s.n, N, HR_ERR_DATA,
                   "gzip member makes 3000 bytes, its trailer says 2130709432");
    free(data);
}

static void the_size_may_be_unknown(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    stream s = {.n = 0};
    add(&s, GZIP, data, 1000, 6, NULL);
    add(&s, GZIP, data + 1000, N - 1000, 6, NULL);
    assert_int_equal(runner_decode_growing(r, s.bytes, s.n, N), HR_OK);
    assert_int_equal(r->out_nbytes, N);
    assert_memory_equal(r->out, data, N);
    assert_int_equal(runner_decode_growing(r, s.bytes, s.n, N - 1), HR_ERR_DATA);
    free(data);
}

static void wrong_checksums_are_named_unless_skipped(void **state) {
    codec_runner *r = *state;
    uint8_t *data = sample_data(N, 4);
    static const struct {
        int format;
        size_t back;
        const char *message;
    } cases[] = {{GZIP, 8, "gzip CRC-32 is"}, {ZLIB, 1, "zlib Adler-32 is"}};
    for (size_t i = 0; i < 2; i++) {
        stream s = {.n = 0};
        add(&s, cases[i].format, data, N, 6, NULL);
        s.bytes[s.n - cases[i].back] ^= 1;
        assert_int_equal(runner_decode(r, s.bytes, s.n, N), HR_ERR_CHECKSUM);
        assert_non_null(strstr(r->err.message, cases[i].message));
        r->skip_checksums = true;
        assert_decodes(r, s.bytes, s.n, data, N);
        r->skip_checksums = false;
    }
    free(data);
}

static void other_data_are_refused(void **state) {
    codec_runner *r = *state;
    assert_refused(r, "", 0, 10, HR_ERR_DATA,
                   "0 bytes begin with no gzip or zlib header");
    assert_refused(r, "\x28\xb5\x2f\xfd", 4, 10, HR_ERR_DATA,
                   "4 bytes begin with no gzip or zlib header");
    assert_refused(r, "\x78\xbb\0\0\0\0", 6, 10, HR_ERR_UNSUPPORTED,
                   "zlib stream needs a dictionary");
    assert_refused(r, "\x1f\x8b\x07\0\0\0\0\0\0\0", 10, 10, HR_ERR_DATA,
                   "gzip method 7, flags 0x00, expected 8, < 0x20");
    assert_refused(r, "\x1f\x8b\x08\x20\0\0\0\0\0\0", 10, 10, HR_ERR_DATA,
                   "gzip method 8, flags 0x20, expected 8, < 0x20");
}

static void what_follows_a_zlib_stream_is_ignored(void **state) {
    uint8_t *data = sample_data(N, 4);
    stream s = {.n = 0};
    add(&s, ZLIB, data, N, 6, NULL);
    memset(s.bytes + s.n, 'x', 4);
    assert_decodes(*state, s.bytes, s.n + 4, data, N);
    free(data);
}

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    codec_runner *r = user;
    uint8_t want[400] = {0};
    if (runner_decode(r, data, n, sizeof want) == HR_OK) {
        z_stream z = {.next_in = (uint8_t *)(uintptr_t)data,
                      .avail_in = (unsigned)n,
                      .next_out = want,
                      .avail_out = sizeof want};
        assert_int_equal(inflateInit2(&z, 47), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        (void)inflateEnd(&z);
        assert_int_equal(r->out_nbytes, z.total_out);
        assert_memory_equal(r->out, want, r->out_nbytes);
    }
}

static void damaged_streams_give_an_error_or_what_zlib_gives(void **state) {
    uint8_t *data = sample_data(400, 4);
    for (int level = 0; level <= 6; level += 6) {
        stream s = {.n = 0};
        add(&s, GZIP, data, 400, level, NULL);
        for_each_mutant(s.bytes, s.n, check_mutant, *state);
        s.n = 0;
        add(&s, ZLIB, data, 400, level, NULL);
        for_each_mutant(s.bytes, s.n, check_mutant, *state);
    }
    free(data);
}

#define with(open, test) cmocka_unit_test_setup_teardown(test, open, close_codec)

int main(void) {
    const struct CMUnitTest tests[] = {
        with(open_gzip, every_level_decodes_in_either_wrapper),
        with(open_zlib, every_level_decodes_in_either_wrapper),
        with(open_gzip, gzip_members_and_padding_decode_to_one_chunk),
        with(open_gzip, gzip_header_fields_are_passed_over),
        with(open_gzip, gzip_sizes_are_checked_and_never_believed),
        with(open_gzip, the_size_may_be_unknown),
        with(open_zlib, the_size_may_be_unknown),
        with(open_zlib, wrong_checksums_are_named_unless_skipped),
        with(open_zlib, other_data_are_refused),
        with(open_zlib, what_follows_a_zlib_stream_is_ignored),
        with(open_zlib, damaged_streams_give_an_error_or_what_zlib_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
