/* PackBits' runs, for kern_elements.c. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cuda/kernel_abi.h"
#include "kern/elements.h"
#include "kern/random.h"

/* What is behind a full output does not matter, and a run may reach beyond both ends. */
static uint32_t decode(const decode_case *c, uint32_t *at, uint32_t *made) {
    while (*at < c->src_nbytes && *made < c->dst_nbytes) {
        uint32_t head = c->src[(*at)++], left = c->src_nbytes - *at;
        for (uint32_t i = 0; i <= head && head < 128 && left > 0; i++, left--) {
            if (*made < c->dst_nbytes) {
                c->want[(*made)++] = c->src[*at];
            }
            (*at)++;
        }
        for (uint32_t i = head; i < 257 && head > 128 && left > 0; i++) {
            if (*made < c->dst_nbytes) {
                c->want[(*made)++] = c->src[*at];
            }
        }
        *at += head > 128 && left > 0;
    }
    return 0;
}

/* Heads of nothing among them. */
static uint32_t draw(uint64_t *r, uint8_t *out, uint32_t nelements, uint32_t *made) {
    uint32_t n = 0, m = 0;
    const uint64_t longest = 1 + random_below(r, 128), kinds = 2 + random_below(r, 20);
    const uint64_t ran = random_below(r, kinds);
    for (uint32_t k = 0; k < nelements; k++) {
        uint32_t length = 1 + (uint32_t)random_below(r, longest);
        uint64_t kind = random_below(r, kinds);
        if (kind == 0 && random_below(r, 4) == 0) {
            out[n++] = 128;
        } else if (kind <= ran && length > 1) {
            out[n++] = (uint8_t)(257 - length);
            out[n++] = (uint8_t)random_next(r);
            m += length;
        } else {
            out[n++] = (uint8_t)(length - 1);
            for (uint32_t i = 0; i < length; i++) {
                out[n++] = (uint8_t)random_next(r);
            }
            m += length;
        }
    }
    *made = m;
    return n;
}

/* A head without its byte. */
static const uint8_t ends_early[] = {1, 7, 8, 128, 0xFF};

const element_codec elements = {.kernel = HR__KERNEL_PACKBITS,
                                .decode = decode,
                                .draw = draw,
                                .compress = encode_packbits,
                                .known_bad = ends_early,
                                .known_bad_nbytes = sizeof ends_early};
