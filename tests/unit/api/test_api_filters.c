/* Filters that kernels undo give what the host gives, to the bit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"

#define ROWS 5
#define COLS 301 /* odd, and more than a block of the host's loops in all */
#define CHUNK_NELEMS (ROWS * COLS)

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_error err;
    uint64_t random;
    bool is_strict;
    int first_byte, last_byte; /* of a chunk, −1: any */
} world;

static uint64_t next(world *w) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Any bits, and among them those that numbers stumble over. */
static void make_bytes(world *w, uint8_t *bytes, size_t n, size_t itemsize) {
    static const uint64_t special[] = {0x7F80,     0xFF80,     0x7C00,     0xFC01,
                                       0x7F800001, 0xFFC12345, 0x7F800000, 0x80000000,
                                       0x8000,     0x1,        0x7F7FFFFF, 0x80};
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(next(w) >> 32);
    }
    for (size_t i = 0; i + 8 <= n; i += itemsize * (1 + next(w) % 8)) {
        uint64_t bits = special[next(w) % 12];
        if (itemsize == 8) {
            bits <<= 32;
        }
        memcpy(bytes + i, &bits, itemsize);
    }
}

/* Rows × 2·COLS − 1 elements in two chunks; the second one is cropped. */
static hr_node *make_array(world *w, const char *meta, const char *const *keys,
                           size_t encoded_nbytes, size_t itemsize, bool has_second) {
    bool v3 = strstr(meta, "\"zarr_format\":3") != NULL;
    put(w->store, v3 ? "a/zarr.json" : "a/.zarray", meta, strlen(meta));
    uint8_t *bytes = malloc(encoded_nbytes);
    assert_non_null(bytes);
    for (int i = 0; i < (has_second ? 2 : 1); i++) {
        make_bytes(w, bytes, encoded_nbytes, itemsize);
        if (w->first_byte >= 0) {
            bytes[0] = (uint8_t)w->first_byte;
        }
        if (w->last_byte >= 0) {
            bytes[encoded_nbytes - 1] = (uint8_t)w->last_byte;
        }
        put(w->store, keys[i], bytes, encoded_nbytes);
    }
    free(bytes);
    hr_node *node = NULL;
    if (hr_open_store(w->store, "a", NULL, &node, &w->err) != HR_OK) {
        fail_msg("%s: %s", meta, w->err.message);
    }
    return node;
}

static void read_array(world *w, hr_node *node, const char *dtype,
                       const hr_packing *packing, hr_device_type device, uint8_t *out,
                       size_t nbytes) {
    static const int64_t shape[] = {ROWS, 2 * COLS - 1};
    hr_request r = request(node, out, 2, shape);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.strict = device != HR_DEVICE_CPU && w->is_strict;
    r.packing = packing;
    r.dst.device.type = (int32_t)device;
    r.allow_cast = packing == NULL;
    assert_int_equal(hr_dtype_parse(dtype, &r.dst.dtype, &w->err), HR_OK);
    assert_true(r.dst.dtype.itemsize * (uint64_t)shape[0] * (uint64_t)shape[1] <= nbytes);
    hr_batch *batch = NULL;
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err);
    if (status == HR_OK) {
        status = hr_batch_wait(batch, -1, &w->err);
    }
    if (status != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    hr_batch_unref(batch);
}

#define OUT_NBYTES ((size_t)ROWS * (2 * COLS - 1) * 16)

/* The host and the kernels; `host` keeps the result. */
static void compare(world *w, hr_node *node, const char *type, const hr_packing *packing,
                    uint8_t *host) {
    uint8_t *simt = malloc(OUT_NBYTES);
    assert_non_null(simt);
    memset(host, 0xA5, OUT_NBYTES);
    memset(simt, 0xA5, OUT_NBYTES);
    read_array(w, node, type, packing, HR_DEVICE_CPU, host, OUT_NBYTES);
    read_array(w, node, type, packing, HR_DEVICE_SIMT, simt, OUT_NBYTES);
    for (size_t k = 0; k < OUT_NBYTES; k++) {
        if (host[k] != simt[k]) {
            fail_msg("to %s: byte %zu is %02X, expected %02X", type, k, simt[k], host[k]);
        }
    }
    free(simt);
}

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
        {"<i4", DELTA("<i4", "<f4"), 4 * N, 4},
        {"<f4", FIXED("<f4", "<i4", "10", "3") "," DELTA("<i4", "<i1"), N, 1},
        {"<f4", "{\"id\":\"bitround\",\"keepbits\":8}", 4 * N, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_v2(*state, &cases[i]);
    }
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
        (void)snprintf(
            meta, sizeof meta,
            "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d,%d],\"data_type\":"
            "\"%s\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_"
            "shape\":[%d,%d]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"codecs\":"
            "[%s],\"fill_value\":%s,\"attributes\":{}}",
            ROWS, 2 * COLS - 1, cases[i].dtype, ROWS, COLS, cases[i].codecs,
            cases[i].fill);
        w->first_byte = cases[i].first_byte > 0 ? cases[i].first_byte : -1;
        w->last_byte = cases[i].last_byte > 0 ? cases[i].last_byte : -1;
        hr_node *node =
            make_array(w, meta, keys, cases[i].encoded_nbytes, cases[i].itemsize, true);
        assert_same(w, node, cases[i].own);
        assert_same_unpacked(w, node, cases[i].own);
        hr_node_unref(node);
    }
}

static void wrong_padding_is_an_error(void **state) {
    world *w = *state;
    static const char *const keys[] = {"a/0.0", "a/0.1"};
    static const int64_t shape[] = {ROWS, 2 * COLS - 1};
    char meta[512];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d],\"chunks\":[%d,%d],\"dtype\":"
                   "\"|b1\",\"compressor\":null,\"fill_value\":false,\"order\":\"C\","
                   "\"filters\":[{\"id\":\"packbits\"}]}",
                   ROWS, 2 * COLS - 1, ROWS, COLS);
    w->first_byte = 0;
    hr_node *node = make_array(w, meta, keys, 1 + (N + 7) / 8, 1, true);
    uint8_t *out = malloc(OUT_NBYTES);
    hr_request r = request(node, out, 2, shape);
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_BOOL, .itemsize = 1};
    for (int i = 0; i < 2; i++) {
        hr_batch *batch = NULL;
        r.dst.device.type = (int32_t)(i == 0 ? HR_DEVICE_CPU : HR_DEVICE_SIMT);
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, &w->err),
                         HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, &w->err), HR_ERR_DATA);
        hr_batch_unref(batch);
    }
    free(out);
    hr_node_unref(node);
}

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
    return make_array(w, meta, keys, N * itemsize, itemsize, has_second);
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
    assert_true(nfills > 2 * N - 20); /* the missing chunk, twice */
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

static int setup(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    w->is_strict = true;
    w->first_byte = w->last_byte = -1;
    w->random = 0x9E3779B97F4A7C15;
    assert_int_equal(hr_context_create(NULL, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int teardown(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static bool has_simt(void) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    hr_device simt = {.type = HR_DEVICE_SIMT};
    return hr_device_describe(simt, &info, &err) == HR_OK;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(v2_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(v3_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(v2_packed_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_whole_chunk_is_summed_in_place, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wrong_padding_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(packed_shorts_become_floats_and_nan, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(packing_is_the_same_on_a_device, setup, teardown),
        cmocka_unit_test_setup_teardown(no_packing_leaves_bits_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_packings_start_nothing, setup, teardown),
    };
    if (!has_simt()) {
        puts("skipped: built without the simt device");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
