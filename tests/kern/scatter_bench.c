/* How fast the copy kernels are. SPDX-License-Identifier: Apache-2.0 */
#include "kern/scatter_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"
#include "kern/scatter_case.h"

#define NRUNS 10
#define ROW 512

typedef struct bench {
    const char *name;
    hr__kernel kernel;
    hr_k_scatter copy;
} bench;

static void measure(runner *r, const bench *b) {
    hr_k_fill params = {.where = b->copy};
    runner_launch(r, b->kernel, &params.where);
    runner_sync(r);
    double start = now_s();
    for (int i = 0; i < NRUNS; i++) {
        runner_launch(r, b->kernel, &params.where);
    }
    runner_sync(r);
    double seconds = (now_s() - start) / NRUNS;
    double nbytes = (double)b->copy.nitems * b->copy.itemsize *
                    (b->kernel == HR__KERNEL_FILL ? 1 : 2);
    printf("%-34s %8.1f GB/s\n", b->name, nbytes / seconds / 1e9);
}

static hr_k_dim loop(uint64_t n, int64_t src_step, int64_t dst_step) {
    return (hr_k_dim){.n = n, .src_step = src_step, .dst_step = dst_step};
}

static bench bench_1d(const char *name, hr__kernel kernel, uint32_t itemsize,
                      uint64_t src, uint64_t dst, uint64_t nbytes) {
    uint64_t n = nbytes / itemsize;
    return (bench){name,
                   kernel,
                   {.src = src,
                    .dst = dst,
                    .nitems = n,
                    .itemsize = itemsize,
                    .ndim = 1,
                    .dims = {loop(n, itemsize, itemsize)}}};
}

static bench bench_2d(const char *name, uint32_t itemsize, uint64_t src, uint64_t dst,
                      hr_k_dim rows, hr_k_dim columns) {
    return (bench){name,
                   HR__KERNEL_SCATTER,
                   {.src = src,
                    .dst = dst,
                    .nitems = rows.n * columns.n,
                    .itemsize = itemsize,
                    .ndim = 2,
                    .dims = {rows, columns}}};
}

/* n × n items, so that n² · itemsize ≤ nbytes and rows stay 64-byte aligned. */
static bench bench_transposed(const char *name, uint32_t itemsize, uint64_t src,
                              uint64_t dst, uint64_t nbytes) {
    uint64_t n = 64;
    while ((n + 64) * (n + 64) * itemsize <= nbytes) {
        n += 64;
    }
    int64_t row = (int64_t)n * itemsize;
    return bench_2d(name, itemsize, src, dst, loop(n, itemsize, row),
                    loop(n, row, itemsize));
}

/* A random permutation of the rows, on the device. */
static hr__devptr make_list(runner *r, uint64_t n) {
    int64_t *list = malloc(n * sizeof *list);
    uint64_t random = 1;
    if (list == NULL) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = random_below(&random, i + 1);
        list[i] = list[k];
        list[k] = (int64_t)i;
    }
    hr__devptr p = runner_alloc(r, n * sizeof *list);
    runner_upload(r, p, list, n * sizeof *list);
    runner_sync(r);
    free(list);
    return p;
}

/* One byte more than 2^32, from an odd address: neither fits 32 bits nor gets wider. */
static int check_beyond_4_gib(runner *r) {
    const uint64_t n = (UINT64_C(1) << 32) + 4097, marks[] = {0, UINT32_MAX, n - 1};
    if (r->info.memory_nbytes < 4 * n) {
        printf("skipped: a copy of more than 4 GiB (%" PRIu64 " bytes of memory)\n",
               r->info.memory_nbytes);
        return 0;
    }
    hr__devptr src = runner_alloc(r, n + 1), dst = runner_alloc(r, n);
    bench fill = bench_1d("", HR__KERNEL_FILL, 1, src, src + 1, n);
    bench copy = bench_1d("contiguous, u8, 4 GiB, unaligned", HR__KERNEL_SCATTER, 1,
                          src + 1, dst, n);
    uint8_t byte = 3;
    runner_upload(r, src, &byte, 1);
    runner_launch(r, fill.kernel, &fill.copy);
    for (size_t i = 0; i < 3; i++) {
        uint8_t mark = (uint8_t)(100 + i);
        runner_upload(r, src + 1 + marks[i], &mark, 1);
        runner_sync(r);
    }
    measure(r, &copy);
    int nwrong = 0;
    for (size_t i = 0; i < 3; i++) {
        runner_download(r, &byte, dst + marks[i], 1);
        nwrong += byte != 100 + i;
        runner_download(r, &byte, i == 0 ? dst + 1 : dst + marks[i] - 1, 1);
        nwrong += byte != 3;
    }
    if (nwrong > 0) {
        printf("a copy of more than 4 GiB is wrong\n");
    }
    r->ops->free(r->device, src);
    r->ops->free(r->device, dst);
    return nwrong > 0;
}

int scatter_bench(runner *r, uint64_t nbytes) {
    nbytes = nbytes / ROW * ROW;
    uint64_t n = nbytes / ROW;
    hr__devptr src = runner_alloc(r, 2 * nbytes), dst = runner_alloc(r, 2 * nbytes);
    hr__devptr list = make_list(r, n);
    hr_k_dim gather = loop(n, ROW, ROW), spread = gather;
    gather.src_list = list;
    spread.dst_list = list;
    bench item = bench_1d("", HR__KERNEL_FILL, 4, src, src + 16, 2 * nbytes - 16);
    runner_launch(r, item.kernel, &item.copy);

    const bench benches[] = {
        bench_1d("contiguous, f32", HR__KERNEL_SCATTER, 4, src, dst, nbytes),
        bench_1d("contiguous, f32, 4-byte aligned", HR__KERNEL_SCATTER, 4, src + 4, dst,
                 nbytes),
        bench_1d("contiguous, u16, 2-byte aligned", HR__KERNEL_SCATTER, 2, src + 2, dst,
                 nbytes),
        bench_1d("contiguous, u8, unaligned", HR__KERNEL_SCATTER, 1, src + 1, dst,
                 nbytes),
        bench_2d("rows of 512 B, cropped", 4, src, dst, loop(n, 2 * ROW, ROW),
                 loop(ROW / 4, 4, 4)),
        bench_2d("rows of 512 B, spread out", 4, src, dst, loop(n, ROW, 2 * ROW),
                 loop(ROW / 4, 4, 4)),
        bench_2d("rows of 500 B, cropped, f32", 4, src + 12, dst, loop(n, ROW, 500),
                 loop(125, 4, 4)),
        bench_2d("rows of 100 B, cropped, u8", 1, src + 3, dst, loop(n, ROW, 100),
                 loop(100, 1, 1)),
        bench_2d("gather of rows of 512 B", 4, src, dst, gather, loop(ROW / 4, 4, 4)),
        bench_2d("scatter of rows of 512 B", 4, src, dst, spread, loop(ROW / 4, 4, 4)),
        bench_transposed("transposed, u8", 1, src, dst, nbytes),
        bench_transposed("transposed, u16", 2, src, dst, nbytes),
        bench_transposed("transposed, f32", 4, src, dst, nbytes),
        bench_transposed("transposed, f64", 8, src, dst, nbytes),
        bench_2d("planes to RGB, u8", 1, src, dst, loop(nbytes / 3, 1, 3),
                 loop(3, (int64_t)(nbytes / 3), 1)),
        bench_2d("every second f32", 4, src, dst, loop(nbytes / 64, 128, 64),
                 loop(16, 8, 4)),
        bench_1d("fill, f32", HR__KERNEL_FILL, 4, src, dst, nbytes),
        bench_1d("fill, u8", HR__KERNEL_FILL, 1, src, dst, nbytes),
    };
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        measure(r, &benches[i]);
    }
    r->ops->free(r->device, src);
    r->ops->free(r->device, dst);
    r->ops->free(r->device, list);
    return check_beyond_4_gib(r);
}
