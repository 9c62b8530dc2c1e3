/* How soon a cancelled batch is done. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include <headrace/memory.h>

#include "engine.h"

#define MIB (UINT64_C(1) << 20)
enum { NROUNDS = 20 };

void run_cancel(engine *e) {
    engine_open(e, 4 * MIB, NULL);
    const part all = engine_whole(e, engine_alloc(e, e->device, array_nbytes(&e->array)));
    const double whole = engine_read(e, &all, 1);
    double seconds[NROUNDS];
    int ncancelled = 0;
    for (int i = 0; i < NROUNDS; i++) {
        const long wait_ns = (long)(whole * 1e9 * i / (2 * NROUNDS));
        hr_batch *b = engine_submit(e, &all, 1);
        (void)nanosleep(&(struct timespec){.tv_sec = wait_ns / 1000000000,
                                           .tv_nsec = wait_ns % 1000000000},
                        NULL);
        const double start = now_s();
        hr_batch_cancel(b);
        ncancelled += hr_batch_wait(b, -1, NULL) == HR_ERR_CANCELLED;
        seconds[i] = now_s() - start;
        hr_batch_unref(b);
    }
    const double median = median_of(seconds, NROUNDS);
    (void)engine_read(e, &all, 1);
    engine_check(e, &all);
    printf("cancel   %s, chunks of 4 MiB: %d of %d cancelled, done after %.2f ms, at "
           "most %.2f ms (the read takes %.0f ms)\n",
           e->codec, ncancelled, NROUNDS, 1e3 * median, 1e3 * seconds[NROUNDS - 1],
           1e3 * whole);
    hr_memory_free(e->context, e->device, all.data);
    engine_close(e);
}
