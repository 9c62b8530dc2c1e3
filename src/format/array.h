/* The description of an array, of any format. SPDX-License-Identifier: Apache-2.0
 *
 * "Outer chunk": what one store key (or one byte range of a file) holds. It may be a
 * shard, which holds inner chunks, which may be shards again. The innermost ones are
 * called chunks here; they form one regular or rectilinear grid over the array. */
#ifndef HR_FORMAT_ARRAY_H
#define HR_FORMAT_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/codec.h"

#define HR__MAX_LEVELS 4

/* Grid along one array axis. */
typedef struct hr__grid_axis {
    int64_t length;        /* of the array */
    int64_t chunk;         /* regular: chunk length (≥ 1); rectilinear: the longest */
    int64_t nchunks;       /* that hold at least one element of the array */
    const int64_t *starts; /* rectilinear: nchunks + 1 boundaries; else NULL */
} hr__grid_axis;

/* Chunk that holds element i (0 ≤ i < length), its first element, its full length
 * (which may reach beyond the array). */
int64_t hr__grid_find(const hr__grid_axis *g, int64_t i);
int64_t hr__grid_start(const hr__grid_axis *g, int64_t chunk);
int64_t hr__grid_length(const hr__grid_axis *g, int64_t chunk);

/* Tables in a file: offsets and sizes of its entries. */
typedef struct hr__tables {
    uint64_t offsets_at, sizes_at; /* in the object */
    uint32_t offset_nbytes;        /* of an item: 1, 2, 4 or 8 */
    uint32_t size_nbytes;          /* so too; 0: sizes are not known */
} hr__tables;

/* Where the chunks of a file lie, by tables in that file. An entry of them holds one
 * chunk or, where it is uncompressed, parts that count as chunks. Tables are read when
 * they are needed, a piece at a time. Chunks are counted table by table and plane by
 * plane, and so are entries. */
typedef struct hr__placement {
    const hr__tables *tables; /* one, or one for each page of a stack */
    uint64_t nentries;        /* of each */
    uint64_t chunks_per_table, chunks_per_plane, entries_per_plane;
    uint64_t parts_per_entry; /* chunks in an entry, the last of a plane apart */
    uint64_t part_nbytes;     /* part i of an entry begins at i × part_nbytes */
    uint64_t plane_nbytes;    /* not 0: all planes lie in the entry of the first, so far
                                 from each other */
    bool is_big_endian;
} hr__placement;

/* One level of chunks inside chunks, outermost first. All per-axis values are in array
 * axes: transposes in front of a sharding codec only permute `order`. */
typedef struct hr__level {
    int64_t shape[HR_MAX_NDIM];  /* of an inner chunk, in elements */
    int64_t counts[HR_MAX_NDIM]; /* inner chunks per outer one along each axis */
    int32_t order[HR_MAX_NDIM];  /* number of an inner chunk: C order over axes order[0],
                                    order[1], … (order[0] slowest) */
    uint64_t ninner;             /* product of counts */
    bool is_split; /* no index: an uncompressed chunk cut into equal contiguous parts */
    uint64_t part_nbytes;           /* is_split: inner chunk i lies at i × part_nbytes */
    const hr__placement *placement; /* no index: chunks of a file that says where */
    bool index_at_start;            /* sharding: where the index is */
    hr__chain index; /* sharding: decodes to [ninner, 2] uint64 little-endian;
                        index.encoded.nbytes is exact */
} hr__level;

typedef struct hr__array {
    hr_dtype dtype; /* in memory: little-endian */
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    const void *fill; /* one item of dtype; never NULL */

    hr__grid_axis outer[HR_MAX_NDIM]; /* outer chunks: one store key each */
    hr__grid_axis grid[HR_MAX_NDIM];  /* innermost chunks; = outer where nlevels is 0 */
    int32_t nlevels;
    hr__level levels[HR__MAX_LEVELS];

    hr__chain chain;            /* of the innermost chunk, or of a part of it */
    hr_dtype stored;            /* dtype of the decoded chunk, byte order included */
    int32_t order[HR_MAX_NDIM]; /* decoded chunk: C order over axes order[0], … */

    /* Rectilinear grids (nlevels is then 0): chain for a chunk of this shape (array
     * axes), made on first use and kept; thread-safe. NULL: `chain` serves all. */
    hr_status (*chain_for)(const struct hr__array *a, const int64_t *chunk_shape,
                           const hr__chain **chain, hr_error *err);
    /* Not NULL: the last chunks along edge_axis end where the array does, and this is
     * their chain. They are then the beginning of what `chain` would give. */
    const hr__chain *edge_chain;
    int32_t edge_axis;
    /* Store key of an outer chunk below the array's own path, NUL-terminated.
     * HR_ERR_OVERFLOW if it does not fit. */
    hr_status (*key)(const struct hr__array *a, const int64_t *outer, char *buf,
                     size_t capacity, hr_error *err);
    void *format_data; /* for the two functions above */
    /* Codecs of the caller's that its chains may have; NULL: none. */
    const struct hr__custom_codecs *custom;
} hr__array;

/* Chain of the chunk at `coords` of the innermost grid. Thread-safe. Errors: those of
 * chain_for. */
hr_status hr__array_chain(const hr__array *a, const int64_t *coords,
                          const hr__chain **chain, hr_error *err);

/* Cut uncompressed chunks that are larger than about target_nbytes into equal contiguous
 * parts, as one more level, so that they can be read and scattered piece by piece.
 * Does nothing where the chain is not raw, where the grid is rectilinear, or where no
 * divisor of the chunk shape gives sensible parts. */
void hr__array_split_raw(hr__array *a, uint64_t target_nbytes);

#endif
