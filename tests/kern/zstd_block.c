/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/zstd_block.h"

#include <stdlib.h>
#include <string.h>

#include "kern/memory.h"
#include "kern/random.h"

enum { LENGTHS, OFFSETS, MATCHES };
enum { PREDEFINED, SINGLE, DESCRIBED, REPEATED };

typedef struct sequence {
    uint32_t nliterals, nmatch, offset;
    uint32_t codes[3], extras[3]; /* of literal lengths, offsets, match lengths */
} sequence;

/* What a block is drawn by. */
typedef struct plan {
    uint32_t nbytes;          /* that it makes, at most */
    uint32_t nsequences;      /* likewise */
    uint32_t longest[3];      /* value of a code, but of an offset's */
    bool has_short;           /* the least lengths have codes */
    uint32_t nliterals, made; /* by sequences */
    uint32_t n;               /* sequences so far */
    sequence *sequences;
} plan;

static const uint32_t nsymbols[] = {36, 32, 53};
static const uint32_t least_value[] = {0, 0, 3};
static const uint8_t extra_bits[3][53] = {
    [LENGTHS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  1,  1,
                 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    [MATCHES] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

static const zstd_fse predefined[3] = {
    {.log = 6, .counts = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                          2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}},
    {.log = 5, .counts = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                          1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}},
    {.log = 6, .counts = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}}};

void zstd_reach(zstd_memory *m, zstd_group group, uint32_t mode) {
    m->reached[group] |= UINT64_C(1) << mode;
}

/* --- tables --- */

static void describe_table(zstd_frame *f, int code, bool has_short, zstd_fse *t) {
    const uint32_t most_log = code == OFFSETS ? 8 : 9;
    t->log = 5 + zstd_draw_below(&f->random, most_log - 4);
    static const uint32_t percents[] = {4, 30, 70, 100};
    const uint32_t percent = percents[zstd_draw_below(&f->random, 4)];
    const uint32_t any = 1 + zstd_draw_below(&f->random, nsymbols[code]);
    const uint32_t end = zstd_draw_below(&f->random, 2) == 0 ? nsymbols[code] : any;
    bool wanted[ZSTD_MOST_SYMBOLS] = {false};
    uint32_t n = 0;
    for (uint32_t s = 0; s < end && n < 1U << t->log; s++) {
        wanted[s] = (s == 0 && has_short) || zstd_draw_below(&f->random, 100) < percent;
        n += wanted[s];
    }
    wanted[end - 1] = wanted[end - 1] || n == 0;
    zstd_fse_draw(t, wanted, NULL, 0, &f->random);
}

/* How the table of a code is given, and the table. */
static uint32_t draw_table(zstd_frame *f, int code, bool has_short, zstd_fse *t) {
    static const uint32_t ends[] = {1, 3, 12, 30};
    const uint32_t mode = zstd_draw_below(&f->random, f->memory.has_tables ? 4 : 3);
    if (mode == REPEATED) {
        *t = f->memory.tables[code];
        return mode;
    }
    *t = mode == PREDEFINED ? predefined[code] : (zstd_fse){0};
    if (mode == DESCRIBED) {
        describe_table(f, code, has_short, t);
    } else if (mode == SINGLE) {
        uint32_t end = has_short ? 1 : ends[zstd_draw_below(&f->random, 4)];
        t->counts[zstd_draw_below(&f->random, end)] = 1;
    }
    zstd_fse_make(t);
    return mode;
}

static void put_table(zstd_frame *f, zstd_bytes *out, int code, uint32_t mode,
                      const zstd_fse *t) {
    if (mode == SINGLE) {
        uint32_t symbol = 0;
        while (t->counts[symbol] == 0) {
            symbol++;
        }
        zstd_put(out, symbol, 1);
    } else if (mode == DESCRIBED) {
        uint32_t said = zstd_fse_put(out, t, &f->random);
        for (uint32_t bit = 0; bit < 4; bit++) {
            zstd_reach(&f->memory, ZSTD_COUNTS, 2 * bit + (said >> bit & 1));
        }
        zstd_reach(&f->memory, (zstd_group)(ZSTD_LENGTH_STATES + code), t->log);
    }
    zstd_reach(&f->memory, (zstd_group)(ZSTD_LENGTH_TABLE + code), mode);
}

/* --- sequences --- */

/* A length up to most, of a symbol that the table has; false if there is none. */
static bool draw_length(zstd_frame *f, const zstd_fse *t, int code, uint32_t most,
                        sequence *q, uint32_t *length) {
    uint32_t symbols[53], leasts[53], n = 0, least = least_value[code];
    for (uint32_t s = 0; s < nsymbols[code] && least <= most; s++) {
        symbols[n] = s;
        leasts[n] = least;
        n += t->counts[s] != 0;
        least += 1U << extra_bits[code][s];
    }
    if (n == 0) {
        return false;
    }
    const bool is_long = zstd_draw_below(&f->random, most > 8192 ? 2 : 8) == 0;
    const uint32_t i = is_long ? n - 1 - zstd_draw_below(&f->random, n < 5 ? n : 5)
                               : zstd_draw_below(&f->random, n);
    uint32_t room = 1U << extra_bits[code][symbols[i]];
    room = most - leasts[i] < room ? most - leasts[i] + 1 : room;
    q->codes[code] = symbols[i];
    q->extras[code] = zstd_draw_below(&f->random, room);
    *length = leasts[i] + q->extras[code];
    return true;
}

/* What values up to 3 stand for, and what becomes of the offsets. */
static uint32_t repeat(uint32_t offsets[3], uint32_t which) {
    const uint32_t offset = which == 3 ? offsets[0] - 1 : offsets[which];
    offsets[2] = which >= 2 ? offsets[1] : offsets[2];
    offsets[1] = which >= 1 ? offsets[0] : offsets[1];
    offsets[0] = offset;
    return offset;
}

/* The extra bits of an offset up to `reach` of that code: any, the nearest, or the
 * farthest. */
static uint32_t draw_far(zstd_frame *f, uint32_t code, uint32_t reach) {
    const uint32_t least = 1U << code;
    const uint32_t room = reach + 3 - least < least ? reach + 3 - least + 1 : least;
    const uint32_t kind = zstd_draw_below(&f->random, 6);
    return kind == 0 ? 0 : kind == 1 ? room - 1 : zstd_draw_below(&f->random, room);
}

/* An offset up to `reach`; false if the code that was drawn has none. */
static bool draw_offset(zstd_frame *f, const zstd_fse *t, uint32_t reach, bool is_first,
                        sequence *q) {
    uint32_t *offsets = f->memory.offsets;
    const bool is_low = zstd_draw_below(&f->random, 2) == 0;
    uint32_t code = zstd_draw_below(&f->random, is_low ? 6 : nsymbols[OFFSETS]);
    while (t->counts[code] == 0 || (code >= 2 && (1U << code) > reach + 3)) {
        if (code == 0) {
            return false;
        }
        code--;
    }
    q->codes[OFFSETS] = code;
    if (code < 2) {
        q->extras[OFFSETS] = code == 0 ? 0 : zstd_draw_below(&f->random, 2);
        const uint32_t which = code + q->extras[OFFSETS] + (q->nliterals == 0 ? 1 : 0);
        const uint32_t offset = which == 3 ? offsets[0] - 1 : offsets[which];
        if (offset == 0 || offset > reach) {
            return false;
        }
        q->offset = repeat(offsets, which);
        zstd_reach(&f->memory, is_first ? ZSTD_EARLIER_REPEAT : ZSTD_REPEAT, which);
        return true;
    }
    q->extras[OFFSETS] = draw_far(f, code, reach);
    q->offset = (1U << code) + q->extras[OFFSETS] - 3;
    offsets[2] = offsets[1];
    offsets[1] = offsets[0];
    offsets[0] = q->offset;
    return true;
}

static void reach_match(zstd_frame *f, const sequence *q, uint32_t before) {
    zstd_memory *m = &f->memory;
    for (int code = 0; code < 3; code++) {
        zstd_reach(m, (zstd_group)(ZSTD_LENGTH_CODE + code), q->codes[code]);
    }
    const bool has[] = {q->offset < q->nmatch, q->offset == 1,
                        q->offset == f->window && before > f->window,
                        q->offset == before};
    for (uint32_t i = 0; i < 4; i++) {
        m->reached[ZSTD_MATCH] |= (uint64_t)has[i] << i;
    }
}

static bool draw_sequence(zstd_frame *f, const zstd_fse *tables, plan *p) {
    sequence *q = &p->sequences[p->n];
    uint32_t left = p->nbytes - p->made;
    if (left < 3) {
        return false;
    }
    const uint32_t literals =
        left - 3 < p->longest[LENGTHS] ? left - 3 : p->longest[LENGTHS];
    if (!draw_length(f, &tables[LENGTHS], LENGTHS, literals, q, &q->nliterals)) {
        return false;
    }
    left -= q->nliterals;
    const uint32_t match = left < p->longest[MATCHES] ? left : p->longest[MATCHES];
    const uint32_t before = f->made + p->made + q->nliterals;
    const uint32_t reach = before < f->window ? before : (uint32_t)f->window;
    if (!draw_length(f, &tables[MATCHES], MATCHES, match, q, &q->nmatch) ||
        !draw_offset(f, &tables[OFFSETS], reach, p->n == 0 && f->memory.has_tables, q)) {
        return false;
    }
    reach_match(f, q, before);
    p->nliterals += q->nliterals;
    p->made += q->nliterals + q->nmatch;
    p->n++;
    return true;
}

static void draw_sequences(zstd_frame *f, const zstd_fse *tables, plan *p) {
    for (uint32_t nfailures = 0; p->n < p->nsequences && nfailures < 30;) {
        nfailures = draw_sequence(f, tables, p) ? 0 : nfailures + 1;
    }
}

/* Large ones make few long sequences, or as many as need three bytes to say so, or are
 * as all are. */
static plan draw_plan(zstd_frame *f, uint32_t nbytes) {
    static const uint32_t most[] = {1, 2, 10, 140, 3000};
    static const uint32_t longest[] = {4, 20, 300, ZSTD_BLOCK_NBYTES};
    const uint32_t kind = nbytes > 0x7F00 * 3 ? zstd_draw_below(&f->random, 4) : 3;
    plan p = {.nbytes = nbytes, .has_short = kind == 0};
    p.nsequences = zstd_draw_below(&f->random, most[zstd_draw_below(&f->random, 5)]);
    p.longest[LENGTHS] = longest[zstd_draw_below(&f->random, 4)];
    p.longest[MATCHES] = longest[zstd_draw_below(&f->random, 4)];
    if (kind == 0) {
        p.nsequences = 0x7F00 + zstd_draw_below(&f->random, nbytes / 3 - 0x7F00);
        p.longest[LENGTHS] = 0;
        p.longest[MATCHES] = 3;
    } else if (kind < 3) {
        p.nsequences += 2;
        p.longest[zstd_draw_below(&f->random, 2) == 0 ? LENGTHS : MATCHES] =
            ZSTD_BLOCK_NBYTES;
    }
    p.sequences = must_malloc((p.nsequences + 1) * sizeof *p.sequences);
    return p;
}

/* --- writing --- */

static void put_count(zstd_frame *f, zstd_bytes *out, uint32_t n) {
    const bool is_wide = n > 0 && n < 128 && zstd_draw_below(&f->random, 8) == 0;
    const uint32_t nbytes = n >= 0x7F00 ? 3 : n >= 128 || is_wide ? 2 : 1;
    zstd_put(out,
             nbytes == 1   ? n
             : nbytes == 2 ? 128 + (n >> 8) + ((n & 255) << 8)
                           : 255 + ((n - 0x7F00) << 8),
             nbytes);
    zstd_reach(&f->memory, ZSTD_NSEQUENCES, n == 0 ? 0 : is_wide ? 4 : nbytes);
}

/* The last sequence's first, for they are read from the end. */
static void put_bits(zstd_frame *f, zstd_bytes *out, const zstd_fse *tables,
                     const plan *p) {
    static const int order[] = {OFFSETS, MATCHES, LENGTHS}; /* of next states, in turn */
    uint32_t states[3];
    for (uint32_t i = p->n; i-- > 0;) {
        const sequence *q = &p->sequences[i];
        for (uint32_t k = 0; k < 3; k++) {
            const int c = order[k];
            states[c] = i + 1 == p->n
                            ? zstd_fse_any(&tables[c], q->codes[c], &f->random)
                            : zstd_fse_step(out, &tables[c], q->codes[c], states[c]);
        }
        zstd_put_bits(out, q->extras[LENGTHS], extra_bits[LENGTHS][q->codes[LENGTHS]]);
        zstd_put_bits(out, q->extras[MATCHES], extra_bits[MATCHES][q->codes[MATCHES]]);
        zstd_put_bits(out, q->extras[OFFSETS], q->codes[OFFSETS]);
    }
    zstd_put_bits(out, states[MATCHES], tables[MATCHES].log);
    zstd_put_bits(out, states[OFFSETS], tables[OFFSETS].log);
    zstd_put_bits(out, states[LENGTHS], tables[LENGTHS].log);
    zstd_put_bits(out, 1, 1);
    zstd_end_bits(out);
}

static void make(zstd_frame *f, const plan *p, const uint8_t *literals,
                 uint32_t nliterals) {
    uint32_t at = f->made, taken = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const sequence *q = &p->sequences[i];
        memcpy(f->raw + at, literals + taken, q->nliterals);
        at += q->nliterals;
        taken += q->nliterals;
        for (uint32_t k = 0; k < q->nmatch; k++, at++) {
            f->raw[at] = f->raw[at - q->offset];
        }
    }
    memcpy(f->raw + at, literals + taken, nliterals - taken);
    f->made = at + nliterals - taken;
}

void zstd_write_block(zstd_frame *f, zstd_bytes *out, uint32_t nbytes) {
    zstd_fse tables[3];
    uint32_t modes[3];
    plan p = draw_plan(f, nbytes);
    for (int code = 0; code < 3; code++) {
        modes[code] = draw_table(f, code, p.has_short && code != OFFSETS, &tables[code]);
    }
    draw_sequences(f, tables, &p);
    const uint32_t rest = nbytes - p.made; /* literals behind the last sequence */
    const uint32_t n =
        p.nliterals + (zstd_draw_below(&f->random, 2) == 0
                           ? rest
                           : zstd_draw_below(&f->random, (uint64_t)rest + 1));
    uint8_t *literals = must_malloc(n);
    zstd_write_literals(f, out, literals, n);
    put_count(f, out, p.n);
    if (p.n > 0) {
        zstd_put(out, modes[LENGTHS] << 6 | modes[OFFSETS] << 4 | modes[MATCHES] << 2, 1);
        for (int code = 0; code < 3; code++) {
            put_table(f, out, code, modes[code], &tables[code]);
        }
        put_bits(f, out, tables, &p);
        memcpy(f->memory.tables, tables, sizeof tables);
        f->memory.has_tables = true;
    }
    make(f, &p, literals, n);
    free(literals);
    free(p.sequences);
}
