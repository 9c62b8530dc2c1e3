/* What Zstandard's parts are written with: bits, tables of states, Huffman trees. All are
 * drawn, in every shape that RFC 8878 allows. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ZSTD_CODES_H
#define HR_KERN_ZSTD_CODES_H

#include <stdbool.h>
#include <stdint.h>

/* Grows. Bits go behind the bytes, the lowest first; zstd_end_bits ends them. */
typedef struct zstd_bytes {
    uint8_t *at;
    uint32_t n, capacity, nbits;
    uint64_t bits;
} zstd_bytes;

void zstd_put(zstd_bytes *b, uint64_t value, uint32_t nbytes);
void zstd_put_all(zstd_bytes *b, const uint8_t *bytes, uint32_t n);
void zstd_put_bits(zstd_bytes *b, uint32_t value, uint32_t nbits);
void zstd_end_bits(zstd_bytes *b);

/* A number below n, which is not 0. */
uint32_t zstd_draw_below(uint64_t *random, uint64_t n);

#define ZSTD_MOST_SYMBOLS 64
#define ZSTD_MOST_STATES 512

/* A table of 2^log states, each of a symbol. */
typedef struct zstd_fse {
    uint32_t log;
    int16_t counts[ZSTD_MOST_SYMBOLS];  /* states of each; -1: less than one */
    uint16_t firsts[ZSTD_MOST_SYMBOLS]; /* of its states in the list */
    uint16_t states[ZSTD_MOST_STATES];
} zstd_fse;

/* From log and counts. */
void zstd_fse_make(zstd_fse *t);
/* Only of wanted symbols, no more than there are states. Those in the sample have most of
 * the states, if there is one. */
void zstd_fse_draw(zstd_fse *t, const bool wanted[ZSTD_MOST_SYMBOLS],
                   const uint8_t *sample, uint32_t nsample, uint64_t *random);
/* Its normalised counts. Returns a set of bits: 1 counts of less than one, 2 runs of
 * zeros that go on, 4 such runs in pieces, 8 one symbol alone. */
uint32_t zstd_fse_put(zstd_bytes *out, const zstd_fse *t, uint64_t *random);
uint32_t zstd_fse_any(const zstd_fse *t, uint32_t symbol, uint64_t *random);
/* The symbol's state that leads to the next one, by the bits that are written. */
uint32_t zstd_fse_step(zstd_bytes *out, const zstd_fse *t, uint32_t symbol,
                       uint32_t next);

#define ZSTD_MOST_DEPTH 11

typedef struct zstd_tree {
    uint32_t log, nsymbols;
    uint32_t last; /* of the symbols */
    uint8_t weights[256];
    uint16_t codes[256];
    uint8_t places[1 << ZSTD_MOST_DEPTH]; /* each symbol as often as it is likely */
} zstd_tree;

void zstd_tree_draw(zstd_tree *t, uint64_t *random);
/* Returns how the weights are written: 0 as they are, 1 or 2 in a code of 32 or 64
 * states; 3: there is no way. */
uint32_t zstd_tree_put(zstd_bytes *out, const zstd_tree *t, uint64_t *random);
/* A stream of n literals. */
void zstd_tree_put_stream(zstd_bytes *out, const zstd_tree *t, const uint8_t *literals,
                          uint32_t n);

#endif
