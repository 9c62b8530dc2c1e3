/* Small Zarr arrays in a memory store. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_FIXTURE_H
#define HR_TESTS_API_FIXTURE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <headrace/headrace.h>

#define NROWS 10
#define NCOLS 12
#define CHUNK_ROWS 4
#define CHUNK_COLS 5

static inline void put(hr_store *store, const char *key, const void *data, size_t n) {
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_store_set(store, key, data, n, &err), HR_OK);
}

static inline int32_t element(int64_t r, int64_t c) {
    return (int32_t)(r * 100 + c);
}

/* int32 [10, 12] in chunks of [4, 5], uncompressed, at `path`; element (r, c) = 100r + c.
 * The chunk in row 1, column 1 of the grid is absent; the fill value is −7. */
static inline void put_plain_array(hr_store *store, const char *path) {
    const char *meta =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[10,12],"
        "\"data_type\":\"int32\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[4,5]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],"
        "\"fill_value\":-7,\"attributes\":{}}";
    char key[128];
    (void)snprintf(key, sizeof key, "%s/zarr.json", path);
    put(store, key, meta, strlen(meta));
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 3; j++) {
            int32_t chunk[CHUNK_ROWS * CHUNK_COLS];
            for (int64_t e = 0; e < CHUNK_ROWS * CHUNK_COLS; e++) {
                chunk[e] = element(i * CHUNK_ROWS + e / CHUNK_COLS,
                                   j * CHUNK_COLS + e % CHUNK_COLS);
            }
            (void)snprintf(key, sizeof key, "%s/c/%" PRId64 "/%" PRId64, path, i, j);
            if (i != 1 || j != 1) {
                put(store, key, chunk, sizeof chunk);
            }
        }
    }
}

/* What the array above reads as. */
static inline int32_t expected(int64_t r, int64_t c) {
    return r / CHUNK_ROWS == 1 && c / CHUNK_COLS == 1 ? -7 : element(r, c);
}

static inline hr_request request(hr_node *array, void *data, int32_t ndim,
                                 const int64_t *shape) {
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_dtype_parse("<i4", &r.dst.dtype, &err), HR_OK);
    r.dst.data = data;
    r.dst.ndim = ndim;
    r.dst.shape = shape;
    return r;
}

/* All of an array, as it is described; info stays. */
static inline hr_request whole_request(hr_node *array, const hr_node_info *info,
                                       void *data, int32_t device_type) {
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.dst = (hr_tensor){.data = data,
                        .device = {.type = device_type},
                        .dtype = info->dtype,
                        .ndim = info->ndim,
                        .shape = info->shape};
    return r;
}

static inline bool has_simt(void) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    return hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) == HR_OK;
}

/* Read all of "a", n items of uint8, by the simt device. */
static inline hr_status read_bytes(hr_context *context, hr_store *store, uint8_t *got,
                                   size_t n, const hr_read_options *options,
                                   hr_batch_stats *stats, hr_error *err) {
    const int64_t shape[] = {(int64_t)n};
    hr_node *node = NULL;
    hr_batch *batch = NULL;
    hr_request r = HR_REQUEST_INIT;
    assert_int_equal(hr_open_store(store, "a", NULL, &node, err), HR_OK);
    r.array = node;
    r.dst = (hr_tensor){.data = got,
                        .device = {.type = HR_DEVICE_SIMT},
                        .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                        .ndim = 1,
                        .shape = shape};
    memset(got, 0xA5, n);
    assert_int_equal(hr_read_submit(context, &r, 1, NULL, options, &batch, err), HR_OK);
    hr_status status = hr_batch_wait(batch, -1, err);
    *stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_batch_get_stats(batch, stats, NULL), HR_OK);
    hr_batch_unref(batch);
    hr_node_unref(node);
    return status;
}

#endif
