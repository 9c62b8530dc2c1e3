/* The tables of a launch of the zstd decoder. SPDX-License-Identifier: Apache-2.0 */
#include "device/kzstd.h"

#include <stdlib.h>
#include <string.h>

static uint64_t place(hr__kzstd_tables *t, uint64_t nbytes) {
    uint64_t at = t->nbytes;
    t->nbytes += (nbytes + 15) / 16 * 16;
    return at;
}

void hr__kzstd_lay_out(const hr__kzstd_batch *batch, hr__kzstd_tables *t) {
    const uint64_t nstreams = batch->nstreams, nblocks = batch->nblocks;
    *t = (hr__kzstd_tables){0};
    t->tasks = place(t, nstreams * sizeof(hr_k_task));
    t->firsts = place(t, (nstreams + 1) * sizeof(uint32_t));
    t->blocks = place(t, nblocks * sizeof(hr_k_zstd_block));
    t->literals = place(t, nblocks * sizeof(uint64_t)); /* keys to sort by at first */
    t->sequences = place(t, nblocks * sizeof(uint64_t));
    t->checksums = place(t, nblocks * sizeof(uint32_t));
    t->zeros_nbytes = 16 + nblocks * sizeof(hr_k_zstd_result);
}

/* Chains are followed a little sooner alone than together; but more multiprocessors than
 * these are better left to teams that need one whole. */
#define APART 32

static uint32_t choose_nchains(uint32_t n) {
    const uint32_t each = n / APART + (n % APART != 0);
    return each < 1 ? 1 : each < HR_K_ZSTD_CHAINS ? each : HR_K_ZSTD_CHAINS;
}

/* The longest work first, so that none of it is left alone at the end. */
static int compare_streams(const void *a, const void *b) {
    const hr_k_task *x = &((const hr__kzstd_stream *)a)->task;
    const hr_k_task *y = &((const hr__kzstd_stream *)b)->task;
    if (x->src_nbytes != y->src_nbytes) {
        return x->src_nbytes > y->src_nbytes ? -1 : 1;
    }
    return x->src < y->src ? -1 : x->src > y->src;
}

/* Numbers of blocks, those with the most of something first. */
typedef struct list {
    uint64_t *keys; /* how many << 32 | number */
    uint32_t n;
} list;

static void push(list *l, uint32_t size, uint32_t number) {
    l->keys[l->n++] = (uint64_t)size << 32 | number;
}

static int compare_keys(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* From keys to numbers, in the same place. */
static void settle(list *l) {
    uint8_t *out = (uint8_t *)l->keys;
    if (l->n > 1) {
        qsort(l->keys, l->n, sizeof *l->keys, compare_keys);
    }
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t number = (uint32_t)l->keys[i];
        memcpy(out + i * sizeof number, &number, sizeof number);
    }
}

void hr__kzstd_fill(const hr__kzstd_batch *batch, const hr__kzstd_tables *t,
                    uint8_t *host, hr__devptr device, hr__devptr zeros, hr_k_zstd *out) {
    hr_k_task *tasks = (hr_k_task *)(void *)(host + t->tasks);
    uint32_t *firsts = (uint32_t *)(void *)(host + t->firsts);
    hr_k_zstd_block *blocks = (hr_k_zstd_block *)(void *)(host + t->blocks);
    uint32_t *checksums = (uint32_t *)(void *)(host + t->checksums);
    list literals = {.keys = (uint64_t *)(void *)(host + t->literals)};
    list sequences = {.keys = (uint64_t *)(void *)(host + t->sequences)};
    uint32_t n = 0, nchecksums = 0;
    if (batch->nstreams > 1) {
        qsort(batch->streams, batch->nstreams, sizeof *batch->streams, compare_streams);
    }
    for (uint32_t s = 0; s < batch->nstreams; s++) {
        const hr__kzstd_stream *stream = &batch->streams[s];
        tasks[s] = stream->task;
        firsts[s] = n;
        for (uint32_t i = 0; i < stream->nblocks; i++, n++) {
            hr_k_zstd_block *b = &blocks[n];
            *b = batch->blocks[stream->first_block + i];
            b->stream = s;
            if (b->kind == HR_K_ZSTD_CODED && b->literals_kind != HR_K_ZSTD_RAW) {
                push(&literals, b->nliterals, n);
            }
            if (b->nsequences > 0) {
                push(&sequences, b->nsequences, n);
            }
            if (b->has_checksum != 0) {
                checksums[nchecksums++] = n;
            }
        }
    }
    firsts[batch->nstreams] = n;
    settle(&literals);
    settle(&sequences);
    *out = (hr_k_zstd){.streams = {.tasks = device + t->tasks,
                                   .counter = zeros,
                                   .ntasks = batch->nstreams},
                       .first_blocks = device + t->firsts,
                       .blocks = device + t->blocks,
                       .results = zeros + 16,
                       .with_literals = device + t->literals,
                       .with_sequences = device + t->sequences,
                       .with_checksums = device + t->checksums,
                       .nwith_literals = literals.n,
                       .nwith_sequences = sequences.n,
                       .nwith_checksums = nchecksums,
                       .nchains = choose_nchains(sequences.n)};
}
