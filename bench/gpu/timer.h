/* Times on the device's own clock. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_GPU_TIMER_H
#define HR_BENCH_GPU_TIMER_H

#include "kern/device_run.h"

typedef struct timer {
    runner *runner;
    void *begin, *end; /* CUDA events; NULL: the host's clock */
    int (*record)(void *event, void *stream);
    int (*elapsed)(float *milliseconds, void *begin, void *end);
    double host_begin;
} timer;

void timer_open(timer *t, runner *r);
void timer_start(timer *t);
double timer_stop(timer *t); /* seconds since the start, when the stream has come here */

#endif
