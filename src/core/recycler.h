/* Small records that come and go with every chunk. SPDX-License-Identifier: Apache-2.0
 *
 * An allocator that keeps what is freed for the next that asks for as many bytes, so that
 * a warm context asks its own allocator for nothing. It is for records of a few sizes:
 * the first sizes that come are kept, others pass through. Any thread. */
#ifndef HR_CORE_RECYCLER_H
#define HR_CORE_RECYCLER_H

#include "core/alloc.h"
#include "core/lock.h"

#define HR__RECYCLER_SIZES 16

typedef struct hr__recycler {
    hr_allocator allocator; /* this one's; the recycler must not move */
    const hr_allocator *from;
    hr__lock lock;
    size_t kept_nbytes;
    struct {
        size_t nbytes; /* 0: no size yet */
        void *first;   /* each begins with a pointer to the next */
    } sizes[HR__RECYCLER_SIZES];
} hr__recycler;

void hr__recycler_init(hr__recycler *r, const hr_allocator *from);
/* All blocks have been given back. */
void hr__recycler_free(hr__recycler *r);

#endif
