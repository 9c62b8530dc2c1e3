/* LZW as TIFF has it. SPDX-License-Identifier: Apache-2.0
 *
 * Codes of 9 to 12 bits, the highest bit first, each width left one code early. Files of
 * before 1992 have the lowest bit first and leave no code out. Accepted as they are
 * found: no Clear at the beginning, no EndOfInformation, a table that is full and stays,
 * and anything behind what fills the block. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"

enum { CLEAR = 256, END = 257, FIRST = 258, MIN_WIDTH = 9, MAX_WIDTH = 12 };
#define NCODES (1 << MAX_WIDTH)

typedef struct reader {
    const uint8_t *p, *end;
    uint64_t bits; /* the next ones: at the top, or at the bottom where is_old */
    unsigned n;
    bool is_old;
} reader;

static void refill(reader *r) {
    while (r->n <= 56 && r->p < r->end) {
        uint64_t byte = *r->p++;
        r->bits |= r->is_old ? byte << r->n : byte << (56 - r->n);
        r->n += 8;
    }
}

/* END where the bits are at an end. */
static unsigned next_code(reader *r, unsigned width) {
    if (r->n < width) {
        refill(r);
        if (r->n < width) {
            return END;
        }
    }
    unsigned code;
    if (r->is_old) {
        code = (unsigned)(r->bits & ((1U << width) - 1));
        r->bits >>= width;
    } else {
        code = (unsigned)(r->bits >> (64 - width));
        r->bits <<= width;
    }
    r->n -= width;
    return code;
}

/* Each entry is what an earlier code made, and the byte behind it: a place in the output.
 */
typedef struct table {
    size_t at[NCODES];
    uint16_t nbytes[NCODES]; /* ≤ NCODES: one more than an earlier one */
    unsigned next, width;
} table;

static void add_entry(table *t, size_t at, unsigned nbytes, bool is_old) {
    if (t->next == NCODES) {
        return;
    }
    t->at[t->next] = at;
    t->nbytes[t->next++] = (uint16_t)nbytes;
    if (t->next + !is_old >= 1U << t->width && t->width < MAX_WIDTH) {
        t->width++;
    }
}

/* n bytes from an earlier place, which may reach into what is being made; fewer where dst
 * ends. */
static size_t copy(uint8_t *dst, size_t dst_nbytes, size_t to, size_t from, size_t n) {
    n = n < dst_nbytes - to ? n : dst_nbytes - to;
    if (from + n <= to) {
        memcpy(dst + to, dst + from, n);
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        dst[to + i] = dst[from + i];
    }
    return n;
}

static hr_status fail_code(const reader *r, const hr__decode *d, unsigned code,
                           unsigned next, hr_error *err) {
    return hr__fail(err, HR_ERR_DATA,
                    "LZW code %u before byte %zu of %zu, expected at most %u", code,
                    (size_t)(r->p - d->src), d->src_nbytes, next);
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    (void)codec;
    reader r = {.p = d->src, .end = d->src + d->src_nbytes};
    r.is_old = d->src_nbytes > 1 && d->src[0] == 0 && (d->src[1] & 1) != 0;
    table t;
    t.next = FIRST;
    t.width = MIN_WIDTH;
    size_t made = 0, last_at = 0;
    unsigned last_nbytes = 0; /* 0: nothing since the table was emptied */
    while (made < d->dst_nbytes) {
        unsigned code = next_code(&r, t.width);
        if (code == END) {
            break;
        }
        if (code == CLEAR) {
            t.next = FIRST;
            t.width = MIN_WIDTH;
            last_nbytes = 0;
            continue;
        }
        if (code > t.next || (code >= CLEAR && last_nbytes == 0) ||
            (code == t.next && t.next == NCODES)) {
            return fail_code(&r, d, code, t.next, err);
        }
        size_t at = made;
        unsigned nbytes = 1;
        if (code < CLEAR) {
            d->dst[made++] = (uint8_t)code;
        } else {
            bool is_new =
                code == t.next; /* what the last code made, and its first byte */
            nbytes = is_new ? last_nbytes + 1 : t.nbytes[code];
            made +=
                copy(d->dst, d->dst_nbytes, made, is_new ? last_at : t.at[code], nbytes);
        }
        if (last_nbytes > 0) {
            add_entry(&t, last_at, last_nbytes + 1, r.is_old);
        }
        last_at = at;
        last_nbytes = nbytes;
    }
    d->out = d->dst;
    d->out_nbytes = made;
    return HR_OK;
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    return hr__leaves_add_whole(out, HR__LEAF_LZW, d, err);
}

const hr__codec_type hr__codec_tiff_lzw = {
    .name = "tiff_lzw",
    .v2_ids = (const char *const[]){"tiff_lzw", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = hr__config_ignored,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = NCODES, /* a code of 12 bits makes at most as many bytes */
};
