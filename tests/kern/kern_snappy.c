/* The Snappy kernels against a strict reference. SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_snappy simt|cuda [--seed N] [--mutants N] */
#include <inttypes.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/kernel_abi.h"
#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/device_run.h"
#include "kern/lz4_case.h"
#include "kern/random.h"

/* One element; 0 or a code. */
static uint32_t decode_element(const decode_case *c, uint32_t *at, uint32_t *made) {
    uint32_t p = *at, m = *made;
    uint32_t tag = c->src[p++], kind = tag & 3, nmore = kind == 3 ? 4 : kind, more = 0;
    uint64_t n = tag >> 2;
    if (kind == 0) {
        nmore = n < 60 ? 0 : (uint32_t)n - 59;
    }
    if (nmore > c->src_nbytes - p) {
        return HR_K_TRUNCATED;
    }
    for (uint32_t i = 0; i < nmore; i++) {
        more |= (uint32_t)c->src[p++] << (8 * i);
    }
    uint32_t offset = kind == 1 ? (tag >> 5) << 8 | more : more;
    n = kind == 0 ? (nmore == 0 ? n : more) + 1 : kind == 1 ? (n & 7) + 4 : n + 1;
    if (kind == 0 && n > c->src_nbytes - p) {
        return HR_K_TRUNCATED;
    }
    if (kind != 0 && (offset == 0 || offset > m)) {
        return HR_K_BAD_OFFSET;
    }
    if (n > c->dst_nbytes - m) {
        return HR_K_TOO_LONG;
    }
    for (uint64_t i = 0; i < n; i++, m++) {
        c->want[m] = kind == 0 ? c->src[p++] : c->want[m - offset];
    }
    *at = p;
    *made = m;
    return 0;
}

static void add(decode_batch *b, const uint8_t *src, uint32_t n, uint32_t dst_nbytes) {
    decode_case c = {.src = must_malloc(n),
                     .src_nbytes = n,
                     .dst_nbytes = dst_nbytes,
                     .want = must_malloc(dst_nbytes)};
    memcpy(c.src, src, n);
    memset(c.want, 0, dst_nbytes);
    uint32_t made = 0;
    while (c.where < n && c.code == 0) {
        c.code = decode_element(&c, &c.where, &made);
    }
    if (c.code == 0 && made < dst_nbytes) {
        c.code = HR_K_TOO_SHORT;
    } else if (c.code == 0) {
        c.where = 0;
    }
    decode_batch_add(b, &c);
}

/* libsnappy's stream without its size. */
static uint32_t compress(const uint8_t *raw, uint32_t nbytes, uint8_t **out) {
    size_t n = snappy_max_compressed_length(nbytes), skip = 1;
    *out = must_malloc(n);
    if (snappy_compress((const char *)raw, nbytes, (char *)*out, &n) != SNAPPY_OK) {
        exit(EXIT_FAILURE);
    }
    while (((*out)[skip - 1] & 128) != 0) {
        skip++;
    }
    memmove(*out, *out + skip, n - skip);
    return (uint32_t)(n - skip);
}

/* Elements of every kind, length and distance. */
static uint32_t draw(uint64_t *r, uint8_t *out, uint32_t nelements, uint32_t *made) {
    uint32_t n = 0, m = 0;
    uint64_t longest = 1 + random_below(r, 70), far = 1 + random_below(r, 100000);
    for (uint32_t k = 0; k < nelements; k++) {
        uint32_t kind = m == 0 ? 0 : (uint32_t)random_below(r, 4);
        uint32_t most = m < far ? m : (uint32_t)far;
        uint32_t offset = most == 0 ? 1 : 1 + (uint32_t)random_below(r, most);
        uint32_t length = 1 + (uint32_t)random_below(r, longest < 64 ? longest : 64);
        kind = kind == 1 && offset > 2047 ? 2 : kind == 2 && offset > 65535 ? 3 : kind;
        if (kind == 0) {
            length =
                1 + (uint32_t)random_below(r, random_below(r, 40) == 0 ? 3000 : longest);
            uint32_t nmore = (uint32_t)random_below(r, 20);
            nmore = nmore > 4 ? length <= 60 ? 0 : length <= 256 ? 1 : 2 : nmore;
            nmore = nmore == 0 && length > 60    ? 2
                    : nmore == 1 && length > 256 ? 2
                                                 : nmore;
            out[n++] = (uint8_t)((nmore == 0 ? length - 1 : 59 + nmore) << 2);
            for (uint32_t i = 0; i < nmore; i++) {
                out[n++] = (uint8_t)((length - 1) >> (8 * i));
            }
            for (uint32_t i = 0; i < length; i++) {
                out[n++] = (uint8_t)random_next(r);
            }
        } else {
            length = kind == 1 ? 4 + length % 8 : length;
            out[n++] = (uint8_t)(kind == 1 ? 1 | (length - 4) << 2 | (offset >> 8) << 5
                                           : kind | (length - 1) << 2);
            for (uint32_t i = 0; i < (kind == 3 ? 4 : kind); i++) {
                out[n++] = (uint8_t)(offset >> (8 * i));
            }
        }
        m += length;
    }
    *made = m;
    return n;
}

static void add_drawn(decode_batch *b, uint32_t nstreams) {
    uint8_t *out = must_malloc(600 * 3010);
    for (uint32_t i = 0; i < nstreams; i++) {
        uint32_t made,
            n = draw(&b->random, out, (uint32_t)random_below(&b->random, 600), &made);
        add(b, out, n, made);
    }
    free(out);
}

static void add_neighbours(decode_batch *b) {
    uint8_t out[16 * 3010];
    uint32_t made, n = draw(&b->random, out, 14, &made);
    n = n < 200 ? n : 200;
    for (uint32_t k = 0; k < n; k++) {
        add(b, out, k, made);
        for (uint32_t bit = 0; bit < 8; bit++) {
            out[k] ^= (uint8_t)(1U << bit);
            add(b, out, n, made);
            out[k] ^= (uint8_t)(1U << bit);
        }
    }
}

/* A length of 2^32, which must not become 0. */
static void add_endless(decode_batch *b) {
    static const uint8_t stream[] = {0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 3 << 2, 1, 2, 3, 4};
    add(b, stream, sizeof stream, 4);
    add(b, stream, 5, 0);
}

static void add_compressed(decode_batch *b, uint64_t nmutants) {
    for (uint64_t i = 0; i < 40 + nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        uint32_t nbytes = (uint32_t)random_below(r, i % 8 == 0 ? 80000 : 3000);
        uint8_t *raw = must_malloc(nbytes), *stream;
        lz4_fill((uint32_t)(i % LZ4_NKINDS), raw, nbytes, r);
        uint32_t n = compress(raw, nbytes, &stream);
        for (uint64_t k = i < 40 ? 0 : random_below(r, 5); k > 0 && n > 0; k--) {
            stream[random_below(r, n)] =
                (uint8_t)(random_below(r, 3) == 0 ? 255 : random_next(r));
            n -= random_below(r, 6) == 0;
        }
        add(b, stream, n, nbytes);
        free(raw);
        free(stream);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nmutants = 300;
    const kern_option options[] = {
        {"--seed", &seed}, {"--mutants", &nmutants}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    printf("seed %" PRIu64 "\n", seed);
    runner r;
    runner_open(&r, device);
    decode_batch *b = must_malloc(sizeof *b);
    memset(b, 0, sizeof *b);
    b->runner = &r;
    b->kernel = HR__KERNEL_SNAPPY;
    b->random = seed;
    add_drawn(b, 60);
    add_neighbours(b);
    add_endless(b);
    decode_batch_run(b);
    b->nteams = 2;
    add_compressed(b, nmutants);
    decode_batch_run(b);
    printf("%" PRIu64 " streams, %" PRIu64 " of them good; %" PRIu64 " failures\n",
           b->nchecked, b->naccepted, b->nfailures);
    int status = b->nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    free(b);
    runner_close(&r);
    return status;
}
