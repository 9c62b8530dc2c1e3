/* How fast streams of a codec are decoded on the device. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_CODEC FIELD.npy [--device cuda|simt] [--mib N] [--block KIB] [--shift N]
 *                    [--teams all|NAME] [--nvcomp libnvcomp.so]
 *
 * Blocks of 64 KiB to 4 MiB, or of --block, of the field, plain and byte-shuffled, each
 * compressed; GB/s of output, the median of five runs after one. Every byte is compared
 * each time.
 * --shift: sources and outputs so many bytes off alignment. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "device/lz_regime.h"
#include "device/teams.h"
#include "field.h"
#include "kern/device_run.h"
#include "nvcomp.h"
#include "timer.h"

#define NRUNS 5

typedef struct options {
    const char *path, *device, *teams, *nvcomp;
    uint64_t mib, block_kib, shift;
} options;

/* Streams on the device. */
typedef struct bench {
    runner *runner;
    timer *timer;
    const field_blocks *blocks;
    bool is_shuffled;
    hr__devptr streams, output, control;
    uint64_t shift, output_nbytes;
    uint8_t *downloaded;
    hr_k_task *tasks; /* sorted */
} bench;

static void *must_alloc(uint64_t n) {
    void *p = calloc(1, n);
    if (p == NULL) {
        printf("no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

static int compare_times(const void *a, const void *b) {
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t output_at(const bench *b, uint32_t i) {
    return b->output + b->shift + (uint64_t)i * b->blocks->block_nbytes;
}

static hr_k_decode params_of(const bench *b) {
    hr_k_decode p = {.status = b->control, .ntasks = b->blocks->nblocks};
    p.counter = p.status + sizeof(uint64_t) * p.ntasks;
    p.tasks = p.counter + sizeof(uint64_t);
    return p;
}

static void bench_open(bench *b) {
    const field_blocks *f = b->blocks;
    b->output_nbytes = b->shift + (uint64_t)f->nblocks * f->block_nbytes;
    b->streams = runner_alloc(b->runner, f->streams_nbytes);
    runner_upload(b->runner, b->streams, f->streams, f->streams_nbytes);
    b->output = runner_alloc(b->runner, b->output_nbytes);
    b->downloaded = must_alloc(b->output_nbytes);
    b->tasks = must_alloc(f->nblocks * sizeof *b->tasks);
    for (uint32_t i = 0; i < f->nblocks; i++) {
        b->tasks[i] = (hr_k_task){.src = b->streams + f->at[i],
                                  .dst = output_at(b, i),
                                  .src_nbytes = f->nbytes[i],
                                  .dst_nbytes = f->block_nbytes,
                                  .status_index = i};
    }
    hr__lz_sort_tasks(b->tasks, f->nblocks);
    hr_k_decode p = params_of(b);
    b->control = runner_alloc(b->runner, sizeof(uint64_t) * (p.ntasks + 1) +
                                             p.ntasks * sizeof *b->tasks);
    p = params_of(b);
    runner_upload(b->runner, p.tasks, b->tasks, p.ntasks * sizeof *b->tasks);
    runner_sync(b->runner);
}

static void bench_close(bench *b) {
    b->runner->ops->free(b->runner->device, b->streams);
    b->runner->ops->free(b->runner->device, b->output);
    b->runner->ops->free(b->runner->device, b->control);
    free(b->downloaded);
    free(b->tasks);
}

/* Nothing of an earlier run shall be taken for this one's. */
static void spoil_output(bench *b) {
    memset(b->downloaded, 0xAB, b->output_nbytes);
    runner_upload(b->runner, b->output, b->downloaded, b->output_nbytes);
    runner_sync(b->runner);
}

static bool output_is_right(bench *b) {
    runner_download(b->runner, b->downloaded, b->output, b->output_nbytes);
    return memcmp(b->downloaded + b->shift, b->blocks->raw,
                  b->output_nbytes - b->shift) == 0;
}

static void report(const bench *b, const char *name, double *times, bool is_right) {
    qsort(times, NRUNS, sizeof *times, compare_times);
    double nbytes = (double)(b->output_nbytes - b->shift);
    printf("  %-22s %7.1f GB/s  (%.3f to %.3f ms)%s\n", name,
           nbytes / times[NRUNS / 2] / 1e9, 1e3 * times[0], 1e3 * times[NRUNS - 1],
           is_right ? "" : "  WRONG OUTPUT");
    fflush(stdout);
    if (!is_right) {
        exit(EXIT_FAILURE);
    }
}

static void measure_team(bench *b, uint32_t team, const char *name) {
    hr_k_decode p = params_of(b);
    p.team = team;
    uint64_t nstatus = sizeof(uint64_t) * (p.ntasks + 1); /* with the counter */
    uint64_t *zeros = must_alloc(nstatus);
    double times[NRUNS + 1];
    spoil_output(b);
    for (int i = 0; i <= NRUNS; i++) {
        runner_upload(b->runner, b->control, zeros, nstatus);
        runner_sync(b->runner);
        timer_start(b->timer);
        runner_launch(b->runner, codec.kernel, &p);
        times[i] = timer_stop(b->timer);
    }
    runner_download(b->runner, zeros, b->control, nstatus - sizeof(uint64_t));
    bool is_right = output_is_right(b);
    for (uint32_t i = 0; i < p.ntasks; i++) {
        is_right &= zeros[i] == 0;
    }
    free(zeros);
    report(b, name, times + 1, is_right);
}

static bool team_is_wanted(const hr__team *team, const char *wanted, bool is_chosen) {
    return wanted == NULL
               ? is_chosen
               : strcmp(wanted, "all") == 0 || strstr(team->symbol, wanted) != NULL;
}

/* wanted: "all", a part of their names, or NULL for the one that reads take. */
static void measure_teams(bench *b, const char *wanted) {
    const hr__lz_machine machine = {b->runner->device->nmultiprocessors,
                                    b->runner->device->block_shared_nbytes};
    uint32_t chosen =
        codec.choose_team(b->tasks, b->blocks->nblocks, b->is_shuffled, &machine);
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        const hr__team *team = &hr__teams[i];
        bool is_chosen = team->team == chosen;
        if (team->kernel == codec.kernel && team_is_wanted(team, wanted, is_chosen) &&
            team->shared_nbytes <= machine.block_shared_nbytes) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s%s", team->symbol + strlen("hr_k_"),
                           is_chosen ? " *" : "");
            measure_team(b, team->team, name);
        }
    }
}

static void measure_nvcomp(bench *b, const nvcomp *peer) {
    uint32_t n = b->blocks->nblocks;
    uint64_t *srcs = must_alloc(n * sizeof *srcs), *dsts = must_alloc(n * sizeof *dsts);
    for (uint32_t i = 0; i < n; i++) {
        srcs[i] = b->streams + b->blocks->at[i];
        dsts[i] = output_at(b, i);
    }
    nvcomp_batch batch;
    nvcomp_prepare(peer, &batch, b->runner, srcs, b->blocks->nbytes, dsts,
                   b->blocks->block_nbytes, n);
    double times[NRUNS + 1];
    spoil_output(b);
    for (int i = 0; i <= NRUNS; i++) {
        timer_start(b->timer);
        nvcomp_launch(peer, &batch, b->runner);
        times[i] = timer_stop(b->timer);
    }
    report(b, "nvCOMP", times + 1, output_is_right(b));
    nvcomp_batch_free(&batch, b->runner);
    free(srcs);
    free(dsts);
}

static void run_blocks(const options *o, runner *r, timer *t, const nvcomp *peer,
                       const field_blocks *blocks, bool is_shuffled) {
    bench b = {.runner = r,
               .timer = t,
               .blocks = blocks,
               .is_shuffled = is_shuffled,
               .shift = o->shift};
    bench_open(&b);
    printf("%s %s, %u blocks of %u KiB, %.2f : 1\n", o->path,
           is_shuffled ? "shuffled" : "plain", blocks->nblocks,
           blocks->block_nbytes >> 10,
           (double)(b.output_nbytes - b.shift) / (double)blocks->streams_nbytes);
    measure_teams(&b, o->teams);
    if (peer != NULL && o->shift % 4 == 0) { /* all that it takes */
        measure_nvcomp(&b, peer);
    }
    bench_close(&b);
}

static void run(const options *o, runner *r, timer *t, const field *f,
                const nvcomp *peer) {
    static const uint64_t usual[] = {64, 256, 1024, 4096};
    const uint64_t *sizes = o->block_kib != 0 ? &o->block_kib : usual;
    uint32_t nsizes = o->block_kib != 0 ? 1 : sizeof usual / sizeof *usual;
    for (uint32_t i = 0; i < 2 * nsizes; i++) {
        uint64_t nbytes = sizes[i % nsizes] << 10;
        if (nbytes > f->nbytes) {
            continue;
        }
        bool is_shuffled = i >= nsizes;
        field_blocks blocks =
            field_compress(f, (uint32_t)nbytes, is_shuffled, (uint32_t)o->shift);
        if (blocks.nblocks > 0) {
            run_blocks(o, r, t, peer, &blocks, is_shuffled);
        }
        field_blocks_free(&blocks);
    }
}

static uint64_t parse_number(const char *text) {
    char *end = NULL;
    uint64_t n = strtoull(text, &end, 0);
    if (*text == '\0' || *end != '\0') {
        printf("%s is not a number\n", text);
        exit(EXIT_FAILURE);
    }
    return n;
}

static options parse(int argc, char **argv) {
    options o = {.device = "cuda", .mib = 512};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-') {
            o.path = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--device") == 0) {
            o.device = value;
        } else if (strcmp(argv[i], "--mib") == 0) {
            o.mib = parse_number(value);
        } else if (strcmp(argv[i], "--block") == 0) {
            o.block_kib = parse_number(value);
        } else if (strcmp(argv[i], "--shift") == 0) {
            o.shift = parse_number(value);
        } else if (strcmp(argv[i], "--teams") == 0) {
            o.teams = value;
        } else if (strcmp(argv[i], "--nvcomp") == 0) {
            o.nvcomp = value;
        } else {
            printf("unknown option %s\n", argv[i]);
            exit(EXIT_FAILURE);
        }
        i++;
    }
    if (o.path == NULL) {
        printf("which field? a .npy file\n");
        exit(EXIT_FAILURE);
    }
    return o;
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    runner r;
    timer t;
    runner_open(&r, o.device);
    timer_open(&t, &r);
    const nvcomp *peer = o.nvcomp == NULL || codec.nvcomp == NULL
                             ? NULL
                             : nvcomp_open(o.nvcomp, codec.nvcomp);
    field f = field_load(o.path, o.mib << 20);
    run(&o, &r, &t, &f, peer);
    free(f.data);
    runner_close(&r);
    return EXIT_SUCCESS;
}
