/* Which way the chunks of a plan go. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_EXPLAIN_H
#define HR_API_EXPLAIN_H

#include <headrace/explain.h>

#include "core/steps.h"
#include "exec/context.h"
#include "exec/host_share.h"
#include "plan/plan.h"

/* One request's destination. */
typedef struct hr__explained {
    const hr__source *source;
    hr_device device;
    hr_dtype dtype;
    const hr__steps *steps; /* that elements go through before; NULL: none */
} hr__explained;

typedef struct hr__planned_row {
    struct hr__planned_row *next;
    hr_planned_chain chain;
} hr__planned_row;

/* Chunks that the context may know from earlier batches. */
typedef struct hr__share {
    hr__history_key key;
    uint64_t nbytes;          /* decoded */
    hr__host_share_work work; /* those that kernels decode */
} hr__share;

struct hr_explanation {
    hr_context *context; /* held */
    hr__arena arena;     /* rows and their texts */
    hr_plan_totals totals;
    hr__planned_row *rows;
    hr_stage_times stages;
    uint32_t nshares; /* beyond HR__HISTORY_SIZE there are more than can be known */
    hr__share shares[HR__HISTORY_SIZE];
};

/* Count the chunk in the row of those that go its way, and among what may be known.
 * Errors: those of hr__array_chain. */
hr_status hr__explain_chunk(hr_explanation *e, const hr__explained *targets,
                            const hr__chunk *chunk, hr_error *err);

/* explain_stages.c */
void hr__explain_share(hr_explanation *e, hr__history_key key, uint64_t nbytes,
                       bool is_for_kernels);
/* From shares and rows, once all chunks are counted: waves, host share and times. */
void hr__explain_waves(hr_explanation *e);
void hr__explain_host_share(hr_explanation *e);
void hr__explain_stages(hr_explanation *e);

/* a + b, where either may be HR_UNKNOWN. */
uint64_t hr__explain_sum(uint64_t a, uint64_t b);

#endif
