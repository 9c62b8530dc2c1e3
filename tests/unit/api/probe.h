/* An allocator that counts, refuses and checks. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_PROBE_H
#define HR_TESTS_API_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#define PROBE_HEADER 256 /* keeps the alignment, of devices', too; holds the size */

typedef struct probe {
    atomic_long ncalls, nlive;
    atomic_size_t largest;   /* asked for, refused ones too */
    atomic_long refuse_from; /* this call fails; −1: none */
    bool refuse_all_after;   /* and all after it */
    size_t max_nbytes;       /* larger ones fail; 0: no limit */
} probe;

static inline void *probe_alloc(void *user, size_t nbytes) {
    probe *p = user;
    long i = atomic_fetch_add(&p->ncalls, 1);
    size_t largest = atomic_load(&p->largest);
    while (nbytes > largest &&
           !atomic_compare_exchange_weak(&p->largest, &largest, nbytes)) {
    }
    long from = atomic_load(&p->refuse_from);
    bool refused = from >= 0 && (i == from || (p->refuse_all_after && i > from));
    if (refused || (p->max_nbytes > 0 && nbytes > p->max_nbytes)) {
        return NULL;
    }
    void *memory = NULL;
    if (posix_memalign(&memory, PROBE_HEADER, PROBE_HEADER + nbytes) != 0) {
        return NULL;
    }
    uint8_t *block = memory;
    memcpy(block, &nbytes, sizeof nbytes);
    memset(block + PROBE_HEADER, 0xA5, nbytes < 4096 ? nbytes : 4096);
    atomic_fetch_add(&p->nlive, 1);
    return block + PROBE_HEADER;
}

static inline void probe_free(void *user, void *ptr, size_t nbytes) {
    uint8_t *block = (uint8_t *)ptr - PROBE_HEADER;
    size_t allocated;
    memcpy(&allocated, block, sizeof allocated);
    if (allocated != nbytes) {
        (void)fprintf(stderr, "freed %zu bytes of a block of %zu\n", nbytes, allocated);
        abort();
    }
    atomic_fetch_sub(&((probe *)user)->nlive, 1);
    free(block);
}

static inline hr_allocator probe_allocator(probe *p) {
    return (hr_allocator){.struct_size = sizeof(hr_allocator),
                          .user = p,
                          .alloc = probe_alloc,
                          .free = probe_free};
}

#endif
