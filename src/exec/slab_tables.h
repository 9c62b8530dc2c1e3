/* What a slab has collected, and the tables that it becomes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SLAB_TABLES_H
#define HR_EXEC_SLAB_TABLES_H

#include "device/kzstd.h"
#include "exec/slab_flush.h"

/* The slot's vecs. */
enum {
    HR__SLAB_CHUNKS = 0,
    HR__SLAB_TASKS,
    HR__SLAB_ZSTD_STREAMS,
    HR__SLAB_ZSTD_BLOCKS,
    HR__SLAB_FILTERS,
    HR__SLAB_STORE_TASKS,
    HR__SLAB_ITSELF /* the hr__slab */
};

/* With a status word of its own. */
typedef struct hr__slab_chunk {
    const hr__chunk *chunk;
} hr__slab_chunk;

typedef struct hr__slab_task {
    hr__leaf_format format;
    hr_k_task task;
} hr__slab_task;

typedef struct hr__slab_filter {
    hr__stage_kind kind;
    hr_k_filter_task task;
} hr__slab_filter;

typedef struct hr__slab_store_task {
    hr__slab_turn turn;
    hr_k_store_task task;
} hr__slab_store_task;

/* What goes up behind the payload: places there, and what launches need. */
typedef struct hr__slab_tables {
    uint64_t tasks;                   /* hr_k_task, by format, longest first */
    uint64_t nvcomp;                  /* its arrays */
    uint64_t sums, unpacks;           /* hr_k_filter_task */
    uint64_t stores[HR__SLAB_NTURNS]; /* hr_k_store_task */
    uint64_t tiles[HR__SLAB_NTURNS];  /* hr_k_store_tile */
    uint64_t zstd;                    /* as of zstd_tables */
    uint64_t zeros; /* counters, one per format; those of zstd; then the status words */
    uint64_t zstd_zeros;
    uint64_t status;
    hr__kzstd_tables zstd_tables;
    hr_k_zstd zstd_params;
    uint64_t nbytes;
    uint32_t ntasks[HR__NLEAF_FORMATS];
    uint32_t nsums, nunpacks, nsum_tiles, nunpack_tiles, sum_kinds, unpack_kinds;
    uint32_t nstores[HR__SLAB_NTURNS];
    uint64_t ntiles[HR__SLAB_NTURNS];
    hr_k_store_batch batches[HR__SLAB_NTURNS];
} hr__slab_tables;

hr__vec *hr__slab_vec(hr__slab *slab, int which);
hr__kzstd_batch hr__slab_zstd_batch(hr__slab *slab);

/* Move what another slab has collected to this one. */
hr_status hr__slab_take_over(hr__slab *slab, hr__slab *other, hr_error *err);
/* About how large the tables will be. */
uint64_t hr__slab_tables_nbytes(const hr__slab *slab);
/* The places of all tables, then, in the slot's memory that is as large, their contents.
 */
void hr__slab_lay_out(hr__slab *slab, hr__slab_tables *t);
hr_status hr__slab_fill(hr__slab *slab, hr__slab_tables *t, hr_error *err);

#endif
