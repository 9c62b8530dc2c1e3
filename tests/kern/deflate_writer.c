/* Deflate streams, drawn. SPDX-License-Identifier: Apache-2.0
 *
 * Codes are drawn without regard to how often a symbol comes, so that long ones come
 * often; lengths of codes are written in all the ways there are. */
#include <stdlib.h>
#include <string.h>

#include "kern/deflate_case.h"
#include "kern/random.h"

/* What a symbol is written as. */
typedef struct code {
    uint8_t lengths[288];
    uint16_t bits[288]; /* the first lowest */
} code;

static uint32_t draw(uint64_t *random, uint64_t n) {
    return (uint32_t)random_below(random, n);
}

void deflate_write(deflate_writer *w, uint32_t value, uint32_t nbits) {
    if ((w->nbits + nbits) / 8 + 1 > w->capacity) {
        w->capacity = 2 * w->capacity + 64;
        uint8_t *more = must_malloc(w->capacity);
        memset(more, 0, w->capacity);
        if (w->bytes != NULL) {
            memcpy(more, w->bytes, (w->nbits + 7) / 8);
        }
        free(w->bytes);
        w->bytes = more;
    }
    for (uint32_t i = 0; i < nbits; i++, w->nbits++) {
        w->bytes[w->nbits / 8] |= (uint8_t)((value >> i & 1) << (w->nbits % 8));
    }
}

uint32_t deflate_writer_nbytes(const deflate_writer *w) {
    return (uint32_t)((w->nbits + 7) / 8);
}

static void number_codes(code *c, uint32_t n) {
    uint32_t next = 0;
    for (uint32_t l = 1; l < 16; l++, next <<= 1) {
        for (uint32_t i = 0; i < n; i++) {
            if (c->lengths[i] == l) {
                uint32_t bits = 0;
                for (uint32_t k = 0; k < l; k++) {
                    bits |= (next >> k & 1) << (l - 1 - k);
                }
                c->bits[i] = (uint16_t)bits;
                next++;
            }
        }
    }
}

/* A complete code of the wanted symbols (or one of one bit, for one symbol), by splitting
 * leaves of a tree: any of them, or always one of the deepest. */
static void draw_code(code *c, const bool *wanted, uint32_t n, uint32_t deepest,
                      uint64_t *random) {
    uint8_t depths[288] = {0};
    uint32_t nwanted = 0, nleaves = 1;
    bool is_skewed = draw(random, 3) == 0;
    for (uint32_t i = 0; i < n; i++) {
        nwanted += wanted[i];
    }
    depths[0] = nwanted == 1;
    while (nleaves < nwanted) {
        uint32_t leaf = is_skewed ? nleaves - 1 : draw(random, nleaves);
        while (depths[leaf] >= deepest) {
            leaf = draw(random, nleaves);
        }
        depths[nleaves++] = ++depths[leaf];
    }
    memset(c->lengths, 0, sizeof c->lengths);
    for (uint32_t i = 0; i < n; i++) {
        if (wanted[i]) {
            uint32_t leaf = draw(random, nleaves);
            c->lengths[i] = depths[leaf];
            depths[leaf] = depths[--nleaves];
        }
    }
    number_codes(c, n);
}

static void write_symbol(deflate_writer *w, const code *c, uint32_t symbol) {
    deflate_write(w, c->bits[symbol], c->lengths[symbol]);
}

/* Lengths as symbols of their own code, `extra` beside them: repeats where there are
 * some, mostly. */
static uint32_t plan_lengths(const uint8_t *lengths, uint32_t n, uint8_t *symbols,
                             uint8_t *extra, uint64_t *random) {
    uint32_t nplanned = 0;
    for (uint32_t i = 0; i < n; nplanned++) {
        uint32_t run = 1, most;
        while (i + run < n && lengths[i + run] == lengths[i]) {
            run++;
        }
        bool goes_on = i > 0 && lengths[i] == lengths[i - 1] && run >= 3;
        uint32_t kind = draw(random, 8);
        if (goes_on && (lengths[i] != 0 || kind < 3) && kind > 0) {
            symbols[nplanned] = 16;
            most = run < 6 ? run : 6;
        } else if (lengths[i] == 0 && run >= 3 && kind > 0) {
            symbols[nplanned] = run >= 11 && kind > 3 ? 18 : 17;
            most = symbols[nplanned] == 18 ? run < 138 ? run : 138 : run < 10 ? run : 10;
        } else {
            symbols[nplanned] = lengths[i];
            most = 1;
        }
        uint32_t least = symbols[nplanned] < 16 ? 1 : symbols[nplanned] < 18 ? 3 : 11;
        uint32_t repeats = kind == 1 ? least + draw(random, most - least + 1) : most;
        extra[nplanned] = (uint8_t)(repeats - least);
        i += repeats;
    }
    return nplanned;
}

static void write_description(deflate_writer *w, const code *literals, uint32_t nliterals,
                              const code *distances, uint32_t ndistances,
                              uint64_t *random) {
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[320], symbols[320], extra[320];
    bool wanted[19] = {false};
    code own;
    memcpy(lengths, literals->lengths, nliterals);
    memcpy(lengths + nliterals, distances->lengths, ndistances);
    uint32_t n = plan_lengths(lengths, nliterals + ndistances, symbols, extra, random);
    for (uint32_t i = 0; i < n; i++) {
        wanted[symbols[i]] = true;
    }
    for (uint32_t i = draw(random, 4) + 1; i > 0; i--) { /* never one symbol alone */
        wanted[draw(random, 19)] = true;
    }
    wanted[wanted[1] ? 2 : 1] = true;
    draw_code(&own, wanted, 19, 7, random);
    uint32_t nown = 19;
    while (nown > 4 && own.lengths[order[nown - 1]] == 0 && draw(random, 20) > 0) {
        nown--;
    }
    deflate_write(w, nliterals - 257, 5);
    deflate_write(w, ndistances - 1, 5);
    deflate_write(w, nown - 4, 4);
    for (uint32_t i = 0; i < nown; i++) {
        deflate_write(w, own.lengths[order[i]], 3);
    }
    for (uint32_t i = 0; i < n; i++) {
        write_symbol(w, &own, symbols[i]);
        deflate_write(w, extra[i],
                      symbols[i] < 16    ? 0
                      : symbols[i] == 16 ? 2
                      : symbols[i] == 17 ? 3
                                         : 7);
    }
}

/* The last of the wanted symbols, plus some. */
static uint32_t count_lengths(const code *c, uint32_t least, uint32_t most,
                              uint64_t *random) {
    uint32_t n = most;
    while (n > least && c->lengths[n - 1] == 0 && draw(random, 10) > 0) {
        n--;
    }
    return n;
}

static uint32_t least_length(uint32_t s) {
    return s == 28 ? 258 : s < 8 ? 3 + s : 3 + ((4 + s % 4) << (s / 4 - 1));
}
static uint32_t length_nextra(uint32_t s) {
    return s < 8 || s == 28 ? 0 : s / 4 - 1;
}
static uint32_t least_distance(uint32_t d) {
    return d < 4 ? 1 + d : 1 + ((2 + d % 2) << (d / 2 - 1));
}

/* Which symbols a block may use. */
static void draw_symbols(const deflate_shape *s, uint32_t made, bool *literals,
                         bool *distances, uint64_t *random) {
    memset(literals, 0, 288);
    memset(distances, 0, 32);
    literals[256] = true;
    for (uint32_t i = 0; i < s->nliterals; i++) {
        literals[draw(random, 256)] = true;
    }
    for (uint32_t i = 0; i < 29 && s->literal_percent < 100; i++) {
        literals[257 + i] = least_length(i) <= s->longest && draw(random, 4) > 0;
    }
    for (uint32_t i = 0; i < 30 && s->literal_percent < 100; i++) {
        distances[i] = least_distance(i) <= s->farthest && draw(random, 4) > 0;
    }
    literals[257] = literals[257] || s->literal_percent < 100;
    distances[0] = distances[0] || (s->literal_percent < 100 && made > 0);
}

static bool write_match(deflate_writer *w, const code *literals, const code *distances,
                        uint32_t length_symbol, uint32_t distance_symbol,
                        uint64_t *random) {
    uint32_t s = length_symbol - 257;
    uint32_t nextra = distance_symbol < 4 ? 0 : distance_symbol / 2 - 1;
    uint32_t far = draw(random, UINT64_C(1) << nextra);
    if (literals->lengths[length_symbol] == 0 ||
        distances->lengths[distance_symbol] == 0 ||
        least_distance(distance_symbol) + far > w->made) {
        return false;
    }
    uint32_t more = draw(random, UINT64_C(1) << length_nextra(s));
    write_symbol(w, literals, length_symbol);
    deflate_write(w, more, length_nextra(s));
    write_symbol(w, distances, distance_symbol);
    deflate_write(w, far, nextra);
    w->made += least_length(s) + more;
    return true;
}

static void write_symbols(deflate_writer *w, const deflate_shape *s, const code *literals,
                          const code *distances, uint64_t *random) {
    uint32_t nused = 0, used[256];
    for (uint32_t i = 0; i < 256; i++) {
        used[nused] = i;
        nused += literals->lengths[i] > 0;
    }
    for (uint32_t i = 0; i < s->nsymbols; i++) {
        bool is_match = draw(random, 100) >= s->literal_percent;
        for (uint32_t k = 0; k < 20 && is_match; k++) {
            if (write_match(w, literals, distances, 257 + draw(random, 29),
                            draw(random, 30), random)) {
                break;
            }
        }
        if (!is_match && nused > 0) {
            write_symbol(w, literals, used[draw(random, nused)]);
            w->made++;
        }
    }
    write_symbol(w, literals, 256);
}

static void write_stored(deflate_writer *w, uint32_t n, uint64_t *random) {
    deflate_write(w, draw(random, 128),
                  (uint32_t)((8 - w->nbits % 8) % 8)); /* any bits */
    deflate_write(w, n | (n ^ 0xFFFF) << 16, 32);
    for (uint32_t i = 0; i < n; i++) {
        deflate_write(w, draw(random, 256), 8);
    }
    w->made += n;
}

void deflate_write_block(deflate_writer *w, const deflate_shape *s, bool is_last,
                         uint64_t *random) {
    uint32_t kind = draw(random, 8);
    deflate_write(w, is_last, 1);
    deflate_write(w, kind < 2 ? kind : 2, 2);
    if (kind == 0) {
        write_stored(w, draw(random, draw(random, 4) == 0 ? 30000 : 100), random);
        return;
    }
    code literals, distances;
    bool wanted_literals[288], wanted_distances[32];
    if (kind == 1) {
        for (uint32_t i = 0; i < 288; i++) {
            literals.lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        }
        memset(distances.lengths, 5, 32);
        number_codes(&literals, 288);
        number_codes(&distances, 32);
    } else {
        draw_symbols(s, w->made, wanted_literals, wanted_distances, random);
        draw_code(&literals, wanted_literals, 286, 15, random);
        draw_code(&distances, wanted_distances, 30, 15, random);
        write_description(w, &literals, count_lengths(&literals, 257, 286, random),
                          &distances, count_lengths(&distances, 1, 30, random), random);
    }
    write_symbols(w, s, &literals, &distances, random);
}
