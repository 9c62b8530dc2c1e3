/* What the benches of the codecs share: streams of a field, timed runs, teams, the peer,
 * the
 * command line. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_GPU_BATCHES_H
#define HR_BENCH_GPU_BATCHES_H

#include "codec.h"
#include "cuda/kernel_abi.h"
#include "device/teams.h"
#include "field.h"
#include "kern/device_run.h"
#include "nvcomp.h"
#include "timer.h"

/* Streams on the device, and where they are to go. */
typedef struct bench {
    runner *runner;
    timer *timer;
    const field_blocks *blocks;
    const char *teams; /* "all", a part of their names, or NULL for the one reads take */
    bool is_shuffled;
    hr__devptr streams, output;
    uint64_t shift, output_nbytes;
    uint8_t *downloaded;
} bench;

/* Timed runs: `before` outside the time. Prints, and ends the program where the output is
 * wrong or is_good, asked after the last run, says no. */
typedef struct bench_run {
    const char *name;
    void (*before)(void *user);
    void (*launch)(void *user);
    bool (*is_good)(void *user);
    bool is_part; /* the output is none of this run's doing */
    void *user;
} bench_run;

void bench_measure(bench *b, const bench_run *run);

/* Of stream i. */
hr_k_task bench_task(const bench *b, uint32_t i);

void *bench_alloc(uint64_t n);

/* Whether `team` is to be measured, and its name. */
enum { BENCH_NAME_NBYTES = 64 };
bool bench_wants(const bench *b, const hr__team *team, uint32_t chosen,
                 char name[BENCH_NAME_NBYTES]);

int bench_main(int argc, char **argv, void (*measure)(bench *b));

#endif
