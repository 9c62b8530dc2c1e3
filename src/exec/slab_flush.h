/* What a slab has collected, and sending it off. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SLAB_FLUSH_H
#define HR_EXEC_SLAB_FLUSH_H

#include "cuda/kernel_abi.h"
#include "exec/slab.h"

/* Copies come before the decoding of leaves, layouts after it, then filters, then stores.
 */
typedef enum hr__slab_turn {
    HR__SLAB_COPIES = 0,
    HR__SLAB_LAYOUTS,
    HR__SLAB_STORES,
    HR__SLAB_NTURNS
} hr__slab_turn;

hr_status hr__slab_push_store(hr__slab *slab, hr__slab_turn turn, const hr_k_store *store,
                              hr_error *err);
/* A chunk with leaves gets a status word; its number goes into the tasks. */
hr_status hr__slab_push_chunk(hr__slab *slab, const hr__chunk *chunk,
                              uint32_t *status_index, hr_error *err);
hr_status hr__slab_push_task(hr__slab *slab, hr__leaf_format format,
                             const hr_k_task *task, hr_error *err);

/* Frames of Zstandard, with the scratch that their leaf asks for. */
hr_status hr__slab_push_zstd(hr__slab *slab, const hr__leaf *leaf,
                             const hr__leaves *leaves, const hr_k_task *task,
                             hr__devptr scratch, hr_error *err);

hr_status hr__slab_push_filter(hr__slab *slab, hr__stage_kind kind,
                               const hr_k_filter_task *task, hr_error *err);

/* Send the slab's bytes up, and have them decoded: at once, or with those of a few others
 * of the run, by the same launches. Its slot is given back then, and the slab ends with
 * it. Failures go to the requests of the chunks. */
void hr__slab_flush(hr__slab *slab);
/* Do not wait for more of them. */
void hr__slab_launch_gathered(struct hr__run *run);

/* A slab's slot is past its event (hr__ring_slot.past): reports what failed. */
void hr__slab_landed(void *user, hr__ring_slot *slot, const hr_error *err);

#endif
