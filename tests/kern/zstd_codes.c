/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/zstd_codes.h"

#include <stdlib.h>
#include <string.h>

#include "kern/memory.h"
#include "kern/random.h"

uint32_t zstd_draw_below(uint64_t *random, uint64_t n) {
    return (uint32_t)random_below(random, n);
}

/* --- bytes and bits --- */

static void reserve(zstd_bytes *b, uint32_t n) {
    if (b->capacity - b->n < n) {
        b->capacity = 2 * (b->capacity + n);
        uint8_t *more = must_malloc(b->capacity);
        if (b->n > 0) {
            memcpy(more, b->at, b->n);
        }
        free(b->at);
        b->at = more;
    }
}

void zstd_put(zstd_bytes *b, uint64_t value, uint32_t nbytes) {
    reserve(b, nbytes);
    for (uint32_t i = 0; i < nbytes; i++) {
        b->at[b->n++] = (uint8_t)(value >> 8 * i);
    }
}

void zstd_put_all(zstd_bytes *b, const uint8_t *bytes, uint32_t n) {
    reserve(b, n);
    if (n > 0) {
        memcpy(b->at + b->n, bytes, n);
    }
    b->n += n;
}

void zstd_put_bits(zstd_bytes *b, uint32_t value, uint32_t nbits) {
    b->bits |= (uint64_t)value << b->nbits;
    b->nbits += nbits;
    zstd_put(b, b->bits, b->nbits / 8);
    b->bits >>= b->nbits / 8 * 8;
    b->nbits %= 8;
}

void zstd_end_bits(zstd_bytes *b) {
    zstd_put(b, b->bits, b->nbits > 0);
    b->bits = b->nbits = 0;
}

/* --- tables of states --- */

static uint32_t count_of(const zstd_fse *t, uint32_t symbol) {
    return t->counts[symbol] < 0 ? 1 : (uint32_t)t->counts[symbol];
}

/* Symbols below one take the last states, the others come by a step. */
void zstd_fse_make(zstd_fse *t) {
    const uint32_t size = 1U << t->log, step = size / 2 + size / 8 + 3;
    uint8_t symbols[ZSTD_MOST_STATES] = {0};
    uint32_t end = size, at = 0, n = 0;
    for (uint32_t s = 0; s < ZSTD_MOST_SYMBOLS; s++) {
        if (t->counts[s] < 0) {
            symbols[--end] = (uint8_t)s;
        }
    }
    for (uint32_t s = 0; s < ZSTD_MOST_SYMBOLS && size > 1; s++) {
        for (int i = 0; i < t->counts[s]; i++) {
            symbols[at] = (uint8_t)s;
            do {
                at = (at + step) % size;
            } while (at >= end);
        }
    }
    for (uint32_t s = 0; s < ZSTD_MOST_SYMBOLS; s++) {
        t->firsts[s] = (uint16_t)n;
        for (uint32_t i = 0; i < size && t->counts[s] != 0; i++) {
            if (symbols[i] == s || size == 1) {
                t->states[n++] = (uint16_t)i;
            }
        }
    }
}

void zstd_fse_draw(zstd_fse *t, const bool wanted[ZSTD_MOST_SYMBOLS],
                   const uint8_t *sample, uint32_t nsample, uint64_t *random) {
    const uint32_t percent = zstd_draw_below(random, 3) * 40;
    uint8_t symbols[ZSTD_MOST_SYMBOLS];
    uint32_t n = 0, left = 1U << t->log;
    for (uint32_t s = 0; s < ZSTD_MOST_SYMBOLS; s++) {
        bool is_less = zstd_draw_below(random, 100) < percent;
        t->counts[s] = (int16_t)(!wanted[s] ? 0 : is_less ? -1 : 1);
        symbols[n] = (uint8_t)s;
        n += wanted[s];
    }
    left -= n;
    while (left > 0) {
        const uint32_t s = nsample > 0 ? sample[zstd_draw_below(random, nsample)]
                                       : symbols[zstd_draw_below(random, n)];
        uint32_t more = nsample > 0 ? 1 : 1 + zstd_draw_below(random, left);
        t->counts[s] = (int16_t)(count_of(t, s) + more);
        left -= more;
    }
    zstd_fse_make(t);
}

/* A number from 0 to most: those below the gap to the next power of two take a bit less.
 */
static void put_number(zstd_bytes *out, uint32_t value, uint32_t most) {
    uint32_t width = 1;
    while (most >> width != 0) {
        width++;
    }
    const uint32_t nshort = (1U << width) - 1 - most, half = 1U << (width - 1);
    zstd_put_bits(out, value < half ? value : value + nshort,
                  value < nshort ? width - 1 : width);
}

uint32_t zstd_fse_put(zstd_bytes *out, const zstd_fse *t, uint64_t *random) {
    uint32_t said = 0, left = 1U << t->log;
    zstd_put_bits(out, t->log - 5, 4);
    for (uint32_t s = 0; left > 0;) {
        const int count = t->counts[s];
        put_number(out, (uint32_t)(count + 1), left + 1);
        said |= (count < 0 ? 1U : 0U) | (count == 1 << t->log ? 8U : 0U);
        left -= count_of(t, s++);
        if (count != 0) {
            continue;
        }
        uint32_t run = 0;
        while (t->counts[s + run] == 0) {
            run++;
        }
        if (run > 0 && zstd_draw_below(random, 4) == 0) { /* what follows comes anew */
            run = zstd_draw_below(random, run);
            said |= 4;
        }
        said |= run >= 3 ? 2U : 0U;
        s += run;
        for (; run >= 3; run -= 3) {
            zstd_put_bits(out, 3, 2);
        }
        zstd_put_bits(out, run, 2);
    }
    if (out->nbits > 0 && zstd_draw_below(random, 2) == 0) { /* of no meaning */
        zstd_put_bits(out, 255U >> out->nbits, 8 - out->nbits);
    }
    zstd_end_bits(out);
    return said;
}

uint32_t zstd_fse_any(const zstd_fse *t, uint32_t symbol, uint64_t *random) {
    return t->states[t->firsts[symbol] + zstd_draw_below(random, count_of(t, symbol))];
}

uint32_t zstd_fse_step(zstd_bytes *out, const zstd_fse *t, uint32_t symbol,
                       uint32_t next) {
    const uint32_t count = count_of(t, symbol), from = next + (1U << t->log);
    uint32_t nbits = 0;
    while (from >> nbits >= 2 * count) {
        nbits++;
    }
    zstd_put_bits(out, from & ((1U << nbits) - 1), nbits);
    return t->states[t->firsts[symbol] + (from >> nbits) - count];
}

/* --- Huffman trees --- */

/* Leaves by splitting those that there are: any of them, or always one of the deepest. */
static void draw_depths(uint8_t *depths, uint32_t n, uint64_t *random) {
    uint32_t deepest = 1, nleaves = 1;
    while (1U << deepest < n) {
        deepest++;
    }
    deepest += zstd_draw_below(random, ZSTD_MOST_DEPTH + 1 - deepest);
    const bool is_skewed = zstd_draw_below(random, 3) == 0;
    depths[0] = 0;
    while (nleaves < n) {
        uint32_t leaf = is_skewed ? nleaves - 1 : zstd_draw_below(random, nleaves);
        while (depths[leaf] >= deepest) {
            leaf = zstd_draw_below(random, nleaves);
        }
        depths[nleaves++] = ++depths[leaf];
    }
}

/* Codes go by weight, then by symbol. */
static void number_codes(zstd_tree *t) {
    uint32_t place = 0;
    for (uint32_t w = 1; w <= t->log; w++) {
        for (uint32_t s = 0; s < 256; s++) {
            if (t->weights[s] == w) {
                t->codes[s] = (uint16_t)(place >> (w - 1));
                memset(t->places + place, (int)s, (size_t)1 << (w - 1));
                place += 1U << (w - 1);
            }
        }
    }
}

void zstd_tree_draw(zstd_tree *t, uint64_t *random) {
    static const uint32_t most[] = {2, 3, 16, 100, 256};
    uint32_t n = 2 + zstd_draw_below(random, most[zstd_draw_below(random, 5)] - 1);
    n = zstd_draw_below(random, 8) == 0 ? 256 : n;
    const uint32_t end = n + zstd_draw_below(random, 257 - n); /* of the symbols */
    uint8_t depths[256];
    draw_depths(depths, n, random);
    *t = (zstd_tree){.nsymbols = n};
    for (uint32_t i = 0; i < n; i++) {
        t->log = depths[i] > t->log ? depths[i] : t->log;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s;
        do {
            s = zstd_draw_below(random, end);
        } while (t->weights[s] != 0);
        t->weights[s] = (uint8_t)(t->log + 1 - depths[i]);
        t->last = s > t->last ? s : t->last;
    }
    number_codes(t);
}

/* Two states take turns. The decoder ends where bits lack for the next state of the last
 * but one, so that one must need some. */
static void put_states(zstd_bytes *out, const zstd_fse *code, const uint8_t *weights,
                       uint32_t n, uint64_t *random) {
    uint32_t states[2];
    states[(n - 1) % 2] = zstd_fse_any(code, weights[n - 1], random);
    states[n % 2] = code->states[code->firsts[weights[n - 2]]];
    for (uint32_t i = n - 2; i-- > 0;) {
        states[i % 2] = zstd_fse_step(out, code, weights[i], states[i % 2]);
    }
    zstd_put_bits(out, states[1], code->log);
    zstd_put_bits(out, states[0], code->log);
    zstd_put_bits(out, 1, 1);
    zstd_end_bits(out);
}

/* How, as zstd_tree_put returns it; 0: it takes more bytes than can be. */
static uint32_t put_coded_weights(zstd_bytes *out, const zstd_tree *t, uint64_t *random) {
    const uint32_t n = t->last;
    bool wanted[ZSTD_MOST_SYMBOLS] = {false};
    for (uint32_t i = 0; i < n; i++) {
        wanted[t->weights[i]] = true;
    }
    for (uint32_t i = zstd_draw_below(random, 4); i > 0; i--) {
        wanted[zstd_draw_below(random, ZSTD_MOST_DEPTH + 1)] = true;
    }
    wanted[wanted[0] ? 1 : 0] = true; /* never one alone */
    zstd_fse code = {.log = 5 + zstd_draw_below(random, 2)};
    zstd_fse_draw(&code, wanted, t->weights, zstd_draw_below(random, 2) * n, random);
    zstd_bytes part = {0};
    (void)zstd_fse_put(&part, &code, random);
    put_states(&part, &code, t->weights, n, random);
    const bool fits = part.n < 128;
    if (fits) {
        zstd_put(out, part.n, 1);
        zstd_put_all(out, part.at, part.n);
    }
    free(part.at);
    return fits ? code.log - 4 : 0;
}

uint32_t zstd_tree_put(zstd_bytes *out, const zstd_tree *t, uint64_t *random) {
    const uint32_t n = t->last; /* whose weight is not written */
    const bool is_plain = n < 2 || (n <= 128 && zstd_draw_below(random, 3) == 0);
    uint32_t how = 0;
    for (uint32_t i = 0; i < 4 && how == 0 && !is_plain; i++) {
        how = put_coded_weights(out, t, random);
    }
    if (how > 0 || n > 128) {
        return how > 0 ? how : 3;
    }
    zstd_put(out, 127 + n, 1);
    for (uint32_t i = 0; i < n; i += 2) { /* half a byte may be left, of no meaning */
        const uint32_t low = i + 1 < n ? t->weights[i + 1] : zstd_draw_below(random, 16);
        zstd_put(out, (uint32_t)t->weights[i] << 4 | low, 1);
    }
    return 0;
}

void zstd_tree_put_stream(zstd_bytes *out, const zstd_tree *t, const uint8_t *literals,
                          uint32_t n) {
    while (n-- > 0) {
        const uint8_t s = literals[n];
        zstd_put_bits(out, t->codes[s], t->log + 1 - t->weights[s]);
    }
    zstd_put_bits(out, 1, 1);
    zstd_end_bits(out);
}
