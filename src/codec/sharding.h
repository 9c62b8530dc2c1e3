/* The configuration of sharding_indexed. SPDX-License-Identifier: Apache-2.0
 *
 * A shard can be decoded as a whole, like any chunk; the formats rather lift it into a
 * level of chunks inside chunks (format/array.h), so that parts of it can be read. */
#ifndef HR_CODEC_SHARDING_H
#define HR_CODEC_SHARDING_H

#include "codec/codec.h"

extern const hr__codec_type hr__codec_sharding; /* "sharding_indexed" */

/* What codec->config points to where codec->type is hr__codec_sharding. Axes are those of
 * codec->decoded, after the transposes that stand in front of the codec. */
typedef struct hr__sharding_config {
    int64_t chunk_shape[HR_MAX_NDIM]; /* of an inner chunk */
    int64_t counts[HR_MAX_NDIM];      /* inner chunks per shard along each axis */
    uint64_t ninner;                  /* product of counts */
    bool index_at_start;
    hr__chain index; /* decodes to [counts…, 2] uint64 little-endian; index.encoded.nbytes
                        is exact. UINT64_MAX twice: the inner chunk is absent */
    hr__chain
        inner; /* of one inner chunk, decoded in codec->decoded.dtype's byte order */
    json_object *inner_codecs; /* "codecs" of the metadata; borrowed from it */
} hr__sharding_config;

/* Where inner chunk i lies in a shard of shard_nbytes, from the decoded index. *nbytes is
 * UINT64_MAX for an absent one. HR_ERR_DATA where the range does not lie in the shard. */
hr_status hr__shard_range(const uint8_t *index, uint64_t i, uint64_t shard_nbytes,
                          uint64_t *offset, uint64_t *nbytes, hr_error *err);

#endif
