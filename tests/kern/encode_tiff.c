/* LZW and PackBits, as libtiff writes them. SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kern/device_run.h"
#include "kern/encode.h"

/* --- LZW --- */

enum { CLEAR = 256, END = 257, FIRST = 258, LAST = 4094, LOG_SLOTS = 14 };

typedef struct lzw_writer {
    uint8_t *out;
    uint32_t n, most;
    uint64_t bits;
    unsigned nbits, width, next;
    uint32_t
        slots[1 << LOG_SLOTS]; /* string and byte << 12 | the code of both; 0: free */
} lzw_writer;

static void put_byte(lzw_writer *w, uint8_t byte) {
    if (w->n < w->most) {
        w->out[w->n] = byte;
    }
    w->n++;
}

static void put_code(lzw_writer *w, unsigned code) {
    w->bits = w->bits << w->width | code;
    for (w->nbits += w->width; w->nbits >= 8; w->nbits -= 8) {
        put_byte(w, (uint8_t)(w->bits >> (w->nbits - 8)));
    }
}

static void empty_table(lzw_writer *w) {
    memset(w->slots, 0, sizeof w->slots);
    w->next = FIRST;
    w->width = 9;
}

/* The slot of a string and a byte behind it, or where that would be. */
static uint32_t *find(lzw_writer *w, unsigned code, uint8_t byte) {
    uint32_t key = (uint32_t)code << 8 | byte;
    uint32_t i = key * 0x9E3779B1U >> (32 - LOG_SLOTS);
    while (w->slots[i] != 0 && w->slots[i] >> 12 != key) {
        i = (i + 1) % (1 << LOG_SLOTS);
    }
    return &w->slots[i];
}

static void add_string(lzw_writer *w, uint32_t *slot, unsigned code, uint8_t byte) {
    *slot = ((uint32_t)code << 8 | byte) << 12 | w->next++;
    if (w->next == LAST) {
        put_code(w, CLEAR);
        empty_table(w);
    } else if (w->next == 1U << w->width && w->width < 12) {
        w->width++;
    }
}

uint32_t encode_lzw(const uint8_t *raw, uint32_t nbytes, uint8_t *out, uint32_t bound) {
    lzw_writer *w = must_malloc(sizeof *w);
    *w = (lzw_writer){.out = out, .most = bound};
    empty_table(w);
    put_code(w, CLEAR);
    unsigned code = nbytes > 0 ? raw[0] : 0;
    for (uint32_t i = 1; i < nbytes; i++) {
        uint32_t *slot = find(w, code, raw[i]);
        if (*slot != 0) {
            code = *slot & 0xFFF;
            continue;
        }
        put_code(w, code);
        add_string(w, slot, code, raw[i]);
        code = raw[i];
    }
    if (nbytes > 0) {
        put_code(w, code);
        w->next++;
        w->width += w->next == 1U << w->width && w->width < 12;
    }
    put_code(w, END);
    if (w->nbits > 0) {
        put_byte(w, (uint8_t)(w->bits << (8 - w->nbits)));
    }
    uint32_t n = w->n <= bound ? w->n : 0;
    free(w);
    return n;
}

/* --- PackBits --- */

static uint32_t run_at(const uint8_t *raw, uint32_t at, uint32_t nbytes) {
    uint32_t n = 1;
    while (n < 128 && at + n < nbytes && raw[at + n] == raw[at]) {
        n++;
    }
    return n;
}

uint32_t encode_packbits(const uint8_t *raw, uint32_t nbytes, uint8_t *out,
                         uint32_t bound) {
    uint32_t made = 0;
    for (uint32_t at = 0; at < nbytes && made + 130 <= bound;) {
        uint32_t run = run_at(raw, at, nbytes), n = 0;
        if (run > 2) {
            out[made++] = (uint8_t)(257 - run);
            out[made++] = raw[at];
            at += run;
            continue;
        }
        while (n < 128 && at + n < nbytes && run_at(raw, at + n, nbytes) < 3) {
            n++;
        }
        out[made++] = (uint8_t)(n - 1);
        memcpy(out + made, raw + at, n);
        made += n;
        at += n;
    }
    return made;
}
