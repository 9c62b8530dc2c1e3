/* The container of Zstandard: where the parts of its blocks lie.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure functions of the stream's bytes, for decoders that take the blocks apart. Only
 * headers and table descriptions are looked at, a few bytes per block. */
#ifndef HR_CODEC_ZSTD_FRAME_H
#define HR_CODEC_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/vec.h"

#define HR__ZSTD_MAX_BLOCK_NBYTES (UINT32_C(128) << 10)

/* No block has more: they make three bytes each. */
#define HR__ZSTD_MOST_SEQUENCES 43691

/* That kernels make of one stream: offsets in it take 27 bits. */
#define HR__ZSTD_MOST_NBYTES ((UINT32_C(1) << 27) - 2)

typedef enum hr__zstd_kind {
    HR__ZSTD_RAW = 0, /* the bytes as they are */
    HR__ZSTD_RLE,     /* one byte over and over */
    HR__ZSTD_CODED    /* a block of sequences; literals in a Huffman code */
} hr__zstd_kind;

/* Of sequences: literal lengths, offsets, match lengths. */
enum { HR__ZSTD_LENGTHS = 0, HR__ZSTD_OFFSETS, HR__ZSTD_MATCHES, HR__ZSTD_NCODES };

typedef enum hr__zstd_table {
    HR__ZSTD_PREDEFINED = 0,
    HR__ZSTD_SINGLE,   /* one symbol, the byte at `at` */
    HR__ZSTD_DESCRIBED /* normalised counts from `at` on */
} hr__zstd_table;

/* One block. Places count from the stream's first byte and lie, with their sizes, inside
 * the stream. Tables that a block takes over from an earlier one are given by the place
 * of their own description. */
typedef struct hr__zstd_block {
    uint32_t at; /* of its header */
    bool begins_frame;
    /* Of the last block of a frame: */
    bool has_checksum;
    uint32_t checksum;
    uint64_t content_nbytes; /* that the frame declares; HR__SIZE_UNKNOWN: nothing, or
                                not the last */
    uint32_t max_nbytes;     /* that sequences may make it */
    uint32_t farthest;       /* that their offsets may be */
    hr__zstd_kind kind;
    /* The literals; of a raw or RLE block all that it makes. */
    hr__zstd_kind literals_kind;
    uint32_t literals, literals_nbytes; /* the bytes, the one byte, or Huffman streams */
    uint32_t nliterals;                 /* that they make */
    uint32_t nstreams;                  /* CODED: 1, or 4 behind a table of their sizes */
    uint32_t tree;                      /* CODED: the description of its Huffman code */
    uint32_t nsequences;
    struct {
        hr__zstd_table kind;
        uint32_t at;
    } tables[HR__ZSTD_NCODES];
    uint32_t sequences, sequences_nbytes; /* their bits, ≥ 1 byte if there are any */
} hr__zstd_block;

typedef struct hr__zstd_stream {
    hr__vec blocks;          /* of hr__zstd_block */
    uint64_t content_nbytes; /* that the frames declare; HR__SIZE_UNKNOWN: not all do */
    size_t most_blocks;      /* set by the caller; 0: no limit */
} hr__zstd_stream;

/* Literals of a block that do not stand in the stream: kernels make them in the output.
 */
uint32_t hr__zstd_made_literals(const hr__zstd_block *b);

/* How kernels keep a block's sequences: 4 bytes for each, offset, match and literals,
 * then 8 for each that does not fit, of which there cannot be more than most_longs, as
 * they make so many bytes. Either begins 16 bytes aligned. */
typedef struct hr__zstd_room {
    uint64_t longs, nbytes; /* in bytes: where, and all */
    uint32_t most_longs;
    uint32_t farthest; /* that offsets may be */
    uint32_t offset_bits, match_bits;
} hr__zstd_room;

hr__zstd_room hr__zstd_room_of(const hr__zstd_block *b, uint64_t dst_nbytes);

/* The room for all n blocks of a stream, of which kernels make dst_nbytes. HR_ERR_DATA:
 * there are more literals than that; HR_ERR_UNSUPPORTED: the room would be more than 1.25
 * times that (and more than a page). */
hr_status hr__zstd_stream_room(const hr__zstd_block *blocks, size_t n,
                               uint64_t dst_nbytes, uint64_t *room, hr_error *err);

/* Walk all frames of a stream; blocks are added to out->blocks, which the caller frees.
 * Errors: HR_ERR_DATA; HR_ERR_UNSUPPORTED for dictionaries, what the format keeps for
 * later and more blocks than the caller wants. */
hr_status hr__zstd_walk(const hr_allocator *a, const uint8_t *src, size_t src_nbytes,
                        hr__zstd_stream *out, hr_error *err);

#endif
