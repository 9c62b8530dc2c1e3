/* How fast the copy kernels are. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_SCATTER_BENCH_H
#define HR_KERN_SCATTER_BENCH_H

#include <stdint.h>

#include "kern/device_run.h"

/* Prints a line per kind of copy, each of about nbytes. Where the device has room, also
 * checks a copy of more than 2^32 items. Returns the number of wrong copies. */
int scatter_bench(runner *r, uint64_t nbytes);

#endif
