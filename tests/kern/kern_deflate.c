/* The Deflate kernels against a strict reference, and that against zlib.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_deflate simt|cuda [--seed N] [--mutants N] [--draw N] [--teams N]
 *                               [--small 1]
 * --draw N: N of the teams for every batch, not all; --teams N: only the first N;
 * --small 1: few streams, for tools that slow down */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "cuda/kernel_abi.h"
#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/deflate_case.h"
#include "kern/lz4_case.h"
#include "kern/random.h"

static void must(int status, const char *what) {
    if (status != Z_OK) {
        printf("zlib: %s gives %d\n", what, status);
        exit(EXIT_FAILURE);
    }
}

/* Does zlib take what the reference takes, and make the same of it? */
static void compare_with_zlib(decode_batch *b, const decode_case *c) {
    uint8_t *made = must_malloc((uint64_t)c->dst_nbytes + 1);
    z_stream z = {.next_in = c->src,
                  .avail_in = c->src_nbytes,
                  .next_out = made,
                  .avail_out = c->dst_nbytes + 1};
    must(inflateInit2(&z, c->wrapper == HR_K_DEFLATE_RAW ? -15 : 15), "inflateInit2");
    bool is_good = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == c->dst_nbytes;
    bool is_same = is_good == (c->code == 0) &&
                   (!is_good || memcmp(made, c->want, c->dst_nbytes) == 0);
    must(inflateEnd(&z), "inflateEnd");
    free(made);
    if (!is_same) {
        printf("FAILED: of %u bytes the reference says %u, zlib takes %d\n",
               c->src_nbytes, c->code, is_good);
        b->nfailures++;
    }
}

static void add_wrapped(decode_batch *b, const uint8_t *src, uint32_t n,
                        uint32_t dst_nbytes, uint16_t wrapper) {
    decode_case c = deflate_case_make(src, n, dst_nbytes, wrapper);
    if (wrapper == HR_K_DEFLATE_RAW || wrapper == HR_K_DEFLATE_ZLIB) {
        compare_with_zlib(b, &c);
    }
    decode_batch_add(b, &c);
}

static void add(decode_batch *b, const uint8_t *src, uint32_t n, uint32_t dst_nbytes) {
    add_wrapped(b, src, n, dst_nbytes, HR_K_DEFLATE_RAW);
}

typedef struct settings {
    int level, window_bits, memory, strategy;
} settings;

/* zlib's stream; *out is the caller's to free. */
static uint32_t compress_raw(const uint8_t *raw, uint32_t nbytes, const settings *s,
                             uint8_t **out) {
    z_stream z = {0};
    must(deflateInit2(&z, s->level, Z_DEFLATED, -s->window_bits, s->memory, s->strategy),
         "deflateInit2");
    uint64_t bound = deflateBound(&z, nbytes) + nbytes / 4 + 100; /* it is not one */
    *out = must_malloc(bound);
    z.next_in = (Bytef *)(uintptr_t)raw;
    z.avail_in = nbytes;
    z.next_out = *out;
    z.avail_out = (uInt)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
        must(Z_BUF_ERROR, "deflate");
    }
    uint32_t n = (uint32_t)z.total_out;
    must(deflateEnd(&z), "deflateEnd");
    return n;
}

static void add_compressed(decode_batch *b, uint32_t kind, uint32_t nbytes,
                           const settings *s) {
    uint8_t *raw = must_malloc(nbytes), *stream;
    lz4_fill(kind, raw, nbytes, &b->random);
    uint32_t n = compress_raw(raw, nbytes, s, &stream);
    add(b, stream, n, nbytes);
    free(raw);
    free(stream);
}

/* Every level and strategy; sizes where something changes. */
static void add_settings(decode_batch *b) {
    static const uint32_t sizes[] = {0,   1,   2,    3,    31,   32,    100,   257,
                                     258, 259, 1000, 4000, 9999, 32768, 40000, 70001};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t kind = 0; kind < LZ4_NKINDS; kind++) {
            settings s = {.level = (int)((i + 3 * kind) % 10),
                          .window_bits = 15 - (int)(i % 7),
                          .memory = 9 - (int)(i % 9),
                          .strategy = (int)((i + kind) % 5)};
            add_compressed(b, kind, sizes[i], &s);
        }
    }
    for (int strategy = 0; strategy <= Z_FIXED; strategy++) {
        for (int level = 0; level <= 9; level++) {
            settings s = {level, 15, 8, strategy};
            add_compressed(b, (uint32_t)(level + strategy) % LZ4_NKINDS, 8000, &s);
        }
    }
}

static deflate_shape draw_shape(uint64_t *r) {
    static const uint32_t percents[] = {0, 5, 30, 50, 80, 97, 100};
    deflate_shape s = {.nsymbols = (uint32_t)random_below(r, 1000),
                       .literal_percent = percents[random_below(r, 7)],
                       .nliterals = 1 + (uint32_t)random_below(r, 300),
                       .longest = 3 + (uint32_t)random_below(r, 256),
                       .farthest = 1 + (uint32_t)random_below(r, 32768)};
    s.farthest = random_below(r, 3) == 0 ? 1 + s.farthest % 9 : s.farthest;
    return s;
}

/* Streams of a few drawn blocks. */
static deflate_writer draw_stream(uint64_t *r) {
    deflate_writer w = {0};
    for (uint64_t i = random_below(r, 6) + 1; i > 0; i--) {
        deflate_shape s = draw_shape(r);
        s.nsymbols = random_below(r, 8) == 0 ? 0 : s.nsymbols;
        deflate_write_block(&w, &s, i == 1, r);
    }
    return w;
}

static void add_drawn(decode_batch *b, uint32_t nstreams) {
    for (uint32_t i = 0; i < nstreams; i++) {
        deflate_writer w = draw_stream(&b->random);
        add(b, w.bytes, deflate_writer_nbytes(&w), w.made);
        free(w.bytes);
    }
}

/* All of one kind of symbol: runs whose code has a period, bytes whose codes have one
 * length, the shortest symbols and the longest. */
static void add_uniform(decode_batch *b) {
    static const deflate_shape shapes[] = {
        {.nsymbols = 2000,
         .literal_percent = 1,
         .nliterals = 1,
         .longest = 258,
         .farthest = 1},
        {.nsymbols = 9000, .literal_percent = 100, .nliterals = 1},
        {.nsymbols = 5000, .literal_percent = 100, .nliterals = 2000},
        {.nsymbols = 9000,
         .literal_percent = 1,
         .nliterals = 1,
         .longest = 3,
         .farthest = 2},
        {.nsymbols = 4000,
         .literal_percent = 2,
         .nliterals = 200,
         .longest = 258,
         .farthest = 32768},
    };
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        deflate_writer w = {0};
        deflate_write_block(&w, &shapes[i], false, &b->random);
        deflate_write_block(&w, &shapes[i], true, &b->random);
        add(b, w.bytes, deflate_writer_nbytes(&w), w.made);
        free(w.bytes);
    }
    uint8_t *raw = must_malloc(10000), *stream;
    const settings s = {6, 15, 9, Z_HUFFMAN_ONLY};
    for (uint32_t i = 0; i < 10000; i++) {
        raw[i] = (uint8_t)random_below(&b->random, 128);
    }
    uint32_t n = compress_raw(raw, 10000, &s, &stream);
    add(b, stream, n, 10000);
    free(raw);
    free(stream);
}

/* Rows of random bytes between others: codes of eight bits by the hundred, so that lanes
 * do not fall in step. */
static void add_noise(decode_batch *b) {
    enum { ROW = 512, NROWS = 160 };
    uint8_t *raw = must_malloc(NROWS * ROW);
    for (int level = 1; level <= 9; level += 4) {
        for (uint32_t i = 0; i < NROWS * ROW; i++) {
            uint64_t random = random_next(&b->random);
            uint32_t row = i / ROW;
            raw[i] = (uint8_t)(row % 4 == 0 ? random % 3 : row < 100 ? random >> 9 : row);
        }
        uint8_t *stream;
        const settings s = {level, 15, 9, level == 9 ? Z_HUFFMAN_ONLY : 0};
        uint32_t n = compress_raw(raw, NROWS * ROW, &s, &stream);
        add(b, stream, n, NROWS * ROW);
        stream[n / 2] ^= 4;
        add(b, stream, n, NROWS * ROW);
        free(stream);
    }
    free(raw);
}

/* A stream cut after every byte, with every bit wrong, and for every wrong size. */
static void add_neighbours(decode_batch *b) {
    deflate_writer w = {0};
    deflate_shape s = {.nsymbols = 40,
                       .literal_percent = 60,
                       .nliterals = 9,
                       .longest = 20,
                       .farthest = 30};
    deflate_write_block(&w, &s, false, &b->random);
    deflate_write_block(&w, &s, true, &b->random);
    uint32_t n = deflate_writer_nbytes(&w);
    for (uint32_t k = 0; k < n && k < 150; k++) {
        add(b, w.bytes, k, w.made);
        for (uint32_t bit = 0; bit < 8; bit++) {
            w.bytes[k] ^= (uint8_t)(1U << bit);
            add(b, w.bytes, n, w.made);
            w.bytes[k] ^= (uint8_t)(1U << bit);
        }
    }
    for (uint32_t k = 0; k < 6; k++) {
        add(b, w.bytes, n, w.made < 3 ? k : w.made - 3 + k);
    }
    free(w.bytes);
}

static void put_word(uint8_t *out, uint32_t word, bool low_first) {
    for (uint32_t i = 0; i < 4; i++) {
        out[i] = (uint8_t)(word >> 8 * (low_first ? i : 3 - i));
    }
}

/* A zlib stream, or a gzip member with drawn header fields, appended to `out`. */
static uint32_t wrap(uint8_t *out, uint16_t wrapper, const uint8_t *stream, uint32_t n,
                     const uint8_t *raw, uint32_t nbytes, uint64_t *r) {
    uint32_t at = 2;
    out[0] = 0x78;
    out[1] = 0x9C;
    if (wrapper == HR_K_DEFLATE_GZIP) {
        uint32_t flags = (uint32_t)random_below(r, 32);
        const uint8_t header[10] = {0x1F, 0x8B, 8, (uint8_t)flags};
        memcpy(out, header, 10);
        at = 10;
        if ((flags & 4) != 0) {
            uint32_t extra = (uint32_t)random_below(r, 300);
            out[at] = (uint8_t)extra;
            out[at + 1] = (uint8_t)(extra >> 8);
            memset(out + at + 2, 0, extra);
            at += 2 + extra;
        }
        for (uint32_t text = 8; text <= 16; text += 8) {
            uint32_t length =
                (uint32_t)random_below(r, random_below(r, 9) == 0 ? 3000 : 9);
            if ((flags & text) != 0) {
                memset(out + at, 'x', length);
                out[at + length] = 0;
                at += length + 1;
            }
        }
        at += (flags & 2) != 0 ? 2 : 0;
    }
    memcpy(out + at, stream, n);
    at += n;
    bool is_gzip = wrapper == HR_K_DEFLATE_GZIP;
    uint32_t checksum =
        (uint32_t)(is_gzip ? crc32(0, raw, nbytes) : adler32(1, raw, nbytes));
    put_word(out + at, checksum, is_gzip);
    put_word(out + at + 4, nbytes, true);
    return at + (is_gzip ? 8 : 4);
}

static uint32_t append(uint8_t *out, uint8_t *raw, uint32_t nbytes, uint16_t wrapper,
                       uint64_t *r) {
    uint8_t *stream;
    settings s = {(int)random_below(r, 10), 15, 8, (int)random_below(r, 5)};
    lz4_fill((uint32_t)random_below(r, LZ4_NKINDS), raw, nbytes, r);
    uint32_t n = compress_raw(raw, nbytes, &s, &stream);
    n = wrap(out, wrapper, stream, n, raw, nbytes, r);
    free(stream);
    return n;
}

#define MOST_RAW 40000

/* Streams in their wrappers, some wrong; gzip of a few members, with zeros behind. */
static void add_wrappers(decode_batch *b, uint32_t nstreams) {
    uint8_t *raw = must_malloc(MOST_RAW);
    uint8_t *out = must_malloc(4 * (2 * MOST_RAW + 8000));
    memset(out, 0, 4 * (2 * MOST_RAW + 8000));
    for (uint32_t i = 0; i < nstreams; i++) {
        uint64_t *r = &b->random;
        uint16_t wrapper = i % 2 == 0 ? HR_K_DEFLATE_ZLIB : HR_K_DEFLATE_GZIP;
        uint32_t nmembers = i % 2 == 0 ? 1 : 1 + (uint32_t)random_below(r, 3);
        uint32_t n = 0, made = 0;
        for (uint32_t k = 0; k < nmembers; k++) {
            uint32_t nbytes = (uint32_t)random_below(r, i % 8 < 2   ? MOST_RAW
                                                        : i % 8 < 4 ? 20
                                                                    : 600);
            n += append(out + n, raw, nbytes, wrapper, r);
            made += nbytes;
        }
        uint32_t behind = (uint32_t)random_below(r, 4) * 700;
        memset(out + n, 0, behind);
        n += i % 2 == 0 ? 0 : behind;
        wrapper |= random_below(r, 8) == 0 ? HR_K_DEFLATE_UNCHECKED : 0;
        add_wrapped(b, out, n, made, wrapper);
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t last = n < 30 ? n : 30;
            uint32_t at =
                (uint32_t)(k < 3 ? random_below(r, last) : n - 1 - random_below(r, last));
            uint8_t was = out[at];
            out[at] ^= (uint8_t)(1U << random_below(r, 8));
            add_wrapped(b, out, n, made, wrapper);
            out[at] = was;
            add_wrapped(b, out, at, made, wrapper);
        }
    }
    free(raw);
    free(out);
}

static void mutate(uint8_t *stream, uint32_t *n, uint64_t *r) {
    uint32_t at = (uint32_t)random_below(r, random_below(r, 3) == 0 && *n > 90 ? 90 : *n);
    switch (random_below(r, 4)) {
    case 0:
        stream[at] ^= (uint8_t)(1U << random_below(r, 8));
        break;
    case 1:
        stream[at] = (uint8_t)random_next(r);
        break;
    case 2:
        for (uint32_t k = at; k < *n && k < at + 20; k++) {
            stream[k] = (uint8_t)random_next(r);
        }
        break;
    default:
        *n = random_below(r, 3) == 0 ? at + 1 : *n;
        break;
    }
}

static void add_mutants(decode_batch *b, uint64_t nmutants) {
    for (uint64_t i = 0; i < nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        uint32_t nbytes = 1 + (uint32_t)random_below(r, i % 16 == 0 ? 30000 : 3000), n;
        uint8_t *raw = must_malloc(nbytes), *stream;
        if (i % 2 == 0) {
            settings s = {(int)random_below(r, 10), 15, 8, (int)random_below(r, 5)};
            lz4_fill((uint32_t)random_below(r, LZ4_NKINDS), raw, nbytes, r);
            n = compress_raw(raw, nbytes, &s, &stream);
        } else {
            deflate_writer w = draw_stream(r);
            stream = w.bytes;
            n = deflate_writer_nbytes(&w);
            nbytes = w.made;
        }
        for (uint64_t k = random_below(r, 4); k > 0; k--) {
            mutate(stream, &n, r);
        }
        nbytes += random_below(r, 12) == 0 ? 1 : 0;
        nbytes -= random_below(r, 12) == 0 && nbytes > 0 ? 1 : 0;
        add(b, stream, n, nbytes);
        free(raw);
        free(stream);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nmutants = 300, ndraw = 0, nteams = 0,
             is_small = 0;
    const kern_option options[] = {{"--seed", &seed},      {"--mutants", &nmutants},
                                   {"--draw", &ndraw},     {"--teams", &nteams},
                                   {"--small", &is_small}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    decode_batch *b = decode_batch_open(device, HR__KERNEL_DEFLATE, seed);
    b->nteams = (uint32_t)ndraw;
    b->first = (uint32_t)nteams;
    add_drawn(b, is_small ? 4 : 30);
    if (!is_small) {
        add_uniform(b);
        add_noise(b);
        decode_batch_run(b);
        b->nteams = 2;
        add_settings(b);
        add_neighbours(b);
    }
    add_wrappers(b, is_small ? 4 : 40);
    decode_batch_run(b);
    add_mutants(b, nmutants);
    decode_batch_run(b);
    return decode_batch_close(b);
}
