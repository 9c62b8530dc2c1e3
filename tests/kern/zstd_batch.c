/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/zstd_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/codec.h"
#include "device/kzstd.h"
#include "exec/slab_zstd.h"
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
    if (status == HR_OK) {
        status = hr__zstd_stream_room(c.walked.blocks.items, c.walked.blocks.n,
                                      dst_nbytes, &c.room, &err);
    }
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
    uint64_t status, kernel_zeros, nzeros, kernel, nbytes;
    uint8_t *host;
    hr_k_zstd params;
} tables;

static uint64_t place(tables *t, uint64_t nbytes) {
    uint64_t at = t->nbytes;
    t->nbytes += (nbytes + 15) / 16 * 16;
    return at;
}

/* The blocks of case i, from number `first` on. */
static void add_blocks(zstd_batch *b, uint32_t i, const hr_k_task *task,
                       hr_k_zstd_block *out) {
    zstd_case *c = &b->cases[i];
    c->scratch = runner_alloc(b->runner, c->room + 16);
    hr__slab_zstd_blocks(c->walked.blocks.items, (uint32_t)c->walked.blocks.n, task,
                         (c->scratch + 15) / 16 * 16, out);
}

static void place_cases(zstd_batch *b, hr__kzstd_stream *streams,
                        hr_k_zstd_block *blocks) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        zstd_case *c = &b->cases[i];
        uint64_t shift = random_below(&b->random, ALIGNMENTS);
        c->device_src = runner_alloc(b->runner, shift + c->src_nbytes);
        c->device_dst = runner_alloc(b->runner, ALIGNMENTS + 2 * GUARD + c->dst_nbytes);
        if (c->src_nbytes > 0) {
            runner_upload(b->runner, c->device_src + shift, c->src, c->src_nbytes);
        }
        c->dst_at = GUARD + random_below(&b->random, ALIGNMENTS);
        streams[i] = (hr__kzstd_stream){.task = {.src = c->device_src + shift,
                                                 .dst = c->device_dst + c->dst_at,
                                                 .src_nbytes = c->src_nbytes,
                                                 .dst_nbytes = c->dst_nbytes,
                                                 .status_index = i},
                                        .first_block = first,
                                        .nblocks = (uint32_t)c->walked.blocks.n};
        add_blocks(b, i, &streams[i].task, blocks + first);
        first += streams[i].nblocks;
    }
}

static hr__devptr make_tables(zstd_batch *b, tables *t) {
    hr__kzstd_stream *streams = must_malloc(b->ncases * sizeof *streams);
    hr_k_zstd_block *blocks = must_malloc((b->nblocks + 1) * sizeof *blocks);
    place_cases(b, streams, blocks);
    const hr__kzstd_batch batch = {.streams = streams,
                                   .blocks = blocks,
                                   .nstreams = b->ncases,
                                   .nblocks = b->nblocks};
    hr__kzstd_tables kernel;
    hr__kzstd_lay_out(&batch, &kernel);
    *t = (tables){0};
    t->status = place(t, b->ncases * sizeof(uint64_t));
    t->kernel_zeros = place(t, kernel.zeros_nbytes);
    t->nzeros = t->nbytes;
    t->kernel = place(t, kernel.nbytes);
    t->host = must_malloc(t->nbytes);
    memset(t->host, 0, t->nbytes);
    hr__devptr memory = runner_alloc(b->runner, t->nbytes);
    hr__kzstd_fill(&batch, &kernel, t->host + t->kernel, memory + t->kernel,
                   memory + t->kernel_zeros, &t->params);
    t->params.streams.status = memory + t->status;
    free(streams);
    free(blocks);
    return memory;
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
static uint8_t *run_team(zstd_batch *b, tables *t, hr__devptr device, uint32_t team,
                         uint8_t pattern, uint64_t *nbytes) {
    uint64_t total = 0, at = 0;
    t->params.streams.team = team;
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
    runner_launch(b->runner, HR__KERNEL_ZSTD, &t->params);
    runner_download(b->runner, status, device, t->nzeros);
    for (uint32_t i = 0; i < b->ncases; i++) {
        zstd_case *c = &b->cases[i];
        uint64_t n = ALIGNMENTS + 2 * GUARD + (uint64_t)c->dst_nbytes;
        runner_download(b->runner, got + at, c->device_dst, n);
        uint64_t word;
        memcpy(&word, status + t->status + i * sizeof word, sizeof word);
        compare(b, c, c->dst_at, word, got + at, pattern);
        memset(got + at, 0, c->dst_at); /* guards differ by pattern */
        memset(got + at + c->dst_at + c->dst_nbytes, 0, n - c->dst_at - c->dst_nbytes);
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
    hr__devptr device = make_tables(b, &t);
    uint64_t nknown =
        b->nfirst == 0 || b->nfirst > HR_K_ZSTD_NTEAMS ? HR_K_ZSTD_NTEAMS : b->nfirst;
    uint64_t nruns = b->ndrawn == 0 ? nknown : b->ndrawn;
    for (uint64_t i = 0; i < nruns; i++) {
        uint64_t nbytes, drawn = random_below(&b->random, nknown);
        uint32_t team = (uint32_t)(b->ndrawn == 0 ? i : drawn);
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
