/* How many chunks the host decodes, though a device could. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_PLAN_HOST_SHARE_H
#define HR_PLAN_HOST_SHARE_H

#include <stdint.h>

/* What one chunk takes, in ns: of a thread, of the device's copies, of its kernels. */
typedef struct hr__host_share_costs {
    double thread; /* wherever it is decoded: finding, reading, queueing */
    double decode; /* of a thread besides, if the host decodes it */
    double copy_encoded, copy_decoded; /* the second as a rule is larger */
    double kernels;                    /* if they decode it and are kept busy */
    double store;                      /* wherever it is decoded */
    double latency; /* of kernels in all, however few chunks they have: they work on many
                       at once */
} hr__host_share_costs;

/* Of n chunks those that the host should decode for the batch to be done soonest, as if
 * threads, copies and kernels never waited for each other. 0 where that would not save a
 * fifth: in batches of few chunks they do wait. */
uint64_t hr__host_share_choose(const hr__host_share_costs *costs, uint64_t n,
                               uint32_t nthreads);

#endif
