/* Several batches at once. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <headrace/memory.h>

#include "engine.h"

#define MIB (UINT64_C(1) << 20)
enum { NROUNDS = 7, MOST = 4096, NROWS = MIB / ARRAY_ROW_NBYTES };

/* One chunk after the other while all is read. Seconds until that is. */
static double read_beside(const engine *e, const part *all, const part *one,
                          double *seconds, int *n) {
    const double start = now_s();
    hr_batch *large = engine_submit(e, all, 1);
    while (hr_batch_poll(large) == 0 && *n < MOST) {
        seconds[(*n)++] = engine_read_apart(e, one, 1);
    }
    engine_await(large);
    return now_s() - start;
}

void run_turns(engine *e) {
    static double beside[MOST];
    double alone[NROUNDS], small[NROUNDS], large[NROUNDS], apart[NROUNDS];
    int n = 0;
    engine_open(e, MIB, NULL);
    const part all = engine_whole(e, engine_alloc(e, e->device, array_nbytes(&e->array)));
    part one = all, halves[2] = {all, all};
    one.nrows = NROWS;
    one.data = engine_alloc(e, e->device, MIB);
    halves[0].nrows /= 2;
    halves[1].row = halves[0].nrows;
    halves[1].nrows -= halves[0].nrows;
    halves[1].data = (uint8_t *)all.data + halves[0].nrows * ARRAY_ROW_NBYTES;
    (void)engine_read_apart(e, &all, 1);
    for (int i = 0; i < NROUNDS; i++) {
        alone[i] = engine_read_apart(e, &all, 1);
        small[i] = engine_read_apart(e, &one, 1);
        large[i] = read_beside(e, &all, &one, beside, &n);
        apart[i] = engine_read_apart(e, halves, 2);
    }
    engine_check(e, &all);
    engine_check(e, &one);
    const double ms = 1e3 * median_of(alone, NROUNDS);
    printf(
        "turns    %s: all %.2f ms, as two batches %.2f ms; a chunk alone %.3f ms, beside "
        "it %.3f ms (median of %d), and all then %.2f ms\n",
        e->codec, ms, 1e3 * median_of(apart, NROUNDS), 1e3 * median_of(small, NROUNDS),
        1e3 * median_of(beside, (size_t)n), n, 1e3 * median_of(large, NROUNDS));
    hr_memory_free(e->context, e->device, one.data);
    hr_memory_free(e->context, e->device, all.data);
    engine_close(e);
}
