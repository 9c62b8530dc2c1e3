/* Overviews in a file of their own. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/tiff_maker.h"

enum { WIDTH = 20, HEIGHT = 10, IMAGE_WIDTH = 256, BITS_PER_SAMPLE = 258 };

static hr_context *context;
static hr_store *store;

static int set_up(void **state) {
    (void)state;
    assert_int_equal(hr_context_create(NULL, &context, NULL), HR_OK);
    return hr_store_create_memory(context, &store, NULL);
}

static int tear_down(void **state) {
    (void)state;
    hr_store_unref(store);
    hr_context_unref(context);
    return 0;
}

/* damaged_tag: its values lie outside the file; 0: none. */
static void put_image(const char *key, uint8_t value, unsigned damaged_tag) {
    uint8_t image[WIDTH * HEIGHT];
    memset(image, value, sizeof image);
    const tiff_spec s = {.width = WIDTH,
                         .height = HEIGHT,
                         .bits = 8,
                         .subfile_type = strstr(key, ".ovr") != NULL};
    tiff_file f;
    tiff_start(&f, false, false);
    tiff_add(&f, &s, image);
    if (damaged_tag != 0) {
        tiff_put(&f, tiff_count_at(&f, damaged_tag), 4, 1000);
        tiff_put(&f, tiff_value_at(&f, damaged_tag), 4, 1 << 30);
    }
    put(store, key, f.bytes, f.nbytes);
    tiff_free(&f);
}

static void they_are_levels_of_the_image(void **state) {
    (void)state;
    static const int64_t shape[] = {HEIGHT, WIDTH};
    uint8_t out[HEIGHT * WIDTH] = {0};
    hr_node *node = NULL;
    hr_tensor dst = {.data = out, .ndim = 2, .shape = shape};
    put_image("x.tif", 1, 0);
    put_image("x.tif.ovr", 2, 0);
    assert_int_equal(hr_dtype_parse("|u1", &dst.dtype, NULL), HR_OK);
    assert_int_equal(hr_open_store(store, "x.tif#level=1", NULL, &node, NULL), HR_OK);
    assert_int_equal(hr_read(node, NULL, &dst, NULL), HR_OK);
    assert_int_equal(out[HEIGHT * WIDTH - 1], 2);
    hr_node_unref(node);
}

static void assert_names(const char *path, const char *key) {
    hr_node *node = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_open_store(store, path, NULL, &node, &err), HR_ERR_METADATA);
    assert_string_equal(err.key, key);
    assert_null(node);
}

/* One tag is looked at to find the overviews, the other when theirs is opened. */
static void the_damaged_file_is_named(void **state) {
    (void)state;
    static const unsigned tags[] = {IMAGE_WIDTH, BITS_PER_SAMPLE};
    for (int i = 0; i < 2; i++) {
        put_image("x.tif", 1, 0);
        put_image("x.tif.ovr", 2, tags[i]);
        assert_names("x.tif#level=1", "x.tif.ovr");
        put_image("x.tif", 1, tags[i]);
        put_image("x.tif.ovr", 2, 0);
        assert_names("x.tif", "x.tif");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_are_levels_of_the_image, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_damaged_file_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
