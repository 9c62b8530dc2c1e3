/* How fast zstd streams are decoded on the device. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_zstd as bench_lz4
 *
 * As bench_lz4, with frames of libzstd's level 3, and the two stages of entropy decoding
 * on their own. The walk of the frames, which the host does while it reads, is not timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "batches.h"
#include "codec/zstd_frame.h"
#include "device/kzstd.h"
#include "device/teams.h"
#include "exec/slab_zstd.h"

#define LEVEL 3

static uint32_t bound(uint32_t nbytes) {
    return (uint32_t)ZSTD_compressBound(nbytes);
}

static uint32_t compress(const uint8_t *src, uint32_t nbytes, uint8_t *dst,
                         uint32_t most) {
    size_t n = ZSTD_compress(dst, most, src, nbytes, LEVEL);
    if (ZSTD_isError(n)) {
        printf("libzstd fails\n");
        exit(EXIT_FAILURE);
    }
    return (uint32_t)n;
}

const bench_codec codec = {
    .kernel = HR__KERNEL_ZSTD, .nvcomp = "Zstd", .bound = bound, .compress = compress};

/* A batch on the device. */
typedef struct batch {
    bench *bench;
    hr_k_zstd params;
    hr__devptr scratch, tables, zeros;
    uint64_t *status; /* and other zeros */
    uint64_t nzeros;  /* bytes */
} batch;

static void clear(void *user) {
    batch *t = user;
    memset(t->status, 0, t->nzeros);
    runner_upload(t->bench->runner, t->zeros, t->status, t->nzeros);
}

static void launch(void *user) {
    batch *t = user;
    runner_launch(t->bench->runner, HR__KERNEL_ZSTD, &t->params);
}

static bool is_good(void *user) {
    batch *t = user;
    bool good = true;
    runner_download(t->bench->runner, t->status, t->zeros, t->nzeros);
    for (uint32_t i = 0; i < t->params.streams.ntasks; i++) {
        good &= t->status[i] == 0;
    }
    return good;
}

/* Walk all streams; the blocks of each, and the scratch that they need. */
static uint64_t walk(const bench *b, hr__kzstd_stream *streams, hr__vec *walked) {
    const field_blocks *f = b->blocks;
    hr__zstd_stream s = {0};
    hr_error err = HR_ERROR_INIT;
    uint64_t total = 0, room;
    for (uint32_t i = 0; i < f->nblocks; i++) {
        const size_t first = s.blocks.n;
        streams[i] =
            (hr__kzstd_stream){.task = bench_task(b, i), .first_block = (uint32_t)first};
        hr_status status = hr__zstd_walk(&hr__malloc_allocator, f->streams + f->at[i],
                                         f->nbytes[i], &s, &err);
        streams[i].nblocks = (uint32_t)(s.blocks.n - first);
        if (status != HR_OK ||
            hr__zstd_stream_room((hr__zstd_block *)s.blocks.items + first,
                                 s.blocks.n - first, streams[i].task.dst_nbytes, &room,
                                 &err) != HR_OK) {
            printf("the walk fails: %s\n", err.message);
            exit(EXIT_FAILURE);
        }
        total += room;
    }
    *walked = s.blocks;
    return total;
}

static void describe(const bench *b, const hr__vec *walked, uint64_t scratch) {
    const hr__zstd_block *blocks = walked->items;
    uint64_t nsequences = 0, nliterals = 0, made = 0;
    uint32_t longest = 0;
    for (size_t i = 0; i < walked->n; i++) {
        nsequences += blocks[i].nsequences;
        nliterals += hr__zstd_made_literals(&blocks[i]);
        longest = blocks[i].nsequences > longest ? blocks[i].nsequences : longest;
    }
    for (uint32_t i = 0; i < b->blocks->nblocks; i++) {
        made += bench_task(b, i).dst_nbytes;
    }
    printf("  %zu blocks, %.1f M sequences (%u in one block), %.0f MB of literals, "
           "scratch %.0f MB, %.2f of the output\n",
           walked->n, 1e-6 * (double)nsequences, longest, 1e-6 * (double)nliterals,
           1e-6 * (double)scratch, (double)scratch / (double)made);
}

static void batch_open(batch *t, bench *b) {
    uint32_t n = b->blocks->nblocks;
    hr__vec walked;
    hr__kzstd_stream *streams = bench_alloc(n * sizeof *streams);
    uint64_t scratch = walk(b, streams, &walked);
    describe(b, &walked, scratch);
    hr_k_zstd_block *blocks = bench_alloc(walked.n * sizeof *blocks);
    *t = (batch){.bench = b, .scratch = runner_alloc(b->runner, scratch + 16)};
    hr__devptr at = t->scratch;
    const hr__zstd_block *items = walked.items;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = streams[i].first_block, nblocks = streams[i].nblocks;
        hr__slab_zstd_blocks(items + first, nblocks, &streams[i].task, at,
                             blocks + first);
        for (uint32_t k = 0; k < nblocks; k++) {
            at += hr__zstd_room_of(items + first + k, streams[i].task.dst_nbytes).nbytes;
        }
    }
    const hr__kzstd_batch tables_of = {.streams = streams,
                                       .blocks = blocks,
                                       .nstreams = n,
                                       .nblocks = (uint32_t)walked.n};
    hr__kzstd_tables tables;
    hr__kzstd_lay_out(&tables_of, &tables);
    uint64_t words = (n * sizeof(uint64_t) + 15) / 16 * 16;
    t->nzeros = words + tables.zeros_nbytes;
    t->status = bench_alloc(t->nzeros);
    t->zeros = runner_alloc(b->runner, t->nzeros);
    t->tables = runner_alloc(b->runner, tables.nbytes);
    uint8_t *host = bench_alloc(tables.nbytes);
    hr__kzstd_fill(&tables_of, &tables, host, t->tables, t->zeros + words, &t->params);
    t->params.streams.status = t->zeros;
    const hr__lz_machine machine = {b->runner->device->nmultiprocessors,
                                    b->runner->device->block_shared_nbytes};
    t->params.streams.team =
        hr__zstd_choose_team((const hr_k_task *)(const void *)(host + tables.tasks), n,
                             b->is_shuffled, &machine);
    runner_upload(b->runner, t->tables, host, tables.nbytes);
    runner_sync(b->runner);
    hr__vec_free(&hr__malloc_allocator, &walked);
    free(host);
    free(blocks);
    free(streams);
}

static void batch_close(batch *t) {
    runner *r = t->bench->runner;
    r->ops->free(r->device, t->scratch);
    r->ops->free(r->device, t->tables);
    r->ops->free(r->device, t->zeros);
    free(t->status);
}

/* Literals or sequences alone. */
static void measure_stage(const batch *whole, const char *name, bool is_literals) {
    batch t = *whole;
    t.params.streams.ntasks = 0;
    t.params.nwith_checksums = 0;
    *(is_literals ? &t.params.nwith_sequences : &t.params.nwith_literals) = 0;
    bench_measure(t.bench, &(bench_run){.name = name,
                                        .before = clear,
                                        .launch = launch,
                                        .is_good = is_good,
                                        .is_part = true,
                                        .user = &t});
}

static void measure(bench *b) {
    batch t;
    batch_open(&t, b);
    uint32_t chosen = t.params.streams.team;
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        const hr__team *team = &hr__teams[i];
        char name[BENCH_NAME_NBYTES];
        if (!bench_wants(b, team, chosen, name)) {
            continue;
        }
        t.params.streams.team = team->team;
        bench_measure(b, &(bench_run){.name = name,
                                      .before = clear,
                                      .launch = launch,
                                      .is_good = is_good,
                                      .user = &t});
    }
    measure_stage(&t, "literals alone", true);
    measure_stage(&t, "sequences alone", false);
    batch_close(&t);
}

int main(int argc, char **argv) {
    return bench_main(argc, argv, measure);
}
