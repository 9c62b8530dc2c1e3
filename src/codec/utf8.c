/* UTF-8. SPDX-License-Identifier: Apache-2.0 */
#include "codec/utf8.h"

/* Length of the UTF-8 sequence that starts at p, or 0 where there is none. */
static size_t utf8_sequence(const uint8_t *p, size_t left) {
    uint8_t c = p[0];
    uint8_t low = 0x80, high = 0xbf;
    size_t n = c < 0x80   ? 1
               : c < 0xc2 ? 0
               : c < 0xe0 ? 2
               : c < 0xf0 ? 3
               : c < 0xf5 ? 4
                          : 0;
    if (n < 2) {
        return n;
    }
    if (n > left) {
        return 0;
    }
    low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : low;   /* no longer than needed */
    high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : high; /* no surrogates, ≤ U+10FFFF */
    for (size_t i = 1; i < n; i++) {
        if (p[i] < low || p[i] > high) {
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return n;
}

bool hr__is_utf8(const uint8_t *p, size_t nbytes) {
    for (size_t i = 0; i < nbytes;) {
        size_t n = utf8_sequence(p + i, nbytes - i);
        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

uint32_t hr__utf8_next(const uint8_t **p) {
    const uint8_t *c = *p;
    int n = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    uint32_t code = n == 1 ? c[0] : c[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        code = code << 6 | (c[i] & 0x3fu);
    }
    *p += n;
    return code;
}
