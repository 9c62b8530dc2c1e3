/* Arrays in files whose chunks repeat. SPDX-License-Identifier: Apache-2.0 */
#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <blosc.h>
#include <zstd.h>

uint64_t array_nbytes(const array *a) {
    return a->nchunks * a->chunk_nbytes;
}

/* A level that changes now and then, and noise, as a camera has it. */
static void draw_chunk(uint16_t *items, uint64_t n, uint64_t seed, uint16_t noise) {
    uint64_t random = seed * 2654435761U + 1;
    uint16_t level = (uint16_t)(1000 * seed);
    for (uint64_t i = 0; i < n; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        level = (uint16_t)(level + (random >> 57 == 0 ? 16 : 0));
        items[i] = (uint16_t)(level + (random >> 40) % noise);
    }
}

static bool write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(data, 1, n, f) == n;
    return f != NULL && fclose(f) == 0 && ok;
}

static size_t encode(const array *a, const uint8_t *raw, uint8_t *out, size_t room) {
    const size_t n = a->chunk_nbytes;
    if (strcmp(a->codec, "zstd") == 0) {
        return ZSTD_compress(out, room, raw, n, 3);
    }
    if (strcmp(a->codec, "lz4") == 0) {
        return (size_t)blosc_compress_ctx(5, BLOSC_SHUFFLE, 2, n, raw, out, room, "lz4",
                                          0, 1);
    }
    memcpy(out, raw, n);
    return n;
}

static bool write_chunks(const array *a) {
    const size_t room = ZSTD_compressBound(a->chunk_nbytes) + BLOSC_MAX_OVERHEAD;
    uint8_t *out = malloc(room);
    bool ok = out != NULL;
    char first[600], path[600];
    for (uint64_t i = 0; ok && i < a->nchunks; i++) {
        const uint64_t k = i % ARRAY_NDISTINCT;
        (void)snprintf(first, sizeof first, "%s/%" PRIu64 ".0", a->path, k);
        (void)snprintf(path, sizeof path, "%s/%" PRIu64 ".0", a->path, i);
        if (i != k) {
            ok = link(first, path) == 0 || errno == EEXIST;
            continue;
        }
        uint8_t *raw = a->distinct + k * a->chunk_nbytes;
        ok = write_file(path, out, encode(a, raw, out, room));
    }
    free(out);
    return ok;
}

bool array_write(array *a) {
    static const char *const compressors[] = {
        "null", "{\"id\":\"zstd\",\"level\":3}",
        "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1}"};
    const int codec = strcmp(a->codec, "zstd") == 0  ? 1
                      : strcmp(a->codec, "lz4") == 0 ? 2
                                                     : 0;
    char meta[512], path[600];
    const uint64_t rows = a->chunk_nbytes / ARRAY_ROW_NBYTES;
    a->distinct = malloc(ARRAY_NDISTINCT * a->chunk_nbytes);
    if (a->distinct == NULL) {
        return false;
    }
    for (uint64_t k = 0; k < ARRAY_NDISTINCT; k++) {
        draw_chunk((uint16_t *)(a->distinct + k * a->chunk_nbytes),
                   a->chunk_nbytes / sizeof(uint16_t), k, a->noise);
    }
    (void)snprintf(a->path, sizeof a->path, "%s/%s-%" PRIu64 "-%" PRIu64 "-%u", a->folder,
                   a->codec, a->chunk_nbytes, a->nchunks, a->noise);
    const int n = snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":2,\"shape\":[%" PRIu64 ",%d],\"chunks\":[%" PRIu64
        ",%d],\"dtype\":\"<u2\",\"compressor\":%s,\"filters\":null,"
        "\"fill_value\":0,\"order\":\"C\"}",
        rows * a->nchunks, ARRAY_COLUMNS, rows, ARRAY_COLUMNS, compressors[codec]);
    (void)snprintf(path, sizeof path, "%s/.zarray", a->path);
    return (mkdir(a->path, 0700) == 0 || errno == EEXIST) &&
           write_file(path, meta, (size_t)n) && write_chunks(a);
}

void array_free(array *a) {
    free(a->distinct);
    a->distinct = NULL;
}

bool array_holds(const array *a, const uint8_t *bytes, uint64_t row, uint64_t nrows,
                 uint64_t column, uint64_t ncolumns) {
    const uint64_t rows = a->chunk_nbytes / ARRAY_ROW_NBYTES;
    const size_t n = ncolumns * sizeof(uint16_t);
    bool ok = true;
    for (uint64_t i = 0; ok && i < nrows; i++) {
        const uint64_t r = row + i, k = r / rows % ARRAY_NDISTINCT;
        const uint8_t *expected = a->distinct + k * a->chunk_nbytes +
                                  r % rows * ARRAY_ROW_NBYTES + column * sizeof(uint16_t);
        ok = memcmp(bytes + i * n, expected, n) == 0;
    }
    return ok;
}
