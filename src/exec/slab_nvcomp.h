/* Streams of a slab that nvCOMP decodes. SPDX-License-Identifier: Apache-2.0
 *
 * Where the context has it, it gets the LZ4 and Snappy streams instead of the kernels.
 * What it wants to know of them lies in the slab's tables, and so does what it says of
 * them afterwards. */
#ifndef HR_EXEC_SLAB_NVCOMP_H
#define HR_EXEC_SLAB_NVCOMP_H

#include "codec/leaves.h"
#include "cuda/kernel_abi.h"
#include "device/nvcomp.h"

struct hr__chunk;
struct hr__run;
struct hr__slab;

typedef struct hr__slab_nvcomp {
    hr__nvcomp_batch batches[HR__NVCOMP_NFORMATS];
    const hr_k_task *tasks[HR__NVCOMP_NFORMATS]; /* in the tables, of each batch */
    uint64_t results[HR__NVCOMP_NFORMATS];       /* in the tables: sizes, then statuses */
} hr__slab_nvcomp;

/* Codes of status words beside the kernels': the low half is nvCOMP's status. */
#define HR__STATUS_NVCOMP 0x100

/* Are these streams, or some of these leaves, for nvCOMP? */
bool hr__slab_nvcomp_takes(const struct hr__slab *slab, hr__leaf_format format);
bool hr__slab_nvcomp_takes_any(const struct hr__slab *slab, const hr__leaves *leaves);

/* In this order, and for formats that it does not take without effect: a task more; the
 * bytes of the arrays, and of memory on the device; filling the arrays for a format at
 * `at` of the tables, then moving `at` behind them. */
void hr__slab_nvcomp_count(struct hr__slab *slab, hr__leaf_format format,
                           const hr_k_task *task);
uint64_t hr__slab_nvcomp_nbytes(const struct hr__slab *slab);
hr_status hr__slab_nvcomp_temp(struct hr__slab *slab, uint64_t *nbytes, hr_error *err);
void hr__slab_nvcomp_fill(struct hr__slab *slab, hr__leaf_format format,
                          const hr_k_task *tasks, uint64_t *at);
/* Queue the decoding of a format, and bringing back what it says. */
hr_status hr__slab_nvcomp_launch(struct hr__slab *slab, hr__leaf_format format,
                                 hr_error *err);
/* Set the status words of the chunks with streams that it could not decode. */
void hr__slab_nvcomp_landed(struct hr__slab *slab, uint8_t *statuses);
/* Report one of these, with the low half of its status word. */
void hr__slab_nvcomp_report(struct hr__run *run, const struct hr__chunk *chunk,
                            uint32_t status);

#endif
