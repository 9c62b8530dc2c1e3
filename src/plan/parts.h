/* A plan made by several threads. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_PLAN_PARTS_H
#define HR_PLAN_PARTS_H

#include "core/pool.h"
#include "plan/plan.h"

/* In how many parts n requests are planned, by at most so many threads. */
uint32_t hr__plan_nparts(size_t n, uint32_t nthreads);

/* hr__plan_build by the calling thread and those of the pool that are free. The same
 * plan, whatever the number of parts; where it fails, the same errors. */
hr_status hr__plan_build_parts(const hr__plan_request *requests, size_t n, hr__pool *pool,
                               uint32_t nparts, hr__arena *arena, hr__plan *plan,
                               hr_error *err);

#endif
