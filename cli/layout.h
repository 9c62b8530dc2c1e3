/* Element types as the command writes them. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include <stdbool.h>
#include <stdio.h>

#include <headrace/types.h>

bool cli_is_vlen(const hr_dtype *dtype);
/* Elements of a field: 1, or those of a subarray. */
uint64_t cli_field_count(const hr_field *field);

/* The dtype with every part little-endian. Offsets stay. The fields are copied; free
 * with cli_layout_free. False when out of memory. */
bool cli_layout_little(const hr_dtype *dtype, hr_dtype *out);
void cli_layout_free(hr_dtype *dtype);

/* Write n elements of a little-endian dtype in the canonical form: as they lie, but
 * structures without the gaps between their fields, and elements of variable length as
 * a 4-byte little-endian size and the bytes. False when a write failed (see errno). */
bool cli_layout_write(FILE *file, const hr_dtype *dtype, const void *data, uint64_t n);

#endif
