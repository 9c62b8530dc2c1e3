/* Kernels of a codec whose streams are rows of elements, against a strict reference.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_snappy|kern_blosclz simt|cuda [--seed N] [--mutants N] [--teams N]
 *                                  [--draw N] [--small 1]
 * --teams N: of the teams only the first N; --draw N: of them N for every batch, not all
 * --small 1: few streams, for tools that slow down */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/kernel_abi.h"
#include "kern/args.h"
#include "kern/decode_batch.h"
#include "kern/device_run.h"
#include "kern/elements.h"
#include "kern/lz4_case.h"
#include "kern/random.h"

static void add(decode_batch *b, const uint8_t *src, uint32_t n, uint32_t dst_nbytes) {
    decode_case c = {.src = must_malloc(n),
                     .src_nbytes = n,
                     .dst_nbytes = dst_nbytes,
                     .want = must_malloc(dst_nbytes)};
    memcpy(c.src, src, n);
    memset(c.want, 0, dst_nbytes);
    uint32_t made = 0;
    c.code = elements.decode(&c, &c.where, &made);
    if (c.code == 0 && made < dst_nbytes) {
        c.code = HR_K_TOO_SHORT;
    } else if (c.code == 0) {
        c.where = 0;
    }
    decode_batch_add(b, &c);
}

static void add_drawn(decode_batch *b, uint32_t nstreams) {
    uint8_t *out = must_malloc(600 * ELEMENT_NBYTES);
    for (uint32_t i = 0; i < nstreams; i++) {
        uint32_t made, n = elements.draw(&b->random, out,
                                         (uint32_t)random_below(&b->random, 600), &made);
        add(b, out, n, made);
    }
    free(out);
}

static void add_neighbours(decode_batch *b) {
    uint8_t out[16 * ELEMENT_NBYTES];
    uint32_t made, n = elements.draw(&b->random, out, 14, &made);
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

/* First good streams, then mutants of such. */
static void add_compressed(decode_batch *b, uint64_t ngood, uint64_t nmutants) {
    for (uint64_t i = 0; i < ngood + nmutants && b->nfailures == 0; i++) {
        uint64_t *r = &b->random;
        uint32_t nbytes = (uint32_t)random_below(r, i % 8 == 0 ? 80000 : 3000);
        uint32_t bound = encode_bound(nbytes);
        uint8_t *raw = must_malloc(nbytes), *stream = must_malloc(bound);
        lz4_fill((uint32_t)(i % LZ4_NKINDS), raw, nbytes, r);
        uint32_t n = elements.compress(raw, nbytes, stream, bound);
        for (uint64_t k = i < ngood ? 0 : random_below(r, 5); k > 0 && n > 0; k--) {
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
    uint64_t seed = (uint64_t)time(NULL), nmutants = 300, nteams = 0, ndraw = 0,
             is_small = 0;
    const kern_option options[] = {{"--seed", &seed},      {"--mutants", &nmutants},
                                   {"--teams", &nteams},   {"--draw", &ndraw},
                                   {"--small", &is_small}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    decode_batch *b = decode_batch_open(device, elements.kernel, seed);
    b->first = (uint32_t)nteams;
    b->nteams = (uint32_t)ndraw;
    add_drawn(b, is_small ? 4 : 60);
    if (!is_small) {
        add_neighbours(b);
    }
    add(b, elements.known_bad, elements.known_bad_nbytes, 4);
    decode_batch_run(b);
    b->nteams = 2;
    add_compressed(b, is_small ? 8 : 40, nmutants);
    decode_batch_run(b);
    return decode_batch_close(b);
}
