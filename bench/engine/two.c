/* Two devices at once. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <headrace/memory.h>

#include "driver.h"
#include "engine.h"

#define MIB (UINT64_C(1) << 20)
enum { NROUNDS = 9 };

static void check_current(const driver *d, const void *expected) {
    void *context = NULL;
    driver_must(d->get_context(&context), "cuCtxGetCurrent");
    if (context != expected) {
        engine_fail("another context is current than before", NULL);
    }
}

void run_two(engine *e) {
    driver d;
    double one[NROUNDS], both[NROUNDS], apart[NROUNDS];
    void *current = NULL;
    hr_device second = e->device;
    second.index++;
    driver_open(&d);
    driver_must(d.set_context(NULL), "cuCtxSetCurrent");
    e->noise = 4; /* so that files and copies are not what takes the time */
    engine_open(e, MIB, NULL);
    const uint64_t nbytes = array_nbytes(&e->array);
    const part all = engine_whole(e, engine_alloc(e, e->device, nbytes));
    part halves[MAX_DEVICES] = {all, all};
    halves[0].nrows /= 2;
    halves[1].row = halves[0].nrows;
    halves[1].nrows -= halves[0].nrows;
    halves[1].device = second;
    halves[1].data = engine_alloc(e, second, nbytes);
    (void)engine_read(e, &all, 1);
    engine_check(e, &all);
    (void)engine_read(e, halves, MAX_DEVICES);
    for (int i = 0; i < NROUNDS; i++) {
        if (i == 2) { /* first without a context, then with one, of the other device */
            driver_use(&d, second.index);
            driver_must(d.get_context(&current), "cuCtxGetCurrent");
        }
        one[i] = engine_read(e, &all, 1);
        both[i] = engine_read(e, halves, MAX_DEVICES);
        apart[i] = engine_read_apart(e, halves, MAX_DEVICES);
        check_current(&d, current);
    }
    engine_check(e, &halves[0]);
    engine_check(e, &halves[1]);
    const double x = median_of(one, NROUNDS), y = median_of(both, NROUNDS);
    printf(
        "two      %s: all on one device %.2f ms, %.1f GB/s; two halves on two %.2f ms, "
        "%.1f GB/s: %.2f times as fast; in two batches %.2f ms\n",
        e->codec, 1e3 * x, (double)nbytes / x * 1e-9, 1e3 * y, (double)nbytes / y * 1e-9,
        x / y, 1e3 * median_of(apart, NROUNDS));
    hr_memory_free(e->context, second, halves[1].data);
    hr_memory_free(e->context, e->device, all.data);
    engine_close(e);
}
