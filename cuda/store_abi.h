/* Parameter blocks of the filters and of the store. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_STORE_ABI_H
#define HR_CUDA_STORE_ABI_H

#include "scatter_abi.h"

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
    uint32_t high_first; /* bits, and those of a byte, are taken from the highest on, and
                            first_bit is 0.
                            ROWS: the highest byte of an item stands first, beforehand */
    uint32_t status_index;
    uint64_t check;       /* const uint8_t *: the byte here must be …, 0 for none */
    uint32_t check_value; /* … this, else the status is HR_K_BAD_PADDING */
    uint32_t first_tile;  /* tiles of the tasks before this one */
    uint64_t row, stride; /* ROWS: items of a row, and from an item to the one that is
                             added to it; whole rows, and neither is 0. BITS, high_first:
                             items of a row, which begins with a byte; 0: all in one */
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

#endif
