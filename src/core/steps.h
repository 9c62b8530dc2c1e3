/* Arithmetic on the items of a chunk, as a list of steps. SPDX-License-Identifier: Apache-2.0
 *
 * One description for the host, which runs it here, and for kernels, which must give the
 * same bits. Codecs that work item by item say what they do in steps, and so does a
 * request that wants packed numbers unpacked. */
#ifndef HR_CORE_STEPS_H
#define HR_CORE_STEPS_H

#include "core/dtype.h"

typedef enum hr__step_code {
    HR__STEP_CAST,    /* to `dtype`, as hr__dtype_convert does */
    HR__STEP_DIV_ADD, /* x / a + b in the items' own float type, rounded after each */
    HR__STEP_MUL_ADD, /* x · a + b, so too */
    HR__STEP_MARK,    /* remember the items that equal `item`; NaN equals NaN */
    HR__STEP_REPLACE  /* items remembered become `item`, and are forgotten */
} hr__step_code;

typedef struct hr__step {
    hr__step_code code;
    hr_dtype dtype;  /* what items are after it; little-endian, real number or bool */
    double a, b;     /* rounded to dtype before use */
    uint8_t item[8]; /* one item of dtype */
} hr__step;

#define HR__MAX_STEPS 10

typedef struct hr__steps {
    uint32_t n;
    hr__step steps[HR__MAX_STEPS];
} hr__steps;

/* Append a step; false where there are too many. */
bool hr__steps_add(hr__steps *s, const hr__step *step);
/* Append a cast from items of `from`, unless they are of that type (byte order apart). */
bool hr__steps_cast(hr__steps *s, const hr_dtype *from, const hr_dtype *to);

/* Take n contiguous items of `from` through the steps to items of `to`, casting at the
 * end if need be. Byte orders as these say. dst and src do not overlap. */
void hr__steps_run(const hr__steps *s, const hr_dtype *to, uint8_t *dst,
                   const hr_dtype *from, const uint8_t *src, uint64_t n);

#endif
