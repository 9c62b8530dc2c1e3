/* Casts of single numbers with a say in rounding and range.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_CAST_H
#define HR_CODEC_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/types.h>

typedef enum hr__rounding {
    HR__NEAREST_EVEN,
    HR__TOWARDS_ZERO,
    HR__TOWARDS_POSITIVE,
    HR__TOWARDS_NEGATIVE,
    HR__NEAREST_AWAY
} hr__rounding;

typedef enum hr__out_of_range {
    HR__RANGE_FAIL,
    HR__RANGE_CLAMP, /* to the last integer, or to infinity */
    HR__RANGE_WRAP   /* integers: modulo 2^bits; elsewhere as FAIL */
} hr__out_of_range;

/* Both sides are little-endian integers or floats. */
typedef struct hr__cast {
    hr_dtype from, to;
    hr__rounding rounding;
    hr__out_of_range out_of_range;
} hr__cast;

/* One item. False, with *to untouched, where it has no value in the type: out of range,
 * or an infinity or NaN to an integer. */
bool hr__cast_item(const hr__cast *c, uint8_t *to, const uint8_t *from);

/* Is every value of c->from one of c->to, so that hr__dtype_convert does? */
bool hr__cast_is_exact(const hr__cast *c);

/* Are two items of the type the same number? NaN is NaN; −0 is 0. */
bool hr__cast_same(const hr_dtype *type, const uint8_t *a, const uint8_t *b);

#endif
