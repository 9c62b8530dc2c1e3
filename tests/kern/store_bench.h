/* How fast the store kernel is. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_STORE_BENCH_H
#define HR_KERN_STORE_BENCH_H

#include <stdint.h>

#include "kern/device_run.h"

/* Prints a line per kind of store, each of about nbytes of output in chunks of 1 MiB:
 * GB/s of output, the median of five. Returns the number of wrong ones. */
int store_bench(runner *r, uint64_t nbytes);

#endif
