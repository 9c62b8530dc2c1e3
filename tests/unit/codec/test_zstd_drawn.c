/* Drawn Zstandard streams, on the host. SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "codec/zstd_frame.h"
#include "kern/zstd_writer.h"
#include "support/codec_run.h"

/* The one of a number, which libzstd must read as it was meant. */
static zstd_drawn draw(uint64_t number) {
    zstd_drawn d;
    zstd_draw(number, &d);
    assert_true(zstd_agrees(&d));
    return d;
}

/* Walk a copy that ends with its allocation; the blocks, with how many begin a frame. */
static hr_status walk(const uint8_t *src, size_t n, size_t *nframes, uint64_t *nbytes) {
    uint8_t *copy = test_malloc(n + (n == 0));
    memcpy(copy, src, n);
    hr__zstd_stream s = {0};
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr__zstd_walk(&hr__malloc_allocator, copy, n, &s, &err);
    const hr__zstd_block *blocks = s.blocks.items;
    *nframes = 0;
    *nbytes = s.content_nbytes;
    for (size_t i = 0; i < s.blocks.n; i++) {
        *nframes += blocks[i].begins_frame;
    }
    hr__vec_free(&hr__malloc_allocator, &s.blocks);
    test_free(copy);
    return status;
}

static void the_first_streams_have_all_modes(void **state) {
    (void)state;
    uint64_t reached[ZSTD_NGROUPS] = {0};
    for (uint64_t i = 0; i < ZSTD_ENOUGH; i++) {
        zstd_drawn d = draw(i);
        for (uint32_t k = 0; k < ZSTD_NGROUPS; k++) {
            reached[k] |= d.reached[k];
        }
        zstd_drawn_free(&d);
    }
    assert_int_equal(zstd_print_missing(reached), 0);
}

static void a_number_has_one_stream(void **state) {
    (void)state;
    zstd_drawn one = draw(5), again = draw(5), other = draw(6);
    assert_int_equal(one.stream_nbytes, again.stream_nbytes);
    assert_memory_equal(one.stream, again.stream, one.stream_nbytes);
    assert_true(one.stream_nbytes != other.stream_nbytes ||
                memcmp(one.stream, other.stream, one.stream_nbytes) != 0);
    zstd_drawn_free(&one);
    zstd_drawn_free(&again);
    zstd_drawn_free(&other);
}

static void all_are_walked_to_their_ends(void **state) {
    (void)state;
    for (uint64_t i = 0; i < ZSTD_ENOUGH; i++) {
        zstd_drawn d = draw(i);
        size_t nframes;
        uint64_t nbytes;
        assert_int_equal(walk(d.stream, d.stream_nbytes, &nframes, &nbytes), HR_OK);
        assert_true(d.reached[ZSTD_FRAMES] == UINT64_C(1) << nframes);
        const bool has_size = (d.reached[ZSTD_CONTENT_SIZE] & 1) == 0;
        assert_true(nbytes == (has_size ? d.raw_nbytes : HR__SIZE_UNKNOWN));
        zstd_drawn_free(&d);
    }
}

/* Whole frames, as libzstd finds them. */
static bool ends_with_a_frame(const uint8_t *src, size_t n) {
    while (n > 0) {
        size_t used = ZSTD_findFrameCompressedSize(src, n);
        if (ZSTD_isError(used)) {
            return false;
        }
        src += used;
        n -= used;
    }
    return true;
}

static void a_stream_is_cut_only_between_frames(void **state) {
    codec_runner *r = *state;
    uint32_t nwhole = 0, ncut = 0;
    for (uint64_t i = 0; i < 300; i++) {
        zstd_drawn d = draw(i);
        for (uint32_t n = 1; n < d.stream_nbytes && d.stream_nbytes < 400; n++) {
            const bool is_whole = ends_with_a_frame(d.stream, n);
            size_t nframes;
            uint64_t nbytes;
            hr_status status = walk(d.stream, n, &nframes, &nbytes);
            assert_int_equal(status, is_whole ? HR_OK : HR_ERR_DATA);
            status = runner_decode(r, d.stream, n, d.raw_nbytes);
            assert_true(is_whole ? status == HR_OK
                                 : status == HR_ERR_DATA || status == HR_ERR_CHECKSUM);
            nwhole += is_whole;
            ncut += !is_whole;
        }
        zstd_drawn_free(&d);
    }
    assert_true(nwhole > 20 && ncut > 3000);
}

/* --- the host's decoder --- */

static int open_codec(void **state) {
    codec_runner *r = test_malloc(sizeof *r);
    assert_int_equal(runner_open(r, &hr__codec_zstd, "{\"level\":3}"), HR_OK);
    *state = r;
    return 0;
}

static int close_codec(void **state) {
    runner_close(*state);
    test_free(*state);
    return 0;
}

static void the_host_decodes_all(void **state) {
    for (uint64_t i = 0; i < ZSTD_ENOUGH; i++) {
        zstd_drawn d = draw(i);
        assert_decodes(*state, d.stream, d.stream_nbytes, d.raw, d.raw_nbytes);
        zstd_drawn_free(&d);
    }
}

/* What has come of a stream so far. */
typedef struct received {
    const zstd_drawn *of;
    size_t n;
} received;

static bool receive(void *user, const uint8_t *bytes, size_t n) {
    received *r = user;
    assert_true(n <= r->of->raw_nbytes - r->n);
    assert_memory_equal(r->of->raw + r->n, bytes, n);
    r->n += n;
    return true;
}

static void the_host_decodes_pieces(void **state) {
    codec_runner *r = *state;
    uint32_t nlarge = 0; /* windows */
    for (uint64_t i = 0; i < ZSTD_ENOUGH; i++) {
        zstd_drawn d = draw(i);
        uint8_t piece[1000];
        received got = {.of = &d};
        const hr__sink sink = {.put = receive, .user = &got};
        hr_error err = HR_ERROR_INIT;
        hr__decode decode = {.worker = &r->worker,
                             .src = d.stream,
                             .src_nbytes = d.stream_nbytes,
                             .dst = piece,
                             .dst_nbytes = sizeof piece};
        hr_status status = r->codec.type->decode_pieces(&r->codec, &decode, &sink, &err);
        if (status == HR_ERR_UNSUPPORTED) {
            assert_non_null(strstr(err.message, "window is too large"));
            nlarge++;
        } else {
            assert_int_equal(status, HR_OK);
            assert_int_equal(got.n, d.raw_nbytes);
        }
        zstd_drawn_free(&d);
    }
    assert_true(nlarge > 0 && nlarge < ZSTD_ENOUGH / 2);
}

int main(void) {
#define with_codec(test) cmocka_unit_test_setup_teardown(test, open_codec, close_codec)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_streams_have_all_modes),
        cmocka_unit_test(a_number_has_one_stream),
        cmocka_unit_test(all_are_walked_to_their_ends),
        with_codec(a_stream_is_cut_only_between_frames),
        with_codec(the_host_decodes_all),
        with_codec(the_host_decodes_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
