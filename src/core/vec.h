/* A growing array that keeps its memory when emptied. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_VEC_H
#define HR_CORE_VEC_H

#include <stddef.h>

#include "core/alloc.h"

typedef struct hr__vec {
    void *items;
    size_t n;
    size_t capacity_nbytes;
} hr__vec;

/* Room for one more item of `size` bytes at the end, counted at once; NULL without
 * memory. The place is not cleared, and moves with the next push. */
void *hr__vec_push(const hr_allocator *a, hr__vec *v, size_t size);
void hr__vec_free(const hr_allocator *a, hr__vec *v);

#endif
