/* What every bench measures with. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_MEASURE_H
#define HR_BENCH_MEASURE_H

#include <stdlib.h>
#include <time.h>

static inline double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static inline double median_of(double *values, size_t n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

#endif
