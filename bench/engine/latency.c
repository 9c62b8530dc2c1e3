/* One small chunk alone. SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <headrace/memory.h>

#include "driver.h"
#include "engine.h"

#define CHUNK (UINT64_C(64) << 10)
enum { NROUNDS = 501, NROWS = CHUNK / ARRAY_ROW_NBYTES };

/* As a program would without the library: the file read into pinned memory, a copy. */
static double read_plainly(const engine *e, const driver *d, int i, void *pinned,
                           void *stream, void *dst) {
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%d.0", e->array.path, i);
    const double start = now_s();
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : pread(fd, pinned, CHUNK, 0);
    if (n <= 0) {
        engine_fail("pread", NULL);
    }
    (void)close(fd);
    driver_must(d->copy_up((uint64_t)(uintptr_t)dst, pinned, (size_t)n, stream), "copy");
    driver_must(d->sync_stream(stream), "cuStreamSynchronize");
    return now_s() - start;
}

/* Median of microseconds; what the stages took, in the mean. */
static double read_alone(engine *e, int32_t host_share, void *dst,
                         double stages[HR_NSTAGES]) {
    double seconds[NROUNDS];
    memset(stages, 0, HR_NSTAGES * sizeof *stages);
    e->host_share = host_share;
    for (int i = 0; i < NROUNDS; i++) {
        const part one = {.row = (uint64_t)i % ARRAY_NDISTINCT * NROWS,
                          .nrows = NROWS,
                          .ncolumns = ARRAY_COLUMNS,
                          .device = e->device,
                          .data = dst};
        seconds[i] = engine_read(e, &one, 1);
        for (int s = 0; s < HR_NSTAGES; s++) {
            stages[s] += 1e3 * engine_stage_ms(e, (hr_stage)s) / NROUNDS;
        }
        engine_check(e, &one);
    }
    e->host_share = 0;
    return 1e6 * median_of(seconds, NROUNDS);
}

void run_latency(engine *e) {
    driver d;
    driver_open(&d);
    double plain[NROUNDS];
    void *pinned = NULL, *stream = NULL;
    engine_open(e, CHUNK, NULL);
    void *dst = engine_alloc(e, e->device, CHUNK);
    driver_use(&d, e->device.index);
    driver_must(d.alloc_pinned(&pinned, CHUNK, 0), "cuMemHostAlloc");
    driver_must(d.create_stream(&stream, 1), "cuStreamCreate");
    for (int i = 0; i < NROUNDS; i++) {
        plain[i] = read_plainly(e, &d, i % ARRAY_NDISTINCT, pinned, stream, dst);
    }
    const double p = 1e6 * median_of(plain, NROUNDS);
    double stages[HR_NSTAGES], shared[HR_NSTAGES];
    const double device = read_alone(e, 0, dst, stages);
    const double measured = read_alone(e, HR_HOST_SHARE_MEASURED, dst, shared);
    printf("latency  %s: 64 KiB, pread of the file and a copy %.1f us; headrace %.1f us, "
           "%.1f beyond it; with a measured share for the host %.1f us, %.1f beyond it\n"
           "        ",
           e->codec, p, device, device - p, measured, measured - p);
    for (int i = 0; i < HR_NSTAGES; i++) {
        printf(" %s %.1f", hr_stage_name((hr_stage)i), stages[i]);
    }
    printf(" us in the mean\n");
    driver_must(d.release_pinned(pinned), "cuMemFreeHost");
    hr_memory_free(e->context, e->device, dst);
    engine_close(e);
}
