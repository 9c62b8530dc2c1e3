/* Running sums and packed bits against plain loops. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_filters simt|cuda [--seed N] [--cases N] [--bench MIB]
 *
 * A case is a batch of a few tasks; every byte of the outputs and of the guards around
 * them is compared. --bench prints GB/s of output, for chunks of 256 KiB and 1 MiB. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/kstore.h"
#include "kern/args.h"
#include "kern/device_run.h"
#include "kern/random.h"

#define MOST_TASKS 8
#define GUARD 64
#define PATTERN 0xA5

static uint64_t load(const uint8_t *at, uint32_t nbytes) {
    uint64_t x = 0;
    memcpy(&x, at, nbytes);
    return x;
}

/* --- the reference --- */

static void sum_up(const hr_k_filter_task *t, uint8_t *items) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < t->nitems; i++) {
        sum += load(items + i * t->nbytes, t->nbytes);
        memcpy(items + i * t->nbytes, &sum, t->nbytes);
    }
}

static uint64_t bit_of(const hr_k_filter_task *t, const uint8_t *src, uint64_t i) {
    return src[i / 8] >> (t->high_first ? 7 - i % 8 : i % 8) & 1;
}

static void unpack(const hr_k_filter_task *t, const uint8_t *src, uint8_t *dst) {
    for (uint64_t i = 0; i < t->nitems; i++) {
        uint64_t bits = 0;
        for (uint32_t k = 0; k < t->width; k++) {
            bits |= bit_of(t, src, i * t->width + k) << k;
        }
        bool is_negative = t->is_signed && (bits >> (t->width - 1) & 1) != 0;
        if (is_negative && t->width < 64) {
            bits |= UINT64_MAX << t->width;
        }
        bits <<= t->first_bit;
        memcpy(dst + i * t->nbytes, &bits, t->nbytes);
    }
}

/* --- cases --- */

typedef struct filter_case {
    hr__kernel kernel;
    uint32_t ntasks;
    hr_k_filter_task tasks[MOST_TASKS];
    uint64_t src_at[MOST_TASKS], src_nbytes, dst_at[MOST_TASKS], dst_nbytes;
    uint8_t *src, *before, *want;
    uint64_t status[MOST_TASKS];
} filter_case;

static void make_task(filter_case *c, uint32_t i, uint64_t *random) {
    hr_k_filter_task *t = &c->tasks[i];
    *t = (hr_k_filter_task){.nbytes = 1U << random_below(random, 4), .status_index = i};
    t->nitems =
        random_below(random, 3) ? random_below(random, 300) : random_below(random, 20000);
    if (c->kernel == HR__KERNEL_UNPACK) {
        t->width = 1 + (uint32_t)random_below(random, 8 * t->nbytes);
        if (random_below(random, 3) == 0) {
            t->nbytes = t->width = 1;
            t->high_first = (uint32_t)random_below(random, 2);
        }
        if (t->width < 8 * t->nbytes && !t->high_first) {
            t->first_bit = (uint32_t)random_below(random, 8 * t->nbytes - t->width + 1);
        }
        t->is_signed = !t->high_first && random_below(random, 2);
    }
    uint64_t packed = (t->nitems * t->width + 7) / 8;
    c->src_at[i] = c->src_nbytes + 1 + random_below(random, 20);
    c->src_nbytes = c->src_at[i] + packed;
    c->dst_at[i] = (c->dst_nbytes + GUARD + 15) / 16 * 16;
    c->dst_nbytes = c->dst_at[i] + t->nitems * t->nbytes;
}

static void make_case(filter_case *c, uint64_t *random) {
    *c = (filter_case){.kernel =
                           random_below(random, 2) ? HR__KERNEL_SUM : HR__KERNEL_UNPACK};
    c->ntasks = 1 + (uint32_t)random_below(random, MOST_TASKS);
    for (uint32_t i = 0; i < c->ntasks; i++) {
        make_task(c, i, random);
    }
    c->dst_nbytes += GUARD;
    c->src = must_malloc(c->src_nbytes);
    c->before = must_malloc(c->dst_nbytes);
    c->want = must_malloc(c->dst_nbytes);
    for (uint64_t i = 0; i < c->src_nbytes; i++) {
        c->src[i] = (uint8_t)random_next(random);
    }
    memset(c->before, PATTERN, c->dst_nbytes);
    for (uint32_t i = 0; i < c->ntasks && c->kernel == HR__KERNEL_SUM; i++) {
        for (uint64_t k = 0; k < c->tasks[i].nitems * c->tasks[i].nbytes; k++) {
            c->before[c->dst_at[i] + k] = (uint8_t)random_next(random);
        }
    }
    memcpy(c->want, c->before, c->dst_nbytes);
    for (uint32_t i = 0; i < c->ntasks; i++) {
        if (c->kernel == HR__KERNEL_SUM) {
            sum_up(&c->tasks[i], c->want + c->dst_at[i]);
            continue;
        }
        unpack(&c->tasks[i], c->src + c->src_at[i], c->want + c->dst_at[i]);
        if (random_below(random, 2)) { /* the byte before the bits */
            bool is_right = random_below(random, 2);
            c->tasks[i].check = 1;
            c->tasks[i].check_value =
                (c->src[c->src_at[i] - 1] + (is_right ? 0U : 1U)) & 0xFF;
            c->status[i] = is_right ? 0 : (uint64_t)HR_K_BAD_PADDING << 32;
        }
    }
}

static hr__devptr upload_new(runner *r, const void *data, uint64_t nbytes) {
    hr__devptr p = runner_alloc(r, nbytes);
    runner_upload(r, p, data, nbytes);
    return p;
}

/* And number the tasks' first ones. */
static uint32_t count_tiles(hr_k_filter_task *tasks, uint32_t n) {
    uint32_t ntiles = 0;
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].first_tile = ntiles;
        ntiles += hr__kfilter_tiles(&tasks[i]);
    }
    return ntiles;
}

static int check_case(runner *r, uint64_t seed) {
    filter_case c;
    uint64_t status[MOST_TASKS] = {0};
    make_case(&c, &seed);
    hr__devptr src = upload_new(r, c.src, c.src_nbytes);
    hr__devptr dst = upload_new(r, c.before, c.dst_nbytes);
    for (uint32_t i = 0; i < c.ntasks; i++) {
        c.tasks[i].src = src + c.src_at[i];
        c.tasks[i].dst = dst + c.dst_at[i];
        c.tasks[i].check = c.tasks[i].check != 0 ? c.tasks[i].src - 1 : 0;
    }
    uint32_t ntiles = count_tiles(c.tasks, c.ntasks);
    hr_k_filter filter = {.tasks = upload_new(r, c.tasks, c.ntasks * sizeof *c.tasks),
                          .status = upload_new(r, status, sizeof status),
                          .ntasks = c.ntasks,
                          .ntiles = ntiles};
    runner_launch(r, c.kernel, &filter);
    uint8_t *got = must_malloc(c.dst_nbytes);
    runner_download(r, got, dst, c.dst_nbytes);
    runner_download(r, status, filter.status, sizeof status);
    int failed = memcmp(status, c.status, sizeof status) != 0;
    for (uint64_t i = 0; i < c.dst_nbytes && !failed; i++) {
        failed = got[i] != c.want[i];
        if (failed) {
            printf("%s: byte %" PRIu64 " of %" PRIu64 " is 0x%02x, expected 0x%02x\n",
                   c.kernel == HR__KERNEL_SUM ? "sum" : "unpack", i, c.dst_nbytes, got[i],
                   c.want[i]);
        }
    }
    r->ops->free(r->device, src);
    r->ops->free(r->device, dst);
    r->ops->free(r->device, filter.tasks);
    r->ops->free(r->device, filter.status);
    free(got);
    free(c.src);
    free(c.before);
    free(c.want);
    return failed;
}

/* --- speed --- */

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(runner *r, const char *name, hr__kernel kernel, hr_k_filter_task like,
                  uint64_t chunk_nbytes, uint64_t total) {
    enum { NSAMPLES = 5, NRUNS = 5 };
    uint32_t n = (uint32_t)(total / chunk_nbytes);
    hr__devptr src = runner_alloc(r, total), dst = runner_alloc(r, total);
    hr_k_filter_task *tasks = must_malloc(n * sizeof *tasks);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i] = like;
        tasks[i].nitems = chunk_nbytes / like.nbytes;
        tasks[i].src = src + i * (total / n) / 8 * (like.width + 7) / 8 + 1;
        tasks[i].dst = dst + i * chunk_nbytes;
    }
    uint32_t ntiles = count_tiles(tasks, n);
    hr_k_filter filter = {
        .tasks = upload_new(r, tasks, n * sizeof *tasks), .ntasks = n, .ntiles = ntiles};
    runner_launch(r, kernel, &filter);
    runner_sync(r);
    double samples[NSAMPLES];
    for (int i = 0; i < NSAMPLES; i++) {
        double start = now();
        for (int k = 0; k < NRUNS; k++) {
            runner_launch(r, kernel, &filter);
        }
        runner_sync(r);
        samples[i] = (now() - start) / NRUNS;
    }
    qsort(samples, NSAMPLES, sizeof *samples, by_size);
    printf("%-28s %5" PRIu64 " chunks of %4" PRIu64 " KiB %8.1f GB/s out\n", name,
           (uint64_t)n, chunk_nbytes >> 10,
           (double)(n * chunk_nbytes) / samples[NSAMPLES / 2] / 1e9);
    r->ops->free(r->device, src);
    r->ops->free(r->device, dst);
    r->ops->free(r->device, filter.tasks);
    free(tasks);
}

static void bench_all(runner *r, uint64_t total) {
    for (uint64_t chunk = 256 << 10; chunk <= 1 << 20; chunk *= 4) {
        for (uint64_t part = total; part >= total / 16; part /= 16) {
            bench(r, "sum, 1 byte", HR__KERNEL_SUM, (hr_k_filter_task){.nbytes = 1},
                  chunk, part);
            bench(r, "sum, 2 bytes", HR__KERNEL_SUM, (hr_k_filter_task){.nbytes = 2},
                  chunk, part);
            bench(r, "sum, 4 bytes", HR__KERNEL_SUM, (hr_k_filter_task){.nbytes = 4},
                  chunk, part);
            bench(r, "sum, 8 bytes", HR__KERNEL_SUM, (hr_k_filter_task){.nbytes = 8},
                  chunk, part);
            bench(r, "unpack bool, v2", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.nbytes = 1, .width = 1, .high_first = 1}, chunk,
                  part);
            bench(r, "unpack 12 bits, u16", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.nbytes = 2, .width = 12}, chunk, part);
        }
    }
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), ncases = 300, bench_mib = 0;
    const kern_option options[] = {
        {"--seed", &seed}, {"--cases", &ncases}, {"--bench", &bench_mib}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    runner r;
    runner_open(&r, device);
    int nfailures = 0;
    for (uint64_t i = 0; i < ncases && nfailures < 5; i++) {
        if (check_case(&r, seed + i)) {
            printf("FAILED: again by --seed %" PRIu64 " --cases 1\n", seed + i);
            nfailures++;
        }
    }
    printf("%" PRIu64 " batches from seed %" PRIu64 ", %d failed\n", ncases, seed,
           nfailures);
    if (bench_mib > 0) {
        bench_all(&r, bench_mib << 20);
    }
    runner_close(&r);
    return nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
