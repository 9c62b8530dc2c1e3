/* One request of a batch, read and checked. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_REQUEST_H
#define HR_API_REQUEST_H

#include <headrace/read.h>

#include "core/alloc.h"
#include "plan/plan.h"

/* Copy request i of a caller, whose structs may be longer or shorter than ours. */
hr_status hr__request_read(const hr_request *requests, size_t i, hr_request *r,
                           hr_error *err);

/* Array, destination and their types go together. */
hr_status hr__request_check(const hr_request *r, size_t i, hr_error *err);

/* The destination's type, with nothing in it that is the caller's: the array's own fields
 * with the byte orders asked for. Of a checked request. */
hr_status hr__request_dtype(const hr_request *r, hr__arena *arena, hr_dtype *out,
                            hr_error *err);

/* What the planner wants to know of a checked request. */
hr_status hr__request_plan(const hr_request *r, hr__arena *arena, hr__plan_request *out,
                           hr_error *err);

#endif
