/* Threads that plan. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_PLAN_POOL_H
#define HR_TESTS_PLAN_POOL_H

#include "core/pool.h"

static inline void *plan_worker(void *user) {
    return user;
}

static inline void drop_plan_worker(void *user, void *worker) {
    (void)user;
    (void)worker;
}

static inline hr__pool *plan_pool(uint32_t nthreads) {
    static int any;
    hr__pool *pool =
        hr__pool_create(&hr__malloc_allocator, nthreads,
                        (hr__pool_hooks){&any, plan_worker, drop_plan_worker});
    assert_non_null(pool);
    return pool;
}

#endif
