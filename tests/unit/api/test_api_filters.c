/* Filters that kernels undo give what the host gives, to the bit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "filters_world.h"

static void assert_same(world *w, hr_node *node, const char *own) {
    const char *const types[] = {own, "<f4", "<f8", "<i2", "bfloat16", ">f4"};
    uint8_t *host = malloc(OUT_NBYTES);
    assert_non_null(host);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        compare(w, node, types[i], NULL, host);
    }
    free(host);
}

/* What the chain marks is not what a request marks. */
static void assert_same_unpacked(world *w, hr_node *node, const char *own) {
    static const uint8_t zero[8];
    hr_packing p = HR_PACKING_INIT;
    p.scale = 0.5;
    p.fills = zero;
    p.nfills = 1;
    uint8_t *host = malloc(OUT_NBYTES);
    assert_non_null(host);
    if (own[1] != 'b' && own[1] != 'c') {
        compare(w, node, "<f4", &p, host);
    }
    free(host);
}

typedef struct v2_case {
    const char *dtype, *filters;
    size_t encoded_nbytes, itemsize;
} v2_case;

static void check_v2(world *w, const v2_case *c) {
    static const char *const keys[] = {"a/0.0", "a/0.1"};
    char meta[1024];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],\"dtype\":"
                   "\"%s\",\"compressor\":null,\"fill_value\":0,\"order\":\"%s\","
                   "\"filters\":[%s]}",
                   ROWS, 2 * COLS - 1, ROWS, COLS, c->dtype, next(w) % 2 ? "C" : "F",
                   c->filters);
    hr_node *node = make_array(w, meta, keys, c->encoded_nbytes, c->itemsize, true);
    assert_same(w, node, c->dtype);
    hr_node_unref(node);
}

#define N CHUNK_NELEMS

static void v2_filters(void **state) {
    static const v2_case cases[] = {
#define FIXED(dtype, astype, scale, offset)                                              \
    "{\"id\":\"fixedscaleoffset\",\"dtype\":\"" dtype "\",\"astype\":\"" astype          \
    "\",\"scale\":" scale ",\"offset\":" offset "}"
        {"<f4", FIXED("<f4", "|u1", "10", "1000"), N, 1},
        {"<f8", FIXED("<f8", "<u2", "10", "-0.1"), 2 * N, 2},
        {">f8", FIXED(">f8", ">i4", "3", "0.1"), 4 * N, 4},
        {"<f4", FIXED("<f4", "<f4", "0.7", "0.1"), 4 * N, 4},
        {"<f2", FIXED("<f2", "<f2", "0.7", "0.1"), 2 * N, 2},
        {"<f8", FIXED("<f8", "<f8", "0", "1e300"), 8 * N, 8},
        {"<i4", FIXED("<i4", "<i8", "1000", "7"), 8 * N, 8},
        {"<f4", "{\"id\":\"astype\",\"encode_dtype\":\">f8\",\"decode_dtype\":\"<f4\"}",
         8 * N, 8},
        {"<i8", "{\"id\":\"astype\",\"encode_dtype\":\"|i1\",\"decode_dtype\":\"<i8\"}",
         N, 1},
        {"<f8", "{\"id\":\"quantize\",\"digits\":2,\"dtype\":\"<f8\",\"astype\":\"<f4\"}",
         4 * N, 4},
        {"<f8",
         FIXED(
             "<f8", "<f4", "10",
             "3") ","
                  "{\"id\":\"astype\",\"encode_dtype\":\"<f2\",\"decode_dtype\":\"<f4\"}",
         2 * N, 2},
        {"<f8", FIXED("<f8", "<i2", "10", "3") ",{\"id\":\"shuffle\",\"elementsize\":2}",
         2 * N, 2},
#define DELTA(dtype, astype)                                                             \
    "{\"id\":\"delta\",\"dtype\":\"" dtype "\",\"astype\":\"" astype "\"}"
        {"<i4", DELTA("<i4", "<i4"), 4 * N, 4},
        {"|u1", DELTA("|u1", "|u1"), N, 1},
        {"|i1", DELTA("|i1", "|i1") ",{\"id\":\"shuffle\",\"elementsize\":1}", N, 1},
        {"<u2", DELTA("<u2", "<u2") ",{\"id\":\"shuffle\",\"elementsize\":2}", 2 * N, 2},
        {"<i8", DELTA("<i8", "<i2"), 2 * N, 2},
        {"<u8", DELTA("<u8", "<u8"), 8 * N, 8},
        {">i4", DELTA(">i4", ">i2"), 2 * N, 2},
        {"<f4", DELTA("<f4", "<f4"), 4 * N, 4},
        {"<f8", DELTA("<f8", "<f8"), 8 * N, 8},
        {"<f2", DELTA("<f2", "<f2"), 2 * N, 2},
        {">f4", DELTA(">f4", "<i2"), 2 * N, 2},
        {"<f8", DELTA("<f8", "<f4") ",{\"id\":\"shuffle\",\"elementsize\":4}", 4 * N, 4},
        {"<c8", DELTA("<c8", "<c8"), 8 * N, 4},
        {">c16", DELTA(">c16", ">c16"), 16 * N, 8},
        {"<f4", FIXED("<f4", "<i4", "10", "3") "," DELTA("<i4", "<i1"), N, 1},
        {"<f4", "{\"id\":\"bitround\",\"keepbits\":8}", 4 * N, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_v2(*state, &cases[i]);
    }
}

/* No kernel adds in another type than it delivers. */
static void v2_delta_that_is_added_in_a_third_type(void **state) {
    world *w = *state;
    static const v2_case c = {"<i4", DELTA("<i4", "<f4"), 4 * N, 4};
    w->is_strict = false;
    check_v2(w, &c);
}

static void v2_packed_bits(void **state) {
    world *w = *state;
    static const v2_case c = {"|b1", "{\"id\":\"packbits\"}", 1 + (N + 7) / 8, 1};
    w->first_byte = 8 * ((N + 7) / 8) - N;
    check_v2(w, &c);
}

/* One chunk that is made where it goes. */
static void a_whole_chunk_is_summed_in_place(void **state) {
    world *w = *state;
    static const int64_t shape[] = {N};
    static const char *const keys[] = {"a/0"};
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"<i4\","
                   "\"compressor\":null,\"fill_value\":0,\"order\":\"C\",\"filters\":["
                   "{\"id\":\"delta\",\"dtype\":\"<i4\",\"astype\":\"<i2\"}]}",
                   N, N);
    hr_node *node = make_array(w, meta, keys, (size_t)2 * N, 2, false);
    for (size_t shift = 0; shift < 20; shift += 4) { /* aligned, and not */
        static _Alignas(16) uint8_t out[2][4 * N + 32];
        for (int i = 0; i < 2; i++) {
            memset(out[i], 0x5A, sizeof out[i]);
            hr_request r = request(node, out[i] + shift, 1, shape);
            r.dst.device.type = (int32_t)(i == 0 ? HR_DEVICE_CPU : HR_DEVICE_SIMT);
            hr_batch *batch = NULL;
            assert_int_equal(
                hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, &w->err), HR_OK);
            assert_int_equal(hr_batch_wait(batch, -1, &w->err), HR_OK);
            hr_batch_unref(batch);
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
    hr_node_unref(node);
}

#define V3_META                                                                          \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d,%d],\"data_type\":"        \
    "\"%s\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_"            \
    "shape\":[%d,%d]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"codecs\":"        \
    "[%s],\"fill_value\":%s,\"attributes\":{}}"

typedef struct v3_case {
    const char *dtype, *own, *codecs, *fill;
    size_t encoded_nbytes, itemsize;
    int first_byte, last_byte; /* 0: any */
} v3_case;

static void v3_filters(void **state) {
    static const char *const keys[] = {"a/c/0/0", "a/c/0/1"};
    static const v3_case cases[] = {
#define CODEC(name, config) "{\"name\":\"" name "\",\"configuration\":{" config "}}"
#define BYTES(order) CODEC("bytes", "\"endian\":\"" order "\"")
        {"float32", "<f4",
         CODEC("scale_offset", "\"scale\":0.3,\"offset\":7") "," BYTES("little"), "1.5",
         4 * N, 4, 0, 0},
        {"float16", "<f2",
         CODEC("scale_offset", "\"scale\":3,\"offset\":0.25") "," BYTES("big"), "1.5",
         2 * N, 2, 0, 0},
        {"bfloat16", "bfloat16",
         CODEC("scale_offset", "\"scale\":3,\"offset\":0.25") "," BYTES("little"), "1.5",
         2 * N, 2, 0, 0},
        {"float64", "<f8",
         CODEC("cast_value", "\"data_type\":\"int16\"") "," BYTES("big"), "3", 2 * N, 2,
         0, 0},
        {"float64", "<f8",
         CODEC("scale_offset", "\"scale\":10,\"offset\":2") "," CODEC(
             "cast_value", "\"data_type\":\"float32\"") "," BYTES("little"),
         "3", 4 * N, 4, 0, 0},
#define CAST(type, more) CODEC("cast_value", "\"data_type\":\"" type "\"" more)
        {"float32", "<f4",
         CAST("int16", ",\"scalar_map\":{\"decode\":[[-128,\"NaN\"],[128,\"NaN\"]],"
                       "\"encode\":[[\"NaN\",-128]]}") "," BYTES("little"),
         "3", 2 * N, 2, 0, 0},
        {"float32", "<f4", CAST("int32", "") "," BYTES("big"), "3", 4 * N, 4, 0, 0},
#define ROUND(how, range) ",\"rounding\":\"" how "\",\"out_of_range\":\"" range "\""
#define UNUSUAL                                                                          \
    ",\"scalar_map\":{\"decode\":[[\"NaN\",-1],[\"Infinity\",7],[\"-Infinity\",5]]}"
        {"int16", "<i2",
         CAST("float32", ROUND("towards-zero", "clamp") UNUSUAL) "," BYTES("little"), "3",
         4 * N, 4, 0, 0},
        {"int64", "<i8",
         CAST("float64", ROUND("nearest-away", "clamp") UNUSUAL) "," BYTES("big"), "3",
         8 * N, 8, 0, 0},
        {"uint8", "|u1", CAST("int16", ROUND("nearest-even", "wrap")) "," BYTES("little"),
         "3", 2 * N, 2, 0, 0},
        {"int8", "|i1", CAST("uint64", ROUND("nearest-even", "clamp")) "," BYTES("big"),
         "3", 8 * N, 8, 0, 0},
        {"float32", "<f4",
         CAST("float64", ROUND("towards-positive", "clamp")) "," BYTES("little"), "3",
         8 * N, 8, 0, 0},
        {"float16", "<f2",
         CAST("int32", ROUND("nearest-away", "clamp")) "," BYTES("little"), "3", 4 * N, 4,
         0, 0},
        {"bfloat16", "bfloat16",
         CAST("float64", ROUND("towards-negative", "clamp")) "," BYTES("big"), "3", 8 * N,
         8, 0, 0},
        {"float32", "<f4",
         CAST("int8",
              ",\"scalar_map\":{\"decode\":[[-128,\"NaN\"],[127,1e9]]}") "," BYTES("littl"
                                                                                   "e"),
         "3", N, 1, 0, 0},
        {"int32", "<i4",
         CODEC("scale_offset",
               "\"scale\":-1,\"offset\":5") "," CAST("uint8", "") "," BYTES("little"),
         "5", N, 1, 0, 0},
        {"uint64", "<u8",
         CODEC("scale_offset", "\"offset\":5") "," CAST("uint32", "") "," BYTES("big"),
         "5", 4 * N, 4, 0, 0},
        {"float64", "<f8",
         CODEC("scale_offset", "\"scale\":10,\"offset\":2") "," CAST(
             "float32", "") "," CAST("float64",
                                     ROUND("towards-zero", "clamp")) "," BYTES("little"),
         "3", 8 * N, 8, 0, 0},
        {"float32", "<f4", CODEC("numcodecs.delta", "\"dtype\":\"<f4\"") "," BYTES("big"),
         "1", 4 * N, 4, 0, 0},
        {"float64", "<f8",
         CODEC("scale_offset", "\"scale\":10") "," CAST(
             "uint64", ",\"scalar_map\":{\"decode\":[[1,-5]]}") "," BYTES("little"),
         "3", 8 * N, 8, 0, 0},
        {"float32", "<f4", BYTES("big"), "\"NaN\"", 4 * N, 4, 0, 0},
        {"int32", "<i4", CODEC("numcodecs.delta", "\"dtype\":\"<i4\"") "," BYTES("big"),
         "1", 4 * N, 4, 0, 0},
#define NBYTES(bits) (((bits)*N + 7) / 8)
#define PACKBITS(first, last)                                                            \
    CODEC("packbits", "\"first_bit\":" first ",\"last_bit\":" last)
        {"bool", "|b1", CODEC("packbits", ""), "true", NBYTES(1), 1, 0, 0},
        {"bool", "|b1", CODEC("packbits", "\"padding_encoding\":\"first_byte\""), "true",
         NBYTES(1) + 1, 1, 8 * NBYTES(1) - N, 0},
        {"int16", "<i2",
         CODEC("packbits", "\"padding_encoding\":\"last_byte\",\"first_"
                           "bit\":3,\"last_bit\":9"),
         "1", NBYTES(7) + 1, 1, 0, 8 * NBYTES(7) - 7 * N},
        {"uint8", "|u1", PACKBITS("2", "2"), "1", NBYTES(1), 1, 0, 0},
        {"int8", "|i1", PACKBITS("0", "0"), "1", NBYTES(1), 1, 0, 0},
        {"uint64", "<u8", PACKBITS("0", "63"), "1", NBYTES(64), 1, 0, 0},
        {"int64", "<i8", PACKBITS("1", "63"), "1", NBYTES(63), 1, 0, 0},
        {"uint32", "<u4", PACKBITS("5", "28"), "1", NBYTES(24), 1, 0, 0},
        {"float32", "<f4", PACKBITS("16", "31"), "1", NBYTES(16), 1, 0, 0},
        {"complex64", "<c8", PACKBITS("9", "31"), "[1,0]", NBYTES(46), 1, 0, 0},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char meta[1024];
        (void)snprintf(meta, sizeof meta, V3_META, ROWS, 2 * COLS - 1, cases[i].dtype,
                       ROWS, COLS, cases[i].codecs, cases[i].fill);
        w->first_byte = cases[i].first_byte > 0 ? cases[i].first_byte : -1;
        w->last_byte = cases[i].last_byte > 0 ? cases[i].last_byte : -1;
        hr_node *node =
            make_array(w, meta, keys, cases[i].encoded_nbytes, cases[i].itemsize, true);
        assert_same(w, node, cases[i].own);
        assert_same_unpacked(w, node, cases[i].own);
        hr_node_unref(node);
    }
}

/* Stored by columns, as int16: the transpose is behind a filter, and is strides. */
static void transposes_behind_filters_cost_nothing(void **state) {
    world *w = *state;
    enum { R = 2, C = 3 };
    static const int16_t stored[C][R] = {{0, 100}, {1, 101}, {2, 102}};
    static const int64_t shape[] = {R, C};
    char meta[1024];
    (void)snprintf(
        meta, sizeof meta, V3_META, R, C, "int32", R, C,
        CODEC("scale_offset", "\"scale\":1,\"offset\":7") "," CAST("int16", "") "," CODEC(
            "transpose", "\"order\":[1,0]") "," BYTES("little"),
        "7");
    put(w->store, "a/zarr.json", meta, strlen(meta));
    put(w->store, "a/c/0/0", stored, sizeof stored);
    hr_node *node = NULL;
    assert_int_equal(hr_open_store(w->store, "a", NULL, &node, &w->err), HR_OK);
    for (int i = 0; i < 2; i++) {
        int32_t out[R][C] = {{0}};
        hr_read_options o = HR_READ_OPTIONS_INIT;
        hr_request r = request(node, out, 2, shape);
        hr_batch *batch = NULL;
        o.strict = 1;
        r.dst.device.type = (int32_t)(i == 0 ? HR_DEVICE_CPU : HR_DEVICE_SIMT);
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err),
                         HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, &w->err), HR_OK);
        hr_batch_unref(batch);
        for (int k = 0; k < R * C; k++) {
            assert_int_equal(out[k / C][k % C], k / C * 100 + k % C + 7);
        }
    }
    hr_node_unref(node);
}

/* On the host and by kernels. */
static void assert_both_fail(world *w, hr_node *node, const char *dtype) {
    static const int64_t shape[] = {ROWS, 2 * COLS - 1};
    uint8_t *out = malloc(OUT_NBYTES);
    assert_non_null(out);
    hr_request r = request(node, out, 2, shape);
    assert_int_equal(hr_dtype_parse(dtype, &r.dst.dtype, NULL), HR_OK);
    for (int i = 0; i < 2; i++) {
        hr_batch *batch = NULL;
        hr_read_options o = HR_READ_OPTIONS_INIT;
        o.strict = 1;
        r.dst.device.type = (int32_t)(i == 0 ? HR_DEVICE_CPU : HR_DEVICE_SIMT);
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err),
                         HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, &w->err), HR_ERR_DATA);
        hr_batch_unref(batch);
    }
    free(out);
}

/* Random integers are not all multiples of the scale, nor do they fit a byte. */
static void items_without_a_value_are_an_error(void **state) {
    world *w = *state;
    static const char *const keys[] = {"a/c/0/0", "a/c/0/1"};
    static const char *const codecs[] = {
        CODEC("scale_offset", "\"scale\":3") "," BYTES("little"),
        CODEC("scale_offset", "\"offset\":2000000000") "," BYTES("little"),
        CAST("int64", "") "," BYTES("little"),
        CAST("float32", ",\"out_of_range\":\"clamp\"") "," BYTES("little"), /* NaN */
    };
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        char meta[1024];
        (void)snprintf(meta, sizeof meta, V3_META, ROWS, 2 * COLS - 1, "int32", ROWS,
                       COLS, codecs[i], "0");
        hr_node *node = make_array(w, meta, keys, i == 2 ? 8 * N : 4 * N, 4, true);
        assert_both_fail(w, node, "<i4");
        hr_node_unref(node);
    }
}

static void wrong_padding_is_an_error(void **state) {
    world *w = *state;
    static const char *const keys[] = {"a/0.0", "a/0.1"};
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],\"dtype\":"
                   "\"|b1\",\"compressor\":null,\"fill_value\":false,\"order\":\"C\","
                   "\"filters\":[{\"id\":\"packbits\"}]}",
                   ROWS, 2 * COLS - 1, ROWS, COLS);
    w->first_byte = 0;
    hr_node *node = make_array(w, meta, keys, 1 + (N + 7) / 8, 1, true);
    assert_both_fail(w, node, "|b1");
    hr_node_unref(node);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(v2_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(v3_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(v2_delta_that_is_added_in_a_third_type, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(v2_packed_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_whole_chunk_is_summed_in_place, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(transposes_behind_filters_cost_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(items_without_a_value_are_an_error, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wrong_padding_is_an_error, setup, teardown),
    };
    if (!has_simt()) {
        puts("skipped: built without the simt device");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
