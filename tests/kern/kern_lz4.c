/* The LZ4 kernels against a strict reference. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_lz4 simt|cuda [--seed N] [--mutants N] [--drawn N] [--teams N] [--draw N]
 * --teams N: of the teams only the first N; --draw N: of them N for every batch
 *
 * --drawn: N drawn streams instead of the made ones, for tools that slow down.
 * Bytes, status, and what lies around the output are compared: for every team with
 * streams that are made to meet every case, for some teams with mutants. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/device_run.h"
#include "kern/lz4_case.h"
#include "kern/random.h"

static void add(decode_batch *b, const uint8_t *src, uint32_t n, uint32_t dst_nbytes) {
    decode_case c = lz4_case_make(src, n, dst_nbytes);
    decode_batch_add(b, &c);
}

static void add_written(decode_batch *b, lz4_writer *w) {
    add(b, w->bytes, w->nbytes, w->produced);
    lz4_writer_free(w);
}

/* What liblz4 writes for data of many kinds and sizes. */
static void add_compressed(decode_batch *b) {
    static const uint32_t sizes[] = {0,    1,     2,     12,    13,    100,  127,
                                     128,  129,   1000,  4096,  5000,  6143, 6144,
                                     9999, 40000, 65536, 70001, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t kind = sizes[i] < 100000 ? 0 : 3; kind < LZ4_NKINDS; kind++) {
            uint8_t *raw = must_malloc(sizes[i]), *stream = NULL;
            lz4_fill(kind, raw, sizes[i], &b->random);
            uint32_t n = lz4_compress(raw, sizes[i], i % 2 == 0 ? 0 : 9, &stream);
            add(b, stream, n, sizes[i]);
            free(raw);
            free(stream);
        }
    }
}

/* Every length of run where its encoding or its treatment changes. */
static void add_lengths(decode_batch *b) {
    static const uint32_t lengths[] = {
        0,    1,    4,    5,    14,   15,   16,   17,   18,   19,   20,    33,   127,
        128,  129,  268,  269,  270,  271,  273,  274,  275,  523,  524,   525,  779,
        1022, 1023, 1024, 1025, 1039, 2047, 2048, 2049, 6000, 6200, 20000, 70000};
    const size_t n = sizeof lengths / sizeof *lengths;
    for (size_t i = 0; i < n; i++) {
        lz4_writer w = {0};
        lz4_write_sequence(&w, 7, 3, 9, &b->random);
        lz4_write_sequence(&w, lengths[i], 1, 5, &b->random);
        lz4_write_sequence(&w, 2, 6, lengths[i] + 4, &b->random);
        lz4_write_sequence(&w, lengths[n - 1 - i], 12, lengths[i] + 4, &b->random);
        lz4_write_sequence(&w, lengths[i], 0, 0, &b->random);
        add_written(b, &w);
    }
}

/* Matches that overlap themselves by every distance, short and long. */
static void add_overlaps(decode_batch *b) {
    for (uint32_t offset = 1; offset <= 70; offset++) {
        lz4_writer w = {0};
        lz4_write_sequence(&w, offset, offset, 4 + offset * 3, &b->random);
        for (uint32_t k = 0; k < 8; k++) {
            lz4_write_sequence(&w, k % 3, offset, 4 + k * offset + k, &b->random);
        }
        lz4_write_sequence(&w, 1, offset, 700, &b->random);
        lz4_write_sequence(&w, 0, offset, 3000 + offset, &b->random);
        lz4_write_sequence(&w, offset % 5, 0, 0, &b->random);
        add_written(b, &w);
    }
}

/* Long sequences, fewer and fewer short ones between them, then more and more; cut off
 * and damaged among them, too. */
static void add_long(decode_batch *b) {
    for (uint32_t offset = 1; offset < 5000; offset = offset * 11 + 1) {
        lz4_writer w = {0};
        lz4_write_sequence(&w, offset, offset, 4, &b->random);
        for (uint32_t k = 0; k < 40; k++) {
            uint32_t gap = k < 20 ? 20 - k : k - 20;
            for (uint32_t i = 0; i < gap; i++) {
                lz4_write_sequence(&w, (i + k) % 4, 1 + (i * 7 + k) % offset, 4 + i * 5,
                                   &b->random);
            }
            lz4_write_sequence(&w, k % 7 == 0 ? 2500 : k % 2, offset, 2100 + 30 * k,
                               &b->random);
        }
        lz4_write_sequence(&w, 5, 0, 0, &b->random);
        uint32_t n = (uint32_t)random_below(&b->random, w.nbytes);
        add(b, w.bytes, n, w.produced);
        uint8_t kept = w.bytes[n];
        w.bytes[n] = (uint8_t)random_next(&b->random);
        add(b, w.bytes, w.nbytes, w.produced);
        w.bytes[n] = kept;
        add_written(b, &w);
    }
}

/* As many parts as can be in as few bytes: more than a tile has room for. */
static void add_dense(decode_batch *b) {
    for (uint32_t offset = 1; offset <= 6; offset++) {
        lz4_writer w = {0};
        lz4_write_sequence(&w, 6, offset, 4, &b->random);
        for (uint32_t k = 0; k < (offset == 2 ? 4000U : 700U); k++) {
            lz4_write_sequence(&w, offset % 2, offset < 5 ? offset : 5 + k % 7,
                               offset == 5 ? 4 : 18, &b->random);
        }
        lz4_write_sequence(&w, 5, 0, 0, &b->random);
        add_written(b, &w);
    }
}

/* Sequences of one length after another, so that the true chain enters segments and
 * regions of them at every place. */
static void add_strides(decode_batch *b) {
    for (uint32_t nliterals = 30; nliterals <= 45; nliterals += 3) {
        lz4_writer w = {0};
        while (w.nbytes < 22000) {
            lz4_write_sequence(&w, nliterals, 7, 5 + nliterals % 4, &b->random);
        }
        lz4_write_sequence(&w, 5, 0, 0, &b->random);
        add_written(b, &w);
    }
}

/* Sequences of drawn shape: offsets up to 65535 and as far back as there is output. */
static void add_drawn(decode_batch *b, uint32_t nstreams) {
    for (uint32_t i = 0; i < nstreams; i++) {
        lz4_writer w = {0};
        uint64_t *r = &b->random;
        uint32_t nsequences = (uint32_t)random_below(r, 400);
        uint64_t longest = 1 + random_below(r, 30), far = 1 + random_below(r, 65535);
        lz4_write_sequence(&w, 1 + (uint32_t)random_below(r, 300), 1, 4, r);
        for (uint32_t k = 0; k < nsequences; k++) {
            uint64_t most = w.produced < far ? w.produced : far;
            uint32_t nliterals =
                (uint32_t)random_below(r, random_below(r, 90) == 0 ? 3000 : longest);
            uint32_t nmatch =
                4 + (uint32_t)random_below(r, random_below(r, 90) == 0 ? 5000 : longest);
            uint32_t offset =
                (uint32_t)(random_below(r, 8) == 0 ? most : 1 + random_below(r, most));
            lz4_write_sequence(&w, nliterals, offset, nmatch, r);
        }
        lz4_write_sequence(&w, (uint32_t)random_below(r, longest), 0, 0, r);
        add_written(b, &w);
    }
}

/* The smallest streams, and wrong ones that a drawn change may never make. */
static void add_small(decode_batch *b) {
    static const uint8_t empty[1] = {0x00}, lone[] = {0x10, 'x'};
    static const uint8_t no_last[] = {0x14, 'x', 1, 0};
    static const uint8_t zero_offset[] = {0x14, 'x', 0, 0, 0x10, 'y'};
    static const uint8_t before[] = {0x14, 'x', 2, 0, 0x10, 'y'};
    static const uint8_t half[] = {0x14, 'x', 1};
    static const uint8_t endless[] = {0xF0, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                      255,  255, 255, 255, 255, 255, 255, 255, 255, 255};
    add(b, empty, 0, 0);
    add(b, empty, 0, 5);
    add(b, empty, 1, 0);
    add(b, empty, 1, 1);
    for (uint32_t n = 0; n < 3; n++) {
        add(b, lone, sizeof lone, n);
    }
    for (uint32_t i = 0; i < 64; i++) { /* wherever memory has its bounds */
        add(b, no_last, sizeof no_last, 9);
    }
    add(b, zero_offset, sizeof zero_offset, 10);
    add(b, before, sizeof before, 10);
    add(b, half, sizeof half, 9);
    add(b, endless, sizeof endless, 10000);
}

/* A good stream of about `nbytes`. */
static uint32_t make_good(decode_batch *b, uint32_t nbytes, uint8_t **stream) {
    uint8_t *raw = must_malloc(nbytes);
    lz4_fill((uint32_t)random_below(&b->random, LZ4_NKINDS), raw, nbytes, &b->random);
    uint32_t n = lz4_compress(raw, nbytes, 0, stream);
    free(raw);
    return n;
}

/* All truncations and changes of one byte of a small stream, and sizes around the right
 * one. */
static void add_neighbours(decode_batch *b) {
    lz4_writer w = {0};
    lz4_write_sequence(&w, 3, 2, 8, &b->random);
    lz4_write_sequence(&w, 17, 20, 19, &b->random);
    lz4_write_sequence(&w, 0, 1, 290, &b->random);
    lz4_write_sequence(&w, 5, 0, 0, &b->random);
    for (uint32_t n = 0; n < w.nbytes; n++) {
        add(b, w.bytes, n, w.produced);
    }
    for (uint32_t i = 0; i < w.nbytes; i++) {
        const uint8_t right = w.bytes[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            w.bytes[i] = right ^ (uint8_t)(1U << bit);
            add(b, w.bytes, w.nbytes, w.produced);
        }
        w.bytes[i] = 255;
        add(b, w.bytes, w.nbytes, w.produced);
        w.bytes[i] = 0;
        add(b, w.bytes, w.nbytes, w.produced);
        w.bytes[i] = right;
    }
    for (uint32_t n = w.produced - 20; n <= w.produced + 20; n++) {
        add(b, w.bytes, w.nbytes, n);
    }
    lz4_writer_free(&w);
}

static void mutate(uint8_t *stream, uint32_t *n, uint32_t capacity, uint64_t *random) {
    uint32_t at = *n == 0 ? 0 : (uint32_t)random_below(random, *n);
    switch (random_below(random, 6)) {
    case 0:
        stream[at] ^= (uint8_t)(1U << random_below(random, 8));
        break;
    case 1:
        stream[at] = (uint8_t)random_next(random);
        break;
    case 2:
        stream[at] = 255;
        break;
    case 3:
        stream[at] = 0;
        break;
    case 4:
        *n = at + 1;
        break;
    default:
        if (*n < capacity) {
            memmove(stream + at + 1, stream + at, *n - at);
            (*n)++;
        }
        break;
    }
}

static void add_mutants(decode_batch *b, uint64_t nmutants) {
    for (uint64_t i = 0; i < nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        uint32_t nbytes = 64 + (uint32_t)random_below(r, i % 16 == 0 ? 30000 : 3000);
        uint8_t *good = NULL;
        uint32_t n = make_good(b, nbytes, &good), capacity = n + 8;
        uint8_t *stream = must_malloc(capacity);
        memcpy(stream, good, n);
        for (uint64_t k = random_below(r, 5); k > 0; k--) {
            mutate(stream, &n, capacity, r);
        }
        if (random_below(r, 8) == 0) {
            nbytes += (uint32_t)random_below(r, 41) - 20;
        }
        add(b, stream, n, nbytes);
        free(good);
        free(stream);
    }
}

static void add_made(decode_batch *b) {
    add_small(b);
    add_lengths(b);
    add_overlaps(b);
    add_long(b);
    add_dense(b);
    add_strides(b);
    add_drawn(b, 60);
    add_neighbours(b);
    add_compressed(b);
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nmutants = 2000, ndrawn = 0, nteams = 0,
             ndraw = 0;
    const kern_option options[] = {{"--seed", &seed},    {"--mutants", &nmutants},
                                   {"--drawn", &ndrawn}, {"--teams", &nteams},
                                   {"--draw", &ndraw},   {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    decode_batch *b = decode_batch_open(device, HR__KERNEL_LZ4, seed);
    b->first = (uint32_t)nteams;
    b->nteams = (uint32_t)ndraw;
    if (ndrawn > 0) {
        add_small(b);
        add_drawn(b, (uint32_t)ndrawn);
    } else {
        add_made(b);
    }
    decode_batch_run(b);
    b->nteams = 2;
    add_mutants(b, nmutants);
    decode_batch_run(b);
    return decode_batch_close(b);
}
