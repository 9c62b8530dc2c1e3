/* Copying a decoded chunk into strided host memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SCATTER_H
#define HR_EXEC_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/steps.h"
#include "plan/plan.h"

/* One loop of a copy, in bytes. A list holds element numbers that the step multiplies. */
typedef struct hr__loop {
    int64_t n;
    int64_t src_step, dst_step;
    const int64_t *src_list, *dst_list;
} hr__loop;

/* A use turned into as few loops as possible: loops of one turn are folded into the two
 * offsets, loops that continue each other are merged, the last one writes most densely.
 */
typedef struct hr__copy {
    int64_t src_offset, dst_offset; /* bytes */
    int32_t nloops;
    hr__loop loops[HR_MAX_NDIM];
} hr__copy;

void hr__copy_from_use(const hr__use *use, uint64_t src_itemsize, hr__copy *copy);

/* Is the copy one contiguous run of itemsize-byte items on both sides? */
bool hr__copy_is_contiguous(const hr__copy *copy, uint64_t itemsize);

/* Copy from src (elements of type `from`) to dst (type `to`). The types are equal, or
 * differ in byte order, or are numbers of different type (a cast), or there are steps
 * from one to the other (else NULL). */
void hr__scatter(const hr__copy *copy, uint8_t *dst, const hr_dtype *to,
                 const uint8_t *src, const hr_dtype *from, const hr__steps *steps);

/* Write one item (of type `from`, converted) to every place of the destination's loops.
 */
void hr__scatter_fill(const hr__copy *copy, uint8_t *dst, const hr_dtype *to,
                      const void *item, const hr_dtype *from, const hr__steps *steps);

#endif
