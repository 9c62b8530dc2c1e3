/* Arrays of any bits, read on the host and by kernels. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_FILTERS_WORLD_H
#define HR_TESTS_API_FILTERS_WORLD_H

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

static inline uint64_t next(world *w) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Any bits, and among them those that numbers stumble over. */
static inline void make_bytes(world *w, uint8_t *bytes, size_t n, size_t itemsize) {
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
static inline hr_node *make_array(world *w, const char *meta, const char *const *keys,
                                  size_t encoded_nbytes, size_t itemsize,
                                  bool has_second) {
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

static inline void read_array(world *w, hr_node *node, const char *dtype,
                              const hr_packing *packing, hr_device_type device,
                              uint8_t *out, size_t nbytes) {
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
static inline void compare(world *w, hr_node *node, const char *type,
                           const hr_packing *packing, uint8_t *host) {
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

static inline int setup(void **state) {
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

static inline int teardown(void **state) {
    world *w = *state;
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

#endif
