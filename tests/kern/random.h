/* Numbers from a seed. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_RANDOM_H
#define HR_KERN_RANDOM_H

#include <stdint.h>

uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t n);

#endif
