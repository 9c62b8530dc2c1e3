/* Header of NumPy's .npy files. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <headrace/types.h>

/* Why a dtype has no .npy form, or NULL when it has one. */
const char *cli_npy_refusal(const hr_dtype *dtype);

/* Write the header for a C-order array of a little-endian dtype that is not refused.
 * False when a write or an allocation failed (see errno). */
bool cli_npy_write_header(FILE *file, const hr_dtype *dtype, int32_t ndim,
                          const int64_t *shape);

#endif
