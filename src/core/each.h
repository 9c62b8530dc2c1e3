/* A loop that threads share. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_EACH_H
#define HR_CORE_EACH_H

#include "core/pool.h"

/* fn(user, i) for each i below n, in any order and several at once, by the calling thread
 * and whoever of the pool is free; returns once all are done. fn may wait for nothing
 * that another thread is to do. */
void hr__pool_each(hr__pool *pool, uint32_t n, void (*fn)(void *user, uint32_t i),
                   void *user);

#endif
