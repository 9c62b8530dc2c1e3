/* Open any metadata and use what comes of it. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_ZARR_EXERCISE_H
#define HR_TEST_ZARR_EXERCISE_H

#include <stddef.h>
#include <stdint.h>

#include "format/zarr/zarr.h"

/* Open the root of a store whose documents called `name` all have this text (others are
 * absent), then ask for keys, chains, members, and open the members. Aborts when what was
 * opened contradicts itself. Returns the status of the open. */
hr_status zarr_exercise(const char *name, const uint8_t *text, size_t nbytes);

#endif
