/* SPDX-License-Identifier: Apache-2.0 */
#include "timer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

static void find(void *library, const char *symbol, void *function) {
    void *found = dlsym(library, symbol);
    if (found == NULL) {
        printf("no %s\n", symbol);
        exit(EXIT_FAILURE);
    }
    memcpy(function, &found, sizeof found);
}

static void check(int result, const char *what) {
    if (result != 0) {
        printf("%s: CUDA error %d\n", what, result);
        exit(EXIT_FAILURE);
    }
}

void timer_open(timer *t, runner *r) {
    *t = (timer){.runner = r};
    if (r->device->id.type != HR_DEVICE_CUDA) {
        return;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*create)(void **event, unsigned flags) = NULL;
    find(library, "cuEventCreate", &create);
    find(library, "cuEventRecord", &t->record);
    find(library, "cuEventElapsedTime", &t->elapsed);
    check(create(&t->begin, 0), "cuEventCreate");
    check(create(&t->end, 0), "cuEventCreate");
}

void timer_start(timer *t) {
    if (t->begin != NULL) {
        check(t->record(t->begin, t->runner->stream), "cuEventRecord");
    } else {
        t->host_begin = now_s();
    }
}

double timer_stop(timer *t) {
    float milliseconds = 0;
    if (t->begin != NULL) {
        check(t->record(t->end, t->runner->stream), "cuEventRecord");
    }
    runner_sync(t->runner);
    if (t->begin == NULL) {
        return now_s() - t->host_begin;
    }
    check(t->elapsed(&milliseconds, t->begin, t->end), "cuEventElapsedTime");
    return 1e-3 * (double)milliseconds;
}
