/* The container of Blosc 1: where its streams lie. SPDX-License-Identifier: Apache-2.0
 *
 * Pure functions of the chunk's bytes, for decoders on any device. The format has a
 * 16-byte header, then one 4-byte start per block (from the chunk's first byte, in any
 * order), then the blocks: for each of their streams a 4-byte size and the bytes. */
#ifndef HR_CODEC_BLOSC_FRAME_H
#define HR_CODEC_BLOSC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/status.h>

#define HR__BLOSC_HEADER_NBYTES 16
#define HR__BLOSC_MAX_SPLITS 16

typedef enum hr__blosc_format {
    HR__BLOSC_BLOSCLZ = 0,
    HR__BLOSC_LZ4 = 1, /* lz4hc too */
    HR__BLOSC_SNAPPY = 2,
    HR__BLOSC_ZLIB = 3,
    HR__BLOSC_ZSTD = 4
} hr__blosc_format;

typedef struct hr__blosc_frame {
    hr__blosc_format format; /* of every stream */
    bool stored;             /* decoded bytes follow the header as they are; no blocks */
    bool shuffle;            /* each block is byte-shuffled */
    bool bitshuffle;         /* or bit-shuffled */
    bool split;              /* blocks may have one stream per byte of an item */
    uint32_t typesize;       /* 1 to 255 */
    uint32_t nbytes;         /* decoded */
    uint32_t blocksize;      /* decoded bytes of every block but the last */
    uint32_t cbytes;         /* encoded, header included; not more than there are */
    uint32_t nblocks;        /* 0 when stored or empty */
} hr__blosc_frame;

/* A stream whose nbytes equals decoded_nbytes holds these bytes as they are. */
typedef struct hr__blosc_stream {
    uint32_t offset; /* from the chunk's first byte */
    uint32_t nbytes;
    uint32_t decoded_nbytes;
} hr__blosc_stream;

typedef struct hr__blosc_block {
    uint32_t nbytes; /* decoded: the sum over its streams */
    uint32_t nstreams;
    hr__blosc_stream streams[HR__BLOSC_MAX_SPLITS];
} hr__blosc_block;

/* Read and check the header. Errors: HR_ERR_DATA; HR_ERR_UNSUPPORTED for Blosc 2 and
 * unknown formats. */
hr_status hr__blosc_parse(const uint8_t *src, size_t src_nbytes, hr__blosc_frame *frame,
                          hr_error *err);

/* Find the streams of block i < nblocks; all of them lie within cbytes. *unclaimed, which
 * starts as frame->cbytes, counts down by the block's size: blocks that share bytes
 * run into HR_ERR_DATA, so that the work stays linear in the chunk's size. */
hr_status hr__blosc_block_at(const hr__blosc_frame *frame, const uint8_t *src, uint32_t i,
                             uint32_t *unclaimed, hr__blosc_block *block, hr_error *err);

#endif
