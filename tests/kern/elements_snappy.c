/* Snappy's elements, for kern_elements.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cuda/kernel_abi.h"
#include "kern/elements.h"
#include "kern/random.h"

/* One element; 0 or a code. */
static uint32_t decode_element(const decode_case *c, uint32_t *at, uint32_t *made) {
    uint32_t p = *at, m = *made;
    uint32_t tag = c->src[p++], kind = tag & 3, nmore = kind == 3 ? 4 : kind, more = 0;
    uint64_t n = tag >> 2;
    if (kind == 0) {
        nmore = n < 60 ? 0 : (uint32_t)n - 59;
    }
    if (nmore > c->src_nbytes - p) {
        return HR_K_TRUNCATED;
    }
    for (uint32_t i = 0; i < nmore; i++) {
        more |= (uint32_t)c->src[p++] << (8 * i);
    }
    uint32_t offset = kind == 1 ? (tag >> 5) << 8 | more : more;
    n = kind == 0 ? (nmore == 0 ? n : more) + 1 : kind == 1 ? (n & 7) + 4 : n + 1;
    if (kind == 0 && n > c->src_nbytes - p) {
        return HR_K_TRUNCATED;
    }
    if (kind != 0 && (offset == 0 || offset > m)) {
        return HR_K_BAD_OFFSET;
    }
    if (n > c->dst_nbytes - m) {
        return HR_K_TOO_LONG;
    }
    for (uint64_t i = 0; i < n; i++, m++) {
        c->want[m] = kind == 0 ? c->src[p++] : c->want[m - offset];
    }
    *at = p;
    *made = m;
    return 0;
}

static uint32_t decode(const decode_case *c, uint32_t *at, uint32_t *made) {
    uint32_t code = 0;
    while (*at < c->src_nbytes && code == 0) {
        code = decode_element(c, at, made);
    }
    return code;
}

/* Elements of every kind, length and distance. */
static uint32_t draw(uint64_t *r, uint8_t *out, uint32_t nelements, uint32_t *made) {
    uint32_t n = 0, m = 0;
    uint64_t longest = 1 + random_below(r, 70), far = 1 + random_below(r, 100000);
    for (uint32_t k = 0; k < nelements; k++) {
        uint32_t kind = m == 0 ? 0 : (uint32_t)random_below(r, 4);
        uint32_t most = m < far ? m : (uint32_t)far;
        uint32_t offset = most == 0 ? 1 : 1 + (uint32_t)random_below(r, most);
        uint32_t length = 1 + (uint32_t)random_below(r, longest < 64 ? longest : 64);
        kind = kind == 1 && offset > 2047 ? 2 : kind == 2 && offset > 65535 ? 3 : kind;
        if (kind == 0) {
            length =
                1 + (uint32_t)random_below(r, random_below(r, 40) == 0 ? 3000 : longest);
            uint32_t nmore = (uint32_t)random_below(r, 20);
            nmore = nmore > 4 ? length <= 60 ? 0 : length <= 256 ? 1 : 2 : nmore;
            nmore = nmore == 0 && length > 60    ? 2
                    : nmore == 1 && length > 256 ? 2
                                                 : nmore;
            out[n++] = (uint8_t)((nmore == 0 ? length - 1 : 59 + nmore) << 2);
            for (uint32_t i = 0; i < nmore; i++) {
                out[n++] = (uint8_t)((length - 1) >> (8 * i));
            }
            for (uint32_t i = 0; i < length; i++) {
                out[n++] = (uint8_t)random_next(r);
            }
        } else {
            length = kind == 1 ? 4 + length % 8 : length;
            out[n++] = (uint8_t)(kind == 1 ? 1 | (length - 4) << 2 | (offset >> 8) << 5
                                           : kind | (length - 1) << 2);
            for (uint32_t i = 0; i < (kind == 3 ? 4 : kind); i++) {
                out[n++] = (uint8_t)(offset >> (8 * i));
            }
        }
        m += length;
    }
    *made = m;
    return n;
}

/* A run of 2^32 literals must not become one of 0. */
static const uint8_t endless[] = {0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 3 << 2, 1, 2, 3, 4};

const element_codec elements = {.kernel = HR__KERNEL_SNAPPY,
                                .decode = decode,
                                .draw = draw,
                                .compress = encode_snappy,
                                .known_bad = endless,
                                .known_bad_nbytes = sizeof endless};
