/* LZW and PackBits, written. SPDX-License-Identifier: Apache-2.0 */
#include "support/tiff_maker.h"

typedef struct bit_writer {
    uint8_t *dst;
    size_t nbits;
    bool is_old;
} bit_writer;

static void put_code(bit_writer *w, unsigned code, unsigned width) {
    for (unsigned i = 0; i < width; i++, w->nbits++) {
        unsigned bit = w->is_old ? code >> i & 1 : code >> (width - 1 - i) & 1;
        if (w->nbits % 8 == 0) {
            w->dst[w->nbits / 8] = 0;
        }
        unsigned shift = (unsigned)(w->is_old ? w->nbits % 8 : 7 - w->nbits % 8);
        w->dst[w->nbits / 8] |= (uint8_t)(bit << shift);
    }
}

/* The code of the longest known string at src; strings are (code, byte) pairs. */
static unsigned longest(const uint8_t *src, size_t n, const unsigned (*pairs)[2],
                        unsigned next, size_t *length) {
    unsigned code = src[0];
    *length = 1;
    for (unsigned c = 258; *length < n && c < next; c++) {
        if (pairs[c][0] == code && pairs[c][1] == src[*length]) {
            code = c;
            ++*length;
        }
    }
    return code;
}

size_t tiff_encode_lzw(const uint8_t *src, size_t n, bool is_old, uint8_t *dst) {
    unsigned pairs[4096][2];
    bit_writer w = {.dst = dst, .is_old = is_old};
    unsigned next = 258;
    unsigned width = 9;
    put_code(&w, 256, width);
    for (size_t at = 0; at < n;) {
        size_t length;
        unsigned code =
            longest(src + at, n - at, (const unsigned(*)[2])pairs, next, &length);
        put_code(&w, code, width);
        at += length;
        pairs[next][0] = code;
        pairs[next++][1] = at < n ? src[at] : UINT8_MAX + 1;
        /* the decoder is one entry behind */
        if (next + (is_old ? 0U : 1U) > (1U << width) && width < 12) {
            width++;
        }
        if (next == 4094) {
            put_code(&w, 256, width);
            next = 258;
            width = 9;
        }
    }
    put_code(&w, 257, width);
    return (w.nbits + 7) / 8;
}

size_t tiff_encode_packbits(const uint8_t *src, size_t n, uint8_t *dst) {
    size_t made = 0;
    for (size_t at = 0; at < n;) {
        size_t run = 1;
        while (at + run < n && run < 128 && src[at + run] == src[at]) {
            run++;
        }
        if (run > 1) {
            dst[made++] = (uint8_t)(257 - run);
            dst[made++] = src[at];
        } else {
            dst[made++] = 0;
            dst[made++] = src[at];
        }
        at += run;
    }
    return made;
}
