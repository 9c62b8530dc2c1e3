/* The bench of a codec whose kernel takes streams and no more.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "batches.h"

/* What the kernel gets: status words and the counter, cleared before each run, and the
 * tasks. */
typedef struct batch {
    bench *b;
    hr__devptr control;
    hr_k_decode params;
    uint64_t nstatus_nbytes; /* with the counter */
    uint64_t *status;
    uint32_t chosen;
} batch;

static void batch_open(batch *t, bench *b) {
    uint32_t n = b->blocks->nblocks;
    hr_k_task *tasks = bench_alloc(n * sizeof *tasks);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i] = bench_task(b, i);
    }
    hr__lz_sort_tasks(tasks, n);
    const hr__lz_machine machine = {b->runner->device->nmultiprocessors,
                                    b->runner->device->block_shared_nbytes};
    *t = (batch){.b = b,
                 .nstatus_nbytes = sizeof(uint64_t) * (n + 1),
                 .chosen = codec.choose_team(tasks, n, b->is_shuffled, &machine)};
    t->status = bench_alloc(t->nstatus_nbytes);
    t->control = runner_alloc(b->runner, t->nstatus_nbytes + n * sizeof *tasks);
    t->params = (hr_k_decode){.status = t->control,
                              .ntasks = n,
                              .counter = t->control + sizeof(uint64_t) * n,
                              .tasks = t->control + t->nstatus_nbytes};
    runner_upload(b->runner, t->params.tasks, tasks, n * sizeof *tasks);
    runner_sync(b->runner);
    free(tasks);
}

static void batch_close(batch *t) {
    t->b->runner->ops->free(t->b->runner->device, t->control);
    free(t->status);
}

static void clear(void *user) {
    batch *t = user;
    memset(t->status, 0, t->nstatus_nbytes);
    runner_upload(t->b->runner, t->control, t->status, t->nstatus_nbytes);
}

static void launch(void *user) {
    batch *t = user;
    runner_launch(t->b->runner, codec.kernel, &t->params);
}

static bool is_good(void *user) {
    batch *t = user;
    runner_download(t->b->runner, t->status, t->control,
                    t->nstatus_nbytes - sizeof(uint64_t));
    for (uint32_t i = 0; i < t->params.ntasks; i++) {
        if (t->status[i] != 0) {
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
    batch_close(&t);
}

int main(int argc, char **argv) {
    return bench_main(argc, argv, measure);
}
