/* Hashes of numbers, for tables. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_HASH_H
#define HR_CORE_HASH_H

#include <stdint.h>

/* The hash of what has gone before and one value more. Starts at any constant; all bits
 * of the result are good. */
static inline uint64_t hr__hash_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

#endif
