/* The store kernel against the host's codecs. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_store simt|cuda [--seed N] [--cases N] [--bench MIB]
 *
 * A case is a batch of a few random stores. Every byte of the destinations and of the
 * guards around them is compared, once with each of two patterns in it beforehand.
 * --bench prints GB/s of output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/args.h"
#include "kern/device_run.h"
#include "kern/store_bench.h"
#include "kern/store_case.h"
#include "kern/store_numbers.h"

#define MOST_STORES 4
#define GUARD_NBYTES 64

static const uint8_t patterns[] = {0xAA, 0x55};

/* A store and its memory on the device. */
typedef struct placed {
    store_case c;
    hr__devptr chunk, lists, dst;
    uint64_t dst_nbytes; /* with guards */
} placed;

static void place(runner *r, placed *p, int64_t *lists, uint64_t *random,
                  hr_k_store_task *task) {
    hr_error err = HR_ERROR_INIT;
    store_case *c = &p->c;
    store_case_make(c, lists, random);
    p->chunk = runner_alloc(r, c->chunk_offset + c->chunk_nbytes);
    runner_upload(r, p->chunk + c->chunk_offset, c->shuffled, c->chunk_nbytes);
    p->lists = runner_upload_new(r, c->loops.lists, c->loops.nlists * sizeof(int64_t));
    p->dst_nbytes = c->loops.dst_nbytes + 2 * (uint64_t)GUARD_NBYTES;
    p->dst = runner_alloc(r, p->dst_nbytes);
    hr_k_store s = c->store;
    s.chunk = p->chunk + c->chunk_offset;
    s.chunk_nbytes = c->chunk_nbytes;
    s.copy = scatter_case_bind(&c->loops, 0, p->dst + GUARD_NBYTES, p->lists);
    runner_must(hr__kstore_lower(&s, task, &err), &err);
}

static void take_away(runner *r, placed *p) {
    r->ops->free(r->device, p->chunk);
    r->ops->free(r->device, p->lists);
    r->ops->free(r->device, p->dst);
    store_case_free(&p->c);
}

static int compare(const placed *p, const uint8_t *got, uint8_t *want) {
    store_case_forgive(&p->c, want + GUARD_NBYTES, got + GUARD_NBYTES);
    if (memcmp(got, want, p->dst_nbytes) == 0) {
        return 0;
    }
    uint64_t at = 0;
    while (got[at] == want[at]) {
        at++;
    }
    store_case_print(&p->c);
    printf("byte %" PRId64 " is 0x%02x, expected 0x%02x\n", (int64_t)at - GUARD_NBYTES,
           got[at], want[at]);
    return 1;
}

static void fill(runner *r, placed *p, uint8_t pattern) {
    uint8_t *bytes = must_malloc(p->dst_nbytes);
    memset(bytes, pattern, p->dst_nbytes);
    runner_upload(r, p->dst, bytes, p->dst_nbytes);
    runner_sync(r);
    free(bytes);
}

static int check(runner *r, placed *p, uint8_t pattern) {
    uint8_t *got = must_malloc(p->dst_nbytes), *want = must_malloc(p->dst_nbytes);
    memset(want, pattern, p->dst_nbytes);
    runner_download(r, got, p->dst, p->dst_nbytes);
    store_case_reference(&p->c, want + GUARD_NBYTES);
    int failed = compare(p, got, want);
    free(got);
    free(want);
    return failed;
}

static int check_case(runner *r, uint64_t seed, int64_t *lists) {
    placed all[MOST_STORES];
    hr_k_store_task tasks[MOST_STORES];
    hr_k_store_batch batch;
    hr_error err = HR_ERROR_INIT;
    uint32_t n = 1 + (uint32_t)random_below(&seed, MOST_STORES);
    for (uint32_t i = 0; i < n; i++) {
        place(r, &all[i], lists + i * (uint64_t)MOST_LIST_ENTRIES, &seed, &tasks[i]);
    }
    runner_must(hr__kstore_list(tasks, n, NULL, &batch, &err), &err);
    uint64_t ntiles = (uint64_t)batch.nmoving + batch.nconverting;
    hr_k_store_tile *tiles = must_malloc(ntiles * sizeof *tiles);
    runner_must(hr__kstore_list(tasks, n, tiles, &batch, &err), &err);
    batch.tasks = runner_upload_new(r, tasks, n * sizeof *tasks);
    batch.tiles = runner_upload_new(r, tiles, ntiles * sizeof *tiles);
    int failures = 0;
    for (size_t k = 0; k < sizeof patterns; k++) {
        for (uint32_t i = 0; i < n; i++) {
            fill(r, &all[i], patterns[k]);
        }
        runner_launch(r, HR__KERNEL_STORE, &batch);
        for (uint32_t i = 0; i < n; i++) {
            failures |= check(r, &all[i], patterns[k]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        take_away(r, &all[i]);
    }
    r->ops->free(r->device, batch.tasks);
    r->ops->free(r->device, batch.tiles);
    free(tiles);
    return failures;
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), ncases = 300, bench_mib = 0;
    const kern_option options[] = {
        {"--seed", &seed}, {"--cases", &ncases}, {"--bench", &bench_mib}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    runner r;
    runner_open(&r, device);
    int64_t *lists = must_malloc(MOST_STORES * MOST_LIST_ENTRIES * sizeof *lists);
    int nfailures = 0;
    for (uint64_t i = 0; i < ncases && nfailures < 5; i++) {
        int failed = check_case(&r, seed + i, lists);
        if (failed) {
            printf("FAILED: again by --seed %" PRIu64 " --cases 1\n", seed + i);
        }
        nfailures += failed;
    }
    printf("%" PRIu64 " batches from seed %" PRIu64 ", %d failed\n", ncases, seed,
           nfailures);
    nfailures += store_numbers(&r, seed);
    if (bench_mib > 0) {
        nfailures += store_bench(&r, bench_mib << 20);
    }
    free(lists);
    runner_close(&r);
    return nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
