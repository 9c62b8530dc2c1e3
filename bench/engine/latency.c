/* One small chunk alone. SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <headrace/memory.h>

#include "driver.h"
#include "engine.h"

#define CHUNK (UINT64_C(64) << 10)
enum { NROUNDS = 501 };

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

void run_latency(engine *e) {
    driver d;
    driver_open(&d);
    double plain[NROUNDS], own[NROUNDS];
    void *pinned = NULL, *stream = NULL;
    engine_open(e, CHUNK, NULL);
    void *dst = engine_alloc(e, e->device, CHUNK);
    driver_use(&d, e->device.index);
    driver_must(d.alloc_pinned(&pinned, CHUNK, 0), "cuMemHostAlloc");
    driver_must(d.create_stream(&stream, 1), "cuStreamCreate");
    for (int i = 0; i < NROUNDS; i++) {
        const part one = {.row = (uint64_t)i % 61 * 16,
                          .nrows = 16,
                          .ncolumns = ARRAY_COLUMNS,
                          .device = e->device,
                          .data = dst};
        plain[i] = read_plainly(e, &d, i % 61, pinned, stream, dst);
        own[i] = engine_read(e, &one, 1);
        engine_check(e, &one);
    }
    const double p = median_of(plain, NROUNDS), o = median_of(own, NROUNDS);
    printf("latency  %s: 64 KiB by headrace %.1f us (nine tenths %.1f), pread of the "
           "file and a copy %.1f us (%.1f); beyond it %.1f us\n",
           e->codec, 1e6 * o, 1e6 * own[NROUNDS * 9 / 10], 1e6 * p,
           1e6 * plain[NROUNDS * 9 / 10], 1e6 * (o - p));
    driver_must(d.release_pinned(pinned), "cuMemFreeHost");
    hr_memory_free(e->context, e->device, dst);
    engine_close(e);
}
