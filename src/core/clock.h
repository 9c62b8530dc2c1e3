/* The clock of measurements. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_CLOCK_H
#define HR_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Now, for differences. */
static inline uint64_t hr__clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

#endif
