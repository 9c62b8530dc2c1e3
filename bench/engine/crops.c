/* Many small crops in one call. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <headrace/memory.h>

#include "engine.h"

#define MIB (UINT64_C(1) << 20)
enum { NCROPS = 10000, ROWS = 128, COLUMNS = 256, NROUNDS = 5 };
#define CROP_NBYTES (sizeof(uint16_t) * ROWS * COLUMNS)

static void draw(const engine *e, part *crops, uint8_t *data) {
    const uint64_t nrows = array_nbytes(&e->array) / ARRAY_ROW_NBYTES;
    uint64_t random = 1;
    for (uint64_t i = 0; i < NCROPS; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        crops[i] = (part){.row = (random >> 32) % (nrows - ROWS + 1),
                          .nrows = ROWS,
                          .column = (random >> 16) % (ARRAY_COLUMNS - COLUMNS + 1),
                          .ncolumns = COLUMNS,
                          .device = e->device,
                          .data = data + i * CROP_NBYTES};
    }
}

static double median_read(const engine *e, const part *parts, uint64_t n) {
    double seconds[NROUNDS];
    (void)engine_read(e, parts, n);
    for (int i = 0; i < NROUNDS; i++) {
        seconds[i] = engine_read(e, parts, n);
    }
    return median_of(seconds, NROUNDS);
}

void run_crops(engine *e) {
    part *crops = calloc(NCROPS, sizeof *crops);
    if (crops == NULL) {
        engine_fail("no memory", NULL);
    }
    engine_open(e, MIB, NULL);
    const double whole_nbytes = (double)array_nbytes(&e->array);
    const double crops_nbytes = (double)NCROPS * (double)CROP_NBYTES;
    part all = engine_whole(e, engine_alloc(e, e->device, array_nbytes(&e->array)));
    const double whole = whole_nbytes / median_read(e, &all, 1) * 1e-9;
    engine_check(e, &all);
    hr_memory_free(e->context, e->device, all.data);
    void *data = engine_alloc(e, e->device, NCROPS * CROP_NBYTES);
    draw(e, crops, data);
    const double scattered = crops_nbytes / median_read(e, crops, NCROPS) * 1e-9;
    for (int i = 0; i < NCROPS; i += 7) {
        engine_check(e, &crops[i]);
    }
    printf("crops    %s: whole %.1f GB/s, %d random crops of 64 KiB %.1f GB/s, "
           "%.0f %%; plan %.1f ms, copy %.1f, kernels %.1f, store %.1f\n",
           e->codec, whole, NCROPS, scattered, 100 * scattered / whole,
           engine_stage_ms(e, HR_STAGE_PLAN), engine_stage_ms(e, HR_STAGE_COPY),
           engine_stage_ms(e, HR_STAGE_KERNELS), engine_stage_ms(e, HR_STAGE_STORE));
    hr_memory_free(e->context, e->device, data);
    engine_close(e);
    free(crops);
}
