/* Parameter blocks of the kernels: plain data, the same on host and device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_KERNEL_ABI_H
#define HR_CUDA_KERNEL_ABI_H

#include "store_abi.h"

/* --- decoding --- */

/* One stream to decode: src_nbytes at src are exactly the stream, and it decodes to
 * exactly dst_nbytes at dst; any alignment. */
typedef struct hr_k_task {
    uint64_t src; /* const uint8_t * */
    uint64_t dst; /* uint8_t * */
    uint32_t src_nbytes, dst_nbytes;
    uint32_t status_index;
    uint16_t size_nbytes; /* of a size in front of src: not for kernels */
    uint16_t wrapper;     /* of Deflate streams: HR_K_DEFLATE_RAW … */
    uint64_t scratch;     /* for HR__KERNEL_LZ4_WHOLE: room of HR_K_WHOLE_ROOM, 16-byte
                             aligned */
} hr_k_task;

/* The status word of a task that HR__KERNEL_LZ4_WHOLE has decoded. */
#define HR_K_BY_WHOLE 1

/* Decode all tasks. A stream that is not right leaves its status, code << 32 | where in
 * the stream, and zeros from the end of what was decoded; where tasks share a status
 * word, the greatest stays. Words of tasks that went well are not touched. */
typedef struct hr_k_decode {
    uint64_t tasks;   /* const hr_k_task *: the longest first */
    uint64_t counter; /* uint32_t *: 0 beforehand */
    uint64_t status;  /* uint64_t *: 0 beforehand */
    uint32_t ntasks;
    uint32_t team; /* who works on a stream: of the codec's teams below */
} hr_k_decode;

enum {
    HR_K_TRUNCATED = 1, /* the stream ends within a sequence, or without a last one */
    HR_K_BAD_OFFSET,    /* a match from before the output, or from itself */
    HR_K_TOO_LONG,      /* the sequence does not fit in the output */
    HR_K_TOO_SHORT,     /* the stream ends before the output does */
    HR_K_BAD_PADDING,   /* packed bits say that they are more, or fewer */
    HR_K_BAD_CODE,      /* entropy-coded bits, or the table of their code, are wrong */
    HR_K_BAD_WRAPPER,   /* of zlib or gzip: a header, a size, or bytes behind the end */
    HR_K_BAD_CHECKSUM,  /* it is not that of the output, which was made */
    HR_K_NO_VALUE,      /* an item has no value in its type */
    HR_K_NO_STRING,     /* of LZW: a code of a string that is not made yet */
};

/* Teams of the LZ decoders: X(name, threads, bytes of shared memory). A w is so many
 * warps that parse and make output in turns, a p as many again for either; those with an
 * s are better with byte-shuffled data, the others with plain data; r1 is a
 * warp that takes one sequence after the other. */
#define HR_K_LZ_TEAMS(X)                                                                 \
    X(w1s, 32, 5168)                                                                     \
    X(w2, 64, 10236)                                                                     \
    X(w2s, 64, 10236)                                                                    \
    X(w4, 128, 20372)                                                                    \
    X(w4s, 128, 20372)                                                                   \
    X(w8, 256, 48836)                                                                    \
    X(p4s, 256, 48708)                                                                   \
    X(p16, 1024, 210388)                                                                 \
    X(p16s, 1024, 210388)                                                                \
    X(r1, 32, 1216)

#define HR_K_LZ_TEAM(name, threads, shared_nbytes) HR_K_LZ_##name,
enum { HR_K_LZ_TEAMS(HR_K_LZ_TEAM) HR_K_LZ_NTEAMS };

/* Whole devices on a few LZ4 streams, see lz4_whole.cuh. A block takes a region of a
 * stream, then a tile of an output. */
#define HR_K_WHOLE_REGION 8192
#define HR_K_WHOLE_THREADS 512
#define HR_K_WHOLE_TILE 1024
/* Of so many regions the first bytes are looked up at once. */
#define HR_K_WHOLE_ROWS 64
#define HR_K_WHOLE_NEAR 32
#define HR_K_WHOLE_NEAR_NBYTES (HR_K_WHOLE_ROWS * HR_K_WHOLE_NEAR * 8)
#define HR_K_WHOLE_PARTS(nbytes, part) ((nbytes) / (part) + ((nbytes) % (part) != 0))
#define HR_K_WHOLE_ROOM(src, dst)                                                        \
    (16 + ((uint64_t)HR_K_WHOLE_PARTS(src, HR_K_WHOLE_REGION) + 1) / 2 * 16 +            \
     (8 * (uint64_t)(src) > 4 * (uint64_t)(dst) ? 8 * (uint64_t)(src)                    \
                                                : (4 * (uint64_t)(dst) + 12)))
#define HR_K_WHOLE_SHARED_NBYTES ((HR_K_WHOLE_REGION + HR_K_WHOLE_THREADS) * 8)

/* Those that are good are decoded; the others become the last tasks of the list, and the
 * counter stands before them: a launch of HR__KERNEL_LZ4 with the same streams follows.
 */
typedef struct hr_k_whole {
    hr_k_decode streams;
    uint32_t nregions, ntiles; /* of all tasks */
} hr_k_whole;

/* What a Deflate stream is wrapped in. Checksums are compared, and gzip may have many
 * members and zeros behind them. UNCHECKED: no checksum is looked at. */
enum {
    HR_K_DEFLATE_RAW,
    HR_K_DEFLATE_ZLIB,
    HR_K_DEFLATE_GZIP,
    HR_K_DEFLATE_UNCHECKED = 4
};

/* Teams of Deflate's decoder; a w is so many warps that parse and make output in turns,
 * a p so many that parse, beside others that make it; an s as above. */
#define HR_K_DEFLATE_TEAMS(X)                                                            \
    X(w4, 128, 24128)                                                                    \
    X(w4s, 128, 24384)                                                                   \
    X(w8, 256, 54912)                                                                    \
    X(w8s, 256, 48256)                                                                   \
    X(p16, 1024, 206016)                                                                 \
    X(p24s, 1024, 207680)

#define HR_K_DEFLATE_TEAM(name, threads, shared_nbytes) HR_K_DEFLATE_##name,
enum { HR_K_DEFLATE_TEAMS(HR_K_DEFLATE_TEAM) HR_K_DEFLATE_NTEAMS };

/* Teams of LZW's decoder: likewise, whatever the data. */
#define HR_K_LZW_TEAMS(X)                                                                \
    X(w4, 128, 24460)                                                                    \
    X(w8, 256, 41388)                                                                    \
    X(p8, 512, 67180)

#define HR_K_LZW_TEAM(name, threads, shared_nbytes) HR_K_LZW_##name,
enum { HR_K_LZW_TEAMS(HR_K_LZW_TEAM) HR_K_LZW_NTEAMS };

/* --- Zstandard ---
 *
 * The host walks the headers (codec/zstd_frame.h); all places count from the stream's
 * first byte. Literals in a Huffman code and sequences are decoded into scratch memory,
 * for many blocks at once, then each stream is executed. */

enum { HR_K_ZSTD_RAW, HR_K_ZSTD_RLE, HR_K_ZSTD_CODED };
enum { HR_K_ZSTD_PREDEFINED, HR_K_ZSTD_SINGLE, HR_K_ZSTD_DESCRIBED };

typedef struct hr_k_zstd_block {
    uint32_t stream; /* the number of its task */
    uint32_t at;     /* of its header: told with what is wrong with it */
    uint32_t begins_frame;
    uint32_t kind, literals_kind;
    uint32_t literals, literals_nbytes, nliterals;
    uint32_t nstreams, tree;
    uint32_t nsequences;
    uint32_t table_kinds[3], tables[3]; /* literal lengths, offsets, match lengths */
    uint32_t sequences, sequences_nbytes;
    uint32_t max_nbytes;   /* that a block with sequences may make */
    uint32_t frame_nbytes; /* that end with the block; HR_K_ZSTD_ANY: of no matter */
    uint32_t has_checksum, checksum; /* of these */
    /* uint8_t *: room for literals in a Huffman code. All of a stream lie, block after
     * block, at the end of its output: as many bytes are yet to be made as literals are
     * yet to be used, or more, so those are not overwritten. */
    uint64_t made_literals;
    uint64_t made_words; /* uint32_t *: room for each of the sequences, … */
    uint64_t made_longs; /* … and uint64_t *: for those that do not fit there */
    uint32_t most_longs;
    uint32_t farthest;                /* that an offset may be */
    uint32_t offset_bits, match_bits; /* of a word; see zstd_made.cuh */
} hr_k_zstd_block;

/* No block has more. */
#define HR_K_ZSTD_MOST_SEQUENCES 43691

/* What the kernels find out about a block. */
typedef struct hr_k_zstd_result {
    uint32_t literals_code, sequences_code; /* 0: all is well */
    uint32_t nbytes;                        /* that it makes */
    uint32_t begin, frame_begin;            /* in the output */
    uint32_t offsets[3]; /* the last ones: behind it, then before it; see zstd_code.cuh */
} hr_k_zstd_result;

typedef struct hr_k_zstd {
    hr_k_decode streams;     /* at most HR_K_ZSTD_MAX_NBYTES each */
    uint64_t first_blocks;   /* const uint32_t *: of each stream, and the end */
    uint64_t blocks;         /* const hr_k_zstd_block *: of all streams, in order */
    uint64_t results;        /* hr_k_zstd_result *: 0 beforehand */
    uint64_t with_literals;  /* const uint32_t *: blocks with a Huffman code, … */
    uint64_t with_sequences; /* … and with sequences: those with the most first */
    uint64_t with_checksums; /* const uint32_t *: blocks that end frames with one */
    uint32_t nwith_literals, nwith_sequences, nwith_checksums;
    uint32_t nchains; /* blocks that go together: 1 to HR_K_ZSTD_CHAINS */
} hr_k_zstd;

#define HR_K_ZSTD_ANY UINT32_MAX

#define HR_K_ZSTD_MAX_NBYTES ((UINT32_C(1) << 27) - 2)

/* Blocks that a warp decodes at once, and frames that it sums up. */
#define HR_K_ZSTD_SUMS 8
#define HR_K_ZSTD_TREES 4
#define HR_K_ZSTD_CHAINS 8

#define HR_K_ZSTD_LITERALS_THREADS 32
#define HR_K_ZSTD_LITERALS_SHARED_NBYTES 18704
#define HR_K_ZSTD_SEQUENCES_THREADS 96
#define HR_K_ZSTD_SEQUENCES_SHARED_NBYTES 50752

/* Who executes a stream, as for LZ4. */
#define HR_K_ZSTD_TEAMS(X)                                                               \
    X(w4, 128, 24752)                                                                    \
    X(w2s, 64, 8336)                                                                     \
    X(w32, 1024, 180832)                                                                 \
    X(p4s, 256, 41328)                                                                   \
    X(p8, 512, 82352)                                                                    \
    X(p16s, 1024, 197168)

#define HR_K_ZSTD_TEAM(name, threads, shared_nbytes) HR_K_ZSTD_##name,
enum { HR_K_ZSTD_TEAMS(HR_K_ZSTD_TEAM) HR_K_ZSTD_NTEAMS };

#endif
