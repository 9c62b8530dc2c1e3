/* The copy kernels against a plain loop. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_scatter simt|cuda [--seed N] [--cases N] [--bench MIB]
 *
 * Every byte of the destination is compared, once with each of two patterns in it
 * beforehand. --bench prints GB/s (bytes read and written) of copies of that size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/args.h"
#include "kern/device_run.h"
#include "kern/scatter_bench.h"
#include "kern/scatter_case.h"

static const uint8_t patterns[] = {0xAA, 0x55};

static void run_case(runner *r, const scatter_case *c, hr__devptr src, hr__devptr dst,
                     hr__devptr lists) {
    hr_k_fill fill = {.where = scatter_case_bind(c, src, dst, lists)};
    if (c->is_fill) {
        runner_launch(r, HR__KERNEL_FILL, &fill);
    } else {
        runner_launch(r, HR__KERNEL_SCATTER, &fill.where);
    }
}

static int compare(const scatter_case *c, const uint8_t *got, const uint8_t *want) {
    if (memcmp(got, want, c->dst_nbytes) == 0) {
        return 0;
    }
    uint64_t at = 0;
    while (got[at] == want[at]) {
        at++;
    }
    scatter_case_print(c);
    printf("byte %" PRIu64 " is 0x%02x, expected 0x%02x\n", at, got[at], want[at]);
    return 1;
}

static int check_case(runner *r, uint64_t seed, int64_t *lists) {
    scatter_case c;
    scatter_case_make(&c, lists, &seed);
    uint8_t *src = must_malloc(c.src_nbytes), *want = must_malloc(c.dst_nbytes);
    uint8_t *got = must_malloc(c.dst_nbytes);
    for (uint64_t i = 0; i < c.src_nbytes; i++) {
        src[i] = (uint8_t)random_next(&seed);
    }
    hr__devptr device_src = runner_upload_new(r, src, c.src_nbytes);
    hr__devptr device_lists = runner_upload_new(r, c.lists, c.nlists * sizeof(int64_t));
    hr__devptr device_dst = runner_alloc(r, c.dst_nbytes);
    int failures = 0;
    for (size_t i = 0; i < sizeof patterns; i++) {
        memset(want, patterns[i], c.dst_nbytes);
        runner_upload(r, device_dst, want, c.dst_nbytes);
        run_case(r, &c, device_src, device_dst, device_lists);
        runner_download(r, got, device_dst, c.dst_nbytes);
        scatter_case_reference(&c, src, want);
        failures |= compare(&c, got, want);
    }
    r->ops->free(r->device, device_src);
    r->ops->free(r->device, device_lists);
    r->ops->free(r->device, device_dst);
    free(src);
    free(want);
    free(got);
    return failures;
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), ncases = 1000, bench_mib = 0;
    const kern_option options[] = {
        {"--seed", &seed}, {"--cases", &ncases}, {"--bench", &bench_mib}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    runner r;
    runner_open(&r, device);
    int64_t *lists = must_malloc(MOST_LIST_ENTRIES * sizeof *lists);
    int nfailures = 0;
    for (uint64_t i = 0; i < ncases && nfailures < 5; i++) {
        int failed = check_case(&r, seed + i, lists);
        if (failed) {
            printf("FAILED: again by --seed %" PRIu64 " --cases 1\n", seed + i);
        }
        nfailures += failed;
    }
    printf("%" PRIu64 " copies from seed %" PRIu64 ", %d failed\n", ncases, seed,
           nfailures);
    if (bench_mib > 0) {
        nfailures += scatter_bench(&r, bench_mib << 20);
    }
    free(lists);
    runner_close(&r);
    return nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
