/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/random.h"

uint64_t random_next(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15U;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t n) {
    return random_next(state) % n;
}
