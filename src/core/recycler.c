/* Memory that comes and goes with every chunk or batch. SPDX-License-Identifier: Apache-2.0 */
#include "core/recycler.h"

#include <string.h>

#define LEAST_NBYTES ((size_t)64)
#define MOST_NBYTES (LEAST_NBYTES << (HR__RECYCLER_SIZES - 1)) /* kept, of all sizes */

/* In a forked child the lists may be half changed: then start over. */
static void acquire(hr__recycler *r) {
    if (hr__lock_acquire(&r->lock) == HR__LOCK_BROKEN) {
        memset(r->first, 0, sizeof r->first);
        r->kept_nbytes = 0;
    }
}

/* The list for a size, whose blocks are LEAST_NBYTES << that; HR__RECYCLER_SIZES: none.
 */
static size_t list_for(size_t nbytes) {
    size_t i = 0;
    while (i < HR__RECYCLER_SIZES && LEAST_NBYTES << i < nbytes) {
        i++;
    }
    return i;
}

static void *recycler_alloc(void *user, size_t nbytes) {
    hr__recycler *r = user;
    const size_t i = list_for(nbytes);
    if (i == HR__RECYCLER_SIZES) {
        return hr__alloc(r->from, nbytes);
    }
    acquire(r);
    void *block = r->first[i];
    if (block != NULL) {
        memcpy(&r->first[i], block, sizeof block);
        r->kept_nbytes -= LEAST_NBYTES << i;
    }
    hr__lock_release(&r->lock);
    return block != NULL ? block : hr__alloc(r->from, LEAST_NBYTES << i);
}

static void recycler_free(void *user, void *ptr, size_t nbytes) {
    hr__recycler *r = user;
    const size_t i = list_for(nbytes);
    if (i == HR__RECYCLER_SIZES) {
        hr__free(r->from, ptr, nbytes);
        return;
    }
    const size_t room = LEAST_NBYTES << i;
    acquire(r);
    bool keeps = room <= MOST_NBYTES - r->kept_nbytes;
    if (keeps) {
        memcpy(ptr, &r->first[i], sizeof ptr);
        r->first[i] = ptr;
        r->kept_nbytes += room;
    }
    hr__lock_release(&r->lock);
    if (!keeps) {
        hr__free(r->from, ptr, room);
    }
}

void hr__recycler_init(hr__recycler *r, const hr_allocator *from) {
    *r = (hr__recycler){.allocator = {.struct_size = sizeof(hr_allocator),
                                      .user = r,
                                      .alloc = recycler_alloc,
                                      .free = recycler_free},
                        .from = from};
    hr__lock_init(&r->lock);
}

void hr__recycler_free(hr__recycler *r) {
    for (size_t i = 0; i < HR__RECYCLER_SIZES; i++) {
        for (void *block = r->first[i]; block != NULL;) {
            void *next;
            memcpy(&next, block, sizeof next);
            hr__free(r->from, block, LEAST_NBYTES << i);
            block = next;
        }
    }
    hr__lock_destroy(&r->lock);
}
