/* Memory that comes and goes with every chunk or batch. SPDX-License-Identifier: Apache-2.0
 *
 * An allocator that keeps what is freed for the next that asks for about as many bytes,
 * so that a warm context asks its own allocator for nothing. Sizes are rounded up to
 * powers of two, of which large ones pass through. Any thread. */
#ifndef HR_CORE_RECYCLER_H
#define HR_CORE_RECYCLER_H

#include "core/alloc.h"
#include "core/lock.h"

#define HR__RECYCLER_SIZES 19 /* from 64 bytes to 16 MiB */

typedef struct hr__recycler {
    hr_allocator allocator; /* this one's; the recycler must not move */
    const hr_allocator *from;
    hr__lock lock;
    size_t kept_nbytes;
    void *first[HR__RECYCLER_SIZES]; /* each begins with a pointer to the next */
} hr__recycler;

void hr__recycler_init(hr__recycler *r, const hr_allocator *from);
/* All blocks have been given back. */
void hr__recycler_free(hr__recycler *r);

#endif
