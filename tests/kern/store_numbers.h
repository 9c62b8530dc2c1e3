/* Every number type to every other. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_STORE_NUMBERS_H
#define HR_KERN_STORE_NUMBERS_H

#include <stdint.h>

#include "kern/device_run.h"

/* Casts all values of two bytes, many of the others; returns the number of pairs of types
 * that differ from the host's cast by a bit. */
int store_numbers(runner *r, uint64_t seed);

#endif
