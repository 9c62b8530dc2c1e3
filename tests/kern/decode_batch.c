/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/decode_batch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/lz_regime.h"
#include "device/teams.h"
#include "kern/random.h"

#define GUARD 32
#define ALIGNMENTS 32

static const uint8_t patterns[] = {0xAA, 0x55};

/* A batch on the device. Streams end with their allocation on simt, where the address
 * sanitizer watches it; else all lie in one. */
typedef struct placed {
    hr__devptr dst, control, scratch, srcs[DECODE_BATCH_CAPACITY];
    uint32_t nsrcs;
    uint64_t dst_nbytes;
    uint64_t dst_at[DECODE_BATCH_CAPACITY];
    hr_k_task tasks[DECODE_BATCH_CAPACITY];
} placed;

static void place_sources(decode_batch *b, placed *p) {
    bool is_simt = b->runner.device->id.type == HR_DEVICE_SIMT;
    uint64_t shifts[DECODE_BATCH_CAPACITY], total = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        shifts[i] = random_below(&b->random, ALIGNMENTS);
        total += shifts[i] + b->cases[i].src_nbytes;
    }
    hr__devptr all = is_simt ? 0 : runner_alloc(&b->runner, total + 1);
    uint64_t at = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        const decode_case *c = &b->cases[i];
        hr__devptr one =
            is_simt ? runner_alloc(&b->runner, shifts[i] + c->src_nbytes) : all + at;
        p->tasks[i].src = one + shifts[i];
        p->tasks[i].src_nbytes = c->src_nbytes;
        if (c->src_nbytes > 0) {
            runner_upload(&b->runner, p->tasks[i].src, c->src, c->src_nbytes);
        }
        at += shifts[i] + c->src_nbytes;
        p->srcs[p->nsrcs] = is_simt ? one : all;
        p->nsrcs += is_simt || i == 0;
    }
}

static void place_outputs(decode_batch *b, placed *p) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        at += GUARD + random_below(&b->random, ALIGNMENTS);
        p->dst_at[i] = at;
        at += b->cases[i].dst_nbytes;
    }
    p->dst_nbytes = at + GUARD;
    p->dst = runner_alloc(&b->runner, p->dst_nbytes);
    for (uint32_t i = 0; i < b->ncases; i++) {
        p->tasks[i].dst = p->dst + p->dst_at[i];
        p->tasks[i].dst_nbytes = b->cases[i].dst_nbytes;
        p->tasks[i].status_index = i;
        p->tasks[i].wrapper = b->cases[i].wrapper;
    }
}

/* control: the status words, the counter, the tasks. */
static hr_k_decode make_params(const decode_batch *b, const placed *p) {
    hr_k_decode d = {.status = p->control, .ntasks = b->ncases};
    d.counter = d.status + sizeof(uint64_t) * b->ncases;
    d.tasks = d.counter + sizeof(uint64_t);
    return d;
}

static void report(decode_batch *b, const hr__team *team, uint32_t i, const char *what,
                   uint64_t got, uint64_t want) {
    const decode_case *c = &b->cases[i];
    if (b->nfailures++ < 10) {
        printf("FAILED: %s, case %u (%u -> %u bytes): %s is 0x%" PRIx64
               ", expected 0x%" PRIx64 "\n  stream:",
               team->symbol, i, c->src_nbytes, c->dst_nbytes, what, got, want);
        for (uint32_t k = 0; k < c->src_nbytes && k < 64; k++) {
            printf(" %02x", c->src[k]);
        }
        printf("\n");
    }
}

static void compare(decode_batch *b, const placed *p, const hr__team *team, bool is_whole,
                    uint8_t pattern, const uint8_t *got, const uint64_t *status) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        const decode_case *c = &b->cases[i];
        for (; at < p->dst_at[i] && got[at] == pattern; at++) {
        }
        if (at < p->dst_at[i]) {
            report(b, team, i, "a byte before the output", got[at], pattern);
        }
        at = p->dst_at[i] + c->dst_nbytes;
        if (memcmp(got + p->dst_at[i], c->want, c->dst_nbytes) != 0) {
            uint64_t k = 0;
            while (got[p->dst_at[i] + k] == c->want[k]) {
                k++;
            }
            char what[64];
            (void)snprintf(what, sizeof what, "byte %" PRIu64, k);
            report(b, team, i, what, got[p->dst_at[i] + k], c->want[k]);
        }
        uint64_t want = (uint64_t)c->code << 32 | c->where;
        if (status[i] != want && !(is_whole && want == 0 && status[i] == HR_K_BY_WHOLE)) {
            report(b, team, i, "the status", status[i], want);
        }
    }
    for (; at < p->dst_nbytes; at++) {
        if (got[at] != pattern) {
            report(b, team, b->ncases - 1, "a byte behind it", got[at], pattern);
            return;
        }
    }
}

/* Of the whole device, for all streams. */
static void place_scratch(decode_batch *b, placed *p) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < b->ncases; i++) {
        hr_k_task *t = &p->tasks[i];
        t->scratch = nbytes;
        nbytes += (hr__lz_whole_room(t) + 15) / 16 * 16;
    }
    p->scratch = runner_alloc(&b->runner, nbytes);
    for (uint32_t i = 0; i < b->ncases; i++) {
        p->tasks[i].scratch += p->scratch;
    }
}

/* is_whole: what the whole device leaves is for the team. */
static void run_team(decode_batch *b, const placed *p, const hr__team *team,
                     bool is_whole, uint8_t pattern) {
    hr_k_decode params = make_params(b, p);
    params.team = team->team;
    uint64_t control_nbytes = params.tasks - p->control + sizeof p->tasks;
    uint8_t *got = must_malloc(p->dst_nbytes), *control = must_malloc(control_nbytes);
    memset(got, pattern, p->dst_nbytes);
    runner_upload(&b->runner, p->dst, got, p->dst_nbytes);
    memset(control, 0, control_nbytes);
    memcpy(control + (params.tasks - p->control), p->tasks, sizeof p->tasks);
    runner_upload(&b->runner, p->control, control, control_nbytes);
    if (is_whole) {
        hr_k_whole whole = hr__lz_whole(&params, p->tasks);
        runner_launch(&b->runner, HR__KERNEL_LZ4_WHOLE, &whole);
    }
    runner_launch(&b->runner, b->kernel, &params);
    runner_download(&b->runner, got, p->dst, p->dst_nbytes);
    runner_download(&b->runner, control, p->control, sizeof(uint64_t) * b->ncases);
    compare(b, p, team, is_whole, pattern, got, (const uint64_t *)(const void *)control);
    free(got);
    free(control);
}

static void run_teams(decode_batch *b, const placed *p) {
    uint32_t teams[HR__NTEAMS], nteams = 0;
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        bool wanted = b->first == 0 || nteams < b->first;
        if (hr__teams[i].kernel == b->kernel && wanted) {
            teams[nteams++] = i;
        }
    }
    uint32_t nruns =
        (b->nteams == 0 ? nteams : b->nteams) + (b->kernel == HR__KERNEL_LZ4);
    for (uint32_t i = 0; i < nruns; i++) {
        uint32_t k =
            b->nteams == 0 && i < nteams ? i : (uint32_t)random_below(&b->random, nteams);
        bool is_whole = b->kernel == HR__KERNEL_LZ4 && i == nruns - 1;
        run_team(b, p, &hr__teams[teams[k]], is_whole,
                 patterns[b->nruns++ % sizeof patterns]);
    }
}

void decode_batch_run(decode_batch *b) {
    if (b->ncases == 0) {
        return;
    }
    placed *p = must_malloc(sizeof *p);
    memset(p, 0, sizeof *p);
    place_sources(b, p);
    place_outputs(b, p);
    p->control =
        runner_alloc(&b->runner, sizeof(uint64_t) * (b->ncases + 1) + sizeof p->tasks);
    place_scratch(b, p);
    run_teams(b, p);
    b->runner.ops->free(b->runner.device, p->scratch);
    for (uint32_t i = 0; i < p->nsrcs; i++) {
        b->runner.ops->free(b->runner.device, p->srcs[i]);
    }
    b->runner.ops->free(b->runner.device, p->dst);
    b->runner.ops->free(b->runner.device, p->control);
    free(p);
    for (uint32_t i = 0; i < b->ncases; i++) {
        b->naccepted += b->cases[i].code == 0;
        free(b->cases[i].src);
        free(b->cases[i].want);
    }
    b->nchecked += b->ncases;
    b->ncases = 0;
}

void decode_batch_add(decode_batch *b, const decode_case *c) {
    b->cases[b->ncases++] = *c;
    if (b->ncases == DECODE_BATCH_CAPACITY) {
        decode_batch_run(b);
    }
}

decode_batch *decode_batch_open(const char *device, hr__kernel kernel, uint64_t seed) {
    printf("seed %" PRIu64 "\n", seed);
    decode_batch *b = must_malloc(sizeof *b);
    memset(b, 0, sizeof *b);
    runner_open(&b->runner, device);
    b->kernel = kernel;
    b->random = seed;
    return b;
}

int decode_batch_close(decode_batch *b) {
    printf("%" PRIu64 " streams, %" PRIu64 " of them good; %" PRIu64 " failures\n",
           b->nchecked, b->naccepted, b->nfailures);
    int status = b->nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    runner_close(&b->runner);
    free(b);
    return status;
}
