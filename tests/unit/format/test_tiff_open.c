/* What a TIFF says of itself, right and wrong. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tiff_opened.h"

#define assert_fails(f, status_, part)                                                   \
    do {                                                                                 \
        assert_int_equal(open_fragment(f, NULL), status_);                               \
        if (strstr(opened.err.message, part) == NULL) {                                  \
            fail_msg("\"%s\" has no \"%s\"", opened.err.message, part);                  \
        }                                                                                \
    } while (0)

static const uint8_t image[1 << 16];

/* 40 × 30 in tiles of 16 × 16: six blocks. */
static const tiff_spec tiles = {.width = 40,
                                .height = 30,
                                .bits = 16,
                                .format = 1,
                                .is_tiled = true,
                                .block_width = 16,
                                .block_height = 16,
                                .compression = 8,
                                .predictor = 2};

static tiff_file make(const tiff_spec *spec, bool is_big) {
    tiff_file f;
    tiff_start(&f, is_big, is_big);
    tiff_add(&f, spec, image);
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    return f;
}

/* Change a tag's only value, which stands in its entry. */
static void set_value(tiff_file *f, unsigned tag, uint64_t value) {
    tiff_put(f, tiff_value_at(f, tag), 2, value);
}

/* --- what is said right --- */

static void layouts_become_shapes_chunks_and_codecs(void **state) {
    (void)state;
    tiff_file f = make(&tiles, false);
    const hr__array *a = &opened.node.array;
    assert_int_equal(a->ndim, 2);
    assert_int_equal(a->shape[0], 30);
    assert_int_equal(a->shape[1], 40);
    assert_int_equal(opened.node.chunk_shape[1], 16);
    assert_int_equal(a->nlevels, 1);
    assert_int_equal(a->levels[0].ninner, 6);
    assert_string_equal(opened.node.codecs_json,
                        "[{\"id\":\"tiff_predictor2\",\"row\":16,\"stride\":1,"
                        "\"endian\":\"little\"},{\"id\":\"zlib\"}]");
    assert_string_equal(opened.node.dimension_names[1], "x");
    assert_null(a->edge_chain);
    tiff_free(&f);
    tiff_spec strips = {.width = 5,
                        .height = 9,
                        .nsamples = 3,
                        .is_planar = true,
                        .bits = 32,
                        .format = 3,
                        .block_height = 4};
    f = make(&strips, true);
    assert_int_equal(a->ndim, 3);
    assert_int_equal(a->shape[0], 3);
    assert_int_equal(a->stored.byte_order, HR_BIG);
    assert_int_equal(a->edge_axis, 1);
    assert_int_equal(a->edge_chain->decoded.nbytes, 5 * 4);
    assert_string_equal(opened.node.dimension_names[0], "band");
    assert_int_equal(opened.node.placement.nentries, 9);
    tiff_free(&f);
}

static void tags_in_any_order_twice_and_unknown_are_accepted(void **state) {
    (void)state;
    tiff_spec strips = {.width = 6, .height = 4, .bits = 8, .block_height = 2};
    tiff_file f = make(&strips, false);
    uint8_t entry[12];
    size_t first = tiff_entry(&f, 256), second = tiff_entry(&f, 257);
    memcpy(entry, f.bytes + first, 12);
    memmove(f.bytes + first, f.bytes + second, 12);
    memcpy(f.bytes + second, entry, 12);
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    tiff_put(&f, tiff_entry(&f, 262), 2, 256); /* a second width, of 1 */
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    assert_int_equal(opened.node.array.shape[1], 6);
    tiff_put(&f, tiff_entry(&f, 284), 2, 65000);
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    tiff_free(&f);
}

static void bits_are_1_where_nothing_is_said(void **state) {
    (void)state;
    tiff_spec strips = {.width = 16, .height = 4, .bits = 8};
    tiff_file f = make(&strips, false);
    tiff_put(&f, tiff_entry(&f, 258), 2, 65000);
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    assert_int_equal(opened.node.array.chain.encoded.nbytes, 8);
    assert_int_equal(opened.node.array.dtype.itemsize, 1);
    tiff_free(&f);
}

/* --- headers and directories --- */

static void what_is_no_tiff_is_told(void **state) {
    (void)state;
    tiff_file f = make(&tiles, false);
    const hr__byte_source source = {.user = &f, .nbytes = f.nbytes, .read = read_bytes};
    assert_true(hr__tiff_detect(&source));
    f.bytes[2] = 44;
    assert_false(hr__tiff_detect(&source));
    assert_fails(&f, HR_ERR_METADATA, "begins with 49 49 2c 00");
    f.nbytes = 7;
    assert_fails(&f, HR_ERR_METADATA, "TIFF header");
    tiff_free(&f);
    f = make(&tiles, true);
    tiff_put(&f, 4, 2, 4);
    assert_fails(&f, HR_ERR_METADATA, "offsets of 4 bytes");
    tiff_put(&f, 4, 2, 8);
    tiff_put(&f, 8, 8, UINT64_MAX - 3);
    assert_fails(&f, HR_ERR_METADATA, "IFD: 8 bytes at offset 18446744073709551612");
    tiff_put(&f, 8, 8, 0);
    assert_fails(&f, HR_ERR_METADATA, "no IFD 0");
    tiff_free(&f);
}

static void chains_that_come_round_end(void **state) {
    (void)state;
    for (size_t length = 1; length <= 9; length++) {
        tiff_file f;
        tiff_spec small = {.width = 2, .height = 2, .bits = 8};
        tiff_start(&f, false, false);
        size_t second = 0;
        for (size_t i = 0; i < length; i++) {
            tiff_add(&f, &small, image);
            second = i == 1 ? f.ifd : second;
        }
        tiff_put(&f, f.next_at, 4, length > 1 ? second : f.ifd);
        assert_int_equal(open_fragment(&f, "ifd=0"), HR_OK);
        assert_int_equal(open_fragment(&f, "ifd=1000"), HR_ERR_METADATA);
        assert_non_null(strstr(opened.err.message, "comes back"));
        assert_int_equal(open_fragment(&f, "level=1"), HR_ERR_METADATA);
        tiff_free(&f);
    }
}

/* Each directory begins one byte behind the last: all the entries are in all of them. */
static void directories_that_overlap_are_refused(void **state) {
    (void)state;
    enum { NBYTES = 60000 };
    static uint8_t bytes[NBYTES];
    tiff_file f = {.bytes = bytes, .nbytes = NBYTES};
    memcpy(bytes, "II\x2a\0\x08\0\0\0", 8);
    memset(bytes + 8, 0x02, 30000); /* 514 entries each, 6168 bytes */
    for (size_t at = 8; at < 20000; at++) {
        tiff_put(&f, at + 2 + 514 * 12, 4, 0x0202);
    }
    assert_int_equal(open_fragment(&f, "ifd=70000"), HR_ERR_METADATA);
}

static void counts_and_places_outside_the_file_are_refused(void **state) {
    (void)state;
    for (int is_big = 0; is_big < 2; is_big++) {
        tiff_file f = make(&tiles, is_big != 0);
        size_t word = tiff_word(&f);
        tiff_put(&f, tiff_value_at(&f, 324), word, f.nbytes - 8);
        assert_fails(&f, HR_ERR_METADATA, "6 offsets of blocks at offset");
        tiff_put(&f, tiff_count_at(&f, 324), word, 5);
        assert_fails(&f, HR_ERR_METADATA, "5 offsets of blocks, the image has 6");
        tiff_put(&f, tiff_entry(&f, 324) + 2, 2, 12);
        assert_fails(&f, HR_ERR_METADATA, "type 12");
        tiff_put(&f, tiff_entry(&f, 324), 2, 65000);
        assert_fails(&f, HR_ERR_METADATA, "no offsets of tiles or strips");
        tiff_put(&f, f.ifd, is_big ? 8 : 2, is_big ? UINT64_MAX / 2 : 65535);
        assert_fails(&f, HR_ERR_METADATA, "bytes are left of the file");
        tiff_free(&f);
    }
    tiff_file f = make(&tiles, true);
    tiff_put(&f, tiff_count_at(&f, 256), 8, UINT64_MAX);
    assert_fails(&f, HR_ERR_METADATA, "tag 256");
    tiff_free(&f);
}

/* --- images --- */

static void impossible_images_are_refused(void **state) {
    (void)state;
    static const struct {
        unsigned tag, value;
        hr_status status;
        const char *part;
    } cases[] = {
        {256, 0, HR_ERR_METADATA, "ImageWidth is 0"},
        {257, 0, HR_ERR_METADATA, "ImageLength is 0"},
        {277, 0, HR_ERR_METADATA, "SamplesPerPixel is 0"},
        {284, 3, HR_ERR_METADATA, "PlanarConfiguration is 3"},
        {322, 0, HR_ERR_METADATA, "TileWidth is 0"},
        {323, 0, HR_ERR_METADATA, "TileLength is 0"},
        {323, 1, HR_ERR_METADATA, "the image has 90 blocks"},
        {258, 0, HR_ERR_UNSUPPORTED, "samples of 0 bits"},
        {258, 65, HR_ERR_UNSUPPORTED, "samples of 65 bits"},
        {258, 12, HR_ERR_UNSUPPORTED, "predictor 2 on samples of 12 bits"},
        {339, 9, HR_ERR_UNSUPPORTED, "SampleFormat 9"},
        {339, 6, HR_ERR_UNSUPPORTED, "samples of 16 bits in SampleFormat 6"},
        {317, 3, HR_ERR_UNSUPPORTED, "predictor 3 on samples of 16 bits"},
        {317, 9, HR_ERR_METADATA, "predictor 9"},
        {259, 4, HR_ERR_UNSUPPORTED, "compression 4 (CCITT fax 4)"},
        {259, 50001, HR_ERR_UNSUPPORTED, "WebP"},
        {259, 999, HR_ERR_UNSUPPORTED, "compression 999 is not known"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tiff_file f = make(&tiles, false);
        set_value(&f, cases[i].tag, cases[i].value);
        assert_fails(&f, cases[i].status, cases[i].part);
        tiff_free(&f);
    }
}

static void samples_of_different_types_are_refused(void **state) {
    (void)state;
    tiff_spec rgb = {.width = 4, .height = 4, .nsamples = 3, .bits = 8};
    tiff_file f = make(&rgb, false);
    size_t bits = (size_t)tiff_get(&f, tiff_value_at(&f, 258), 4);
    tiff_put(&f, bits + 2, 2, 6);
    assert_fails(&f, HR_ERR_UNSUPPORTED, "different types: BitsPerSample 8 and 6");
    tiff_free(&f);
}

/* Sizes that no memory holds are claims until data are read. */
static void bombs_open_without_memory(void **state) {
    (void)state;
    tiff_spec one = {.width = 4,
                     .height = 4,
                     .is_tiled = true,
                     .block_width = 4,
                     .block_height = 4,
                     .bits = 16,
                     .compression = 5};
    tiff_file f = make(&one, false);
    for (unsigned tag = 322; tag <= 323; tag++) {
        tiff_put(&f, tiff_entry(&f, tag) + 2, 2, 4);
        tiff_put(&f, tiff_value_at(&f, tag), 4, UINT32_MAX);
    }
    assert_fails(&f, HR_ERR_OVERFLOW, "more than 2^63 bytes");
    tiff_put(&f, tiff_value_at(&f, 322), 4, 0x3FFFFFFF);
    tiff_put(&f, tiff_value_at(&f, 323), 4, 0x0FFFFFFF);
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(
        hr__codec_check_ratio(&opened.node.array.chain.codecs[0], f.nbytes, &err),
        HR_ERR_DATA);
    tiff_free(&f);
}

static int close_all(void **state) {
    (void)state;
    hr__arena_free(&opened.arena);
    return 0;
}

static int open_all(void **state) {
    (void)state;
    hr__arena_init(&opened.arena, &hr__malloc_allocator);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_become_shapes_chunks_and_codecs),
        cmocka_unit_test(tags_in_any_order_twice_and_unknown_are_accepted),
        cmocka_unit_test(bits_are_1_where_nothing_is_said),
        cmocka_unit_test(what_is_no_tiff_is_told),
        cmocka_unit_test(chains_that_come_round_end),
        cmocka_unit_test(directories_that_overlap_are_refused),
        cmocka_unit_test(counts_and_places_outside_the_file_are_refused),
        cmocka_unit_test(impossible_images_are_refused),
        cmocka_unit_test(samples_of_different_types_are_refused),
        cmocka_unit_test(bombs_open_without_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
