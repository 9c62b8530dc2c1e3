/* Stores described and made ready for the kernel. SPDX-License-Identifier: Apache-2.0
 *
 * A hr_k_store is put together type by type:
 *
 *     hr__kstore_begin(&s, &stored);             the chunk's items
 *     hr__kstore_steps(&s, &steps);              as many as there are
 *     hr__kstore_end(&s, &stored, &wanted);      the destination's items
 *
 * each of which says whether the kernel can; then chunk, shuffle and loops are filled in.
 * hr__kstore_lower makes the task of it. Tasks and the list of their tiles go to the
 * device together, for one launch of HR__KERNEL_STORE. Pure. */
#ifndef HR_DEVICE_KSTORE_H
#define HR_DEVICE_KSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/steps.h"
#include "cuda/kernel_abi.h"

bool hr__kstore_begin(hr_k_store *s, const hr_dtype *from);
bool hr__kstore_cast(hr_k_store *s, const hr_dtype *to);
/* code: HR_K_DIV_ADD or HR_K_MUL_ADD. The numbers must be floats here, and neither
 * constant a NaN. */
bool hr__kstore_scale(hr_k_store *s, uint32_t code, double scale, double offset);
/* code: HR_K_MARK or HR_K_REPLACE; an item of what the numbers are here, little-endian.
 */
bool hr__kstore_mark(hr_k_store *s, uint32_t code, const uint8_t *item);
/* All steps of a list. */
bool hr__kstore_steps(hr_k_store *s, const hr__steps *steps);
/* Casts if need be. from: as at the beginning. */
bool hr__kstore_end(hr_k_store *s, const hr_dtype *from, const hr_dtype *to);

/* Errors: HR_ERR_ARGUMENT for a block that contradicts itself, HR_ERR_OVERFLOW for 2^32
 * tiles or more, HR_ERR_UNSUPPORTED for a shuffled chunk of 4 GiB or more. */
hr_status hr__kstore_lower(const hr_k_store *s, hr_k_store_task *task, hr_error *err);

/* Is it for the converting kernel, not for the moving one? */
static inline bool hr__kstore_converts(const hr_k_store_task *t) {
    return t->nsteps > 0 && t->direct == HR_K_NOT_DIRECT;
}

/* List the tiles of n tasks (tiles = NULL: just count them) into a batch. Its addresses
 * are the caller's to set. HR_ERR_OVERFLOW for 2^32 tiles or more. */
hr_status hr__kstore_list(const hr_k_store_task *tasks, uint32_t n,
                          hr_k_store_tile *tiles, hr_k_store_batch *batch, hr_error *err);

/* The kernels' name of a type. */
uint32_t hr__kstore_number(const hr_dtype *t);

/* Tiles of an UNPACK or a SUM task: at least one. Chunks are too small for 2^32. */
static inline uint32_t hr__kfilter_tiles(const hr_k_filter_task *t) {
    const uint64_t nbytes = t->nitems * t->nbytes;
    const uint32_t tile = HR_K_UNPACK_TILE_NBYTES;
    return nbytes == 0 ? 1 : (uint32_t)((nbytes - 1) / tile + 1);
}
/* Bytes that an UNPACK task reads. */
static inline uint64_t hr__kfilter_src_nbytes(const hr_k_filter_task *t) {
    const uint64_t row = t->row == 0 ? t->nitems : t->row;
    const uint64_t nrows = row == 0 ? 0 : t->nitems / row, rest = t->nitems - nrows * row;
    return nrows * ((row * t->width + 7) / 8) + (rest * t->width + 7) / 8;
}
static inline uint32_t hr__ksum_tiles(const hr_k_filter_task *t) {
    return t->kind != HR_K_FILTER_ROWS || t->nitems == 0
               ? 1
               : (uint32_t)((t->nitems / t->row - 1) / HR_K_SUM_ROWS + 1);
}

#endif
