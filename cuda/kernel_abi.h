/* Parameter blocks of the kernels: plain data, the same on host and device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_KERNEL_ABI_H
#define HR_CUDA_KERNEL_ABI_H

#include <stdint.h>

#define HR_K_MAX_DIMS 8

/* One loop of a scatter. Strides and starts in bytes; lists hold element numbers that
 * the stride multiplies, and are device pointers (0 = arithmetic). */
typedef struct hr_k_dim {
    uint64_t n;
    int64_t src0, src_step; /* bytes: element k at src0 + k·src_step */
    int64_t dst0, dst_step;
    uint64_t src_list, dst_list; /* const int64_t *: list[k]·step instead, start unused */
} hr_k_dim;

/* Copy nitems = Π n items of itemsize bytes from src to dst; dims[ndim − 1] is fastest.
 * Places written twice end with either item. */
typedef struct hr_k_scatter {
    uint64_t src; /* const uint8_t * */
    uint64_t dst; /* uint8_t * */
    uint64_t nitems;
    uint32_t itemsize;
    int32_t ndim; /* 0 … HR_K_MAX_DIMS */
    hr_k_dim dims[HR_K_MAX_DIMS];
} hr_k_scatter;

/* Write one item to every place of the destination's loops (src side unused). */
typedef struct hr_k_fill {
    hr_k_scatter where; /* where.src = device copy of the item */
} hr_k_fill;

/* n / divisor for any n: (((n − t) >> shift1) + t) >> shift2, t = n·factor / 2^32. */
typedef struct hr_k_divisor {
    uint32_t divisor, factor, shift1, shift2;
} hr_k_divisor;

/* What the kernels take: device/geometry.c makes it from either block above. Items are
 * `width` bytes, aligned. A tile is what a block of threads moves at a time: threads lie
 * along x (fastest in the destination) and y, a thread's items along one of the two, and
 * the remaining loops number the tiles. */
#define HR_K_LOG_THREADS 8
#define HR_K_THREADS (1 << HR_K_LOG_THREADS)

/* Items per thread: enough loads in flight, few enough registers. */
#define HR_K_LOG_ITEMS(width) ((width) >= 16 ? 2 : (width) >= 4 ? 3 : 4)

typedef struct hr_k_axis {
    uint64_t n;
    uint64_t src_step, dst_step; /* two's complement: sums wrap as addresses do */
    uint64_t src_list, dst_list;
} hr_k_axis;

typedef struct hr_k_tiles {
    uint64_t src, dst;
    uint32_t width;                        /* 1, 2, 4, 8 or 16 */
    uint32_t ntiles;                       /* 0: nothing to do */
    hr_k_divisor tiles_x, tiles_y;         /* x counts fastest, then y */
    uint32_t log_tile_x, log_tile_y;       /* 2^n elements of the loop in a tile */
    uint32_t log_threads_x;                /* 2^n of the block's threads lie along x */
    uint32_t items_along_y;                /* or else along x */
    uint32_t log_item_step;                /* a thread's items are 2^n elements apart */
    uint32_t has_lists;                    /* in along or across */
    uint64_t src_item_step, dst_item_step; /* the same in bytes */
    hr_k_axis along, across; /* x and y: the one with the items, the other */
    uint32_t nouter;
    hr_k_axis outer[HR_K_MAX_DIMS - 1]; /* the last is fastest */
} hr_k_tiles;

/* --- the store ---
 *
 * It brings the items of decoded chunks to their places: undoes a shuffle, reverses
 * bytes, converts numbers and copies through loops, all in one pass. hr_k_store says what
 * is wanted of one chunk; device/kstore.h makes a task of it, and the kernel takes many
 * tasks at once. */

/* How the bytes of a chunk lie. Blocks are shuffled each for itself; the last may be
 * shorter. Bytes after a block's last whole item stand as they are. */
enum {
    HR_K_PLAIN,
    HR_K_BYTES_SHUFFLED, /* the first bytes of all items, then their second bytes, … */
    HR_K_BITS_SHUFFLED   /* the same with bits, the lowest first; a block whose number of
                            items is no multiple of 8 is not shuffled */
};

/* What an item is. */
enum {
    HR_K_RAW, /* bytes */
    HR_K_BOOL,
    HR_K_I8,
    HR_K_I16,
    HR_K_I32,
    HR_K_I64,
    HR_K_U8,
    HR_K_U16,
    HR_K_U32,
    HR_K_U64,
    HR_K_F16,
    HR_K_BF16,
    HR_K_F32,
    HR_K_F64,
    HR_K_C64,
    HR_K_C128,
    HR_K_NNUMBERS
};

/* What an item goes through on its way, step after step. Constants of an arithmetic step
 * are of the number's own type, F16 and BF16 as F32: its bits. Constants of the others
 * are the bits of an item, those of a signed integer extended. */
enum {
    HR_K_CAST,    /* to `number`, as NumPy's astype; a float saturates as integer */
    HR_K_DIV_ADD, /* x / a + b, rounded twice to the type of float that x is; a and b are
                     numbers */
    HR_K_MUL_ADD, /* x · a + b, so too */
    HR_K_MARK,    /* remember the items that equal a, too; NaN equals NaN */
    HR_K_REPLACE  /* those become a, and are forgotten */
};

typedef struct hr_k_step {
    uint32_t code;
    uint32_t number; /* that the step leaves behind */
    uint64_t a, b;
} hr_k_step;

#define HR_K_MAX_STEPS 10

typedef struct hr_k_store {
    uint64_t chunk; /* const uint8_t *; best 16-byte aligned */
    uint64_t chunk_nbytes;
    uint64_t block_nbytes;       /* where shuffled: ≥ 1, and the chunk below 4 GiB */
    uint32_t shuffle, typesize;  /* typesize: the shuffle's, ≥ 1 */
    uint32_t from, to;           /* numbers; HR_K_RAW both or none */
    uint32_t from_unit, to_unit; /* bytes that are to be reversed together, 1 for none; of
                                    HR_K_RAW from_unit alone */
    uint32_t nsteps;             /* 0: from and to are the same */
    hr_k_step steps[HR_K_MAX_STEPS];
    hr_k_scatter copy; /* src and the loops' source side: bytes of the chunk once it is
                          unshuffled; itemsize: of an item there */
} hr_k_store;

/* --- what the kernel takes --- */

/* A chunk; [1] is its last block, [0] are all others. */
typedef struct hr_k_source {
    uint64_t chunk, nbytes;
    uint32_t shuffle;
    uint32_t last_block;
    uint32_t shuffled_nbytes[2]; /* of a block, from its start */
    uint32_t stride[2];          /* from a byte (or bit) of an item to the next */
    hr_k_divisor block_nbytes, typesize;
} hr_k_source;

/* A slot is what a thread loads, converts and writes as one, up to 16 bytes on either
 * side; it holds four. A tile's items are cells: slots, or items whose bits or bytes a
 * thread gathers at once and deals to slots. */
#define HR_K_STORE_SLOTS 4

/* Casts that have a way of their own where nothing else is done to numbers: X(from, to).
 */
#define HR_K_DIRECT_CASTS(X)                                                             \
    X(F64, F32)                                                                          \
    X(F64, F16)                                                                          \
    X(F64, BF16)                                                                         \
    X(F64, I32)                                                                          \
    X(F32, F64)                                                                          \
    X(F32, F16)                                                                          \
    X(F32, BF16)                                                                         \
    X(F16, F32)                                                                          \
    X(BF16, F32)                                                                         \
    X(I16, F32)                                                                          \
    X(U16, F32)

#define HR_K_DIRECT_CAST(from, to) HR_K_DIRECT_##from##_##to,
enum { HR_K_NOT_DIRECT, HR_K_DIRECT_CASTS(HR_K_DIRECT_CAST) };

typedef enum hr_k_path {
    HR_K_PATH_PLAIN,    /* aligned slots */
    HR_K_PATH_PLANES,   /* slots of whole items, byte-shuffled; typesize 2, 4, 8, 16 */
    HR_K_PATH_ROWS,     /* four whole items, byte-shuffled; typesize 16 */
    HR_K_PATH_BITS,     /* 8, 16 or 32 items, bit-shuffled; typesize 1, 2, 4, 8 */
    HR_K_PATH_BIT_ITEM, /* one whole item, bit-shuffled; the same typesizes */
    HR_K_PATH_ANYTHING  /* slots, byte by byte */
} hr_k_path;

typedef struct hr_k_store_task {
    hr_k_tiles tiles; /* of cells; src counts from the chunk */
    hr_k_source source;
    uint32_t path;                         /* hr_k_path */
    uint32_t log_cells;                    /* a thread takes 2^n of a tile */
    uint32_t ncells_at_once;               /* 4 where slots are evenly apart, else 1 */
    uint32_t nslots;                       /* of a cell; 1 but for PATH_ROWS, _BITS */
    uint32_t slot_nbytes;                  /* at the source: 1, 2, 4, 8 or 16 */
    uint32_t out_nbytes;                   /* at the destination: 1, 2, 4, 8 or 16 */
    uint64_t slot_src_step, slot_dst_step; /* between those at once */
    uint64_t run_step; /* 2^log_run bytes are contiguous in the destination, and the */
    uint32_t log_run;  /* next of the slot so far away */
    uint32_t write_nbytes; /* a write is so wide, within a run: 1, 2, 4, 8 or 16 */
    uint32_t from, to;     /* numbers */
    uint32_t from_unit, to_unit;
    uint32_t either_part; /* of complex items to bool: the imaginary part if the real is 0
                           */
    uint32_t is_small;    /* numbers are of 32 bits at most, and arithmetic is of F32 */
    uint32_t
        by_pairs;    /* a slot has two numbers at most: two slots are converted at once */
    uint32_t direct; /* the cast that its only step is, if that is in the list above */
    uint32_t nsteps;
    hr_k_step steps[HR_K_MAX_STEPS];
} hr_k_store_task;

/* A tile of a task. */
typedef struct hr_k_store_tile {
    uint32_t task, tile;
} hr_k_store_tile;

/* Two kernels share a batch: one for tasks without steps or with a direct cast, one for
 * the others. */
typedef struct hr_k_store_batch {
    uint64_t tasks;                /* const hr_k_store_task * */
    uint64_t tiles;                /* const hr_k_store_tile *: every tile of every task */
    uint32_t nmoving, nconverting; /* in this order */
} hr_k_store_batch;

/* --- filters: between the decoders and the store --- */

enum {
    /* HR__KERNEL_SUM: items become their running sums where they stand: src unused. */
    HR_K_FILTER_INTEGERS = 0, /* little-endian ones, modulo 2^bits */
    HR_K_FILTER_FLOATS,       /* `number`, also C64 and C128; each sum rounded */
    HR_K_FILTER_ROWS,         /* integers likewise, for each row anew */
    /* HR__KERNEL_UNPACK: items are made in dst. */
    HR_K_FILTER_BITS = 0, /* from `width` bits each */
    HR_K_FILTER_SCALE, /* from integers of the same type: x / a + b, if that is exact */
    HR_K_FILTER_CAST   /* from numbers of type `from` */
};

enum {
    HR_K_NEAREST_EVEN,
    HR_K_TOWARDS_ZERO,
    HR_K_TOWARDS_POSITIVE,
    HR_K_TOWARDS_NEGATIVE,
    HR_K_NEAREST_AWAY
};

enum { HR_K_RANGE_FAIL, HR_K_RANGE_CLAMP, HR_K_RANGE_WRAP };

#define HR_K_MOST_MAPPED 4

typedef struct hr_k_filter_task {
    uint64_t src; /* const uint8_t *; SCALE, CAST: aligned to its items, else any */
    uint64_t dst; /* uint8_t *, 16-byte aligned; SCALE: may be src */
    uint64_t nitems;
    uint32_t kind;
    uint32_t nbytes; /* of an item: 1, 2, 4 or 8; C128: 16 */
    uint32_t number; /* that an item is; BITS, INTEGERS, ROWS: unused */
    uint32_t width;  /* in bits, of an item at src */
    uint32_t first_bit;
    uint32_t is_signed;  /* the highest of the bits is repeated above it */
    uint32_t high_first; /* bits of a byte are taken from the highest on; width 1.
                            ROWS: the highest byte of an item stands first, beforehand */
    uint32_t status_index;
    uint64_t check;       /* const uint8_t *: the byte here must be …, 0 for none */
    uint32_t check_value; /* … this, else the status is HR_K_BAD_PADDING */
    uint32_t first_tile;  /* tiles of the tasks before this one */
    uint64_t row, stride; /* ROWS: items of a row, and from an item to the one that is
                             added to it; whole rows, and neither is 0 */
    uint64_t a, b;        /* SCALE: as 64-bit integers of the same sign */
    uint32_t from, rounding, out_of_range; /* CAST */
    uint32_t nmapped;                      /* CAST: items that become others */
    uint64_t mapped[HR_K_MOST_MAPPED][2];  /* their bits, before and after */
} hr_k_filter_task;

typedef struct hr_k_filter {
    uint64_t tasks;  /* const hr_k_filter_task * */
    uint64_t status; /* uint64_t *: as of hr_k_decode */
    uint32_t ntasks;
    uint32_t ntiles; /* of all tasks */
    uint32_t kinds; /* 1 << kind of each task, together: they have kernels of their own */
    uint32_t unused;
} hr_k_filter;

/* Bytes of output that a block unpacks at a time. */
#define HR_K_UNPACK_TILE_NBYTES (16 * HR_K_THREADS)

/* A block sums up one task, or so many of its rows. */
#define HR_K_SUM_ROWS 32
#define HR_K_SUM_THREADS 512
#define HR_K_SUM_SHARED_NBYTES (HR_K_SUM_THREADS * 16)

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
    X(w4, 128, 24624)                                                                    \
    X(w4s, 128, 24624)                                                                   \
    X(w8, 256, 52336)                                                                    \
    X(w8s, 256, 47216)                                                                   \
    X(p16, 1024, 191664)                                                                 \
    X(p24s, 1024, 210736)

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
    uint64_t made_literals;          /* uint8_t *: room for literals in a Huffman code */
    uint64_t made_sequences;         /* uint64_t *: for each of the sequences */
} hr_k_zstd_block;

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
#define HR_K_ZSTD_SEQUENCES_SHARED_NBYTES 50720

/* Who executes a stream, as for LZ4. */
#define HR_K_ZSTD_TEAMS(X)                                                               \
    X(w4, 128, 20656)                                                                    \
    X(w2s, 64, 8336)                                                                     \
    X(w32, 1024, 180832)                                                                 \
    X(p4s, 256, 41328)                                                                   \
    X(p8, 512, 82352)                                                                    \
    X(p16s, 1024, 197168)

#define HR_K_ZSTD_TEAM(name, threads, shared_nbytes) HR_K_ZSTD_##name,
enum { HR_K_ZSTD_TEAMS(HR_K_ZSTD_TEAM) HR_K_ZSTD_NTEAMS };

#endif
