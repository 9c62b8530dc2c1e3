/* Packed numbers become floats, on the host and by kernels alike.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "filters_world.h"

/* An array of raw items; without its second chunk there is fill. */
static hr_node *make_raw(world *w, const char *dtype, const char *fill, size_t itemsize,
                         bool has_second) {
    static const char *const keys[] = {"a/0.0", "a/0.1"};
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],\"dtype\":"
                   "\"%s\",\"compressor\":null,\"fill_value\":%s,\"order\":\"C\","
                   "\"filters\":null}",
                   ROWS, 2 * COLS - 1, ROWS, COLS, dtype, fill);
    hr_store_unref(w->store);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    return make_array(w, meta, keys, CHUNK_NELEMS * itemsize, itemsize, has_second);
}

static hr_packing packing_of(double scale, double offset, const void *fills, uint32_t n) {
    hr_packing p = HR_PACKING_INIT;
    p.scale = scale;
    p.offset = offset;
    p.fills = fills;
    p.nfills = n;
    return p;
}

static void packed_shorts_become_floats_and_nan(void **state) {
    world *w = *state;
    static const int16_t fills[] = {-32768, 128};
    w->is_strict = false; /* which refuses missing chunks, too */
    hr_node *node = make_raw(w, "<i2", "-32768", 2, false);
    hr_packing p = packing_of(0.01, 273.15, fills, 2);
    uint8_t *out = malloc(OUT_NBYTES), *raw = malloc(OUT_NBYTES);
    assert_true(out != NULL && raw != NULL);
    read_array(w, node, "<i2", NULL, HR_DEVICE_CPU, raw, OUT_NBYTES);
    size_t nfills = 0;
    for (int is_double = 0; is_double < 2; is_double++) {
        compare(w, node, is_double ? "<f8" : "<f4", &p, out);
        for (size_t i = 0; i < (size_t)ROWS * (2 * COLS - 1); i++) {
            int16_t x;
            memcpy(&x, raw + 2 * i, sizeof x);
            double got = is_double ? ((const double *)(const void *)out)[i]
                                   : (double)((const float *)(const void *)out)[i];
            float small = (float)x * 0.01F;
            double want =
                is_double ? (double)x * 0.01 + 273.15 : (double)(small + 273.15F);
            bool is_fill = x == fills[0] || x == fills[1];
            nfills += is_fill;
            assert_true(is_fill ? got != got : got == want);
        }
    }
    assert_true(nfills > 2 * CHUNK_NELEMS - 20); /* the missing chunk, twice */
    free(out);
    free(raw);
    hr_node_unref(node);
}

static void packing_is_the_same_on_a_device(void **state) {
    world *w = *state;
    static const char *const from[] = {"|i1", "|u1", "<i2", ">u2", "<i4", "<u4",
                                       "<i8", ">u8", "<f2", "<f4", ">f8"};
    static const char *const to[] = {"<f2", "bfloat16", "<f4", ">f4", "<f8"};
    uint8_t *out = malloc(OUT_NBYTES);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        size_t itemsize = (size_t)(from[i][2] - '0');
        for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
            uint8_t fills[16];
            make_bytes(w, fills, sizeof fills, itemsize);
            w->is_strict = next(w) % 2 != 0;
            hr_node *node = make_raw(w, from[i], "1", itemsize, w->is_strict);
            hr_packing p = packing_of(next(w) % 3 ? 0.1 : 1, next(w) % 3 ? -7.3 : -0.0,
                                      fills, (uint32_t)(next(w) % 3));
            p.is_unsigned = next(w) % 2 != 0;
            p.in_double = next(w) % 2 != 0;
            compare(w, node, to[k], &p, out);
            hr_node_unref(node);
        }
    }
    free(out);
}

static void no_packing_leaves_bits_alone(void **state) {
    world *w = *state;
    hr_node *node = make_raw(w, "<f4", "1", 4, true);
    hr_packing p = HR_PACKING_INIT;
    uint8_t *out = malloc(OUT_NBYTES), *plain = malloc(OUT_NBYTES);
    assert_true(out != NULL && plain != NULL);
    memset(plain, 0xA5, OUT_NBYTES);
    read_array(w, node, "<f4", NULL, HR_DEVICE_CPU, plain, OUT_NBYTES);
    compare(w, node, "<f4", &p, out);
    assert_memory_equal(out, plain, OUT_NBYTES);
    free(out);
    free(plain);
    hr_node_unref(node);
}

static hr_status submit(world *w, hr_node *node, const char *dtype, const hr_packing *p) {
    static const int64_t shape[] = {ROWS, 2 * COLS - 1};
    uint8_t *out = malloc(OUT_NBYTES);
    assert_non_null(out);
    hr_request r = request(node, out, 2, shape);
    r.packing = p;
    assert_int_equal(hr_dtype_parse(dtype, &r.dst.dtype, &w->err), HR_OK);
    hr_batch *batch = NULL;
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, &w->err);
    hr_batch_unref(batch);
    free(out);
    return status;
}

/* An array with fill alone. */
static hr_node *make_empty(world *w, const char *dtype, const char *filters) {
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],\"dtype\":"
                   "%s,\"compressor\":null,\"fill_value\":null,\"order\":\"C\","
                   "\"filters\":%s}",
                   ROWS, 2 * COLS - 1, ROWS, COLS, dtype, filters);
    put(w->store, "a/.zarray", meta, strlen(meta));
    hr_node *node = NULL;
    if (hr_open_store(w->store, "a", NULL, &node, &w->err) != HR_OK) {
        fail_msg("%s: %s", meta, w->err.message);
    }
    return node;
}

static void wrong_packings_start_nothing(void **state) {
    world *w = *state;
    hr_node *node = make_raw(w, "<i2", "0", 2, true);
    hr_packing p = HR_PACKING_INIT;
    assert_int_equal(submit(w, node, "<f4", &p), HR_OK);
    assert_int_equal(submit(w, node, "<i4", &p), HR_ERR_DTYPE);
    assert_int_equal(submit(w, node, "<i2", &p), HR_ERR_DTYPE);
    assert_int_equal(submit(w, node, "<c8", &p), HR_ERR_DTYPE);
    p.nfills = 1;
    assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_ARGUMENT);
    p.fills = "\0\0\0\0\0";
    p.nfills = 3;
    assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_ARGUMENT);
    p.nfills = 1;
    p.scale = (double)NAN;
    assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_ARGUMENT);
    p.struct_size = 4;
    assert_int_equal(submit(w, node, "<f4", &p), HR_OK); /* an old caller: the defaults */
    hr_node_unref(node);
    node = make_raw(w, "<c8", "0", 8, true);
    p = HR_PACKING_INIT;
    assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_DTYPE);
    hr_node_unref(node);
}

/* --- what callers may get wrong --- */

static void no_numbers_cannot_be_unpacked(void **state) {
    world *w = *state;
    static const char *const types[] = {
        "\"|b1\"",    "\"<c8\"", "\"|S2\"",    "\"<U2\"",
        "\"<M8[s]\"", "\"|V3\"", "\"<m8[D]\"", "[[\"a\",\"<i2\"],[\"b\",\"<f4\"]]"};
    hr_packing p = packing_of(2, 1, "\0\0\0\0\0\0\0\0", 1);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hr_node *node = make_empty(w, types[i], "null");
        assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_DTYPE);
        hr_node_unref(node);
    }
    hr_node *node = make_empty(w, "\"|O\"", "[{\"id\":\"vlen-utf8\"}]");
    assert_int_equal(submit(w, node, "<f4", &p), HR_ERR_DTYPE);
    assert_int_equal(submit(w, node, "string", &p), HR_ERR_DTYPE);
    hr_node_unref(node);
}

/* A record of a newer caller is longer; what it says there is not known here. */
static void sizes_of_the_record_are_checked(void **state) {
    world *w = *state;
    struct {
        hr_packing p;
        uint64_t more;
    } newer = {.p = packing_of(2, 1, NULL, 0)};
    hr_node *node = make_empty(w, "\"<i2\"", "null");
    newer.p.struct_size = sizeof newer;
    assert_int_equal(submit(w, node, "<f4", &newer.p), HR_OK);
    newer.more = 1;
    assert_int_equal(submit(w, node, "<f4", &newer.p), HR_ERR_ARGUMENT);
    newer.p.struct_size = sizeof newer.p;
    assert_int_equal(submit(w, node, "<f4", &newer.p), HR_OK);
    static const uint32_t wrong[] = {0, 3, 4097, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        newer.p.struct_size = wrong[i];
        assert_int_equal(submit(w, node, "<f4", &newer.p), HR_ERR_ARGUMENT);
    }
    hr_node_unref(node);
}

static void extreme_numbers_are_the_same_on_a_device(void **state) {
    world *w = *state;
    static const double numbers[] = {0,     -0.0,   5e-324,   1e-40,    1e39,
                                     1e300, -1e300, HUGE_VAL, -HUGE_VAL};
    static const char *const from[] = {"<i2", "<u8", "<f2", "<f4", "<f8"};
    static const char *const to[] = {"<f2", "bfloat16", "<f4", "<f8"};
    const size_t n = sizeof numbers / sizeof *numbers;
    uint8_t *out = malloc(OUT_NBYTES);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        hr_node *node = make_raw(w, from[i], "1", (size_t)(from[i][2] - '0'), true);
        for (size_t k = 0; k < n * n; k++) {
            hr_packing p = packing_of(numbers[k % n], numbers[k / n], NULL, 0);
            p.in_double = next(w) % 2 != 0;
            compare(w, node, to[next(w) % 4], &p, out);
        }
        hr_node_unref(node);
    }
    free(out);
}

static hr_status read_strictly(world *w, hr_node *node, const hr_packing *p,
                               uint8_t *out) {
    static const int64_t shape[] = {ROWS, 2 * COLS - 1};
    hr_request r = request(node, out, 2, shape);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    hr_batch *batch = NULL;
    o.strict = 1;
    r.packing = p;
    r.dst.device.type = HR_DEVICE_SIMT;
    assert_int_equal(hr_dtype_parse("<f2", &r.dst.dtype, &w->err), HR_OK);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err), HR_OK);
    hr_status status = hr_batch_wait(batch, -1, &w->err);
    hr_batch_unref(batch);
    return status;
}

/* More steps than a kernel takes: the host does the chunk's, and strict says so. */
static void long_chains_are_left_to_the_host(void **state) {
    world *w = *state;
    static const char fixed[] = "{\"id\":\"fixedscaleoffset\",\"scale\":3,\"offset\":1,"
                                "\"dtype\":\"<f4\",\"astype\":\"<i4\"}";
    static const char back[] = "{\"id\":\"astype\",\"encode_dtype\":\"<f4\","
                               "\"decode_dtype\":\"<i4\"}";
    static const float fills[] = {3, -7};
    char filters[2048] = "[", meta[2560];
    uint8_t *out = malloc(OUT_NBYTES);
    assert_non_null(out);
    for (int n = 1; n <= 6; n++) {
        size_t at = strlen(filters) - (n > 1); /* over the bracket */
        (void)snprintf(filters + at, sizeof filters - at, "%s%s,%s]", n > 1 ? "," : "",
                       fixed, back);
        (void)snprintf(meta, sizeof meta,
                       "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],"
                       "\"dtype\":\"<f4\",\"compressor\":null,\"fill_value\":0,"
                       "\"order\":\"C\",\"filters\":%s}",
                       ROWS, 2 * COLS - 1, ROWS, COLS, filters);
        static const char *const keys[] = {"a/0.0", "a/0.1"};
        hr_node *node =
            make_array(w, meta, keys, CHUNK_NELEMS * sizeof(float), sizeof(float), true);
        hr_packing p = packing_of(0.1, 2, fills, 2);
        p.in_double = 1;
        w->is_strict = false;
        compare(w, node, "<f2", &p, out);
        hr_status status = read_strictly(w, node, &p, out);
        assert_int_equal(status, n == 1 ? HR_OK : HR_ERR_STRICT);
        hr_node_unref(node);
    }
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_shorts_become_floats_and_nan, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(packing_is_the_same_on_a_device, setup, teardown),
        cmocka_unit_test_setup_teardown(no_packing_leaves_bits_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_packings_start_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(no_numbers_cannot_be_unpacked, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_of_the_record_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(extreme_numbers_are_the_same_on_a_device, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(long_chains_are_left_to_the_host, setup,
                                        teardown),
    };
    if (!has_simt()) {
        puts("skipped: built without the simt device");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
