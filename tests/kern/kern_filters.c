/* The filter kernels against plain loops. SPDX-License-Identifier: Apache-2.0
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

#include "bench/measure.h"
#include "device/kstore.h"
#include "kern/args.h"
#include "kern/device_run.h"
#include "kern/filters_reference.h"
#include "kern/random.h"

#define MOST_TASKS 8
#define GUARD 64
#define PATTERN 0xA5

/* --- cases --- */

typedef struct filter_case {
    hr__kernel kernel;
    uint32_t ntasks;
    hr_k_filter_task tasks[MOST_TASKS];
    uint64_t src_at[MOST_TASKS], src_nbytes, dst_at[MOST_TASKS], dst_nbytes;
    uint8_t *src, *before, *want;
    uint64_t status[MOST_TASKS];
} filter_case;

static uint32_t nbytes_of(uint32_t number) {
    static const uint32_t nbytes[] = {[HR_K_F16] = 2, [HR_K_BF16] = 2, [HR_K_F32] = 4,
                                      [HR_K_F64] = 8, [HR_K_C64] = 8,  [HR_K_C128] = 16};
    return number <= HR_K_U64 ? 1U << (number - HR_K_I8) % 4 : nbytes[number];
}

static uint32_t draw(uint64_t *random, uint32_t first, uint32_t last) {
    return first + (uint32_t)random_below(random, last - first + 1);
}

static void make_bits(hr_k_filter_task *t, uint64_t *random) {
    t->width = 1 + (uint32_t)random_below(random, 8 * t->nbytes);
    if (random_below(random, 3) == 0) {
        t->nbytes = t->width = 1;
    }
    t->high_first = (uint32_t)random_below(random, 2);
    if (t->high_first && random_below(random, 2)) { /* the last row may be cut off */
        t->row = 1 + random_below(random, random_below(random, 2) ? 40 : 1500);
    }
    if (t->width < 8 * t->nbytes && !t->high_first) {
        t->first_bit = (uint32_t)random_below(random, 8 * t->nbytes - t->width + 1);
    }
    t->is_signed = (uint32_t)random_below(random, 2);
}

/* Scales that bytes are often multiples of, and offsets that often fit. */
static void make_scale(hr_k_filter_task *t, uint64_t *random) {
    static const int64_t scales[] = {1, 1, -1, 2, -3, INT64_MIN, INT64_MAX};
    t->kind = HR_K_FILTER_SCALE;
    t->number = draw(random, HR_K_I8, HR_K_U64);
    t->nbytes = nbytes_of(t->number);
    t->width = 8 * t->nbytes;
    t->a = (uint64_t)scales[random_below(random, 7)];
    t->b = random_below(random, 2) ? 0 : random_next(random) >> random_below(random, 64);
}

static void make_cast(hr_k_filter_task *t, uint64_t *random) {
    t->kind = HR_K_FILTER_CAST;
    t->from = draw(random, HR_K_I8, HR_K_F64);
    t->number = draw(random, HR_K_I8, HR_K_F64);
    t->nbytes = nbytes_of(t->number);
    t->width = 8 * nbytes_of(t->from);
    t->rounding = draw(random, HR_K_NEAREST_EVEN, HR_K_NEAREST_AWAY);
    t->out_of_range = draw(random, HR_K_RANGE_FAIL, HR_K_RANGE_WRAP);
    t->nmapped = draw(random, 0, HR_K_MOST_MAPPED);
    for (uint32_t i = 0; i < t->nmapped; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t nbits = k == 0 ? t->width : 8 * t->nbytes;
            t->mapped[i][k] = random_next(random) >> (64 - nbits);
        }
    }
}

/* Pixels of few items and of many, rows that are no whole pixels, and either byte order.
 */
static void make_rows(hr_k_filter_task *t, uint64_t *random) {
    t->kind = HR_K_FILTER_ROWS;
    t->high_first = (uint32_t)random_below(random, 2);
    t->stride = random_below(random, 4) ? 1 + random_below(random, 5)
                                        : 1 + random_below(random, 70);
    const uint64_t npixels =
        1 + random_below(random, random_below(random, 2) ? 40 : 1500);
    t->row =
        t->stride * npixels + (random_below(random, 4) ? 0 : random_below(random, 9));
    t->nitems = t->row * random_below(random, random_below(random, 3) ? 5 : 80);
}

static void make_task(filter_case *c, uint32_t i, uint64_t *random) {
    hr_k_filter_task *t = &c->tasks[i];
    *t = (hr_k_filter_task){.nbytes = 1U << random_below(random, 4), .status_index = i};
    t->nitems =
        random_below(random, 3) ? random_below(random, 300) : random_below(random, 20000);
    const uint64_t kind = random_below(random, 3);
    if (c->kernel == HR__KERNEL_UNPACK && kind == 0) {
        make_bits(t, random);
    } else if (c->kernel == HR__KERNEL_UNPACK && kind == 1) {
        make_scale(t, random);
    } else if (c->kernel == HR__KERNEL_UNPACK) {
        make_cast(t, random);
    } else if (kind > 1) {
        make_rows(t, random);
    } else if (kind > 0) {
        t->kind = HR_K_FILTER_FLOATS;
        t->number = draw(random, HR_K_F16, HR_K_C128);
        t->nbytes = nbytes_of(t->number);
    }
    const bool is_aligned = c->kernel == HR__KERNEL_UNPACK && t->kind != HR_K_FILTER_BITS;
    uint64_t packed = c->kernel == HR__KERNEL_UNPACK ? hr__kfilter_src_nbytes(t) : 0;
    c->src_at[i] = c->src_nbytes + 1 + random_below(random, 20);
    c->src_at[i] = is_aligned ? (c->src_at[i] + 7) / 8 * 8 : c->src_at[i];
    c->src_nbytes = c->src_at[i] + packed;
    c->dst_at[i] = (c->dst_nbytes + GUARD + 15) / 16 * 16;
    c->dst_nbytes = c->dst_at[i] + t->nitems * t->nbytes;
}

/* Any bits; among them small numbers and specials of floats of all widths. */
static void make_bytes(uint8_t *bytes, uint64_t n, uint64_t *random) {
    static const uint64_t special[] = {0x7C00, 0xFC01, 0x7F800000, 0xFFC12345, 0x80000000,
                                       0x7FF0, 1,      0x3F800000, 0x7F80};
    for (uint64_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)random_next(random);
    }
    for (uint64_t i = 0; i + 8 <= n; i += 8 * (1 + random_below(random, 1000))) {
        const uint64_t bits = special[random_below(random, 9)] << 32 * (i / 8 % 2);
        memcpy(bytes + i, &bits, sizeof bits);
    }
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
    make_bytes(c->src, c->src_nbytes, random);
    memset(c->before, PATTERN, c->dst_nbytes);
    for (uint32_t i = 0; i < c->ntasks && c->kernel == HR__KERNEL_SUM; i++) {
        make_bytes(c->before + c->dst_at[i], c->tasks[i].nitems * c->tasks[i].nbytes,
                   random);
    }
    memcpy(c->want, c->before, c->dst_nbytes);
    for (uint32_t i = 0; i < c->ntasks; i++) {
        if (c->kernel == HR__KERNEL_SUM) {
            filters_sum(&c->tasks[i], c->want + c->dst_at[i]);
            continue;
        }
        c->status[i] =
            filters_make(&c->tasks[i], c->src + c->src_at[i], c->want + c->dst_at[i]);
        if (c->tasks[i].kind == HR_K_FILTER_BITS && random_below(random, 2)) {
            /* the byte before the bits */
            bool is_right = random_below(random, 2);
            c->tasks[i].check = 1;
            c->tasks[i].check_value =
                (c->src[c->src_at[i] - 1] + (is_right ? 0U : 1U)) & 0xFF;
            c->status[i] = is_right ? 0 : (uint64_t)HR_K_BAD_PADDING << 32;
        }
    }
}

static uint32_t kinds_of(const hr_k_filter_task *tasks, uint32_t n) {
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < n; i++) {
        kinds |= 1U << tasks[i].kind;
    }
    return kinds;
}

/* And number the tasks' first ones. */
static uint32_t count_tiles(hr__kernel kernel, hr_k_filter_task *tasks, uint32_t n) {
    uint32_t ntiles = 0;
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].first_tile = ntiles;
        ntiles += kernel == HR__KERNEL_SUM ? hr__ksum_tiles(&tasks[i])
                                           : hr__kfilter_tiles(&tasks[i]);
    }
    return ntiles;
}

static int check_case(runner *r, uint64_t seed) {
    filter_case c;
    uint64_t status[MOST_TASKS] = {0};
    make_case(&c, &seed);
    hr__devptr src = runner_upload_new(r, c.src, c.src_nbytes);
    hr__devptr dst = runner_upload_new(r, c.before, c.dst_nbytes);
    for (uint32_t i = 0; i < c.ntasks; i++) {
        c.tasks[i].src = src + c.src_at[i];
        c.tasks[i].dst = dst + c.dst_at[i];
        c.tasks[i].check = c.tasks[i].check != 0 ? c.tasks[i].src - 1 : 0;
    }
    uint32_t ntiles = count_tiles(c.kernel, c.tasks, c.ntasks);
    hr_k_filter filter = {.tasks =
                              runner_upload_new(r, c.tasks, c.ntasks * sizeof *c.tasks),
                          .status = runner_upload_new(r, status, sizeof status),
                          .ntasks = c.ntasks,
                          .ntiles = ntiles,
                          .kinds = kinds_of(c.tasks, c.ntasks)};
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

/* Zeros, which all have a value. */
static hr__devptr alloc_zeros(runner *r, uint64_t nbytes) {
    static const uint64_t zero;
    const uint64_t n = nbytes / sizeof zero;
    hr__devptr item = runner_upload_new(r, &zero, sizeof zero),
               p = runner_alloc(r, nbytes);
    const hr_k_fill fill = {.where = {.src = item,
                                      .dst = p,
                                      .nitems = n,
                                      .itemsize = sizeof zero,
                                      .ndim = 1,
                                      .dims = {{.n = n, .dst_step = sizeof zero}}}};
    runner_launch(r, HR__KERNEL_FILL, &fill);
    runner_sync(r);
    r->ops->free(r->device, item);
    return p;
}

static void bench(runner *r, const char *name, hr__kernel kernel, hr_k_filter_task like,
                  uint64_t chunk_nbytes, uint64_t total) {
    enum { NSAMPLES = 5, NRUNS = 5 };
    uint32_t n = (uint32_t)(total / chunk_nbytes);
    const uint64_t src_nbytes = chunk_nbytes / like.nbytes * like.width / 8;
    const bool is_any = like.kind == HR_K_FILTER_BITS;
    hr__devptr src = alloc_zeros(r, n * src_nbytes + 64), dst = alloc_zeros(r, total);
    hr__devptr status = alloc_zeros(r, sizeof(uint64_t));
    hr_k_filter_task *tasks = must_malloc(n * sizeof *tasks);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i] = like;
        tasks[i].nitems = chunk_nbytes / like.nbytes;
        tasks[i].src = src + i * src_nbytes + (is_any ? 1 : 0);
        tasks[i].dst = dst + i * chunk_nbytes;
    }
    uint32_t ntiles = count_tiles(kernel, tasks, n);
    hr_k_filter filter = {.tasks = runner_upload_new(r, tasks, n * sizeof *tasks),
                          .status = status,
                          .ntasks = n,
                          .ntiles = ntiles,
                          .kinds = kinds_of(tasks, n)};
    runner_launch(r, kernel, &filter);
    runner_sync(r);
    double samples[NSAMPLES];
    for (int i = 0; i < NSAMPLES; i++) {
        double start = now_s();
        for (int k = 0; k < NRUNS; k++) {
            runner_launch(r, kernel, &filter);
        }
        runner_sync(r);
        samples[i] = (now_s() - start) / NRUNS;
    }
    printf("%-28s %5" PRIu64 " chunks of %4" PRIu64 " KiB %8.1f GB/s out\n", name,
           (uint64_t)n, chunk_nbytes >> 10,
           (double)(n * chunk_nbytes) / median_of(samples, NSAMPLES) / 1e9);
    r->ops->free(r->device, src);
    r->ops->free(r->device, dst);
    r->ops->free(r->device, status);
    r->ops->free(r->device, filter.tasks);
    free(tasks);
}

/* Tiles of 512 pixels across, of 64 where those have many samples: TIFF's predictor 2,
 * and 3, which sums bytes. */
static void bench_rows(runner *r, uint64_t chunk, uint64_t total) {
    static const struct {
        const char *name;
        uint32_t nbytes;
        uint64_t stride;
    } rows[] = {{"rows, 1 byte", 1, 1},
                {"rows, 1 byte, 3 samples", 1, 3},
                {"rows, 1 byte, 4 samples", 1, 4},
                {"rows, 2 bytes", 2, 1},
                {"rows, 2 bytes, 3 samples", 2, 3},
                {"rows, 2 bytes, 13 samples", 2, 13},
                {"rows, 2 bytes, 100 samples", 2, 100},
                {"rows, 4 bytes", 4, 1},
                {"rows, 8 bytes", 8, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t row = (rows[i].stride < 32 ? 512 : 64) * rows[i].stride;
        bench(r, rows[i].name, HR__KERNEL_SUM,
              (hr_k_filter_task){.kind = HR_K_FILTER_ROWS,
                                 .nbytes = rows[i].nbytes,
                                 .row = row,
                                 .stride = rows[i].stride},
              chunk - chunk % (16 * row * rows[i].nbytes), total);
    }
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
            bench_rows(r, chunk, part);
            bench(r, "unpack bool, v2", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.nbytes = 1, .width = 1, .high_first = 1}, chunk,
                  part);
            bench(r, "unpack 12 bits, u16", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.nbytes = 2, .width = 12}, chunk, part);
            bench(r, "unpack 12 bits, u16, high first", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.nbytes = 2, .width = 12, .high_first = 1}, chunk,
                  part);
            bench(r, "sum, f32", HR__KERNEL_SUM,
                  (hr_k_filter_task){
                      .kind = HR_K_FILTER_FLOATS, .number = HR_K_F32, .nbytes = 4},
                  chunk, part);
            bench(r, "sum, f64", HR__KERNEL_SUM,
                  (hr_k_filter_task){
                      .kind = HR_K_FILTER_FLOATS, .number = HR_K_F64, .nbytes = 8},
                  chunk, part);
            bench(r, "scale, i32", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.kind = HR_K_FILTER_SCALE,
                                     .number = HR_K_I32,
                                     .nbytes = 4,
                                     .width = 32,
                                     .a = 10},
                  chunk, part);
            bench(r, "cast, i16 from f32, clamped", HR__KERNEL_UNPACK,
                  (hr_k_filter_task){.kind = HR_K_FILTER_CAST,
                                     .number = HR_K_I16,
                                     .from = HR_K_F32,
                                     .nbytes = 2,
                                     .width = 32,
                                     .out_of_range = HR_K_RANGE_CLAMP},
                  chunk, part);
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
