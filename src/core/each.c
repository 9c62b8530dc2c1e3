/* A loop that threads share. SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"

#include <stdatomic.h>

typedef struct loop {
    hr__job job;
    atomic_uint next;
    uint32_t n;
    void (*fn)(void *user, uint32_t i);
    void *user;
} loop;

static bool run_one(hr__job *job, void *worker) {
    (void)worker;
    loop *l = (loop *)job;
    const uint32_t i = atomic_fetch_add(&l->next, 1);
    if (i < l->n) {
        l->fn(l->user, i);
    }
    return i < l->n;
}

void hr__pool_each(hr__pool *pool, uint32_t n, void (*fn)(void *user, uint32_t i),
                   void *user) {
    loop l = {.job = {.run = run_one, .wanted = n > 1 ? n - 1 : 1},
              .n = n,
              .fn = fn,
              .user = user};
    (void)hr__pool_submit(pool, &l.job); /* without threads the caller does it all */
    hr__pool_help(pool, &l.job);
    hr__pool_retire(pool, &l.job);
}
