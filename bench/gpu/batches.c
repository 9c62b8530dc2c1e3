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

#include "batches.h"
#include "bench/measure.h"

#define NRUNS 5

typedef struct options {
    const char *path, *device, *teams, *nvcomp;
    uint64_t mib, block_kib, shift;
} options;

void *bench_alloc(uint64_t n) {
    void *p = calloc(1, n == 0 ? 1 : n);
    if (p == NULL) {
        printf("no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

hr_k_task bench_task(const bench *b, uint32_t i) {
    const field_blocks *f = b->blocks;
    return (hr_k_task){.src = b->streams + f->at[i],
                       .dst = b->output + b->shift + (uint64_t)i * f->block_nbytes,
                       .src_nbytes = f->nbytes[i],
                       .dst_nbytes = f->block_nbytes,
                       .status_index = i};
}

static void bench_open(bench *b) {
    const field_blocks *f = b->blocks;
    b->output_nbytes = b->shift + (uint64_t)f->nblocks * f->block_nbytes;
    b->streams = runner_alloc(b->runner, f->streams_nbytes);
    runner_upload(b->runner, b->streams, f->streams, f->streams_nbytes);
    b->output = runner_alloc(b->runner, b->output_nbytes);
    b->downloaded = bench_alloc(b->output_nbytes);
}

static void bench_close(bench *b) {
    b->runner->ops->free(b->runner->device, b->streams);
    b->runner->ops->free(b->runner->device, b->output);
    free(b->downloaded);
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

void bench_measure(bench *b, const bench_run *run) {
    double times[NRUNS + 1];
    if (!run->is_part) {
        spoil_output(b);
    }
    for (int i = 0; i <= NRUNS; i++) {
        if (run->before != NULL) {
            run->before(run->user);
            runner_sync(b->runner);
        }
        timer_start(b->timer);
        run->launch(run->user);
        times[i] = timer_stop(b->timer);
    }
    bool is_right = (run->is_part || output_is_right(b)) &&
                    (run->is_good == NULL || run->is_good(run->user));
    const double median = median_of(times + 1, NRUNS);
    double nbytes = (double)(b->output_nbytes - b->shift);
    printf("  %-22s %7.1f GB/s  (%.3f to %.3f ms)%s\n", run->name, nbytes / median / 1e9,
           1e3 * times[1], 1e3 * times[NRUNS], is_right ? "" : "  WRONG OUTPUT");
    fflush(stdout);
    if (!is_right) {
        exit(EXIT_FAILURE);
    }
}

typedef struct peer_run {
    const nvcomp *peer;
    nvcomp_batch batch;
    runner *runner;
} peer_run;

static void launch_peer(void *user) {
    peer_run *p = user;
    nvcomp_launch(p->peer, &p->batch, p->runner);
}

static void measure_nvcomp(bench *b, const nvcomp *peer) {
    uint32_t n = b->blocks->nblocks;
    uint64_t *srcs = bench_alloc(n * sizeof *srcs), *dsts = bench_alloc(n * sizeof *dsts);
    for (uint32_t i = 0; i < n; i++) {
        hr_k_task task = bench_task(b, i);
        srcs[i] = task.src;
        dsts[i] = task.dst;
    }
    peer_run p = {.peer = peer, .runner = b->runner};
    nvcomp_prepare(peer, &p.batch, b->runner, srcs, b->blocks->nbytes, dsts,
                   b->blocks->block_nbytes, n);
    bench_measure(b, &(bench_run){.name = "nvCOMP", .launch = launch_peer, .user = &p});
    nvcomp_batch_free(&p.batch, b->runner);
    free(srcs);
    free(dsts);
}

bool bench_wants(const bench *b, const hr__team *team, uint32_t chosen,
                 char name[BENCH_NAME_NBYTES]) {
    const char *wanted = b->teams;
    bool is_chosen = team->team == chosen;
    (void)snprintf(name, BENCH_NAME_NBYTES, "%s%s", team->symbol + strlen("hr_k_"),
                   is_chosen ? " *" : "");
    return team->kernel == codec.kernel &&
           team->shared_nbytes <= b->runner->device->block_shared_nbytes &&
           (wanted == NULL
                ? is_chosen
                : strcmp(wanted, "all") == 0 || strstr(team->symbol, wanted) != NULL);
}

typedef void measure_function(bench *b);

static void run_blocks(const options *o, measure_function *measure, runner *r, timer *t,
                       const nvcomp *peer, const field_blocks *blocks, bool is_shuffled) {
    bench b = {.runner = r,
               .timer = t,
               .blocks = blocks,
               .teams = o->teams,
               .is_shuffled = is_shuffled,
               .shift = o->shift};
    bench_open(&b);
    printf("%s %s, %u blocks of %u KiB, %.2f : 1\n", o->path,
           is_shuffled ? "shuffled" : "plain", blocks->nblocks,
           blocks->block_nbytes >> 10,
           (double)(b.output_nbytes - b.shift) / (double)blocks->streams_nbytes);
    measure(&b);
    if (peer != NULL && o->shift % 4 == 0) { /* all that it takes */
        measure_nvcomp(&b, peer);
    }
    bench_close(&b);
}

static void run(const options *o, measure_function *measure, runner *r, timer *t,
                const field *f, const nvcomp *peer) {
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
            run_blocks(o, measure, r, t, peer, &blocks, is_shuffled);
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

int bench_main(int argc, char **argv, measure_function *measure) {
    options o = parse(argc, argv);
    runner r;
    timer t;
    runner_open(&r, o.device);
    timer_open(&t, &r);
    const nvcomp *peer = o.nvcomp == NULL || codec.nvcomp == NULL
                             ? NULL
                             : nvcomp_open(o.nvcomp, codec.nvcomp);
    field f = field_load(o.path, o.mib << 20);
    run(&o, measure, &r, &t, &f, peer);
    free(f.data);
    runner_close(&r);
    return EXIT_SUCCESS;
}
