/* Values of stores that lie on the device already: decoded there, not copied up.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <blosc.h>
#include <bzlib.h>
#include <cmocka.h>
#include <lz4.h>
#include <zstd.h>

#include "fixture.h"

#define CHUNK ((size_t)100000)
#define ROOM (CHUNK + 1024)
enum { NCHUNKS = 5 };
#define NBYTES (NCHUNKS * CHUNK)

typedef struct value {
    uint8_t *bytes; /* of just the size, so that a byte beyond is found out */
    size_t nbytes;
} value;

typedef struct world {
    const char *meta;
    value values[NCHUNKS];
    hr_device device; /* where the store says that they lie, too */
    int nlies;        /* bytes of each value that read gives wrong, from the end */
    hr_context *context;
    hr_store *store;
    uint8_t *raw, *got;
    hr_batch_stats stats;
    hr_error err;
} world;

static hr_status open_value(void *user, const char *key, const hr_read_context *reading,
                            hr_custom_value *out, hr_error *err) {
    (void)reading;
    (void)err;
    world *w = user;
    if (strcmp(key, "a/.zarray") == 0) {
        *out = (hr_custom_value){.handle = NULL, .nbytes = strlen(w->meta)};
        return HR_OK;
    }
    if (strlen(key) != 3 || key[2] < '0' || key[2] >= '0' + NCHUNKS) {
        return HR_ERR_NOT_FOUND;
    }
    value *v = &w->values[key[2] - '0'];
    *out = (hr_custom_value){
        .handle = v, .nbytes = v->nbytes, .device_bytes = v->bytes, .device = w->device};
    return HR_OK;
}

static hr_status read_value(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                            void *dst, const hr_read_context *reading, uint64_t *nread,
                            hr_error *err) {
    (void)reading;
    (void)err;
    const world *w = user;
    const value *v = handle;
    memcpy(dst, (v == NULL ? (const uint8_t *)w->meta : v->bytes) + offset, nbytes);
    for (uint64_t i = 0; v != NULL && i < nbytes; i++) {
        if (offset + i + (uint64_t)w->nlies >= v->nbytes) {
            ((uint8_t *)dst)[i] ^= 0xFF;
        }
    }
    *nread = nbytes;
    return HR_OK;
}

static size_t encode_raw(const uint8_t *raw, uint8_t *out) {
    memcpy(out, raw, CHUNK);
    return CHUNK;
}

static size_t encode_zstd(const uint8_t *raw, uint8_t *out) {
    return ZSTD_compress(out, ROOM, raw, CHUNK, 3);
}

static size_t encode_lz4(const uint8_t *raw, uint8_t *out) {
    const uint32_t n = (uint32_t)CHUNK;
    memcpy(out, &n, sizeof n);
    return 4 + (size_t)LZ4_compress_default((const char *)raw, (char *)out + 4,
                                            (int)CHUNK, (int)ROOM - 4);
}

static size_t encode_blosc(const uint8_t *raw, uint8_t *out) {
    return (size_t)blosc_compress_ctx(5, BLOSC_SHUFFLE, 4, CHUNK, raw, out, ROOM, "lz4",
                                      16384, 1);
}

static size_t encode_bz2(const uint8_t *raw, uint8_t *out) {
    unsigned n = (unsigned)ROOM;
    return BZ2_bzBuffToBuffCompress((char *)out, &n, (char *)(uintptr_t)raw,
                                    (unsigned)CHUNK, 5, 0, 0) == BZ_OK
               ? n
               : 0;
}

#define META(compressor)                                                                 \
    "{\"zarr_format\":2,\"shape\":[500000],\"chunks\":[100000],\"dtype\":\"|u1\","       \
    "\"compressor\":" compressor ",\"filters\":null,\"fill_value\":0,\"order\":\"C\"}"

typedef struct row {
    const char *name, *meta;
    size_t (*encode)(const uint8_t *raw, uint8_t *out);
    bool by_kernels;
} row;

static const row rows[] = {
    {"raw", META("null"), encode_raw, true},
    {"zstd", META("{\"id\":\"zstd\",\"level\":3}"), encode_zstd, true},
    {"lz4", META("{\"id\":\"lz4\"}"), encode_lz4, true},
    {"blosc", META("{\"id\":\"blosc\"}"), encode_blosc, true},
    {"bz2", META("{\"id\":\"bz2\",\"level\":5}"), encode_bz2, false},
};
#define NROWS_OF(rows) (sizeof(rows) / sizeof *(rows))

static void open_world(world *w, const row *r, uint64_t device_scratch_nbytes) {
    const hr_custom_store functions = {.abi_version = HR_CUSTOM_STORE_VERSION,
                                       .user = w,
                                       .open = open_value,
                                       .read = read_value};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = 2;
    options.device_scratch_nbytes = device_scratch_nbytes;
    *w = (world){
        .meta = r->meta, .device = {.type = HR_DEVICE_SIMT}, .err = HR_ERROR_INIT};
    assert_int_equal(hr_context_create(&options, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_custom(w->context, &functions, &w->store, &w->err),
                     HR_OK);
    w->raw = malloc(NBYTES);
    w->got = malloc(NBYTES);
    uint8_t *room = malloc(ROOM);
    assert_true(w->raw != NULL && w->got != NULL && room != NULL);
    uint32_t random = 1;
    for (size_t i = 0; i < NBYTES; i++) { /* steps of items of four bytes */
        random = random * 1664525 + 1013904223;
        w->raw[i] = (uint8_t)(i % 4 == 3 ? 7 : i / 64 + (random >> 30));
    }
    for (size_t i = 0; i < NCHUNKS; i++) {
        value *v = &w->values[i];
        v->nbytes = r->encode(w->raw + i * CHUNK, room);
        assert_in_range(v->nbytes, 1, ROOM);
        v->bytes = malloc(v->nbytes);
        assert_non_null(v->bytes);
        memcpy(v->bytes, room, v->nbytes);
    }
    free(room);
}

static void close_world(world *w) {
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    for (size_t i = 0; i < NCHUNKS; i++) {
        free(w->values[i].bytes);
    }
    free(w->raw);
    free(w->got);
}

static hr_status read_array(world *w, bool strict) {
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = strict;
    return read_bytes(w->context, w->store, w->got, NBYTES, &options, &w->stats, &w->err);
}

static size_t encoded_nbytes(const world *w) {
    size_t n = 0;
    for (size_t i = 0; i < NCHUNKS; i++) {
        n += w->values[i].nbytes;
    }
    return n;
}

static void kernels_decode_them_where_they_are(void **state) {
    (void)state;
    if (!has_simt()) {
        skip(); /* this build has no simt device */
    }
    for (size_t i = 0; i < NROWS_OF(rows); i++) {
        world w;
        print_message("%s\n", rows[i].name);
        open_world(&w, &rows[i], 0);
        assert_int_equal(read_array(&w, rows[i].by_kernels), HR_OK);
        assert_memory_equal(w.got, w.raw, NBYTES);
        assert_int_equal(w.stats.ndecoded_cpu, rows[i].by_kernels ? 0 : NCHUNKS);
        /* Tables go up in any case, and what the host decodes. */
        const size_t copied = w.stats.copied_nbytes;
        assert_true(rows[i].by_kernels ? copied < encoded_nbytes(&w) / 2
                                       : copied >= NBYTES);
        close_world(&w);
    }
}

static void they_are_copied_to_another_device(void **state) {
    (void)state;
    if (!has_simt()) {
        skip(); /* this build has no simt device */
    }
    for (size_t i = 0; i < NROWS_OF(rows); i++) {
        world w;
        open_world(&w, &rows[i], 0);
        w.device.type = HR_DEVICE_CUDA;
        assert_int_equal(read_array(&w, rows[i].by_kernels), HR_OK);
        assert_memory_equal(w.got, w.raw, NBYTES);
        assert_true(w.stats.copied_nbytes >= encoded_nbytes(&w));
        close_world(&w);
    }
}

/* Chunks that find their slab without scratch get one of their own, or the host. */
static void little_scratch_is_enough(void **state) {
    (void)state;
    static const uint64_t budgets[] = {UINT64_C(1) << 20, UINT64_C(2) << 20};
    if (!has_simt()) {
        skip(); /* this build has no simt device */
    }
    for (size_t i = 0; i < NROWS_OF(rows) * NROWS_OF(budgets); i++) {
        world w;
        open_world(&w, &rows[i / NROWS_OF(budgets)], budgets[i % NROWS_OF(budgets)]);
        assert_int_equal(read_array(&w, false), HR_OK);
        assert_memory_equal(w.got, w.raw, NBYTES);
        close_world(&w);
    }
}

/* What the host was told last is not what kernels decode. */
static void what_lies_there_counts(void **state) {
    (void)state;
    if (!has_simt()) {
        skip(); /* this build has no simt device */
    }
    for (size_t i = 0; i < NROWS_OF(rows); i++) {
        if (strcmp(rows[i].name, "raw") == 0 || strcmp(rows[i].name, "lz4") == 0) {
            world w;
            open_world(&w, &rows[i], 0);
            w.nlies = 100;
            assert_int_equal(read_array(&w, true), HR_OK);
            assert_memory_equal(w.got, w.raw, NBYTES);
            close_world(&w);
        }
    }
}

static void what_is_damaged_there_is_an_error(void **state) {
    (void)state;
    if (!has_simt()) {
        skip(); /* this build has no simt device */
    }
    for (size_t i = 1; i < NROWS_OF(rows); i++) {
        world w;
        open_world(&w, &rows[i], 0);
        memset(w.values[3].bytes + w.values[3].nbytes / 2, 0xFF,
               w.values[3].nbytes - w.values[3].nbytes / 2);
        assert_int_equal(read_array(&w, false), HR_ERR_DATA);
        assert_memory_equal(w.got, w.raw, 3 * CHUNK); /* the others are delivered */
        assert_memory_equal(w.got + 4 * CHUNK, w.raw + 4 * CHUNK, CHUNK);
        assert_string_equal(w.err.key, "a/3");
        close_world(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_decode_them_where_they_are),
        cmocka_unit_test(they_are_copied_to_another_device),
        cmocka_unit_test(little_scratch_is_enough),
        cmocka_unit_test(what_lies_there_counts),
        cmocka_unit_test(what_is_damaged_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
