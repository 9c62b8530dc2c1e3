/* Moments of a stream of numbers. SPDX-License-Identifier: Apache-2.0 */
#include "moments.h"

#include <math.h>

/* Neumaier's summation: what each addition loses is added up beside the sum. */
static void add_to_sum(cli_moments *moments, long double value) {
    long double sum = moments->sum + value;
    if (isfinite(sum)) {
        moments->lost += fabsl(moments->sum) >= fabsl(value)
                             ? (moments->sum - sum) + value
                             : (value - sum) + moments->sum;
    }
    moments->sum = sum;
}

/* Chan's formula: the moments of two sets give those of their union. */
static void merge(cli_moments *moments, uint64_t n, long double mean,
                  long double squares) {
    long double total = (long double)(moments->n + n);
    long double delta = mean - moments->mean;
    moments->squares +=
        squares + delta * delta * (long double)moments->n * (long double)n / total;
    moments->mean += delta * (long double)n / total;
    moments->n += n;
}

void cli_moments_add(cli_moments *moments, const long double *values, size_t n) {
    long double sum = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        long double x = values[i];
        if (isnan(x)) {
            continue;
        }
        moments->min = x < moments->min ? x : moments->min;
        moments->max = x > moments->max ? x : moments->max;
        sum += x;
        count++;
    }
    moments->nnan += n - count;
    if (count == 0) {
        return;
    }
    add_to_sum(moments, sum);
    long double mean = sum / (long double)count;
    long double squares = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            squares += (values[i] - mean) * (values[i] - mean);
        }
    }
    merge(moments, count, mean, squares);
}

long double cli_moments_mean(const cli_moments *moments) {
    if (moments->n == 0) {
        return (long double)NAN;
    }
    return (moments->sum + moments->lost) / (long double)moments->n;
}

long double cli_moments_std(const cli_moments *moments) {
    if (moments->n == 0) {
        return (long double)NAN;
    }
    return sqrtl(moments->squares / (long double)moments->n);
}
