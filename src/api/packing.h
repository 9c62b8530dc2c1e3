/* What a request wants done to packed numbers. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_PACKING_H
#define HR_API_PACKING_H

#include <headrace/read.h>

#include "core/alloc.h"
#include "core/steps.h"

/* Check the packing of request i and make steps of it, in the arena; *out = NULL where
 * elements stay as they are. Errors: HR_ERR_ARGUMENT, HR_ERR_DTYPE, HR_ERR_MEMORY. */
hr_status hr__packing_steps(const hr_request *r, size_t i, hr__arena *arena,
                            const hr__steps **out, hr_error *err);

#endif
