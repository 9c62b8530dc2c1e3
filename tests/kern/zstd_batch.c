/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/zstd_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/codec.h"
#include "cuda/kernel_abi.h"
#include "kern/decode_batch.h"
#include "kern/random.h"

#define GUARD 32
#define ALIGNMENTS 32

static void report(zstd_batch *b, const zstd_case *c, const char *what, uint64_t got) {
    if (b->nfailures++ < 10) {
        printf("FAILED: %u -> %u bytes, %" PRIu64 " blocks: %s (0x%" PRIx64
               ")\n  stream:",
               c->src_nbytes, c->dst_nbytes, (uint64_t)c->walked.blocks.n, what, got);
        for (uint32_t k = 0; k < c->src_nbytes && k < 48; k++) {
            printf(" %02x", c->src[k]);
        }
        printf("\n");
    }
}

static void drop(zstd_case *c) {
    hr__vec_free(&hr__malloc_allocator, &c->walked.blocks);
    free(c->src);
    free(c->want);
}

void zstd_batch_add(zstd_batch *b, const uint8_t *src, uint32_t src_nbytes,
                    uint32_t dst_nbytes, bool is_mutant) {
    zstd_case c = {.src = must_malloc(src_nbytes),
                   .want = must_malloc(dst_nbytes),
                   .src_nbytes = src_nbytes,
                   .dst_nbytes = dst_nbytes,
                   .is_mutant = is_mutant};
    memcpy(c.src, src, src_nbytes);
    hr_error err = HR_ERROR_INIT;
    size_t made = ZSTD_decompress(c.want, dst_nbytes, src, src_nbytes);
    bool is_good = made == dst_nbytes;
    hr_status status =
        hr__zstd_walk(&hr__malloc_allocator, c.src, src_nbytes, &c.walked, &err);
    bool has_size = c.walked.content_nbytes == HR__SIZE_UNKNOWN ||
                    c.walked.content_nbytes == dst_nbytes;
    b->nchecked++;
    if (status != HR_OK || !has_size) {
        if (is_good && status != HR_ERR_UNSUPPORTED) {
            report(b, &c, err.message, 0);
        }
        drop(&c);
        return;
    }
    b->nwalked++;
    if (!is_good) {
        free(c.want);
        c.want = NULL;
    }
    b->cases[b->ncases++] = c;
    b->nblocks += (uint32_t)c.walked.blocks.n;
    if (b->ncases == ZSTD_BATCH_CAPACITY) {
        zstd_batch_run(b);
    }
}

/* Everything that goes up beside streams: one allocation, zeros first. */
typedef struct tables {
    uint64_t status, counter, results, nzeros, tasks, firsts, blocks, literals, sequences;
    uint64_t nbytes;
    uint8_t *host;
    uint32_t nwith_literals, nwith_sequences;
} tables;

static uint64_t place(tables *t, uint64_t nbytes) {
    uint64_t at = t->nbytes;
    t->nbytes += (nbytes + 15) / 16 * 16;
    return at;
}

static void lay_out(const zstd_batch *b, tables *t) {
    *t = (tables){0};
    t->status = place(t, b->ncases * sizeof(uint64_t));
    t->counter = place(t, sizeof(uint32_t));
    t->results = place(t, b->nblocks * sizeof(hr_k_zstd_result));
    t->nzeros = t->nbytes;
    t->tasks = place(t, b->ncases * sizeof(hr_k_task));
    t->firsts = place(t, (b->ncases + 1) * sizeof(uint32_t));
    t->blocks = place(t, b->nblocks * sizeof(hr_k_zstd_block));
    t->literals = place(t, b->nblocks * sizeof(uint32_t));
    t->sequences = place(t, b->nblocks * sizeof(uint32_t));
    t->host = must_malloc(t->nbytes);
    memset(t->host, 0, t->nbytes);
}

static bool needs_literals(const hr__zstd_block *b) {
    return b->kind == HR__ZSTD_CODED && b->literals_kind != HR__ZSTD_RAW;
}

static uint64_t scratch_nbytes(const hr__zstd_block *b) {
    return b->nsequences * sizeof(uint64_t) +
           (needs_literals(b) ? (b->nliterals + 7) / 8 * UINT64_C(8) : 0);
}

static hr_k_zstd_block block_for(const hr__zstd_block *b, uint32_t stream,
                                 hr__devptr scratch) {
    hr_k_zstd_block k = {.stream = stream,
                         .at = b->at,
                         .begins_frame = b->begins_frame,
                         .max_nbytes = b->max_nbytes,
                         .kind = (uint32_t)b->kind,
                         .literals_kind = (uint32_t)b->literals_kind,
                         .literals = b->literals,
                         .literals_nbytes = b->literals_nbytes,
                         .nliterals = b->nliterals,
                         .nstreams = b->nstreams,
                         .tree = b->tree,
                         .nsequences = b->nsequences,
                         .sequences = b->sequences,
                         .sequences_nbytes = b->sequences_nbytes,
                         .made_sequences = scratch,
                         .made_literals = scratch + b->nsequences * sizeof(uint64_t)};
    for (int code = 0; code < HR__ZSTD_NCODES; code++) {
        k.table_kinds[code] = (uint32_t)b->tables[code].kind;
        k.tables[code] = b->tables[code].at;
    }
    return k;
}

/* The blocks of case i, from number `first` on. */
static uint32_t add_blocks(zstd_batch *b, tables *t, uint32_t i, uint32_t first) {
    zstd_case *c = &b->cases[i];
    const hr__zstd_block *blocks = c->walked.blocks.items;
    uint64_t scratch = 0;
    for (size_t k = 0; k < c->walked.blocks.n; k++) {
        scratch += scratch_nbytes(&blocks[k]);
    }
    c->scratch = runner_alloc(b->runner, scratch + 8);
    scratch = c->scratch;
    for (size_t k = 0; k < c->walked.blocks.n; k++, first++) {
        ((hr_k_zstd_block *)(void *)(t->host + t->blocks))[first] =
            block_for(&blocks[k], i, scratch);
        scratch += scratch_nbytes(&blocks[k]);
        if (needs_literals(&blocks[k])) {
            ((uint32_t *)(void *)(t->host + t->literals))[t->nwith_literals++] = first;
        }
        if (blocks[k].nsequences > 0) {
            ((uint32_t *)(void *)(t->host + t->sequences))[t->nwith_sequences++] = first;
        }
    }
    return first;
}

static void place_cases(zstd_batch *b, tables *t) {
    uint32_t first = 0;
    uint32_t *firsts = (uint32_t *)(void *)(t->host + t->firsts);
    for (uint32_t i = 0; i < b->ncases; i++) {
        zstd_case *c = &b->cases[i];
        uint64_t shift = random_below(&b->random, ALIGNMENTS);
        c->device_src = runner_alloc(b->runner, shift + c->src_nbytes);
        c->device_dst = runner_alloc(b->runner, ALIGNMENTS + 2 * GUARD + c->dst_nbytes);
        if (c->src_nbytes > 0) {
            runner_upload(b->runner, c->device_src + shift, c->src, c->src_nbytes);
        }
        uint64_t at = GUARD + random_below(&b->random, ALIGNMENTS);
        ((hr_k_task *)(void *)(t->host + t->tasks))[i] =
            (hr_k_task){.src = c->device_src + shift,
                        .dst = c->device_dst + at,
                        .src_nbytes = c->src_nbytes,
                        .dst_nbytes = c->dst_nbytes,
                        .status_index = i};
        firsts[i] = first;
        first = add_blocks(b, t, i, first);
    }
    firsts[b->ncases] = first;
}

/* One case after a run; `got` is its whole allocation. */
static void compare(zstd_batch *b, const zstd_case *c, uint64_t at, uint64_t status,
                    const uint8_t *got, uint8_t pattern) {
    uint64_t nbytes = ALIGNMENTS + 2 * GUARD + (uint64_t)c->dst_nbytes;
    for (uint64_t i = 0; i < nbytes; i++) {
        bool is_outside = i < at || i >= at + c->dst_nbytes;
        if (is_outside && got[i] != pattern) {
            report(b, c, "a byte outside the output", i - at);
            return;
        }
    }
    if (c->want == NULL) {
        if (status == 0) {
            report(b, c, "taken, libzstd refuses it", 0);
        }
    } else if (status != 0) {
        b->nstricter++;
        if (!c->is_mutant) {
            report(b, c, "refused", status);
        }
    } else if (memcmp(got + at, c->want, c->dst_nbytes) != 0) {
        uint64_t i = 0;
        while (got[at + i] == c->want[i]) {
            i++;
        }
        report(b, c, "wrong from byte", i);
    } else {
        b->naccepted++;
    }
}

/* Returns what the cases' outputs hold then, one after the other. */
static uint8_t *run_team(zstd_batch *b, const tables *t, hr__devptr device, uint32_t team,
                         uint8_t pattern, uint64_t *nbytes) {
    const hr_k_task *tasks = (const hr_k_task *)(void *)(t->host + t->tasks);
    hr_k_zstd params = {.streams = {.tasks = device + t->tasks,
                                    .counter = device + t->counter,
                                    .status = device + t->status,
                                    .ntasks = b->ncases,
                                    .team = team},
                        .first_blocks = device + t->firsts,
                        .blocks = device + t->blocks,
                        .results = device + t->results,
                        .with_literals = device + t->literals,
                        .with_sequences = device + t->sequences,
                        .nwith_literals = t->nwith_literals,
                        .nwith_sequences = t->nwith_sequences};
    uint64_t total = 0, at = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        total += ALIGNMENTS + 2 * GUARD + (uint64_t)b->cases[i].dst_nbytes;
    }
    uint8_t *got = must_malloc(total), *status = must_malloc(t->nzeros);
    memset(got, pattern, total);
    for (uint32_t i = 0; i < b->ncases; i++) {
        uint64_t n = ALIGNMENTS + 2 * GUARD + (uint64_t)b->cases[i].dst_nbytes;
        runner_upload(b->runner, b->cases[i].device_dst, got, n);
    }
    runner_upload(b->runner, device, t->host, t->nbytes);
    runner_launch(b->runner, HR__KERNEL_ZSTD, &params);
    runner_download(b->runner, status, device, t->nzeros);
    for (uint32_t i = 0; i < b->ncases; i++) {
        zstd_case *c = &b->cases[i];
        uint64_t n = ALIGNMENTS + 2 * GUARD + (uint64_t)c->dst_nbytes;
        runner_download(b->runner, got + at, c->device_dst, n);
        uint64_t word;
        memcpy(&word, status + t->status + i * sizeof word, sizeof word);
        compare(b, c, tasks[i].dst - c->device_dst, word, got + at, pattern);
        memset(got + at, 0, tasks[i].dst - c->device_dst); /* guards differ by pattern */
        memset(got + at + (tasks[i].dst - c->device_dst) + c->dst_nbytes, 0,
               n - (tasks[i].dst - c->device_dst) - c->dst_nbytes);
        at += n;
    }
    free(status);
    *nbytes = total;
    return got;
}

void zstd_batch_run(zstd_batch *b) {
    if (b->ncases == 0) {
        return;
    }
    tables t;
    lay_out(b, &t);
    place_cases(b, &t);
    hr__devptr device = runner_alloc(b->runner, t.nbytes);
    for (uint32_t team = 0; team < HR_K_ZSTD_NTEAMS; team++) {
        uint64_t nbytes;
        uint8_t *one = run_team(b, &t, device, team, 0xAA, &nbytes);
        uint8_t *other = run_team(b, &t, device, team, 0x55, &nbytes);
        if (memcmp(one, other, nbytes) != 0) {
            report(b, &b->cases[0], "a batch left bytes as they were", 0);
        }
        free(one);
        free(other);
    }
    b->runner->ops->free(b->runner->device, device);
    for (uint32_t i = 0; i < b->ncases; i++) {
        b->runner->ops->free(b->runner->device, b->cases[i].device_src);
        b->runner->ops->free(b->runner->device, b->cases[i].device_dst);
        b->runner->ops->free(b->runner->device, b->cases[i].scratch);
        drop(&b->cases[i]);
    }
    free(t.host);
    b->ncases = b->nblocks = 0;
}
