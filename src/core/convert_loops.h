/* The loops that conversions are made of. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_CONVERT_LOOPS_H
#define HR_CORE_CONVERT_LOOPS_H

#include <stdint.h>

/* Types that C computes with, in native byte order. */
typedef enum hr__number {
    HR__I8,
    HR__I16,
    HR__I32,
    HR__I64,
    HR__U8,
    HR__U16,
    HR__U32,
    HR__U64,
    HR__F32,
    HR__F64,
    HR__NNUMBERS
} hr__number;

/* n elements from src to dst, which do not overlap and may be unaligned. */
typedef void (*hr__convert_loop)(uint8_t *restrict dst, const uint8_t *restrict src,
                                 uint64_t n);

/* As C converts, but floating → integer saturates, and NaN gives 0. to != from. */
hr__convert_loop hr__loop_convert(hr__number to, hr__number from);
hr__convert_loop hr__loop_to_bool(hr__number from); /* != 0, as a byte */

/* Pairs of floats; by the type of a part, F32 or F64. */
hr__convert_loop hr__loop_pair_to_bool(hr__number part);
hr__convert_loop hr__loop_real_part(hr__number part);
hr__convert_loop hr__loop_pad_imaginary(hr__number part); /* a + 0i */

void hr__loop_half_to_float(uint8_t *restrict dst, const uint8_t *restrict src,
                            uint64_t n);
void hr__loop_float_to_half(uint8_t *restrict dst, const uint8_t *restrict src,
                            uint64_t n);
void hr__loop_double_to_half(uint8_t *restrict dst, const uint8_t *restrict src,
                             uint64_t n);
void hr__loop_bfloat_to_float(uint8_t *restrict dst, const uint8_t *restrict src,
                              uint64_t n);
void hr__loop_float_to_bfloat(uint8_t *restrict dst, const uint8_t *restrict src,
                              uint64_t n);

#endif
