/* Elements as numbers. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_NUM_H
#define CLI_NUM_H

#include <stdbool.h>
#include <stddef.h>

#include <headrace/types.h>

/* Has an element one value that a number can stand for? True for bool, integers, floats
 * and, as their count, for dates and durations; complex numbers stand for magnitudes. */
bool cli_is_number(const hr_dtype *dtype);

/* n elements in little-endian order as numbers; NaT becomes NaN. Exact except for
 * magnitudes, as long as long double holds 64-bit integers. */
void cli_num_load(const hr_dtype *dtype, const void *data, size_t n, long double *out);

/* The two kinds of 16-bit floats. */
float cli_half_to_float(uint16_t bits);
float cli_bfloat_to_float(uint16_t bits);

#endif
