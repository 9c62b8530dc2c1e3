/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/lzw_case.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/kernel_abi.h"
#include "kern/random.h"

enum { CLEAR = 256, END = 257, FIRST = 258, NCODES = 4096 };

/* --- the reference: code by code, bit by bit --- */

typedef struct decoder {
    const decode_case *c;
    bool is_old;
    uint64_t bit;
    uint32_t next, width, nlast, last; /* last: where the last string is */
    uint32_t at[NCODES], nbytes[NCODES];
} decoder;

/* END where there are too few bits. */
static uint32_t read_code(const decoder *d) {
    uint32_t code = 0;
    if (d->bit + d->width > (uint64_t)d->c->src_nbytes * 8) {
        return END;
    }
    for (uint32_t i = 0; i < d->width; i++) {
        uint64_t at = d->bit + i;
        uint32_t byte = d->c->src[at / 8];
        code |= d->is_old ? (byte >> at % 8 & 1) << i
                          : (byte >> (7 - at % 8) & 1) << (d->width - 1 - i);
    }
    return code;
}

static void start_table(decoder *d) {
    d->next = FIRST;
    d->width = 9;
    d->nlast = 0;
}

/* The string of a code that is none of the two others. False: there is none. */
static bool make_string(decoder *d, uint32_t code, uint32_t *made) {
    const bool is_new = code == d->next && d->nlast > 0;
    if (code > CLEAR && !is_new && code >= d->next) {
        return false;
    }
    uint32_t from = is_new ? d->last : d->at[code];
    uint32_t n = code < CLEAR ? 1 : is_new ? d->nlast + 1 : d->nbytes[code];
    uint32_t begin = *made;
    for (uint32_t i = 0; i < n && *made < d->c->dst_nbytes; i++) {
        d->c->want[(*made)++] = code < CLEAR ? (uint8_t)code : d->c->want[from + i];
    }
    if (d->nlast > 0 && d->next < NCODES) {
        d->at[d->next] = d->last;
        d->nbytes[d->next++] = d->nlast + 1;
        d->width += d->width < 12 && d->next + !d->is_old == 1U << d->width;
    }
    d->last = begin;
    d->nlast = n;
    return true;
}

decode_case lzw_case_make(const uint8_t *src, uint32_t src_nbytes, uint32_t dst_nbytes) {
    decode_case c = {.src = must_malloc(src_nbytes),
                     .src_nbytes = src_nbytes,
                     .dst_nbytes = dst_nbytes,
                     .want = must_malloc(dst_nbytes)};
    memcpy(c.src, src, src_nbytes);
    memset(c.want, 0, dst_nbytes);
    decoder *d = must_malloc(sizeof *d);
    memset(d, 0, sizeof *d);
    d->c = &c;
    d->is_old = src_nbytes > 1 && src[0] == 0 && src[1] % 2 == 1;
    start_table(d);
    uint32_t made = 0, code = CLEAR;
    while (made < dst_nbytes && code != END && c.code == 0) {
        const uint32_t width = d->width;
        code = read_code(d);
        if (code == CLEAR) {
            start_table(d);
        } else if (code != END && !make_string(d, code, &made)) {
            c.code = HR_K_NO_STRING;
        }
        d->bit += code == END || c.code != 0 ? 0 : width;
    }
    c.code = c.code == 0 && made < dst_nbytes ? HR_K_TOO_SHORT : c.code;
    c.where = c.code != 0 ? (uint32_t)(d->bit / 8) : 0;
    free(d);
    return c;
}

/* --- streams --- */

void lzw_stream_open(lzw_stream *s, bool is_old) {
    *s = (lzw_stream){.is_old = is_old, .capacity = 1024, .bytes = must_malloc(1024)};
    memset(s->bytes, 0, s->capacity);
}

void lzw_stream_close(lzw_stream *s) {
    free(s->bytes);
}

uint32_t lzw_stream_nbytes(const lzw_stream *s) {
    return (s->nbits + 7) / 8;
}

static uint32_t width_of(const lzw_stream *s) {
    uint32_t next = FIRST + (s->ncodes > 0 ? s->ncodes - 1 : 0), width = 9;
    while (width < 12 && next + !s->is_old >= 1U << width) {
        width++;
    }
    return width;
}

static void put_bit(lzw_stream *s, uint32_t bit) {
    if (s->nbits / 8 == s->capacity) {
        uint8_t *more = must_malloc(s->capacity * 2);
        memcpy(more, s->bytes, s->capacity);
        memset(more + s->capacity, 0, s->capacity);
        free(s->bytes);
        s->bytes = more;
        s->capacity *= 2;
    }
    uint32_t shift = s->is_old ? s->nbits % 8 : 7 - s->nbits % 8;
    s->bytes[s->nbits / 8] |= (uint8_t)(bit << shift);
    s->nbits++;
}

void lzw_put(lzw_stream *s, uint32_t code) {
    uint32_t width = width_of(s);
    for (uint32_t i = 0; i < width; i++) {
        put_bit(s, code >> (s->is_old ? i : width - 1 - i) & 1);
    }
    if (code == CLEAR) {
        s->ncodes = 0;
    } else if (code != END) {
        uint32_t n = code < CLEAR ? 1 : s->lengths[code - FIRST] + 1;
        s->nmade += n;
        if (s->ncodes < NCODES) {
            s->lengths[s->ncodes] = n;
        }
        s->ncodes++;
    }
}

uint32_t lzw_draw(const lzw_stream *s, uint64_t *random, uint64_t nliterals_in_16,
                  uint64_t nnew_in_16) {
    uint32_t n = s->ncodes < NCODES - FIRST ? s->ncodes : NCODES - FIRST;
    uint64_t kind = random_below(random, 16);
    if (n == 0 || kind < nliterals_in_16) {
        return (uint32_t)random_below(random, CLEAR);
    }
    return FIRST + (kind < nliterals_in_16 + nnew_in_16
                        ? n - 1
                        : (uint32_t)random_below(random, n));
}
