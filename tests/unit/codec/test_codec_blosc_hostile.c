/* Damaged Blosc chunks. SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>

#include "codec/blosc_frame.h"
#include "codec/decode.h"
#include "core/bytes.h"
#include "support/codec_run.h"

#define NBYTES 1100
#define BLOCKSIZE 512

typedef struct mutant_check {
    codec_runner r;
    size_t accepted, tried;
} mutant_check;

/* What libblosc makes of it; false for an error. It trusts the size in the header. */
static bool oracle(const uint8_t *data, size_t n, uint8_t out[NBYTES]) {
    if (n < HR__BLOSC_HEADER_NBYTES || hr__load_le32(data + 12) > n ||
        hr__load_le32(data + 4) != NBYTES) {
        return false;
    }
    return blosc_decompress_ctx(data, out, NBYTES, 1) == NBYTES;
}

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    mutant_check *check = user;
    uint8_t want[NBYTES];
    memset(want, 0x5A, sizeof want);
    check->tried++;
    if (runner_decode(&check->r, data, n, NBYTES) == HR_OK) {
        assert_true(oracle(data, n, want));
        assert_memory_equal(check->r.out, want, NBYTES);
        check->accepted++;
    }
}

static void damaged_chunks_give_an_error_or_what_libblosc_gives(void **state) {
    (void)state;
    static const char *const names[] = {"blosclz", "lz4", "snappy", "zlib", "zstd"};
    uint8_t *data = sample_data(NBYTES, 4);
    for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
        for (int shuffle = 0; shuffle <= 2; shuffle++) {
            uint8_t packed[NBYTES + BLOSC_MAX_OVERHEAD];
            int n = blosc_compress_ctx(5, shuffle, 4, NBYTES, data, packed, sizeof packed,
                                       names[c], BLOCKSIZE, 1);
            assert_true(n > 0);
            mutant_check check = {.tried = 0};
            assert_int_equal(runner_open(&check.r, &hr__codec_blosc, NULL), HR_OK);
            for_each_mutant(packed, (size_t)n, check_mutant, &check);
            assert_true(check.accepted < check.tried);
            runner_close(&check.r);
        }
    }
    free(data);
}

/* A chunk of two blocks that are stored, at b[0] and b[1]. */
static size_t make_chunk(uint8_t chunk[256], const uint32_t b[2]) {
    static const uint8_t header[] = {2,  1, 0x30, 1, 64, 0, 0, 0,
                                     32, 0, 0,    0, 96, 0, 0, 0};
    memset(chunk, 0, 256);
    memcpy(chunk, header, sizeof header);
    for (size_t i = 0; i < 2; i++) {
        chunk[16 + 4 * i] = (uint8_t)b[i];
        chunk[24 + 36 * i] = 32;
        for (size_t k = 0; k < 32; k++) {
            chunk[28 + 36 * i + k] = (uint8_t)(32 * i + k);
        }
    }
    return 96;
}

static void blocks_may_come_in_any_order_but_not_share_bytes(void **state) {
    (void)state;
    codec_runner r;
    uint8_t chunk[256], want[64];
    for (size_t i = 0; i < 64; i++) {
        want[i] = (uint8_t)(i ^ 32);
    }
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    size_t n = make_chunk(chunk, (uint32_t[2]){60, 24});
    assert_decodes(&r, chunk, n, want, 64);
    /* Two blocks of one place fit into cbytes, three do not. */
    n = make_chunk(chunk, (uint32_t[2]){24, 24});
    chunk[12] = 60;
    assert_refused(&r, chunk, n, 64, HR_ERR_DATA,
                   "Blosc block 1 shares bytes with others");
    runner_close(&r);
}

static void headers_that_contradict_the_chunk_are_refused(void **state) {
    (void)state;
    codec_runner r;
    uint8_t good[256], chunk[256];
    size_t n = make_chunk(good, (uint32_t[2]){24, 60});
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    assert_int_equal(runner_decode(&r, good, n, 64), HR_OK);
    assert_int_equal(runner_decode(&r, good, n + 9, 64), HR_OK);
    assert_refused(&r, good, 15, 64, HR_ERR_DATA,
                   "Blosc chunk is 15 bytes, its header is 16");
    assert_refused(&r, good, n - 1, 64, HR_ERR_DATA,
                   "Blosc header says 96 bytes, chunk is 95");
    assert_refused(&r, good, n, 65, HR_ERR_DATA,
                   "Blosc header says 64 bytes decoded, expected 65");
    static const struct {
        size_t at;
        uint8_t value;
        hr_status status;
        const char *message;
    } cases[] = {
        {0, 3, HR_ERR_UNSUPPORTED,
         "Blosc format version 3 is that of Blosc 2, expected 2"},
        {0, 1, HR_ERR_DATA, "Blosc header has version 1, flags 0x30"},
        {1, 2, HR_ERR_UNSUPPORTED, "Blosc inner format 1, version 2"},
        {2, 0x38, HR_ERR_DATA, "Blosc header has version 2, flags 0x38"},
        {2, 0xb0, HR_ERR_UNSUPPORTED, "Blosc inner format 5, version 1"},
        {2, 0x32, HR_ERR_DATA,
         "Blosc chunk stores 80 bytes as they are, its header says 64"},
        {3, 0, HR_ERR_DATA,
         "Blosc header says blocks of 32 bytes, items of 0, for 64 bytes"},
        {7, 0xff, HR_ERR_DATA,
         "Blosc header says 4278190144 bytes decoded, limit is 2147483631"},
        {8, 0, HR_ERR_DATA,
         "Blosc header says blocks of 0 bytes, items of 1, for 64 bytes"},
        {8, 65, HR_ERR_DATA,
         "Blosc header says blocks of 65 bytes, items of 1, for 64 bytes"},
        {8, 1, HR_ERR_DATA, "Blosc chunk of 96 bytes cannot hold 64 blocks"},
        {12, 15, HR_ERR_DATA, "Blosc header says 15 bytes, chunk is 96"},
        {16, 93, HR_ERR_DATA, "Blosc block 0 has a stream at byte 93, chunk is 96"},
        {23, 0x80, HR_ERR_DATA,
         "Blosc block 1 has a stream at byte 2147483708, chunk is 96"},
        {60, 33, HR_ERR_DATA,
         "Blosc block 1 has a stream of 33 bytes at byte 64, chunk is 96"},
        {63, 0x80, HR_ERR_DATA,
         "Blosc block 1 has a stream of 2147483680 bytes at byte 64, chunk is 96"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(chunk, good, sizeof chunk);
        chunk[cases[i].at] = cases[i].value;
        assert_refused(&r, chunk, n, 64, cases[i].status, cases[i].message);
    }
    runner_close(&r);
}

static void streams_that_make_too_little_are_refused(void **state) {
    (void)state;
    codec_runner r;
    uint8_t chunk[256];
    size_t n = make_chunk(chunk, (uint32_t[2]){24, 60});
    chunk[60] = 5; /* an LZ4 block of four literals */
    chunk[64] = 0x40;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    assert_refused(&r, chunk, n, 64, HR_ERR_DATA,
                   "Blosc stream at byte 64 makes 4 bytes, expected 32");
    runner_close(&r);
}

/* The stream "abcde", a match, "z". */
static void check_blosclz_match(const uint8_t *match, size_t match_nbytes, size_t nbytes,
                                size_t distance) {
    uint8_t in[32] = {4, 'a', 'b', 'c', 'd', 'e'}, out[600], want[600] = "abcde";
    memcpy(in + 6, match, match_nbytes);
    in[6 + match_nbytes] = 0;
    in[7 + match_nbytes] = 'z';
    for (size_t i = 5; i < 5 + nbytes; i++) {
        want[i] = want[i - distance];
    }
    want[5 + nbytes] = 'z';
    hr_error err = HR_ERROR_INIT;
    hr__decode d = {
        .src = in, .src_nbytes = 8 + match_nbytes, .dst = out, .dst_nbytes = 6 + nbytes};
    assert_int_equal(hr__blosclz_decode(&d, &err), HR_OK);
    assert_int_equal(d.out_nbytes, 6 + nbytes);
    assert_memory_equal(out, want, d.out_nbytes);
    d.dst_nbytes -= 2; /* the match itself does not fit */
    assert_int_equal(hr__blosclz_decode(&d, &err), HR_ERR_DATA);
}

static void blosclz_matches_may_be_long_and_overlap(void **state) {
    (void)state;
    check_blosclz_match((const uint8_t[]){0x20, 0}, 2, 3, 1);
    check_blosclz_match((const uint8_t[]){0xc0, 1}, 2, 8, 2);
    check_blosclz_match((const uint8_t[]){0xe0, 0, 2}, 3, 9, 3);
    check_blosclz_match((const uint8_t[]){0xe0, 255, 255, 0, 4}, 5, 519, 5);
}

/* 260 literal runs of 32 bytes, a match 8192 + `more` back, one literal. */
static hr_status decode_far(unsigned more, uint8_t out[8324], hr_error *err) {
    uint8_t in[260 * 33 + 6];
    size_t n = 0;
    for (size_t run = 0; run < 260; run++) {
        in[n++] = 31;
        for (size_t i = 0; i < 32; i++) {
            in[n++] = (uint8_t)(run * 7 + i);
        }
    }
    const uint8_t match[] = {0x3f, 255, (uint8_t)(more >> 8), (uint8_t)more, 0, 'z'};
    memcpy(in + n, match, sizeof match);
    hr__decode d = {.src = in, .src_nbytes = sizeof in, .dst = out, .dst_nbytes = 8324};
    return hr__blosclz_decode(&d, err);
}

static void blosclz_matches_may_lie_far_back(void **state) {
    (void)state;
    uint8_t out[8324];
    hr_error err = HR_ERROR_INIT;
    for (unsigned more = 0; more <= 128; more++) {
        assert_int_equal(decode_far(more, out, &err), HR_OK);
        assert_memory_equal(out + 8320, out + 128 - more, 3);
        assert_int_equal(out[8323], 'z');
    }
    assert_int_equal(decode_far(129, out, &err), HR_ERR_DATA); /* before the first */
    assert_int_equal(decode_far(0xffff, out, &err), HR_ERR_DATA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_chunks_give_an_error_or_what_libblosc_gives),
        cmocka_unit_test(blocks_may_come_in_any_order_but_not_share_bytes),
        cmocka_unit_test(headers_that_contradict_the_chunk_are_refused),
        cmocka_unit_test(streams_that_make_too_little_are_refused),
        cmocka_unit_test(blosclz_matches_may_be_long_and_overlap),
        cmocka_unit_test(blosclz_matches_may_lie_far_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
