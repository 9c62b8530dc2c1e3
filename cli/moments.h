/* Count, extremes, mean and deviation of numbers. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MOMENTS_H
#define CLI_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Set to CLI_MOMENTS_INIT. NaNs are counted and otherwise left out. */
typedef struct cli_moments {
    uint64_t n; /* numbers that are not NaN */
    uint64_t nnan;
    long double min; /* +inf and -inf while n is 0 */
    long double max;
    long double sum;
    long double lost;    /* what rounding took from the sum */
    long double mean;    /* of the deviation below */
    long double squares; /* sum of squared deviations from `mean` */
} cli_moments;

#define CLI_MOMENTS_INIT                                                                 \
    ((cli_moments){.min = __builtin_infl(), .max = -__builtin_infl()})

void cli_moments_add(cli_moments *moments, const long double *values, size_t n);
/* NaN when there was no number. */
long double cli_moments_mean(const cli_moments *moments);
long double cli_moments_std(const cli_moments *moments); /* of the population */

#endif
