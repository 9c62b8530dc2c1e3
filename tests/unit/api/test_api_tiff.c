/* TIFF files through the API: every layout reads as it was written.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/tiff_maker.h"

static struct {
    hr_context *context;
    hr_store *store;
    hr_device_type device;
} world;

static int open_world(void **state) {
    (void)state;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    assert_int_equal(hr_context_create(&o, &world.context, NULL), HR_OK);
    return hr_store_create_memory(world.context, &world.store, NULL);
}

static int close_world(void **state) {
    (void)state;
    hr_store_unref(world.store);
    hr_context_unref(world.context);
    return 0;
}

/* Smooth numbers with some noise; floats that are numbers. */
static uint8_t *make_image(const tiff_spec *s) {
    size_t n = (size_t)(s->width * s->height * (s->nsamples > 0 ? s->nsamples : 1));
    size_t size = s->bits / 8;
    uint8_t *image = malloc(n * size);
    assert_non_null(image);
    uint32_t noise = 1;
    for (size_t i = 0; i < n; i++) {
        noise = noise * 1664525 + 1013904223;
        uint64_t value = i * 3 + (noise >> 29);
        float f32 = (float)value * 0.25F;
        double f64 = (double)value * 0.125;
        memcpy(image + i * size,
               s->format != 3 ? (void *)&value
               : size == 4    ? (void *)&f32
                              : (void *)&f64,
               size);
    }
    return image;
}

static hr_node *open_array(const char *path, hr_node_info *info) {
    hr_error err = HR_ERROR_INIT;
    hr_node *node = NULL;
    *info = HR_NODE_INFO_INIT;
    if (hr_open_store(world.store, path, NULL, &node, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(hr_node_describe(node, info, NULL), HR_OK);
    return node;
}

/* Read [first, first + count) of each axis and compare with the image. */
static void check_window(hr_node *node, const hr_node_info *info, const uint8_t *image,
                         const int64_t *first, const int64_t *count) {
    hr_axis axes[3];
    size_t n = 1;
    size_t size = info->dtype.itemsize;
    for (int32_t k = 0; k < info->ndim; k++) {
        axes[k] = (hr_axis){
            .kind = HR_AXIS_SLICE, .start = first[k], .stop = first[k] + count[k]};
        n *= (size_t)count[k];
    }
    uint8_t *out = malloc(n * size);
    memset(out, 0xEE, n * size);
    hr_selection selection = {.kind = HR_SELECT_AXES, .naxes = info->ndim, .axes = axes};
    hr_tensor dst = {.data = out,
                     .device = {.type = (int32_t)world.device},
                     .dtype = info->dtype,
                     .ndim = info->ndim,
                     .shape = count};
    hr_error err = HR_ERROR_INIT;
    if (hr_read(node, &selection, &dst, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        int64_t at = 0;
        int64_t stride = 1;
        for (int32_t k = info->ndim - 1; k >= 0; k--) {
            at += (first[k] + (int64_t)(rest % (size_t)count[k])) * stride;
            rest /= (size_t)count[k];
            stride *= info->shape[k];
        }
        if (memcmp(out + i * size, image + (size_t)at * size, size) != 0) {
            fail_msg("element %zu of the window differs", i);
        }
    }
    free(out);
}

static void check_reads(const tiff_spec *s, bool is_big_endian, bool is_big) {
    uint8_t *image = make_image(s);
    tiff_file f;
    hr_node_info info;
    tiff_start(&f, is_big_endian, is_big);
    tiff_add(&f, s, image);
    put(world.store, "a/x.tif", f.bytes, f.nbytes);
    hr_node *node = open_array("a/x.tif", &info);
    assert_string_equal(info.format, is_big ? "bigtiff" : "tiff");
    assert_int_equal(info.ndim, s->nsamples > 1 ? 3 : 2);
    int64_t zero[3] = {0};
    int64_t first[3];
    int64_t count[3];
    check_window(node, &info, image, zero, info.shape);
    for (int32_t k = 0; k < info.ndim; k++) {
        first[k] = info.shape[k] / 3;
        count[k] = info.shape[k] - first[k] - info.shape[k] / 4;
    }
    check_window(node, &info, image, first, count);
    hr_node_unref(node);
    tiff_free(&f);
    free(image);
}

static const struct {
    unsigned bits, format, predictor;
} types[] = {{8, 0, 0},  {8, 1, 2},  {16, 1, 1}, {16, 2, 2}, {32, 1, 2},
             {64, 2, 2}, {32, 3, 1}, {32, 3, 3}, {64, 3, 3}, {32, 3, 2}};
static const unsigned compressions[] = {0, 8, 5, 50000, 32773, 32946};

static void set_blocks(tiff_spec *s, int layout) {
    s->is_tiled = layout < 2;
    s->block_width = layout == 0 ? 32 : 17; /* not by the book, and accepted */
    s->block_height = layout == 0   ? 16
                      : layout == 1 ? 11
                      : layout == 2 ? 0
                      : layout == 3 ? 1
                                    : 10;
}

/* All layouts with each type; compression, bytes and bands go round. */
static void check_all(hr_device_type device) {
    world.device = device;
    unsigned turn = 0;
    for (int layout = 0; layout < 5; layout++) {
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            for (size_t c = 0; c < sizeof compressions / sizeof compressions[0]; c++) {
                turn++;
                bool predicts = c > 0 && compressions[c] != 32773;
                tiff_spec s = {.width = 45,
                               .height = 37,
                               .nsamples = (int64_t)(turn % 3) * 2 + (turn % 3 == 0),
                               .is_planar = turn % 4 < 2,
                               .bits = types[t].bits,
                               .format = types[t].format,
                               .compression = compressions[c],
                               .predictor = predicts ? types[t].predictor : 0,
                               .fill_order = turn % 7 == 0 ? 2 : 0};
                set_blocks(&s, layout);
                check_reads(&s, turn % 5 < 2, turn % 3 == 1);
            }
        }
    }
}

static void every_layout_reads_on_the_host(void **state) {
    (void)state;
    check_all(HR_DEVICE_CPU);
}

static void skip_without_simt(void) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: reads to a device (no simt)\n");
        skip();
    }
}

static void every_layout_reads_to_a_device(void **state) {
    (void)state;
    skip_without_simt();
    check_all(HR_DEVICE_SIMT);
}

/* Parts of a strip are read alone: a window of a strip of 64 MB costs no such read. */
static void large_strips_are_read_in_parts(void **state) {
    (void)state;
    world.device = HR_DEVICE_CPU;
    tiff_spec s = {.width = 1024, .height = 1031, .bits = 16, .format = 1};
    check_reads(&s, true, false);
    s.block_height = 515; /* two parts, and a short strip */
    check_reads(&s, false, true);
    s.block_height = 512;
    check_reads(&s, false, false);
}

static void blocks_without_sizes_are_found(void **state) {
    (void)state;
    world.device = HR_DEVICE_CPU;
    tiff_spec s = {.width = 20,
                   .height = 30,
                   .bits = 16,
                   .block_height = 7,
                   .without_sizes = true,
                   .has_short_tables = true};
    check_reads(&s, false, false);
    s.compression = 8;
    check_reads(&s, true, false);
}

static void more_blocks_than_a_page_of_the_tables_are_found(void **state) {
    (void)state;
    world.device = HR_DEVICE_CPU;
    tiff_spec s = {.width = 3, .height = 9000, .bits = 8, .block_height = 1};
    check_reads(&s, false, false);
}

static void absent_blocks_read_as_nodata(void **state) {
    (void)state;
    static const struct {
        const char *text, *json;
        int16_t value;
    } cases[] = {{NULL, "0", 0},     {"-7", "-7", -7},
                 {"70000", "0", 0},  {"-9999.0", "-9999.0", -9999},
                 {"0.5", "0", 0},    {"nan", "0", 0},
                 {" 12 ", "12", 12}, {"what", "0", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tiff_spec s = {.width = 16,
                       .height = 16,
                       .bits = 16,
                       .format = 2,
                       .is_tiled = true,
                       .block_width = 8,
                       .block_height = 8,
                       .sparse_block = 2,
                       .nodata = cases[i].text};
        uint8_t *image = make_image(&s);
        tiff_file f;
        hr_node_info info;
        tiff_start(&f, false, false);
        tiff_add(&f, &s, image);
        put(world.store, "x.tif", f.bytes, f.nbytes);
        hr_node *node = open_array("x.tif", &info);
        int16_t *items = (int16_t *)image;
        for (size_t y = 0; y < 8; y++) {
            for (size_t x = 8; x < 16; x++) {
                items[y * 16 + x] = cases[i].value;
            }
        }
        assert_string_equal(info.fill_value_json, cases[i].json);
        int64_t zero[2] = {0};
        for (int device = HR_DEVICE_CPU; device <= HR_DEVICE_SIMT; device += 2) {
            world.device = (hr_device_type)device;
            check_window(node, &info, image, zero, info.shape);
        }
        hr_node_unref(node);
        tiff_free(&f);
        free(image);
    }
}

/* Chunks whose codecs kernels know go up as they are stored, short strips too; the
 * others are refused where strict asks for it: of LZMA, here, no byte is looked at. */
static void kernels_decode_what_they_know(void **state) {
    (void)state;
    skip_without_simt();
    static const struct {
        unsigned compression, predictor, bits, format;
        hr_status status;
    } cases[] = {{1, 0, 16, 1, HR_OK},
                 {50000, 0, 16, 1, HR_OK},
                 {50000, 2, 8, 1, HR_OK},
                 {8, 2, 16, 2, HR_OK},
                 {8, 2, 32, 3, HR_OK},
                 {50000, 2, 64, 1, HR_OK},
                 {50000, 3, 32, 3, HR_OK},
                 {8, 3, 64, 3, HR_OK},
                 {8, 3, 16, 3, HR_OK},
                 {5, 0, 8, 1, HR_OK},
                 {5, 2, 16, 1, HR_OK},
                 {32773, 0, 32, 1, HR_OK},
                 {34925, 0, 16, 1, HR_ERR_STRICT}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        tiff_spec s = {.width = 40,
                       .height = 30,
                       .nsamples = 1 + (int64_t)(i / 4 % 3),
                       .bits = cases[i / 2].bits,
                       .format = cases[i / 2].format,
                       .compression = cases[i / 2].compression,
                       .predictor = cases[i / 2].predictor,
                       .is_tiled = i % 2 == 1,
                       .block_width = 16,
                       .block_height = 16};
        uint8_t *image = make_image(&s);
        size_t nbytes = (size_t)(40 * 30 * s.nsamples) * s.bits / 8;
        uint8_t *out = calloc(nbytes, 1);
        tiff_file f;
        hr_node_info info;
        tiff_start(&f, true, false);
        tiff_add(&f, &s, image);
        put(world.store, "x.tif", f.bytes, f.nbytes);
        hr_node *node = open_array("x.tif", &info);
        const hr_request r = whole_request(node, &info, out, HR_DEVICE_SIMT);
        hr_read_options o = HR_READ_OPTIONS_INIT;
        o.strict = 1;
        hr_batch *b = NULL;
        assert_int_equal(hr_read_submit(world.context, &r, 1, NULL, &o, &b, NULL), HR_OK);
        assert_int_equal(hr_batch_wait(b, -1, NULL), cases[i / 2].status);
        if (cases[i / 2].status == HR_OK) {
            assert_memory_equal(out, image, nbytes);
        }
        hr_batch_unref(b);
        hr_node_unref(node);
        tiff_free(&f);
        free(out);
        free(image);
    }
}

/* A block that is cut off or damaged is nobody's error but of those who need it. */
static void bad_blocks_do_not_disturb_others(void **state) {
    (void)state;
    tiff_spec s = {.width = 32,
                   .height = 16,
                   .bits = 8,
                   .is_tiled = true,
                   .block_width = 16,
                   .block_height = 16,
                   .compression = 5};
    uint8_t *image = make_image(&s);
    tiff_file f;
    hr_node_info info;
    tiff_start(&f, false, false);
    tiff_add(&f, &s, image);
    size_t sizes = (size_t)tiff_get(&f, tiff_value_at(&f, 325), 4);
    size_t offsets = (size_t)tiff_get(&f, tiff_value_at(&f, 324), 4);
    for (int i = 0; i < 4; i++) {
        static const uint32_t wrong[] = {5, 0x7FFFFFFF, 1 << 20, 9};
        tiff_put(&f, sizes + 4, 4, wrong[i]);
        if (i == 3) {
            tiff_put(&f, offsets + 4, 4, 0);
        }
        put(world.store, "x.tif", f.bytes, f.nbytes);
        hr_node *node = open_array("x.tif", &info);
        hr_request r[2];
        uint8_t out[2][256];
        hr_axis axes[2][2];
        static const int64_t shape[] = {16, 16};
        for (int k = 0; k < 2; k++) {
            axes[k][0] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = 16};
            axes[k][1] =
                (hr_axis){.kind = HR_AXIS_SLICE, .start = 16 * k, .stop = 16 * k + 16};
            r[k] = HR_REQUEST_INIT;
            r[k].array = node;
            r[k].selection =
                (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes[k]};
            r[k].dst = (hr_tensor){
                .data = out[k], .dtype = info.dtype, .ndim = 2, .shape = shape};
        }
        hr_batch *b = NULL;
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr_read_submit(world.context, r, 2, NULL, NULL, &b, &err),
                         HR_OK);
        assert_int_equal(hr_batch_wait(b, -1, &err), HR_ERR_DATA);
        assert_int_equal(hr_batch_error(b, 0, &err), HR_OK);
        assert_int_equal(hr_batch_error(b, 1, &err), HR_ERR_DATA);
        assert_string_equal(err.key, "x.tif");
        assert_memory_equal(out[0] + 32, image + 64, 16);
        hr_batch_unref(b);
        hr_node_unref(node);
    }
    tiff_free(&f);
    free(image);
}

static void other_directories_are_opened_by_fragment(void **state) {
    (void)state;
    tiff_file f;
    hr_node_info info;
    uint8_t image[400];
    memset(image, 1, sizeof image);
    tiff_start(&f, false, true);
    const struct {
        int64_t width;
        unsigned type;
    } ifds[] = {{20, 0}, {5, 1}, {20, 4}, {10, 1}, {10, 5}, {7, 0}};
    for (size_t i = 0; i < 6; i++) {
        tiff_spec s = {
            .width = ifds[i].width, .height = 4, .bits = 8, .subfile_type = ifds[i].type};
        tiff_add(&f, &s, image);
    }
    put(world.store, "x#1.tif", f.bytes, f.nbytes);
    hr_node *first = open_array("x#1.tif", &info);
    assert_non_null(strstr(info.attributes_json, "\"levels\":[[4,20],[4,10],[4,5]]"));
    hr_node_unref(first);
    const struct {
        const char *path;
        int64_t width;
    } opens[] = {{"x#1.tif", 20},
                 {"x#1.tif#ifd=0", 20},
                 {"x#1.tif#ifd=1", 5},
                 {"x#1.tif#ifd=5", 7},
                 {"x#1.tif#level=0", 20},
                 {"x#1.tif#level=1", 10},
                 {"x#1.tif#level=2", 5},
                 {"x#1.tif#ifd=5,level=0", 7},
                 {"x#1.tif#ifd=0,level=1", 10}};
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        hr_node *node = open_array(opens[i].path, &info);
        assert_int_equal(info.shape[1], opens[i].width);
        assert_non_null(strstr(info.url, opens[i].path));
        hr_node_unref(node);
    }
    hr_node *node = NULL;
    assert_int_equal(hr_open_store(world.store, "x#1.tif#ifd=6", NULL, &node, NULL),
                     HR_ERR_NOT_FOUND);
    assert_int_equal(hr_open_store(world.store, "x#1.tif#level=3", NULL, &node, NULL),
                     HR_ERR_NOT_FOUND);
    assert_int_equal(
        hr_open_store(world.store, "x#1.tif#ifd=5,level=1", NULL, &node, NULL),
        HR_ERR_NOT_FOUND);
    assert_int_equal(hr_open_store(world.store, "x#1.tif#page=3", NULL, &node, NULL),
                     HR_ERR_ARGUMENT);
    assert_int_equal(hr_open_store(world.store, "y.tif", NULL, &node, NULL),
                     HR_ERR_NOT_FOUND);
    tiff_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_reads_on_the_host),
        cmocka_unit_test(every_layout_reads_to_a_device),
        cmocka_unit_test(large_strips_are_read_in_parts),
        cmocka_unit_test(blocks_without_sizes_are_found),
        cmocka_unit_test(more_blocks_than_a_page_of_the_tables_are_found),
        cmocka_unit_test(absent_blocks_read_as_nodata),
        cmocka_unit_test(kernels_decode_what_they_know),
        cmocka_unit_test(bad_blocks_do_not_disturb_others),
        cmocka_unit_test(other_directories_are_opened_by_fragment),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
