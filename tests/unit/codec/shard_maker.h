/* Shards in the making. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_CODEC_SHARD_MAKER_H
#define HR_TESTS_CODEC_SHARD_MAKER_H

#include <stdint.h>
#include <string.h>

#include "codec/checksum.h"

#define ABSENT UINT64_MAX
#define CRC "\"crc32c\""
#define BYTES(order) "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"" order "\"}}"
#define SHARD(shape, codecs, index, location)                                            \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape           \
    ",\"codecs\":[" codecs "],\"index_codecs\":[" index                                  \
    "],\"index_location\":\"" location "\"}}"

typedef struct shard {
    uint8_t data[4096];
    size_t nbytes;
    uint64_t index[64];
    size_t nentries; /* numbers in the index */
} shard;

static inline void put(shard *s, const void *data, size_t nbytes) {
    memcpy(s->data + s->nbytes, data, nbytes);
    s->nbytes += nbytes;
}

static inline void add_entry(shard *s, uint64_t offset, uint64_t nbytes) {
    s->index[s->nentries++] = offset;
    s->index[s->nentries++] = nbytes;
}

static inline void add_inner(shard *s, const void *data, size_t nbytes) {
    add_entry(s, s->nbytes, nbytes);
    put(s, data, nbytes);
}

static inline void put_index(shard *s, bool with_crc) {
    put(s, s->index, s->nentries * 8);
    if (with_crc) {
        uint32_t crc = hr__crc32c((const uint8_t *)s->index, s->nentries * 8);
        put(s, &crc, 4);
    }
}

#endif
