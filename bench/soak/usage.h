/* What the process holds. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_SOAK_USAGE_H
#define HR_BENCH_SOAK_USAGE_H

#include <headrace/headrace.h>

typedef struct usage {
    long rss_kib, device_kib, nfds, nthreads;
} usage;

/* Pinned and device memory of the simt device, counted: for a context's options. */
extern const hr_device_allocator usage_counting;

/* device_kib: of simt what is counted, of a GPU all that is in use on it, else 0. */
usage usage_now(hr_device device);

#endif
