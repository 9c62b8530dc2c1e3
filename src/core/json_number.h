/* Numbers of an element type from JSON. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_JSON_NUMBER_H
#define HR_CORE_JSON_NUMBER_H

#include <json-c/json.h>

#include "core/dtype.h"

/* An item of dtype, in its byte order, as Zarr v3 encodes it: an integer that the type
 * holds, also for dates and durations; for floats a number, "NaN", "Infinity",
 * "-Infinity", or all the bits as "0x7fc00000". False, with *item untouched, for anything
 * else and for other kinds. */
bool hr__json_number(json_object *value, const hr_dtype *dtype, uint8_t *item);

#endif
