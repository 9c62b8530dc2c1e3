/* The LZW kernels against a reference, and that against the host's codec.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_lzw simt|cuda [--seed N] [--mutants N] [--draw N] [--teams N] [--small 1]
 * --draw N: N of the teams for every batch, not all; --teams N: only the first N;
 * --small 1: few streams, for tools that slow down */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/codecs.h"
#include "cuda/kernel_abi.h"
#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/encode.h"
#include "kern/lz4_case.h"
#include "kern/lzw_case.h"
#include "kern/random.h"

enum { CLEAR = 256, END = 257, FIRST = 258 };

/* Does the host take what the reference takes, and make the same of it? */
static void compare_with_host(decode_batch *b, const decode_case *c) {
    uint8_t *made = must_malloc((uint64_t)c->dst_nbytes + 1);
    hr_error err = HR_ERROR_INIT;
    hr__decode d = {.src = c->src,
                    .src_nbytes = c->src_nbytes,
                    .dst = made,
                    .dst_nbytes = c->dst_nbytes};
    bool is_good = hr__codec_tiff_lzw.decode(NULL, &d, &err) == HR_OK;
    bool is_whole = is_good && d.out_nbytes == c->dst_nbytes;
    bool is_same = is_good == (c->code != HR_K_NO_STRING) && is_whole == (c->code == 0) &&
                   (!is_whole || memcmp(made, c->want, c->dst_nbytes) == 0);
    free(made);
    if (!is_same) {
        printf("FAILED: of %u bytes the reference says %u, the host takes %d\n",
               c->src_nbytes, c->code, is_whole);
        b->nfailures++;
    }
}

static void add(decode_batch *b, const uint8_t *src, uint32_t n, uint32_t dst_nbytes) {
    decode_case c = lzw_case_make(src, n, dst_nbytes);
    compare_with_host(b, &c);
    decode_batch_add(b, &c);
}

/* Whole, into less and into more than it makes, cut off, and with something behind. */
static void add_variants(decode_batch *b, lzw_stream *s) {
    uint32_t n = lzw_stream_nbytes(s), made = (uint32_t)s->nmade;
    add(b, s->bytes, n, made);
    add(b, s->bytes, n, (uint32_t)random_below(&b->random, (uint64_t)made + 1));
    add(b, s->bytes, n, made + 1 + (uint32_t)random_below(&b->random, 9));
    add(b, s->bytes, (uint32_t)random_below(&b->random, (uint64_t)n + 1), made);
    for (int i = 0; i < 40; i++) {
        lzw_put(s, (uint32_t)random_below(&b->random, 256));
    }
    add(b, s->bytes, lzw_stream_nbytes(s), made);
}

/* Codes as no encoder chooses them: strings of strings, Clears anywhere or never, full
 * tables, with and without Clear at the beginning and End. Not many make many bytes. */
static void add_drawn(decode_batch *b, uint32_t ncodes, uint64_t most) {
    uint64_t *r = &b->random;
    lzw_stream s;
    lzw_stream_open(&s, random_below(r, 2));
    const uint64_t nliterals = 1 + random_below(r, 16), nnew = random_below(r, 3);
    const uint64_t clear_in = random_below(r, 2) ? 100000 : 2 + random_below(r, 3000);
    if (random_below(r, 4) || s.is_old) {
        lzw_put(&s, CLEAR);
    }
    for (uint32_t i = 0; i < ncodes && s.nmade < most; i++) {
        lzw_put(&s, random_below(r, clear_in) == 0 ? (uint32_t)CLEAR
                                                   : lzw_draw(&s, r, nliterals, nnew));
    }
    if (random_below(r, 2)) {
        lzw_put(&s, END);
    }
    add_variants(b, &s);
    lzw_stream_close(&s);
}

/* One byte over and over: each string one byte longer than the last. */
static void add_growing(decode_batch *b, uint32_t ncodes, bool is_old) {
    lzw_stream s;
    lzw_stream_open(&s, is_old);
    lzw_put(&s, CLEAR);
    lzw_put(&s, 7);
    for (uint32_t i = 1; i < ncodes; i++) {
        lzw_put(&s, FIRST + (i < 3838 ? i : 3838) - 1);
    }
    add_variants(b, &s);
    lzw_stream_close(&s);
}

/* Around each width and the full table, a code that is not made yet, and the last one
 * that is. */
static void add_edges(decode_batch *b) {
    static const uint32_t places[] = {0,   1,   2,    252,  253,  254,  255,  256,  765,
                                      766, 767, 1789, 1790, 1791, 3836, 3837, 3838, 4000};
    for (size_t i = 0; i < 4 * (sizeof places / sizeof *places); i++) {
        const uint32_t n = places[i / 4];
        lzw_stream s;
        lzw_stream_open(&s, i / 2 % 2);
        if (s.is_old || random_below(&b->random, 2)) {
            lzw_put(&s, CLEAR);
        }
        for (uint32_t k = 0; k < n; k++) {
            lzw_put(&s, lzw_draw(&s, &b->random, 15, 0));
        }
        uint32_t most = n < 3838 ? n : 3838; /* strings that there are */
        uint32_t code = FIRST + most + i % 2;
        if (code < 4096 && i % 2 == 0 && n > 0) {
            code--;
        }
        if (code < 4096) {
            s.lengths[code - FIRST] = 0; /* it may be none */
            lzw_put(&s, code);
        }
        lzw_put(&s, 1);
        uint32_t made = (uint32_t)s.nmade;
        add(b, s.bytes, lzw_stream_nbytes(&s), made);
        add(b, s.bytes, lzw_stream_nbytes(&s), made > 2 ? made - 2 : 0);
        lzw_stream_close(&s);
    }
}

/* Clears alone, End alone, nothing at all. */
static void add_empty(decode_batch *b) {
    for (uint32_t n = 0; n < 12; n++) {
        lzw_stream s;
        lzw_stream_open(&s, false);
        for (uint32_t i = 0; i < n * n; i++) {
            lzw_put(&s, CLEAR);
        }
        if (n % 2 == 1) {
            lzw_put(&s, n % 4 == 1 ? (uint32_t)END : 65);
        }
        add(b, s.bytes, lzw_stream_nbytes(&s), 0);
        add(b, s.bytes, lzw_stream_nbytes(&s), 1);
        add(b, s.bytes, lzw_stream_nbytes(&s), 5);
        lzw_stream_close(&s);
    }
}

/* First good streams, then mutants of such. */
static void add_compressed(decode_batch *b, uint64_t ngood, uint64_t nmutants) {
    for (uint64_t i = 0; i < ngood + nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        uint32_t nbytes = (uint32_t)random_below(r, i % 8 == 0 ? 80000 : 3000);
        uint32_t bound = 2 * nbytes + 64;
        uint8_t *raw = must_malloc(nbytes), *stream = must_malloc(bound);
        lz4_fill((uint32_t)(i % LZ4_NKINDS), raw, nbytes, r);
        uint32_t n = encode_lzw(raw, nbytes, stream, bound);
        for (uint64_t k = i < ngood ? 0 : random_below(r, 5); k > 0 && n > 0; k--) {
            stream[random_below(r, n)] = (uint8_t)random_next(r);
            n -= random_below(r, 6) == 0;
        }
        add(b, stream, n, nbytes);
        free(raw);
        free(stream);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nmutants = 300, nteams = 0, ndraw = 0,
             is_small = 0;
    const kern_option options[] = {{"--seed", &seed},      {"--mutants", &nmutants},
                                   {"--teams", &nteams},   {"--draw", &ndraw},
                                   {"--small", &is_small}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    decode_batch *b = decode_batch_open(device, HR__KERNEL_LZW, seed);
    b->first = (uint32_t)nteams;
    b->nteams = (uint32_t)ndraw;
    add_empty(b);
    for (uint32_t i = 0; i < (is_small ? 2 : 30); i++) {
        const bool is_long = i % 5 == 0; /* more codes than the table has */
        add_drawn(b, (uint32_t)random_below(&b->random, is_long ? 12000 : 1500),
                  is_long ? 60000 : 15000);
    }
    add_growing(b, is_small ? 40 : 300, false);
    if (!is_small) {
        add_growing(b, 900, true);
        add_edges(b);
    }
    decode_batch_run(b);
    b->nteams = ndraw == 0 || ndraw > 2 ? 2 : (uint32_t)ndraw;
    add_compressed(b, is_small ? 8 : 40, nmutants);
    decode_batch_run(b);
    return decode_batch_close(b);
}
