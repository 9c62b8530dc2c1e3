/* Elements and arrays as text. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include <headrace/types.h>

/* One element (little-endian) as Python would show it; long texts are cut. */
void cli_element_print(FILE *file, const hr_dtype *dtype, const void *element);

/* An array in C order like NumPy's str(): nested brackets, "..." for what is left out. */
void cli_array_print(FILE *file, const hr_dtype *dtype, int32_t ndim,
                     const int64_t *shape, const void *data);

#endif
