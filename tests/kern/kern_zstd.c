/* The zstd kernels next to libzstd. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_zstd simt|cuda [--seed N] [--frames N] [--mutants N] [--draw N] [--teams N]
 *                            [--small 1]
 * --frames N: so many drawn streams; --draw N: N of the teams for every batch, not all;
 * --teams N: only the first N; --small 1: only drawn streams and mutants, for tools that
 * slow down
 *
 * Good streams of every level, with and without what a frame may have, and drawn ones;
 * then mutants, of which the kernels may refuse a few that libzstd takes: the format asks
 * for bits to be used up exactly, it does not always look. */
#define ZSTD_STATIC_LINKING_ONLY
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/lz4_case.h"
#include "kern/random.h"
#include "kern/zstd_batch.h"
#include "kern/zstd_writer.h"

typedef struct settings {
    int level, window_log, block_nbytes;
    bool no_size, checksum, long_distance, literals_raw;
} settings;

static void set(ZSTD_CCtx *c, ZSTD_cParameter parameter, int value) {
    if (ZSTD_isError(ZSTD_CCtx_setParameter(c, parameter, value))) {
        printf("libzstd has no parameter %d\n", (int)parameter);
        exit(EXIT_FAILURE);
    }
}

static uint32_t compress(const uint8_t *raw, uint32_t n, const settings *s,
                         uint8_t **out) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(n);
    *out = must_malloc(bound);
    set(c, ZSTD_c_compressionLevel, s->level);
    set(c, ZSTD_c_contentSizeFlag, !s->no_size);
    set(c, ZSTD_c_checksumFlag, s->checksum);
    if (s->window_log != 0) {
        set(c, ZSTD_c_windowLog, s->window_log);
    }
    if (s->long_distance) {
        set(c, ZSTD_c_enableLongDistanceMatching, 1);
    }
    if (s->literals_raw) {
        set(c, ZSTD_c_literalCompressionMode, ZSTD_ps_disable);
    }
    if (s->block_nbytes != 0) {
        set(c, ZSTD_c_targetCBlockSize, s->block_nbytes);
    }
    size_t made = ZSTD_compress2(c, *out, bound, raw, n);
    if (ZSTD_isError(made)) {
        printf("libzstd cannot compress: %s\n", ZSTD_getErrorName(made));
        exit(EXIT_FAILURE);
    }
    ZSTD_freeCCtx(c);
    return (uint32_t)made;
}

static void add(zstd_batch *b, uint32_t kind, uint32_t n, const settings *s) {
    uint8_t *raw = must_malloc(n), *stream;
    lz4_fill(kind, raw, n, &b->random);
    uint32_t nbytes = compress(raw, n, s, &stream);
    zstd_batch_add(b, stream, nbytes, n, false);
    free(raw);
    free(stream);
}

static void add_levels(zstd_batch *b) {
    static const int levels[] = {-7, -1, 1, 3, 5, 9, 13, 19, 22};
    static const uint32_t sizes[] = {0, 1, 2, 100, 1000, 5000, 20000, 70001, 200000};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            uint32_t kind = sizes[k] < 70000 ? 0 : (uint32_t)(i + k) % LZ4_NKINDS;
            uint32_t end = sizes[k] < 70000 ? LZ4_NKINDS : kind + 1;
            for (; kind < end; kind++) {
                add(b, kind, sizes[k], &(settings){.level = levels[i]});
            }
        }
    }
}

static void add_settings(zstd_batch *b) {
    for (uint32_t kind = 0; kind < LZ4_NKINDS; kind++) {
        add(b, kind, 50000, &(settings){.level = 3, .window_log = 10});
        add(b, kind, 50000, &(settings){.level = 9, .no_size = true});
        add(b, kind, 50000, &(settings){.level = 5, .checksum = true});
        add(b, kind, 50000, &(settings){.level = 6, .literals_raw = true});
        add(b, kind, 30000, &(settings){.level = 6, .block_nbytes = 1400});
        add(b, kind, 300000,
            &(settings){.level = 3, .window_log = 24, .long_distance = true});
    }
}

/* Frames behind each other, with skippable ones between, before and after them. */
static void add_frames(zstd_batch *b) {
    static const uint8_t skippable[] = {0x5F, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2};
    uint8_t *all = must_malloc(400000);
    uint32_t n = 0, total = 0;
    for (uint32_t i = 0; i < 9; i++) {
        memcpy(all + n, skippable, sizeof skippable);
        n += i % 3 == 0 ? (uint32_t)sizeof skippable : 0;
        uint32_t nbytes = (uint32_t)random_below(&b->random, 20000);
        uint8_t *raw = must_malloc(nbytes), *one;
        lz4_fill(i % LZ4_NKINDS, raw, nbytes, &b->random);
        uint32_t made =
            compress(raw, nbytes, &(settings){.level = 3, .no_size = i % 2 == 0}, &one);
        memcpy(all + n, one, made);
        n += made;
        total += nbytes;
        free(raw);
        free(one);
    }
    memcpy(all + n, skippable, sizeof skippable);
    zstd_batch_add(b, all, n + (uint32_t)sizeof skippable, total, false);
    zstd_batch_add(b, all, n, total + 1, false);
    zstd_batch_add(b, all, n, total - 1, false);
    free(all);
}

/* Frames of every length around the checksum's stripes, with right ones and wrong ones.
 */
static void add_checksums(zstd_batch *b) {
    for (uint32_t n = 0; n < 140; n++) {
        uint8_t raw[140], *stream;
        lz4_fill(n % LZ4_NKINDS, raw, n, &b->random);
        uint32_t made =
            compress(raw, n, &(settings){.level = 1, .checksum = true}, &stream);
        zstd_batch_add(b, stream, made, n, false);
        stream[made - 1 - n % 4] ^= (uint8_t)(1U << n % 8);
        zstd_batch_add(b, stream, made, n, false);
        free(stream);
    }
}

/* Two frames whose sizes are wrong each, but right together. */
static void add_wrong_sizes(zstd_batch *b) {
    static const uint8_t frames[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 3,    0x11, 0,
                                     0,    'a',  'b',  0x28, 0xB5, 0x2F, 0xFD, 0x20,
                                     1,    0x11, 0,    0,    'c',  'd'};
    zstd_batch_add(b, frames, sizeof frames, 4, false);
}

/* A code of weights with one that there is not, though no symbol has it. */
static void add_wrong_weight(zstd_batch *b) {
    static const uint8_t frame[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 38,   0x6C, 0,    0,
                                    0x72, 0x40, 0x02, 7,    0xD1, 0xAF, 0x8F, 0x1A, 0xE4,
                                    0xD0, 0x27, 0xD1, 0,    0xFB, 0,    0,    'x'};
    zstd_batch_add(b, frame, sizeof frame, 38, false);
}

/* Blocks of sequences that ask for offsets in every way: by libzstd's own encoder of
 * sequences. */
static void add_sequences(zstd_batch *b) {
    enum { N = 400, MAX_NBYTES = 100000 };
    uint8_t *raw = must_malloc(MAX_NBYTES), *out = must_malloc(UINT64_C(2) * MAX_NBYTES);
    ZSTD_Sequence *sequences = must_malloc((N + 1) * sizeof *sequences);
    for (uint32_t round = 0; round < 20; round++) {
        uint64_t *r = &b->random;
        uint32_t at = 0, offsets[3] = {1, 2, 3};
        for (uint32_t i = 0; i < N; i++) {
            uint32_t l = (uint32_t)random_below(r, i == 0 ? 9 : 3) + (i == 0 ? 10 : 0);
            uint32_t m =
                3 + (uint32_t)random_below(r, random_below(r, 60) == 0 ? 9000 : 9);
            uint32_t which = (uint32_t)random_below(r, 6);
            for (uint32_t k = 0; k < l; k++) {
                raw[at++] = (uint8_t)random_below(r, 40);
            }
            uint32_t offset = which < 3    ? offsets[which]
                              : which == 3 ? offsets[0] - 1
                                           : 1 + (uint32_t)random_below(r, at);
            offset = offset == 0 || offset > at ? 1 : offset;
            m = m > MAX_NBYTES / 2 - at / 2 ? 3 : m;
            for (uint32_t k = 0; k < m; k++, at++) {
                raw[at] = raw[at - offset];
            }
            offsets[2] = offsets[1];
            offsets[1] = offsets[0];
            offsets[0] = offset;
            sequences[i] =
                (ZSTD_Sequence){.offset = offset, .litLength = l, .matchLength = m};
        }
        sequences[N] = (ZSTD_Sequence){0};
        ZSTD_CCtx *c = ZSTD_createCCtx();
        set(c, ZSTD_c_blockDelimiters, ZSTD_sf_noBlockDelimiters);
        set(c, ZSTD_c_validateSequences, 1);
        size_t n = ZSTD_compressSequences(c, out, (size_t)2 * MAX_NBYTES, sequences,
                                          N + 1, raw, at);
        if (!ZSTD_isError(n)) {
            zstd_batch_add(b, out, (uint32_t)n, at, false);
        }
        ZSTD_freeCCtx(c);
    }
    free(raw);
    free(out);
    free(sequences);
}

/* Matches so long and from so far away that a sequence has 32 extra bits and more. */
static void add_far(zstd_batch *b) {
    enum { HALF = 150000 };
    uint8_t *raw = must_malloc((size_t)2 * HALF), *stream;
    for (uint32_t i = 0; i < HALF; i++) {
        raw[i] = raw[HALF + i] = (uint8_t)random_next(&b->random);
        raw[HALF + i] ^= i > 80000 && i % 50 == 0; /* others follow */
    }
    uint32_t n = compress(raw, 2 * HALF, &(settings){.level = 3}, &stream);
    zstd_batch_add(b, stream, n, 2 * HALF, false);
    free(stream);
    free(raw);
}

/* First those that have all modes: they must be among what kernels decode. */
static void add_drawn(zstd_batch *b, uint64_t nstreams) {
    uint64_t reached[ZSTD_NGROUPS] = {0};
    for (uint64_t i = 0; i < nstreams && b->nfailures == 0; i++) {
        const uint64_t nwalked = b->nwalked;
        zstd_drawn d;
        const uint64_t number = i < ZSTD_ENOUGH ? i : random_next(&b->random);
        zstd_draw(number, &d);
        if (!zstd_agrees(&d)) {
            printf("FAILED: libzstd makes something else of drawn stream %" PRIu64 "\n",
                   number);
            b->nfailures++;
        }
        zstd_batch_add(b, d.stream, d.stream_nbytes, d.raw_nbytes, false);
        for (uint32_t k = 0; k < ZSTD_NGROUPS && b->nwalked > nwalked; k++) {
            reached[k] |= d.reached[k];
        }
        zstd_drawn_free(&d);
    }
    if (nstreams >= ZSTD_ENOUGH) {
        b->nfailures += zstd_print_missing(reached);
    }
}

static void mutate(uint8_t *stream, uint32_t *n, uint64_t *random) {
    if (*n == 0) {
        return;
    }
    uint32_t at = (uint32_t)random_below(random, random_below(random, 2) ? *n : 40);
    at = at < *n ? at : *n - 1;
    switch (random_below(random, 5)) {
    case 0:
    case 1:
        stream[at] ^= (uint8_t)(1U << random_below(random, 8));
        break;
    case 2:
        stream[at] = (uint8_t)random_next(random);
        break;
    case 3:
        stream[at] = 255;
        break;
    default:
        *n = random_below(random, 4) == 0 ? at : *n;
        stream[at] = 0;
        break;
    }
}

/* Of numbers of drawn streams: bits without which they are not the largest, or not large.
 */
#define LARGE UINT64_C(128)
#define ANY_LARGE UINT64_C(255)

static void add_mutant(zstd_batch *b, uint8_t *stream, uint32_t n, uint32_t made) {
    for (uint64_t k = 1 + random_below(&b->random, 3); k > 0; k--) {
        mutate(stream, &n, &b->random);
    }
    zstd_batch_add(b, stream, n, made, true);
}

static void add_mutants(zstd_batch *b, uint64_t nmutants) {
    for (uint64_t i = 0; i < nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        if (i % 2 == 0) {
            zstd_drawn d;
            zstd_draw(random_next(r) & ~(i % 16 == 0 ? LARGE : ANY_LARGE), &d);
            add_mutant(b, d.stream, d.stream_nbytes, d.raw_nbytes);
            zstd_drawn_free(&d);
            continue;
        }
        uint32_t nbytes = 64 + (uint32_t)random_below(r, i % 16 == 1 ? 30000 : 3000);
        settings s = {.level = (int)random_below(r, 12),
                      .no_size = random_below(r, 2) != 0,
                      .checksum = random_below(r, 4) == 0};
        uint8_t *raw = must_malloc(nbytes), *stream;
        lz4_fill((uint32_t)random_below(r, LZ4_NKINDS), raw, nbytes, r);
        uint32_t n = compress(raw, nbytes, &s, &stream);
        add_mutant(b, stream, n, nbytes);
        free(raw);
        free(stream);
    }
}

static void add_written(zstd_batch *b) {
    add_levels(b);
    add_settings(b);
    add_frames(b);
    add_checksums(b);
    add_wrong_sizes(b);
    add_wrong_weight(b);
    zstd_batch_run(b);
    add_sequences(b);
    add_far(b);
    zstd_batch_run(b); /* so few that each is followed alone */
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nframes = ZSTD_ENOUGH, nmutants = 2000,
             ndrawn = 0, nfirst = 0, is_small = 0;
    const kern_option options[] = {
        {"--seed", &seed},   {"--frames", &nframes}, {"--mutants", &nmutants},
        {"--draw", &ndrawn}, {"--teams", &nfirst},   {"--small", &is_small},
        {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    printf("seed %" PRIu64 "\n", seed);
    runner r;
    runner_open(&r, device);
    zstd_batch *b = must_malloc(sizeof *b);
    memset(b, 0, sizeof *b);
    b->runner = &r;
    b->random = seed;
    b->ndrawn = ndrawn;
    b->nfirst = nfirst;
    if (!is_small) {
        add_written(b);
    }
    add_drawn(b, nframes);
    zstd_batch_run(b);
    uint64_t nstricter = b->nstricter;
    add_mutants(b, nmutants);
    zstd_batch_run(b);
    printf("%" PRIu64 " streams, %" PRIu64 " walked; of all runs %" PRIu64
           " gave libzstd's bytes, %" PRIu64 " were stricter; %" PRIu64 " failures\n",
           b->nchecked, b->nwalked, b->naccepted, b->nstricter, b->nfailures);
    bool is_good =
        b->nfailures == 0 && nstricter == 0 && b->nstricter <= b->naccepted / 10;
    free(b);
    runner_close(&r);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
