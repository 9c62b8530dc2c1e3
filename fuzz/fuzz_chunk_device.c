/* A chunk through the kernels and through the host's decoders.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses the array, the rest is its only chunk. Both ways must end alike:
 * the same bytes, or an error; but for what the formats forbid and the host's libraries
 * let pass, which kernels refuse. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/stricter.h"

#define NELEMS 3000
#define NBYTES (8 * NELEMS)

typedef struct array {
    const char *key, *meta, *chunk, *dtype;
} array;

#define V2(dtype, compressor, filters)                                                   \
    {                                                                                    \
        ".zarray",                                                                       \
            "{\"zarr_format\":2,\"shape\":[3000],\"chunks\":[3000],\"dtype\":\"" dtype   \
            "\",\"compressor\":" compressor ",\"filters\":" filters                      \
            ",\"fill_value\":0,\"order\":\"C\"}",                                        \
            "0", dtype                                                                   \
    }
#define V3(type, dtype, codecs)                                                          \
    {                                                                                    \
        "zarr.json",                                                                     \
            "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[3000],\"data_type\":" \
            "\"" type "\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{"      \
            "\"chunk_shape\":"                                                           \
            "[3000]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":"     \
            "0,\"codecs\":[" codecs "]}",                                                \
            "c/0", dtype                                                                 \
    }
#define ZSTD "{\"id\":\"zstd\",\"level\":3}"
#define BLOSC_ZSTD "{\"id\":\"blosc\",\"cname\":\"zstd\",\"clevel\":5,\"shuffle\":1}"
#define ZLIB "{\"id\":\"zlib\",\"level\":3}"
#define BLOSC_ZLIB "{\"id\":\"blosc\",\"cname\":\"zlib\",\"clevel\":5,\"shuffle\":1}"
#define LZ4 "{\"id\":\"lz4\",\"acceleration\":1}"
#define BLOSC(shuffle)                                                                   \
    "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":" shuffle "}"
#define LZW "{\"id\":\"tiff_lzw\"}"
#define PACKED "{\"id\":\"tiff_packbits\"}"
#define PREDICTOR(n, row, stride)                                                        \
    "[{\"id\":\"tiff_predictor" n "\",\"row\":" row ",\"stride\":" stride "}]"
#define DELTA(from, to)                                                                  \
    "[{\"id\":\"delta\",\"dtype\":\"" from "\",\"astype\":\"" to "\"}]"
#define FIXED(from, to)                                                                  \
    "[{\"id\":\"fixedscaleoffset\",\"scale\":0.1,\"offset\":7,\"dtype\":\"" from         \
    "\",\"astype\":\"" to "\"}]"
#define PACKBITS(config) "{\"name\":\"packbits\",\"configuration\":{" config "}}"

static const array arrays[] = {
    V2("|u1", BLOSC("1"), "null"),
    V2("|u1", LZ4, "null"),
    V2("|u1", ZSTD, "null"),
    V2("<f4", BLOSC_ZSTD, "null"),
    V2("<f8", BLOSC("2"), "null"),
    V2("|b1", "null", "[{\"id\":\"packbits\"}]"),
    V2("|b1", LZ4, "[{\"id\":\"packbits\"}]"),
    V2("|b1", BLOSC("1"), "[{\"id\":\"packbits\"}]"),
    V2("<i4", "null", DELTA("<i4", "<i2")),
    V2("|u1", LZ4, DELTA("|u1", "|u1")),
    V2(">i8", BLOSC("1"), DELTA(">i8", "<f4")),
    V2("<f4", "null", FIXED("<f4", "|u1")),
    V2("<f8", BLOSC("2"), FIXED("<f8", "<f4")),
    V3("bool", "|b1", PACKBITS("\"padding_encoding\":\"last_byte\"")),
    V3("int16", "<i2",
       PACKBITS("\"padding_encoding\":\"first_byte\",\"first_bit\":3,\"last_bit\":9")),
    V3("uint32", "<u4", PACKBITS("\"first_bit\":5,\"last_bit\":28")),
    V2("|u1", ZLIB, "null"), /* gzip, too, where a chunk begins so */
    V2("<f4", BLOSC_ZLIB, "null"),
    V2("|u1", LZW, "null"),
    V2("<u2", LZW, PREDICTOR("2", "300", "3")),
    V2("|u1", PACKED, "null"),
    V2("|u1", PACKED, PREDICTOR("2", "50", "7")),
    V2("<f4", "null", PREDICTOR("3", "100", "1")),
    V2("<i8", "null", PREDICTOR("2", "1000", "1")),
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void must(hr_status status) {
    if (status != HR_OK) {
        abort();
    }
}

static hr_status read_chunk(hr_node *node, const char *dtype, int32_t type, uint8_t *out,
                            hr_error *err) {
    static const int64_t shape[] = {NELEMS};
    hr_tensor dst = {.data = out, .device = {.type = type}, .ndim = 1, .shape = shape};
    must(hr_dtype_parse(dtype, &dst.dtype, NULL));
    memset(out, 0xA5, NBYTES);
    return hr_read(node, NULL, &dst, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static hr_context *context; /* kept: its threads are slow to start */
    if (nbytes == 0) {
        return 0;
    }
    if (context == NULL) {
        hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
        o.nthreads = 1;
        o.scratch_nbytes = o.device_scratch_nbytes = 16 << 20;
        must(hr_context_create(&o, &context, NULL));
    }
    const array *a = &arrays[data[0] % (sizeof arrays / sizeof *arrays)];
    hr_store *store = NULL;
    hr_node *node = NULL;
    must(hr_store_create_memory(context, &store, NULL));
    must(hr_store_set(store, a->key, a->meta, strlen(a->meta), NULL));
    must(hr_store_set(store, a->chunk, data + 1, nbytes - 1, NULL));
    must(hr_open_store(store, "", NULL, &node, NULL));
    uint8_t *host = malloc(NBYTES), *device = malloc(NBYTES);
    hr_error err = HR_ERROR_INIT;
    hr_status h = read_chunk(node, a->dtype, HR_DEVICE_CPU, host, NULL);
    hr_status d = read_chunk(node, a->dtype, HR_DEVICE_SIMT, device, &err);
    bool is_like = (h == HR_OK) == (d == HR_OK) || (h == HR_OK && is_stricter(&err));
    if (!is_like || (d == HR_OK && memcmp(host, device, NBYTES) != 0)) {
        abort();
    }
    free(host);
    free(device);
    hr_node_unref(node);
    hr_store_unref(store);
    return 0;
}
