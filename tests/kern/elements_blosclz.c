/* BloscLZ's elements, for kern_elements.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernel_abi.h"
#include "kern/elements.h"
#include "kern/random.h"

#define FAR 8192 /* distances from here on have 16 more bits */

static uint32_t decode_match(const decode_case *c, uint32_t control, uint32_t *at,
                             uint32_t *made) {
    uint32_t p = *at, m = *made, more = 255;
    uint64_t n = (control >> 5) + 2;
    while (n >= 9 && more == 255) {
        if (p == c->src_nbytes) {
            return HR_K_TRUNCATED;
        }
        more = c->src[p++];
        n += more;
    }
    if (p == c->src_nbytes) {
        return HR_K_TRUNCATED;
    }
    uint32_t offset = (control % 32 << 8 | c->src[p++]) + 1;
    if (offset == FAR) {
        if (c->src_nbytes - p < 2) {
            return HR_K_TRUNCATED;
        }
        offset += (uint32_t)c->src[p] << 8 | c->src[p + 1];
        p += 2;
    }
    if (offset > m) {
        return HR_K_BAD_OFFSET;
    }
    if (n > c->dst_nbytes - m) {
        return HR_K_TOO_LONG;
    }
    for (uint64_t i = 0; i < n; i++, m++) {
        c->want[m] = c->want[m - offset];
    }
    *at = p;
    *made = m;
    return 0;
}

static uint32_t decode(const decode_case *c, uint32_t *at, uint32_t *made) {
    bool ends_well = false;
    while (*at < c->src_nbytes) {
        uint32_t control = c->src[*at], p = *at + 1, code = 0;
        control = *at == 0 ? control % 32 : control;
        ends_well = control < 32;
        if (!ends_well) {
            code = decode_match(c, control, &p, made);
        } else if (control + 1 > c->src_nbytes - p) {
            code = HR_K_TRUNCATED;
        } else if (control + 1 > c->dst_nbytes - *made) {
            code = HR_K_TOO_LONG;
        } else {
            memcpy(c->want + *made, c->src + p, control + 1);
            p += control + 1;
            *made += control + 1;
        }
        if (code != 0) {
            return code;
        }
        *at = p;
    }
    return ends_well ? 0 : HR_K_TRUNCATED;
}

static uint32_t draw_match(uint64_t *r, uint8_t *out, uint32_t offset, uint64_t longest,
                           uint32_t *made) {
    uint32_t n = 0, length = 3 + (uint32_t)random_below(r, longest);
    length += random_below(r, 40) == 0 ? (uint32_t)random_below(r, 3000) : 0;
    uint32_t near = offset < FAR ? offset - 1 : FAR - 1;
    uint32_t high = length < 9 ? length - 2 : 7;
    out[n++] = (uint8_t)(high << 5 | near >> 8);
    if (high == 7) {
        uint32_t more = length - 9;
        for (; more >= 255; more -= 255) {
            out[n++] = 255;
        }
        out[n++] = (uint8_t)more;
    }
    out[n++] = (uint8_t)near;
    if (near == FAR - 1) {
        out[n++] = (uint8_t)((offset - FAR) >> 8);
        out[n++] = (uint8_t)(offset - FAR);
    }
    *made += length;
    return n;
}

static uint32_t draw(uint64_t *r, uint8_t *out, uint32_t nelements, uint32_t *made) {
    uint32_t n = 0, m = 0;
    uint64_t longest = 1 + random_below(r, 70), far = 1 + random_below(r, 73727);
    for (uint32_t k = 0; k < nelements; k++) {
        uint32_t most = m < far ? m : (uint32_t)far;
        if (m > 0 && k + 1 < nelements && random_below(r, 4) != 0) {
            uint32_t offset = 1 + (uint32_t)random_below(r, most);
            n += draw_match(r, out + n, offset, longest, &m);
            continue;
        }
        uint32_t length = 1 + (uint32_t)random_below(r, 32);
        uint32_t ignored = k == 0 ? (uint32_t)random_below(r, 8) << 5 : 0;
        out[n++] = (uint8_t)(ignored | (length - 1));
        for (uint32_t i = 0; i < length; i++) {
            out[n++] = (uint8_t)random_next(r);
        }
        m += length;
    }
    *made = m;
    return n;
}

/* Matches do not end a stream. */
static const uint8_t ends_early[] = {0, 7, 1 << 5, 0};

const element_codec elements = {.kernel = HR__KERNEL_BLOSCLZ,
                                .decode = decode,
                                .draw = draw,
                                .compress = encode_blosclz,
                                .known_bad = ends_early,
                                .known_bad_nbytes = sizeof ends_early};
