/* The loops of a copy, tidied. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_LOOPS_H
#define HR_DEVICE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "cuda/kernel_abi.h"

/* A scatter's loops, and last what an item is made of. */
#define HR__MAX_LOOPS (HR_K_MAX_DIMS + 1)

typedef struct hr__loops {
    uint64_t src, dst;
    hr_k_axis axes[HR__MAX_LOOPS]; /* the last is fastest in the destination */
    uint32_t naxes;
} hr__loops;

/* HR_ERR_ARGUMENT where the copy contradicts itself. */
hr_status hr__loops_check(const hr_k_scatter *s, hr_error *err);

/* The copy's loops from 0 on, those of one turn left out, upward in the destination and
 * sorted by it. s->nitems > 0. */
void hr__loops_sort(const hr_k_scatter *s, hr__loops *l);
/* Join the loops (one or more) that continue each other on both sides. */
void hr__loops_merge(hr__loops *l);
/* Take the i-th away. */
hr_k_axis hr__loops_take(hr__loops *l, uint32_t i);

static inline bool hr__axis_has_list(const hr_k_axis *a) {
    return a->src_list != 0 || a->dst_list != 0;
}

static inline uint32_t hr__ceil_log2(uint64_t n) {
    return n <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

/* Of a step in two's complement. */
static inline uint64_t hr__magnitude(uint64_t step) {
    return step > INT64_MAX ? 0 - step : step;
}

#endif
