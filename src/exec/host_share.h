/* Sending a share of the chunks to the host. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_HOST_SHARE_H
#define HR_EXEC_HOST_SHARE_H

#include "exec/context.h"

struct hr__run;

/* Chunks alike, for kernels of one device. */
typedef struct hr__host_share_work {
    hr__history_key key;
    uint64_t nchunks, nbytes; /* decoded */
} hr__host_share_work;

/* How many of them the host should decode, going by what the context knows: none before a
 * device has decoded such chunks, then one to learn from. */
uint64_t hr__host_share_measured(hr_context *context, const hr__host_share_work *work);

/* Mark chunks of a planned run, spread evenly: `share` percent of those that kernels
 * would decode, or, with HR_HOST_SHARE_MEASURED, what the above says where they are all
 * alike. */
void hr__host_share_mark(struct hr__run *run, int32_t share);

#endif
