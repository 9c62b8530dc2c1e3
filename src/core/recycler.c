/* Small records that come and go with every chunk. SPDX-License-Identifier: Apache-2.0 */
#include "core/recycler.h"

#include <string.h>

#define MOST_NBYTES ((size_t)1 << 20) /* kept, of all sizes together */

/* In a forked child the lists may be half changed: then start over. */
static void acquire(hr__recycler *r) {
    if (hr__lock_acquire(&r->lock) == HR__LOCK_BROKEN) {
        memset(r->sizes, 0, sizeof r->sizes);
        r->kept_nbytes = 0;
    }
}

/* The list of a size, which a free one becomes; NULL: this size is not kept. */
static void **list_of(hr__recycler *r, size_t nbytes) {
    for (size_t i = 0; i < HR__RECYCLER_SIZES && nbytes >= sizeof(void *); i++) {
        if (r->sizes[i].nbytes == 0) {
            r->sizes[i].nbytes = nbytes;
        }
        if (r->sizes[i].nbytes == nbytes) {
            return &r->sizes[i].first;
        }
    }
    return NULL;
}

static void *recycler_alloc(void *user, size_t nbytes) {
    hr__recycler *r = user;
    void *block = NULL;
    acquire(r);
    void **list = list_of(r, nbytes);
    if (list != NULL && *list != NULL) {
        block = *list;
        memcpy(list, block, sizeof block);
        r->kept_nbytes -= nbytes;
    }
    hr__lock_release(&r->lock);
    return block != NULL ? block : hr__alloc(r->from, nbytes);
}

static void recycler_free(void *user, void *ptr, size_t nbytes) {
    hr__recycler *r = user;
    acquire(r);
    void **list = list_of(r, nbytes);
    bool keeps = list != NULL && nbytes <= MOST_NBYTES - r->kept_nbytes;
    if (keeps) {
        memcpy(ptr, list, sizeof ptr);
        *list = ptr;
        r->kept_nbytes += nbytes;
    }
    hr__lock_release(&r->lock);
    if (!keeps) {
        hr__free(r->from, ptr, nbytes);
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
        for (void *block = r->sizes[i].first; block != NULL;) {
            void *next;
            memcpy(&next, block, sizeof next);
            hr__free(r->from, block, r->sizes[i].nbytes);
            block = next;
        }
    }
    hr__lock_destroy(&r->lock);
}
