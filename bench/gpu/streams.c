/* The bench of a codec whose kernel takes streams and no more.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "device/lz_regime.h"

/* What the kernel gets: status words and the counter, cleared before each run, and the
 * tasks. */
typedef struct batch {
    bench *b;
    hr__devptr control, scratch; /* 0: too many streams for it */
    hr_k_decode params;
    hr_k_whole whole;
    hr_k_task *tasks;
    uint64_t nstatus_nbytes; /* with the counter */
    uint64_t *status;
    uint32_t chosen;
} batch;

/* Streams are shared by the whole device only if they are no more. */
#define WHOLE_MOST 64

static hr__devptr place_scratch(bench *b, hr_k_task *tasks, uint32_t n) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].scratch = nbytes;
        nbytes += (hr__lz_whole_room(&tasks[i]) + 15) / 16 * 16;
    }
    hr__devptr scratch = runner_alloc(b->runner, nbytes);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].scratch += scratch;
    }
    return scratch;
}

static void batch_open(batch *t, bench *b) {
    uint32_t n = b->blocks->nblocks;
    hr_k_task *tasks = bench_alloc(n * sizeof *tasks);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i] = bench_task(b, i);
    }
    hr__lz_sort_tasks(tasks, n);
    hr__devptr scratch = 0;
    if (codec.kernel == HR__KERNEL_LZ4 && n <= WHOLE_MOST) {
        scratch = place_scratch(b, tasks, n);
    }
    const hr__lz_machine machine = {b->runner->device->nmultiprocessors,
                                    b->runner->device->block_shared_nbytes};
    *t = (batch){.b = b,
                 .scratch = scratch,
                 .tasks = tasks,
                 .nstatus_nbytes = sizeof(uint64_t) * (n + 1),
                 .chosen = codec.choose_team(tasks, n, b->is_shuffled, &machine)};
    t->status = bench_alloc(t->nstatus_nbytes);
    t->control = runner_alloc(b->runner, t->nstatus_nbytes + n * sizeof *tasks);
    t->params = (hr_k_decode){.status = t->control,
                              .ntasks = n,
                              .counter = t->control + sizeof(uint64_t) * n,
                              .tasks = t->control + t->nstatus_nbytes};
    runner_upload(b->runner, t->params.tasks, tasks, n * sizeof *tasks);
    t->whole = hr__lz_whole(&t->params, tasks);
    runner_sync(b->runner);
}

static void batch_close(batch *t) {
    t->b->runner->ops->free(t->b->runner->device, t->control);
    if (t->scratch != 0) {
        t->b->runner->ops->free(t->b->runner->device, t->scratch);
    }
    free(t->tasks);
    free(t->status);
}

static void clear(void *user) {
    batch *t = user;
    memset(t->status, 0, t->nstatus_nbytes);
    runner_upload(t->b->runner, t->control, t->status, t->nstatus_nbytes);
    runner_upload(t->b->runner, t->params.tasks, t->tasks,
                  t->params.ntasks * sizeof *t->tasks);
}

static void launch(void *user) {
    batch *t = user;
    runner_launch(t->b->runner, codec.kernel, &t->params);
}

static void launch_whole(void *user) {
    batch *t = user;
    runner_launch(t->b->runner, HR__KERNEL_LZ4_WHOLE, &t->whole);
    launch(t);
}

static bool is_good(void *user) {
    batch *t = user;
    runner_download(t->b->runner, t->status, t->control,
                    t->nstatus_nbytes - sizeof(uint64_t));
    for (uint32_t i = 0; i < t->params.ntasks; i++) {
        if (t->status[i] > HR_K_BY_WHOLE) {
            return false;
        }
    }
    return true;
}

static void measure(bench *b) {
    batch t;
    batch_open(&t, b);
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        const hr__team *team = &hr__teams[i];
        char name[BENCH_NAME_NBYTES];
        if (bench_wants(b, team, t.chosen, name)) {
            t.params.team = team->team;
            bench_measure(b, &(bench_run){.name = name,
                                          .before = clear,
                                          .launch = launch,
                                          .is_good = is_good,
                                          .user = &t});
        }
    }
    if (t.scratch != 0) {
        t.params.team = t.chosen;
        bench_measure(b, &(bench_run){.name = "whole device",
                                      .before = clear,
                                      .launch = launch_whole,
                                      .is_good = is_good,
                                      .user = &t});
    }
    batch_close(&t);
}

int main(int argc, char **argv) {
    return bench_main(argc, argv, measure);
}
