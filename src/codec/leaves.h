/* Decoding on a device: what the kernels are to do for one chunk.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host looks at headers and tables only; each stream behind them becomes a leaf. A
 * codec that kernels can decode has `leaves` beside its `decode`. */
#ifndef HR_CODEC_LEAVES_H
#define HR_CODEC_LEAVES_H

#include "codec/codec.h"
#include "core/vec.h"

typedef enum hr__leaf_format {
    HR__LEAF_COPY = 0, /* the bytes as they are */
    HR__LEAF_LZ4,
    HR__LEAF_SNAPPY, /* its elements, without the size in front */
    HR__LEAF_BLOSCLZ,
    HR__LEAF_PACKBITS,
    HR__LEAF_DEFLATE, /* in a wrapper */
    HR__LEAF_LZW,
    HR__LEAF_ZSTD, /* whole frames, taken apart into blocks */
    HR__NLEAF_FORMATS
} hr__leaf_format;

/* What a Deflate stream is in: two bytes before and Adler-32 behind, or members with
 * headers and CRC-32. */
typedef enum hr__deflate_wrapper {
    HR__DEFLATE_ZLIB = 0,
    HR__DEFLATE_GZIP
} hr__deflate_wrapper;

/* One stream: src_nbytes at `src` of the encoded chunk make dst_nbytes at `dst` of the
 * decoded one (before un-shuffling). */
typedef struct hr__leaf {
    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;
    hr__leaf_format format;
    uint32_t size_nbytes;          /* of the size that stands in front of src */
    hr__deflate_wrapper wrapper;   /* DEFLATE */
    bool skips_checksum;           /* DEFLATE: or kernels compare it */
    uint32_t first_block, nblocks; /* ZSTD: of hr__leaves.zstd_blocks */
    uint64_t
        scratch_nbytes; /* that its kernels need beside the output, a multiple of 16 */
} hr__leaf;

typedef enum hr__shuffle_mode {
    HR__SHUFFLE_NONE = 0,
    HR__SHUFFLE_BYTES,
    HR__SHUFFLE_BITS
} hr__shuffle_mode;

typedef struct hr__leaves {
    const hr_allocator *allocator;
    const uint8_t *base;      /* of the encoded chunk: offsets count from here */
    hr__vec leaves;           /* of hr__leaf */
    hr__vec zstd_blocks;      /* of hr__zstd_block */
    uint64_t scratch_nbytes;  /* of all leaves together */
    uint64_t left_out_nbytes; /* that nobody wants */
    bool stored;           /* no leaf: the decoded bytes are in the encoded ones, … */
    uint64_t stored_at;    /* … from here */
    hr__shuffle_mode mode; /* how the decoded bytes lie: blocks of block_nbytes, each */
    uint32_t typesize;     /* shuffled by itself for items of typesize */
    uint64_t block_nbytes;
} hr__leaves;

/* What lies between leaves and steps: nothing, running sums, components unpacked from
 * bits, integers scaled, or numbers cast with a say in rounding and range. */
typedef enum hr__stage_kind {
    HR__STAGE_NONE = 0,
    HR__STAGE_SUM,
    HR__STAGE_UNPACK,
    HR__STAGE_SCALE,
    HR__STAGE_CAST
} hr__stage_kind;

#define HR__STAGE_MOST_MAPPED 4

typedef struct hr__stage {
    hr__stage_kind kind;
    hr_dtype items; /* that it makes; SUM and SCALE work in that type, and but for planes
                       it is little-endian */
    uint64_t nbytes;
    /* UNPACK with high_first: row as for the kernel (store_abi.h). SUM: where row > 0,
     * not of items but of integers of component_nbytes, along rows of so many, each added
     * to the one `stride` before it. has_planes: such a row then has the first bytes of
     * its items, their second bytes, … */
    uint64_t row, stride;
    bool has_planes;
    /* UNPACK: from byte packed_at on, `width` bits for each component. */
    uint64_t packed_at, check_at;
    int32_t check_value; /* of the byte at check_at; −1: nothing to check */
    uint32_t component_nbytes, width, first_bit;
    bool is_signed, high_first;
    uint64_t scale, offset; /* SCALE: x / scale + offset, exact, in 64 bits */
    /* CAST, as of codec/cast.h. */
    hr_dtype from;
    uint32_t rounding, out_of_range, nmapped;
    uint64_t mapped[HR__STAGE_MOST_MAPPED][2];
} hr__stage;

/* How kernels decode the chunks of a chain: leaves make laid_nbytes; a stage turns these
 * into items, steps turn those into the chunk's. */
typedef struct hr__kernel_chain {
    int32_t
        nfront; /* codecs[0 … nfront) are stage and steps, behind are leaves and views */
    uint64_t laid_nbytes;
    uint32_t
        scratch_ratio; /* of the codecs behind: leaves want at most so many times that */
    bool may_shuffle;  /* of these one, what leaves make */
    hr_dtype laid; /* items that leaves make, byte order included; for SUM any numbers */
    hr__stage stage;
    hr_dtype items; /* that the stage makes; without one as laid */
    hr__steps steps;
} hr__kernel_chain;

/* Name of the codec because of which a chain cannot be decoded by kernels, or NULL, with
 * *out set. What a chunk's own header says may still exclude that chunk. */
const char *hr__chain_for_kernels(const hr__chain *chain, hr__kernel_chain *out);
const char *hr__chain_refuses_leaves(const hr__chain *chain);
/* Why the host decodes a chunk of this chain for a device: what strict says. */
#define HR__WHY_HOST_NBYTES 160
const char *hr__chain_why_host(const hr__chain *chain, char text[HR__WHY_HOST_NBYTES]);

/* Describe one chunk of a chain and what hr__chain_for_kernels says of it: d supplies
 * worker, src, src_nbytes, wanted and skip_checksums; its checksums are verified here.
 * `out` is emptied first. HR_ERR_UNSUPPORTED: not by kernels (the host can); other errors
 * as hr__chain_decode. Sizes are checked as there. */
hr_status hr__chain_leaves(const hr__chain *chain, const hr__kernel_chain *kernels,
                           const hr__decode *d, hr__leaves *out, hr_error *err);

/* For codecs: a stream of src_nbytes at src, a pointer into what they were given. */
hr_status hr__leaves_add(hr__leaves *out, hr__leaf_format format, const uint8_t *src,
                         uint32_t src_nbytes, uint64_t dst, uint32_t dst_nbytes,
                         hr_error *err);
/* For codecs: all of d->src, one stream. HR_ERR_UNSUPPORTED from 4 GiB on. */
hr_status hr__leaves_add_whole(hr__leaves *out, hr__leaf_format format,
                               const hr__decode *d, hr_error *err);
/* For codecs: Snappy data, whose size must be dst_nbytes. */
hr_status hr__snappy_leaf(const uint8_t *src, uint32_t src_nbytes, uint64_t dst,
                          uint32_t dst_nbytes, hr__leaves *out, hr_error *err);
/* For codecs: frames of Zstandard. d: as the codec was given it. */
#define HR__ZSTD_SCRATCH_RATIO 2 /* at most 1.25: see hr__zstd_stream_room */
hr_status hr__zstd_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                        uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                        hr_error *err);
/* For codecs: Deflate data, in either wrapper; zlib data. Only its first bytes are looked
 * at. */
hr_status hr__deflate_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                           uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                           hr_error *err);
hr_status hr__zlib_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                        uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                        hr_error *err);
/* For codecs: the decoded bytes are these. */
void hr__leaves_stored(hr__leaves *out, const uint8_t *src);

#endif
