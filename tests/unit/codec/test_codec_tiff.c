/* The codecs of TIFF. SPDX-License-Identifier: Apache-2.0 */
#include "codec/leaves.h"
#include "support/codec_run.h"
#include "support/tiff_maker.h"

#define N 60000

static codec_runner open_codec(const hr__codec_type *type) {
    codec_runner r;
    assert_int_equal(runner_open(&r, type, "{}"), HR_OK);
    return r;
}

/* --- LZW --- */

static void lzw_of_both_styles_decodes_over_many_tables(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    uint8_t *packed = malloc(2 * N + 64);
    for (size_t typesize = 1; typesize <= 8; typesize *= 2) {
        uint8_t *data = sample_data(N, typesize);
        for (int is_old = 0; is_old < 2; is_old++) {
            size_t n = tiff_encode_lzw(data, N, is_old != 0, packed);
            assert_decodes(&r, packed, n, data, N);
            n = tiff_encode_lzw(data, 1, is_old != 0, packed);
            assert_decodes(&r, packed, n, data, 1);
        }
        free(data);
    }
    free(packed);
    runner_close(&r);
}

static void lzw_of_one_byte_over_and_over_decodes(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    uint8_t *data = calloc(N, 1), *packed = malloc(2 * N + 64);
    size_t n = tiff_encode_lzw(data, N, false, packed);
    assert_decodes(&r, packed, n, data, N);
    free(data);
    free(packed);
    runner_close(&r);
}

typedef struct codes {
    uint8_t bytes[64];
    size_t nbits;
} codes;

static void put_code(codes *c, unsigned code) { /* of 9 bits, the highest first */
    for (unsigned i = 0; i < 9; i++, c->nbits++) {
        unsigned bit = code >> (8 - i) & 1;
        c->bytes[c->nbits / 8] |= (uint8_t)(bit << (7 - c->nbits % 8));
    }
}

static codes make_codes(size_t n, const unsigned *list) {
    codes c = {.nbits = 0};
    for (size_t i = 0; i < n; i++) {
        put_code(&c, list[i]);
    }
    return c;
}

#define CODES(...)                                                                       \
    make_codes(sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned),                     \
               (unsigned[]){__VA_ARGS__})

static void lzw_needs_no_clear_no_end_and_minds_nothing_behind(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    codes c = CODES('a', 'b', 258, 259, 261); /* 261: ab·a, as it is being made */
    assert_decodes(&r, c.bytes, (c.nbits + 7) / 8,
                   "abab"
                   "ba"
                   "bab",
                   9);
    c = CODES(256, 256, 'a', 258, 256, 'b', 257, 300, 511);
    assert_decodes(&r, c.bytes, (c.nbits + 7) / 8, "aaab", 4);
    c = CODES(256, 'a', 258, 300, 300); /* full after two codes */
    assert_decodes(&r, c.bytes, (c.nbits + 7) / 8, "aa", 2);
    runner_close(&r);
}

static void lzw_refuses_codes_that_are_not_made_yet(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    codes c = CODES(256, 'a', 259);
    assert_int_equal(runner_decode(&r, c.bytes, (c.nbits + 7) / 8, 9), HR_ERR_DATA);
    assert_non_null(strstr(r.err.message, "LZW code 259"));
    c = CODES(256, 258);
    assert_int_equal(runner_decode(&r, c.bytes, (c.nbits + 7) / 8, 9), HR_ERR_DATA);
    runner_close(&r);
}

static void short_streams_end_short(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    codes c = CODES(256, 'a', 257);
    assert_int_equal(runner_decode(&r, c.bytes, (c.nbits + 7) / 8, 9), HR_OK);
    assert_int_equal(r.out_nbytes, 1);
    assert_int_equal(runner_decode(&r, "", 0, 9), HR_OK);
    assert_int_equal(r.out_nbytes, 0);
    runner_close(&r);
}

/* A table that nobody clears stays as it is when it is full. */
static void lzw_goes_on_with_a_full_table(void **state) {
    (void)state;
    enum { NCODES = 4400 };
    codec_runner r = open_codec(&hr__codec_tiff_lzw);
    uint8_t *packed = calloc(2, NCODES), *data = malloc(NCODES);
    size_t nbits = 0;
    unsigned next = 258, width = 9;
    for (size_t i = 0; i < NCODES; i++) {
        data[i] = (uint8_t)(1 + i * 7 % 251);
        for (unsigned k = 0; k < width; k++, nbits++) {
            unsigned bit = (unsigned)data[i] >> (width - 1 - k) & 1;
            packed[nbits / 8] |= (uint8_t)(bit << (7 - nbits % 8));
        }
        next += i > 0 && next < 4096;
        width += next + 1 >= (1U << width) && width < 12;
    }
    assert_decodes(&r, packed, (nbits + 7) / 8, data, NCODES);
    free(packed);
    free(data);
    runner_close(&r);
}

/* --- PackBits --- */

static void packbits_decodes_and_stops_where_the_block_is_full(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_packbits);
    const uint8_t apple[] = {0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0xFD, 0xAA,
                             0x03, 0x80, 0x00, 0x2A, 0x22, 0x80, 0xF7, 0xAA};
    const uint8_t want[] = {0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA,
                            0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22, 0xAA, 0xAA,
                            0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA};
    for (size_t n = 0; n <= sizeof want; n++) {
        assert_decodes(&r, apple, sizeof apple, want, n);
    }
    uint8_t *data = sample_data(N, 2), *packed = malloc(2 * N + 64);
    size_t n = tiff_encode_packbits(data, N, packed);
    assert_decodes(&r, packed, n, data, N);
    assert_int_equal(runner_decode(&r,
                                   "\x05"
                                   "ab",
                                   3, 9),
                     HR_OK); /* cut off */
    assert_int_equal(r.out_nbytes, 2);
    free(data);
    free(packed);
    runner_close(&r);
}

static void large_strips_of_packbits_are_streams_for_many_teams(void **state) {
    (void)state;
    const size_t n = (3 << 20) + 5;
    uint8_t *data = sample_data(n, 2), *packed = malloc(2 * n), *out = calloc(n, 1);
    memset(data + n / 3, 7, n / 3);
    const size_t npacked = tiff_encode_packbits(data, n, packed);
    for (size_t cut = 0; cut < 3; cut++) { /* a stream that is too short ends short */
        hr__leaves l = {.allocator = &hr__malloc_allocator, .base = packed};
        hr__decode d = {.src = packed, .src_nbytes = npacked - cut, .dst_nbytes = n};
        assert_int_equal(hr__codec_tiff_packbits.leaves(NULL, &d, &l, NULL), HR_OK);
        assert_in_range(l.leaves.n, 20, 25);
        const hr__leaf *leaves = l.leaves.items;
        size_t src = 0, dst = 0;
        for (size_t i = 0; i < l.leaves.n; i++) {
            assert_int_equal(leaves[i].src, src);
            assert_int_equal(leaves[i].dst, dst);
            hr__decode one = {.src = packed + src,
                              .src_nbytes = leaves[i].src_nbytes,
                              .dst = out + dst,
                              .dst_nbytes = leaves[i].dst_nbytes};
            assert_int_equal(hr__codec_tiff_packbits.decode(NULL, &one, NULL), HR_OK);
            bool is_short = cut > 0 && i + 1 == l.leaves.n;
            assert_int_equal(one.out_nbytes < leaves[i].dst_nbytes, is_short);
            src += leaves[i].src_nbytes;
            dst += leaves[i].dst_nbytes;
        }
        assert_int_equal(src, npacked - cut);
        assert_int_equal(dst, n);
        assert_memory_equal(out, data, cut == 0 ? n : n - 128);
        hr__vec_free(&hr__malloc_allocator, &l.leaves);
    }
    free(out);
    free(packed);
    free(data);
}

/* --- filters, as a chain makes them --- */

static hr_status run_filter(const char *json, const hr_dtype *dtype, int64_t nelems,
                            const void *src, size_t src_nbytes, void *dst,
                            hr_error *err) {
    hr__arena arena;
    hr__worker worker;
    hr__chain chain;
    hr__spec spec = {.ndim = 1, .shape = {nelems}, .dtype = *dtype};
    assert_true(hr__spec_measure(&spec));
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__worker_init(&worker, &hr__malloc_allocator);
    json_object *codec = json_tokener_parse(json);
    assert_non_null(codec);
    json_object *list = json_object_new_array();
    json_object_array_add(list, codec);
    hr_status status = hr__chain_parse_v2(list, NULL, &spec, &arena, NULL, &chain, err);
    if (status == HR_OK) {
        hr__decode d = {.worker = &worker,
                        .src = src,
                        .src_nbytes = src_nbytes,
                        .dst = dst,
                        .dst_nbytes = spec.nbytes};
        status = hr__chain_decode(&chain, &d, err);
    }
    json_object_put(list);
    hr__worker_free(&worker);
    hr__arena_free(&arena);
    return status;
}

#define assert_filter(json, kind, src, want)                                             \
    do {                                                                                 \
        hr_error err_ = HR_ERROR_INIT;                                                   \
        hr_dtype type_ = hr__dtype(kind, sizeof *(want));                                \
        uint8_t got_[sizeof(want)];                                                      \
        if (run_filter(json, &type_, sizeof(want) / sizeof *(want), src, sizeof(src),    \
                       got_, &err_) != HR_OK) {                                          \
            fail_msg("%s", err_.message);                                                \
        }                                                                                \
        assert_memory_equal(got_, want, sizeof(want));                                   \
    } while (0)

static void predictor_2_sums_samples_along_each_row(void **state) {
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 255, 1, 1, 1, 1};
    const uint8_t one[] = {1, 3, 6, 5, 1, 2, 3, 4}, two[] = {1, 2, 4, 1, 1, 1, 2, 2};
    assert_filter("{\"id\":\"tiff_predictor2\",\"row\":4,\"stride\":1}", HR_KIND_UINT,
                  bytes, one);
    assert_filter("{\"id\":\"tiff_predictor2\",\"row\":4,\"stride\":2}", HR_KIND_UINT,
                  bytes, two);
    const uint8_t big[] = {0x80, 0x01, 0x7F, 0xFF, 0x00, 0x02};
    const int16_t sums[] = {-32767, 0, 2};
    assert_filter("{\"id\":\"tiff_predictor2\",\"row\":3,\"endian\":\"big\"}",
                  HR_KIND_INT, big, sums);
    const uint64_t wide[] = {UINT64_MAX, 2, 3, 4}, wide_sums[] = {UINT64_MAX, 1, 3, 7};
    assert_filter("{\"id\":\"tiff_predictor2\",\"row\":2}", HR_KIND_UINT, wide,
                  wide_sums);
}

static void predictor_3_sums_bytes_and_gathers_floats(void **state) {
    (void)state;
    const float want[] = {1.0F, 1.5F, -2.0F};
    /* 3F800000 3FC00000 C0000000: planes 3F 3F C0, 80 C0 00, 00…, as differences */
    const uint8_t bytes[] = {0x3F, 0x00, 0x81, 0xC0, 0x40, 0x40, 0, 0, 0, 0, 0, 0};
    assert_filter("{\"id\":\"tiff_predictor3\",\"row\":3,\"itemsize\":4}", HR_KIND_FLOAT,
                  bytes, want);
}

static void samples_of_odd_widths_become_the_next_items(void **state) {
    (void)state;
    const uint8_t bits[] = {0xA0, 0x60}; /* rows of 3, padded */
    const uint8_t ones[] = {1, 0, 1, 0, 1, 1};
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":1,\"row\":3}", HR_KIND_UINT, bits,
                  ones);
    const uint8_t twelve[] = {0x12, 0x3F, 0xFE, 0x80, 0x00};
    const uint16_t words[] = {0x123, 0xFFE, 0x800};
    const int16_t signs[] = {0x123, -2, -2048};
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":12,\"row\":3}", HR_KIND_UINT, twelve,
                  words);
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":12,\"row\":3}", HR_KIND_INT, twelve,
                  signs);
    const uint8_t wide[] = {0x80, 0, 0, 0, 0, 0, 0, 0x01, 0x80};
    const uint64_t longs[] = {UINT64_C(0x4000000000000000) + 0};
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":63,\"row\":1}", HR_KIND_UINT,
                  ((uint8_t[8]){wide[0], 0, 0, 0, 0, 0, 0, 0}), longs);
}

static void floats_of_24_bits_become_floats(void **state) {
    (void)state;
    /* 1, −2, 65535/65536 of the least normal one, infinity */
    const uint8_t little[] = {0, 0, 0x3F, 0, 0, 0xC0, 0xFF, 0xFF, 0x00, 0, 0, 0x7F};
    const uint8_t big[] = {0x3F, 0, 0, 0xC0, 0, 0, 0x00, 0xFF, 0xFF, 0x7F, 0, 0};
    const float want[] = {1.0F, -2.0F, 0x1p-62F * 65535.0F / 65536.0F,
                          (float)__builtin_inf()};
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":24,\"row\":4}", HR_KIND_FLOAT,
                  little, want);
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":24,\"row\":4,\"endian\":\"big\"}",
                  HR_KIND_FLOAT, big, want);
}

static void complex_integers_become_complex_floats(void **state) {
    (void)state;
    const uint8_t big[] = {0x00, 0x05, 0xFF, 0xFE, 0x7F, 0xFF, 0x80, 0x00};
    const float want[][2] = {{5, -2}, {32767, -32768}};
    assert_filter("{\"id\":\"tiff_samples\",\"bits\":32,\"row\":2,\"endian\":\"big\"}",
                  HR_KIND_COMPLEX, big, want);
}

/* 3 x 3 pixels in units of 2 x 2, the last ones reaching beyond. */
static void pixels_of_a_unit_have_its_chroma(void **state) {
    (void)state;
    const uint8_t units[] = {1, 2, 4,  5,  101, 201, 3, 90, 6,  91, 102, 202,
                             7, 8, 92, 93, 103, 203, 9, 94, 95, 96, 104, 204};
    const uint8_t want[] = {1, 101, 201, 2, 101, 201, 3, 102, 202,
                            4, 101, 201, 5, 101, 201, 6, 102, 202,
                            7, 103, 203, 8, 103, 203, 9, 104, 204};
    assert_filter("{\"id\":\"tiff_ycbcr\",\"width\":3,\"across\":2,\"down\":2}",
                  HR_KIND_UINT, units, want);
    const uint16_t wide[] = {1, 2, 3, 4, 500, 600};
    const uint16_t pixels[] = {1, 500, 600, 2, 500, 600, 3, 500, 600, 4, 500, 600};
    assert_filter("{\"id\":\"tiff_ycbcr\",\"width\":4,\"across\":4}", HR_KIND_UINT, wide,
                  pixels);
}

static void filters_refuse_what_is_no_whole_number_of_rows(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    hr_dtype type = hr__dtype(HR_KIND_UINT, 1);
    uint8_t dst[8];
    static const char *const filters[] = {
        "{\"id\":\"tiff_predictor2\",\"row\":5}",
        "{\"id\":\"tiff_samples\",\"row\":3}",
        "{\"id\":\"tiff_samples\",\"bits\":9}",
        "{\"id\":\"tiff_predictor2\",\"row\":0}",
        "{\"id\":\"tiff_ycbcr\",\"width\":2}",
        "{\"id\":\"tiff_ycbcr\",\"width\":1,\"across\":5}"};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        assert_int_equal(run_filter(filters[i], &type, 8, dst, 8, dst, &err),
                         HR_ERR_METADATA);
    }
    assert_int_equal(
        run_filter("{\"id\":\"tiff_predictor2\",\"row\":4}", &type, 8, dst, 7, dst, &err),
        HR_ERR_DATA);
    assert_int_equal(
        run_filter("{\"id\":\"tiff_ycbcr\",\"width\":2}", &type, 6, dst, 7, dst, &err),
        HR_ERR_DATA);
}

static void fill_order_2_reverses_the_bits_of_bytes(void **state) {
    (void)state;
    codec_runner r = open_codec(&hr__codec_tiff_reverse);
    assert_decodes(&r, "\x01\x02\x80\xF0\x12", 5, "\x80\x40\x01\x0F\x48", 5);
    runner_close(&r);
}

/* --- mutants --- */

static void try_mutant(void *user, const uint8_t *data, size_t nbytes) {
    codec_runner *r = user;
    hr_status status = runner_decode(r, data, nbytes, 300);
    assert_true(status == HR_OK || status == HR_ERR_DATA);
}

static void no_mutant_reads_or_writes_outside(void **state) {
    (void)state;
    uint8_t *data = sample_data(300, 2), packed[700];
    codec_runner lzw = open_codec(&hr__codec_tiff_lzw);
    codec_runner packbits = open_codec(&hr__codec_tiff_packbits);
    for (int is_old = 0; is_old < 2; is_old++) {
        for_each_mutant(packed, tiff_encode_lzw(data, 300, is_old != 0, packed),
                        try_mutant, &lzw);
    }
    for_each_mutant(packed, tiff_encode_packbits(data, 300, packed), try_mutant,
                    &packbits);
    runner_close(&lzw);
    runner_close(&packbits);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lzw_of_both_styles_decodes_over_many_tables),
        cmocka_unit_test(lzw_of_one_byte_over_and_over_decodes),
        cmocka_unit_test(lzw_needs_no_clear_no_end_and_minds_nothing_behind),
        cmocka_unit_test(lzw_refuses_codes_that_are_not_made_yet),
        cmocka_unit_test(short_streams_end_short),
        cmocka_unit_test(lzw_goes_on_with_a_full_table),
        cmocka_unit_test(packbits_decodes_and_stops_where_the_block_is_full),
        cmocka_unit_test(large_strips_of_packbits_are_streams_for_many_teams),
        cmocka_unit_test(predictor_2_sums_samples_along_each_row),
        cmocka_unit_test(predictor_3_sums_bytes_and_gathers_floats),
        cmocka_unit_test(samples_of_odd_widths_become_the_next_items),
        cmocka_unit_test(floats_of_24_bits_become_floats),
        cmocka_unit_test(complex_integers_become_complex_floats),
        cmocka_unit_test(pixels_of_a_unit_have_its_chroma),
        cmocka_unit_test(filters_refuse_what_is_no_whole_number_of_rows),
        cmocka_unit_test(fill_order_2_reverses_the_bits_of_bytes),
        cmocka_unit_test(no_mutant_reads_or_writes_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
