/* Element types inside the library. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_DTYPE_H
#define HR_CORE_DTYPE_H

#include <stdbool.h>

#include <headrace/types.h>

#include "core/alloc.h"

/* Make a plain dtype; for example hr__dtype(HR_KIND_FLOAT, 4). Little-endian. */
hr_dtype hr__dtype(hr_kind kind, uint64_t itemsize);

/* By a name as hr_dtype_parse takes it: "float32". False where there is none such. */
bool hr__dtype_named(const char *name, hr_dtype *out);

bool hr__dtype_is_vlen(const hr_dtype *t);
/* Numbers and bool, of a size that they have: what a cast accepts. */
bool hr__dtype_is_number(const hr_dtype *t);
bool hr__dtype_is_integer(const hr_dtype *t); /* not bool */

/* Same type in memory: kind, size, byte order, unit, fields. */
bool hr__dtype_equal(const hr_dtype *a, const hr_dtype *b);
/* The same, byte order apart. */
bool hr__dtype_same_kind(const hr_dtype *a, const hr_dtype *b);

/* True when turning big-endian items into little-endian ones moves bytes: says nothing
 * about the order that t has. For a structure: when that holds for any field. */
bool hr__dtype_needs_swap(const hr_dtype *t);

/* Reverse the byte order of n items, from src to dst (may be the same memory): whole
 * item for numbers, each half for complex, each code unit for U; of a structure just the
 * fields whose own byte_order is HR_BIG (a structure's byte_order is HR_BIG when it has
 * such fields, by convention). */
void hr__dtype_swap(const hr_dtype *t, uint8_t *dst, const uint8_t *src, uint64_t n);

/* The same type with every item, those of fields too, in this order where order applies.
 * Fields are made anew in the arena. False without memory. */
bool hr__dtype_in_order(const hr_dtype *t, hr_byte_order order, hr__arena *arena,
                        hr_dtype *out);

/* Convert n contiguous items as NumPy's astype does (unsafe casting; float → int of a
 * value out of range is unspecified but never undefined behaviour: it saturates, NaN →
 * 0). Handles byte order of both sides. Both must be numbers or bool. dst and src do not
 * overlap. */
void hr__dtype_convert(const hr_dtype *to, uint8_t *dst, const hr_dtype *from,
                       const uint8_t *src, uint64_t n);

/* Half and bfloat16 bits to float and back (round to nearest even). */
float hr__half_to_float(uint16_t bits);
uint16_t hr__float_to_half(float value);
float hr__bfloat_to_float(uint16_t bits);
uint16_t hr__float_to_bfloat(float value);
uint16_t hr__double_to_half(double value); /* one rounding only */

#endif
