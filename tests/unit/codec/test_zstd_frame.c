/* Walking zstd streams: every part is found, nothing outside is looked at.
 * SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "codec/codec.h"
#include "codec/zstd_frame.h"
#include "support/codec_run.h"

#define MAX_NBYTES (UINT32_C(1) << 20)

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

/* Letters of some skewed alphabet, and copies. */
static void fill(uint8_t *raw, uint32_t n, uint64_t seed) {
    uint64_t alphabet = 1 + next(&seed) % 250;
    for (uint32_t i = 0; i < n;) {
        uint64_t run = 1 + next(&seed) % 40, back = 1 + next(&seed) % 5000;
        bool is_new = back > i || next(&seed) % 3 == 0;
        for (; run > 0 && i < n; run--, i++) {
            uint64_t letter = next(&seed) % alphabet * (next(&seed) % 256) / 256;
            raw[i] = is_new ? (uint8_t)letter : raw[i - back];
        }
    }
}

static size_t compress(uint8_t *out, const uint8_t *raw, size_t n, int level,
                       bool has_size) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    assert_non_null(c);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, has_size);
    size_t made = ZSTD_compress2(c, out, ZSTD_compressBound(MAX_NBYTES), raw, n);
    assert_false(ZSTD_isError(made));
    ZSTD_freeCCtx(c);
    return made;
}

/* Walk a copy that ends with its allocation. */
static hr_status walk(const uint8_t *src, size_t n, hr__zstd_stream *s, hr_error *err) {
    uint8_t *copy = test_malloc(n == 0 ? 1 : n);
    memcpy(copy, src, n);
    *s = (hr__zstd_stream){0};
    hr_status status = hr__zstd_walk(&hr__malloc_allocator, copy, n, s, err);
    test_free(copy);
    return status;
}

static void free_stream(hr__zstd_stream *s) {
    hr__vec_free(&hr__malloc_allocator, &s->blocks);
}

/* Blocks lie behind each other and hold their parts. */
static void assert_in_order(const hr__zstd_stream *s, size_t n) {
    const hr__zstd_block *b = s->blocks.items;
    for (size_t i = 0; i < s->blocks.n; i++) {
        size_t end = i + 1 < s->blocks.n ? b[i + 1].at : n;
        assert_true(b[i].at < b[i].literals && b[i].literals <= end);
        assert_true(b[i].literals_nbytes <= end - b[i].literals);
        if (b[i].nsequences > 0) {
            assert_true(b[i].sequences > b[i].literals);
            assert_true(b[i].sequences + b[i].sequences_nbytes <= end);
            for (int code = 0; code < HR__ZSTD_NCODES; code++) {
                assert_true(b[i].tables[code].at < end);
            }
        }
    }
}

static void what_libzstd_writes_is_walked_to_its_end(void **state) {
    (void)state;
    uint8_t *raw = test_malloc(MAX_NBYTES);
    uint8_t *src = test_malloc(ZSTD_compressBound(MAX_NBYTES));
    static const uint32_t sizes[] = {0, 1, 10, 300, 5000, 70000, 400000};
    uint64_t nsequences = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int level = -7; level <= 19; level += 13) {
            hr__zstd_stream s;
            hr_error err = HR_ERROR_INIT;
            fill(raw, sizes[i], i + 1);
            size_t n = compress(src, raw, sizes[i], level, level > 0);
            assert_int_equal(walk(src, n, &s, &err), HR_OK);
            assert_true(s.content_nbytes == (level > 0 ? sizes[i] : HR__SIZE_UNKNOWN));
            assert_true(s.blocks.n >= 1);
            assert_in_order(&s, n);
            const hr__zstd_block *b = s.blocks.items;
            for (size_t k = 0; k < s.blocks.n; k++) {
                nsequences += b[k].nsequences;
                assert_int_equal(b[k].begins_frame, k == 0);
            }
            free_stream(&s);
        }
    }
    assert_true(nsequences > 1000);
    test_free(raw);
    test_free(src);
}

static void frames_and_skippable_frames_follow_each_other(void **state) {
    (void)state;
    uint8_t raw[100], src[1000];
    static const uint8_t skippable[] = {0x53, 0x2A, 0x4D, 0x18, 3,  0,
                                        0,    0,    'x',  'y',  'z'};
    memset(raw, 'a', sizeof raw);
    size_t n = ZSTD_compress(src, 400, raw, sizeof raw, 3);
    memcpy(src + n, skippable, sizeof skippable);
    n += sizeof skippable;
    n += ZSTD_compress(src + n, 400, raw, 50, 3);
    hr__zstd_stream s;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(walk(src, n, &s, &err), HR_OK);
    assert_true(s.content_nbytes == 150);
    const hr__zstd_block *b = s.blocks.items;
    uint32_t nframes = 0;
    for (size_t i = 0; i < s.blocks.n; i++) {
        nframes += b[i].begins_frame;
    }
    assert_int_equal(nframes, 2);
    free_stream(&s);
}

static void dictionaries_are_refused_by_number(void **state) {
    (void)state;
    static const uint8_t src[] = {0x28, 0xB5, 0x2F, 0xFD, 0x21, 77, 1, 0x09, 0, 0, 'x'};
    hr__zstd_stream s;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(walk(src, sizeof src, &s, &err), HR_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "dictionary 77"));
    free_stream(&s);
}

static void a_table_that_never_was_is_not_repeated(void **state) {
    (void)state;
    /* A block of no literals, one sequence, all tables repeated. */
    static const uint8_t src[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 9,   0x25,
                                  0,    0,    0x00, 1,    0xFC, 0x80};
    hr__zstd_stream s;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(walk(src, sizeof src, &s, &err), HR_ERR_DATA);
    free_stream(&s);
}

/* What libzstd takes is walked; what is cut off is refused. */
static void truncations_and_changes_are_survived(void **state) {
    (void)state;
    enum { N = 3000 };
    uint8_t *raw = test_malloc(N), *out = test_malloc(N);
    uint8_t *src = test_malloc(ZSTD_compressBound(MAX_NBYTES));
    uint64_t random = 5;
    uint32_t naccepted = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        fill(raw, N, i % 7 + 1);
        size_t n = compress(src, raw, N, (int)(i % 5), true);
        bool is_cut = i % 4 == 0;
        if (is_cut) {
            n = next(&random) % n;
        } else {
            src[next(&random) % n] ^= (uint8_t)(1U << next(&random) % 8);
        }
        size_t made = ZSTD_decompress(out, N, src, n);
        hr__zstd_stream s;
        hr_error err = HR_ERROR_INIT;
        hr_status status = walk(src, n, &s, &err);
        if (!ZSTD_isError(made) && status != HR_OK) {
            assert_non_null(strstr(err.message, "reserved"));
        }
        if (is_cut && n > 0) {
            assert_int_equal(status, HR_ERR_DATA);
        }
        naccepted += status == HR_OK;
        free_stream(&s);
    }
    assert_true(naccepted > 500);
    test_free(raw);
    test_free(out);
    test_free(src);
}

/* --- the room that kernels need --- */

static uint64_t total_room(const hr__zstd_stream *s, uint64_t made) {
    const hr__zstd_block *b = s->blocks.items;
    uint64_t nbytes = 0;
    for (size_t i = 0; i < s->blocks.n; i++) {
        const hr__zstd_room room = hr__zstd_room_of(&b[i], made);
        assert_true(room.longs >= 4 * (uint64_t)b[i].nsequences &&
                    room.nbytes >= room.longs + 8 * (uint64_t)room.most_longs);
        nbytes += room.nbytes;
    }
    return nbytes;
}

/* Counts of photons around a level, as of a camera: few literals, short matches. */
static void fill_with_noise(uint8_t *raw, uint32_t n, uint64_t seed) {
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        uint64_t sum = 0;
        for (int k = 0; k < 12; k++) {
            sum += next(&seed) % 11;
        }
        raw[i] = (uint8_t)(60 + sum);
        raw[i + 1] = next(&seed) % 50 == 0;
    }
}

/* Sums of steps, as floats whose last bits are cut off. */
static void fill_with_floats(uint8_t *raw, uint32_t n, uint64_t seed) {
    float x = 280;
    for (uint32_t i = 0; i + 3 < n; i += 4) {
        uint32_t bits;
        x += (float)(int)(next(&seed) % 101 - 50) * 0.002F;
        memcpy(&bits, &x, sizeof bits);
        bits &= 0xFFFFF800U;
        memcpy(raw + i, &bits, sizeof bits);
    }
}

static void room_is_at_most_five_quarters_of_the_output(void **state) {
    (void)state;
    static void (*const fills[])(uint8_t *, uint32_t, uint64_t) = {fill, fill_with_noise,
                                                                   fill_with_floats};
    static const int levels[] = {1, 3, 9, 15};
    static const uint32_t sizes[] = {4096, 65536, 262144, MAX_NBYTES};
    uint8_t *raw = test_malloc(MAX_NBYTES);
    uint8_t *out = test_malloc(ZSTD_compressBound(MAX_NBYTES));
    for (size_t i = 0; i < sizeof fills / sizeof *fills * 4 * 4; i++) {
        const uint32_t size = sizes[i / 4 % 4];
        fills[i / 16](raw, size, i);
        size_t n = compress(out, raw, size, levels[i % 4], true);
        hr__zstd_stream s;
        hr_error err = HR_ERROR_INIT;
        uint64_t room = 0;
        assert_int_equal(walk(out, n, &s, &err), HR_OK);
        assert_int_equal(
            hr__zstd_stream_room(s.blocks.items, s.blocks.n, size, &room, &err), HR_OK);
        assert_int_equal(room, total_room(&s, size));
        assert_true(room <= size + size / 4);
        free_stream(&s);
    }
    test_free(out);
    test_free(raw);
}

/* One block of sequences that make three bytes each. */
static size_t compress_to_threes(uint8_t *out, size_t most, uint8_t *raw, uint32_t n) {
    enum { HEAD = 999 };
    uint32_t nsequences = (n - HEAD) / 3;
    uint64_t seed = 1;
    ZSTD_Sequence *q = test_malloc((nsequences + 1) * sizeof *q);
    for (uint32_t i = 0; i < HEAD; i++) {
        raw[i] = (uint8_t)next(&seed);
    }
    for (uint32_t i = 0; i < nsequences; i++) {
        uint32_t at = HEAD + 3 * i, offset = 3 + (uint32_t)next(&seed) % (HEAD - 3);
        q[i] = (ZSTD_Sequence){
            .offset = offset, .litLength = i == 0 ? HEAD : 0, .matchLength = 3};
        memcpy(raw + at, raw + at - offset, 3);
    }
    q[nsequences] = (ZSTD_Sequence){0};
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_blockDelimiters, ZSTD_sf_noBlockDelimiters);
    ZSTD_CCtx_setParameter(c, ZSTD_c_minMatch, 3);
    size_t made = ZSTD_compressSequences(c, out, most, q, nsequences + 1, raw, n);
    assert_false(ZSTD_isError(made));
    ZSTD_freeCCtx(c);
    test_free(q);
    return made;
}

static void what_needs_more_room_is_left_to_the_host(void **state) {
    (void)state;
    enum { N = 99999 };
    uint8_t *raw = test_malloc(N), *out = test_malloc(ZSTD_compressBound(N));
    size_t n = compress_to_threes(out, ZSTD_compressBound(N), raw, N);
    hr__zstd_stream s;
    hr_error err = HR_ERROR_INIT;
    uint64_t room = 7;
    assert_int_equal(walk(out, n, &s, &err), HR_OK);
    assert_true(total_room(&s, N) > N + N / 4);
    assert_int_equal(hr__zstd_stream_room(s.blocks.items, s.blocks.n, N, &room, &err),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(room, 7);
    free_stream(&s);
    test_free(out);
    test_free(raw);
}

static void more_literals_than_output_are_an_error(void **state) {
    (void)state;
    hr__zstd_block blocks[2] = {{.kind = HR__ZSTD_CODED,
                                 .literals_kind = HR__ZSTD_CODED,
                                 .nliterals = 60,
                                 .max_nbytes = 1000},
                                {.kind = HR__ZSTD_CODED,
                                 .literals_kind = HR__ZSTD_RLE,
                                 .nliterals = 41,
                                 .max_nbytes = 1000}};
    hr_error err = HR_ERROR_INIT;
    uint64_t room = 7;
    assert_int_equal(hr__zstd_stream_room(blocks, 2, 100, &room, &err), HR_ERR_DATA);
    assert_int_equal(room, 7);
    assert_int_equal(hr__zstd_stream_room(blocks, 2, 101, &room, &err), HR_OK);
    assert_int_equal(room, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_libzstd_writes_is_walked_to_its_end),
        cmocka_unit_test(frames_and_skippable_frames_follow_each_other),
        cmocka_unit_test(dictionaries_are_refused_by_number),
        cmocka_unit_test(a_table_that_never_was_is_not_repeated),
        cmocka_unit_test(truncations_and_changes_are_survived),
        cmocka_unit_test(room_is_at_most_five_quarters_of_the_output),
        cmocka_unit_test(what_needs_more_room_is_left_to_the_host),
        cmocka_unit_test(more_literals_than_output_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
