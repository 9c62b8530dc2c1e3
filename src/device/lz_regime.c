/* SPDX-License-Identifier: Apache-2.0 */
#include "device/lz_regime.h"

#include <stdlib.h>

#include "device/teams.h"

typedef struct regime {
    uint32_t streams_per_multiprocessor; /* from so many on */
    uint32_t least_nbytes;               /* of a stream, on average */
    uint32_t plain, shuffled;            /* teams */
} regime;

/* From the smallest teams to the largest: the fewer the streams, the more warps on each,
 * if the stream is long enough to keep them busy. */
static const regime regimes[] = {
    {30, 0, HR_K_LZ_w2, HR_K_LZ_w1s},          {30, 16 << 10, HR_K_LZ_w4, HR_K_LZ_w2s},
    {8, 64 << 10, HR_K_LZ_w4, HR_K_LZ_p4s},    {2, 64 << 10, HR_K_LZ_w8, HR_K_LZ_p4s},
    {0, 256 << 10, HR_K_LZ_p16, HR_K_LZ_p16s},
};
static const regime zstd_regimes[] = {
    {30, 0, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
    {8, 64 << 10, HR_K_ZSTD_w4, HR_K_ZSTD_p4s},
    {2, 64 << 10, HR_K_ZSTD_p8, HR_K_ZSTD_p4s},
    {0, 256 << 10, HR_K_ZSTD_w32, HR_K_ZSTD_p16s},
};
/* Of streams that are mostly long runs: those are copied by the whole team, one after the
 * other, and more threads do not make that faster for long. */
static const regime run_regimes[] = {
    {16, 0, HR_K_LZ_r1, HR_K_LZ_r1},
    {4, 16 << 10, HR_K_LZ_r1, HR_K_LZ_w2s},
    {0, 64 << 10, HR_K_LZ_p4s, HR_K_LZ_p4s},
};
#define RUN_RATIO 32 /* they decode to so many times their size */

/* Of frames whose sequences are long: more warps than these only wait for them. */
static const regime zstd_dense_regimes[] = {
    {30, 0, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
    {0, 64 << 10, HR_K_ZSTD_p4s, HR_K_ZSTD_p4s},
};
#define ZSTD_DENSE_RATIO 8

static const regime deflate_regimes[] = {
    {8, 0, HR_K_DEFLATE_w4, HR_K_DEFLATE_w4s},
    {2, 64 << 10, HR_K_DEFLATE_w8, HR_K_DEFLATE_w8s},
    {0, 256 << 10, HR_K_DEFLATE_p16, HR_K_DEFLATE_p24s},
};

/* Its runs are of one byte: teams for which that is one part, however long. */
static const regime packbits_regimes[] = {
    {UINT32_MAX, 0, HR_K_LZ_w1s, HR_K_LZ_w1s},
    {8, 32 << 10, HR_K_LZ_w4s, HR_K_LZ_w4s},
    {2, 64 << 10, HR_K_LZ_p4s, HR_K_LZ_p4s},
    {0, 256 << 10, HR_K_LZ_p16s, HR_K_LZ_p16s},
};

static const regime lzw_regimes[] = {
    {8, 0, HR_K_LZW_w4, HR_K_LZW_w4},
    {2, 64 << 10, HR_K_LZW_w8, HR_K_LZW_w8},
    {0, 256 << 10, HR_K_LZW_p8, HR_K_LZW_p8},
};

static bool fits(hr__kernel kernel, uint32_t team, const hr__lz_machine *machine) {
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        if (hr__teams[i].kernel == kernel && hr__teams[i].team == team) {
            return hr__teams[i].shared_nbytes <= machine->block_shared_nbytes;
        }
    }
    return false;
}

static uint32_t choose(const regime *rows, size_t nrows, hr__kernel kernel,
                       const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                       const hr__lz_machine *machine) {
    uint64_t total = 0;
    uint32_t longest = 1;
    for (uint32_t i = 0; i < ntasks; i++) {
        total += tasks[i].dst_nbytes;
        longest = tasks[i].dst_nbytes > longest ? tasks[i].dst_nbytes : longest;
    }
    /* One long stream among short ones takes as long as if all were like it. */
    uint64_t nstreams = total / longest;
    uint64_t average = ntasks == 0 ? 0 : total / ntasks;
    uint32_t team = is_shuffled ? rows[0].shuffled : rows[0].plain;
    for (size_t i = 1; i < nrows; i++) {
        const regime *r = &rows[i], *fewer = &rows[i - 1];
        uint32_t candidate = is_shuffled ? r->shuffled : r->plain;
        uint64_t enough =
            (uint64_t)fewer->streams_per_multiprocessor * machine->nmultiprocessors;
        if (nstreams >= enough || average < r->least_nbytes ||
            !fits(kernel, candidate, machine)) {
            break;
        }
        team = candidate;
    }
    return team;
}

static bool are_dense(const hr_k_task *tasks, uint32_t ntasks, uint32_t ratio) {
    uint64_t src_nbytes = 0, dst_nbytes = 0;
    for (uint32_t i = 0; i < ntasks; i++) {
        src_nbytes += tasks[i].src_nbytes;
        dst_nbytes += tasks[i].dst_nbytes;
    }
    return src_nbytes < dst_nbytes / ratio;
}

uint32_t hr__lz_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                            const hr__lz_machine *machine) {
    if (are_dense(tasks, ntasks, RUN_RATIO)) {
        return choose(run_regimes, sizeof run_regimes / sizeof *run_regimes,
                      HR__KERNEL_LZ4, tasks, ntasks, is_shuffled, machine);
    }
    return choose(regimes, sizeof regimes / sizeof *regimes, HR__KERNEL_LZ4, tasks,
                  ntasks, is_shuffled, machine);
}

#define WHOLE_STREAMS 8
#define WHOLE_NBYTES (UINT32_C(1) << 20)
#define WHOLE_MOST_NBYTES (UINT32_C(1) << 30) /* words of 31 bits say where bytes are */

/* Shuffled data have runs that are longer than it follows. */
bool hr__lz_is_for_whole(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                         const hr__lz_machine *machine) {
    for (uint32_t i = 0; i < ntasks; i++) {
        if (tasks[i].dst_nbytes < WHOLE_NBYTES ||
            tasks[i].dst_nbytes > WHOLE_MOST_NBYTES ||
            tasks[i].src_nbytes > WHOLE_MOST_NBYTES) {
            return false;
        }
    }
    return ntasks > 0 && ntasks <= WHOLE_STREAMS && !is_shuffled &&
           !are_dense(tasks, ntasks, RUN_RATIO) &&
           machine->block_shared_nbytes >= HR_K_WHOLE_SHARED_NBYTES;
}

uint64_t hr__lz_whole_room(const hr_k_task *task) {
    return HR_K_WHOLE_ROOM(task->src_nbytes, task->dst_nbytes);
}

hr_k_whole hr__lz_whole(const hr_k_decode *decode, const hr_k_task *tasks) {
    hr_k_whole whole = {.streams = *decode};
    for (uint32_t i = 0; i < decode->ntasks; i++) {
        whole.nregions += HR_K_WHOLE_PARTS(tasks[i].src_nbytes, HR_K_WHOLE_REGION);
        whole.ntiles += HR_K_WHOLE_PARTS(tasks[i].dst_nbytes, HR_K_WHOLE_TILE);
    }
    return whole;
}

uint32_t hr__zstd_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                              const hr__lz_machine *machine) {
    if (are_dense(tasks, ntasks, ZSTD_DENSE_RATIO)) {
        return choose(zstd_dense_regimes,
                      sizeof zstd_dense_regimes / sizeof *zstd_dense_regimes,
                      HR__KERNEL_ZSTD, tasks, ntasks, is_shuffled, machine);
    }
    return choose(zstd_regimes, sizeof zstd_regimes / sizeof *zstd_regimes,
                  HR__KERNEL_ZSTD, tasks, ntasks, is_shuffled, machine);
}

uint32_t hr__snappy_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                                const hr__lz_machine *machine) {
    (void)is_shuffled;
    return hr__lz_choose_team(tasks, ntasks, true, machine);
}

uint32_t hr__deflate_choose_team(const hr_k_task *tasks, uint32_t ntasks,
                                 bool is_shuffled, const hr__lz_machine *machine) {
    return choose(deflate_regimes, sizeof deflate_regimes / sizeof *deflate_regimes,
                  HR__KERNEL_DEFLATE, tasks, ntasks, is_shuffled, machine);
}

uint32_t hr__lzw_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                             const hr__lz_machine *machine) {
    return choose(lzw_regimes, sizeof lzw_regimes / sizeof *lzw_regimes, HR__KERNEL_LZW,
                  tasks, ntasks, is_shuffled, machine);
}

uint32_t hr__packbits_choose_team(const hr_k_task *tasks, uint32_t ntasks,
                                  bool is_shuffled, const hr__lz_machine *machine) {
    return choose(packbits_regimes, sizeof packbits_regimes / sizeof *packbits_regimes,
                  HR__KERNEL_PACKBITS, tasks, ntasks, is_shuffled, machine);
}

/* Streams that did not compress are mere copies. */
static uint32_t work_of(const hr_k_task *t) {
    return t->src_nbytes < t->dst_nbytes ? t->src_nbytes : 0;
}

static int compare(const void *a, const void *b) {
    const hr_k_task *left = a, *right = b;
    uint32_t x = work_of(left), y = work_of(right);
    if (x != y) {
        return x > y ? -1 : 1;
    }
    return left->src < right->src ? -1 : left->src > right->src;
}

void hr__lz_sort_tasks(hr_k_task *tasks, uint32_t ntasks) {
    if (ntasks > 1) {
        qsort(tasks, ntasks, sizeof *tasks, compare);
    }
}
