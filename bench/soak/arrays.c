/* Small arrays of every kind, for the soak. SPDX-License-Identifier: Apache-2.0 */
#include "arrays.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <blosc.h>
#include <zlib.h>
#include <zstd.h>

enum { NBYTES = 2 * SOAK_CHUNK, INNER = 16, ROOM = 2 * NBYTES, FILL = 9 };
enum { RAW, ZSTD, BLOSC, DAMAGED, SHARDS };

const char *const soak_names[SOAK_NARRAYS] = {"raw", "zstd", "blosc", "damaged",
                                              "shards"};

/* One in eight raw chunks is absent. */
static bool is_absent(int k, int64_t c) {
    return k == RAW && c % 8 == 3;
}

bool soak_is_damaged(int k, int64_t c) {
    return k == DAMAGED && c % 32 == 5;
}

uint16_t soak_element(int k, int64_t i) {
    return is_absent(k, i / SOAK_CHUNK) ? FILL : (uint16_t)(i / 4 + k);
}

static bool write_file(const char *folder, const char *name, const void *data, size_t n) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%.900s/%.60s", folder, name);
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(data, 1, n, f) == n;
    return f != NULL && fclose(f) == 0 && ok;
}

static size_t encode(int k, int64_t c, uint8_t *out) {
    uint16_t raw[SOAK_CHUNK];
    uLongf n = ROOM;
    for (int64_t i = 0; i < SOAK_CHUNK; i++) {
        raw[i] = soak_element(k, c * SOAK_CHUNK + i);
    }
    switch (k) {
    case ZSTD:
        return ZSTD_compress(out, ROOM, raw, NBYTES, 3);
    case BLOSC:
        return (size_t)blosc_compress_ctx(5, BLOSC_SHUFFLE, 2, NBYTES, raw, out, ROOM,
                                          "lz4", 0, 1);
    case DAMAGED:
        (void)compress2(out, &n, (const Bytef *)raw, NBYTES, 1);
        memset(out + n / 2, soak_is_damaged(k, c) ? 0xFF : out[n / 2], 1);
        return soak_is_damaged(k, c) ? n / 2 : n;
    case SHARDS:
        for (uint64_t i = 0; i < INNER; i++) {
            const uint64_t place[2] = {i * NBYTES / INNER, NBYTES / INNER};
            memcpy(out + NBYTES + i * sizeof place, place, sizeof place);
        }
        memcpy(out, raw, NBYTES);
        return NBYTES + INNER * 2 * sizeof(uint64_t);
    default:
        memcpy(out, raw, NBYTES);
        return NBYTES;
    }
}

static int describe_v2(int k, char *meta, size_t room) {
    static const char *const compressors[] = {
        [RAW] = "null",
        [ZSTD] = "{\"id\":\"zstd\",\"level\":3}",
        [BLOSC] = "{\"id\":\"blosc\",\"cname\":\"lz4\",\"shuffle\":1}",
        [DAMAGED] = "{\"id\":\"zlib\",\"level\":1}"};
    return snprintf(meta, room,
                    "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"<u2\","
                    "\"compressor\":%s,\"filters\":null,\"fill_value\":%d,"
                    "\"order\":\"C\"}",
                    SOAK_LENGTH, SOAK_CHUNK, compressors[k], FILL);
}

static int describe_v3(char *meta, size_t room) {
#define LITTLE "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
    return snprintf(
        meta, room,
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d],\"data_type\":"
        "\"uint16\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
        "{\"chunk_shape\":[%d]}},\"chunk_key_encoding\":{\"name\":\"v2\"},"
        "\"fill_value\":%d,\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":"
        "{\"chunk_shape\":[%d],\"codecs\":[" LITTLE "],\"index_codecs\":[" LITTLE "]}}]}",
        SOAK_LENGTH, SOAK_CHUNK, FILL, SOAK_CHUNK / INNER);
}

static bool write_array(const char *folder, int k) {
    char path[1024], meta[1024], name[32];
    uint8_t out[ROOM];
    (void)snprintf(path, sizeof path, "%.900s/%s", folder, soak_names[k]);
    int n =
        k == SHARDS ? describe_v3(meta, sizeof meta) : describe_v2(k, meta, sizeof meta);
    bool ok = mkdir(path, 0700) == 0 &&
              write_file(path, k == SHARDS ? "zarr.json" : ".zarray", meta, (size_t)n);
    for (int64_t c = 0; ok && c < SOAK_NCHUNKS; c++) {
        (void)snprintf(name, sizeof name, "%d", (int)c);
        ok = is_absent(k, c) || write_file(path, name, out, encode(k, c, out));
    }
    return ok;
}

bool soak_write(const char *folder) {
    bool ok = true;
    for (int k = 0; ok && k < SOAK_NARRAYS; k++) {
        ok = write_array(folder, k);
    }
    return ok;
}
