/* Decoder for BloscLZ streams (inside Blosc). SPDX-License-Identifier: Apache-2.0
 *
 * A stream is a row of instructions, each begun by a control byte c. c < 32: c + 1
 * literal bytes follow. Else a match: its length is c >> 5 plus 2; when c >> 5 is 7,
 * bytes that add to the length follow, up to and including the first that is not 255.
 * Then comes the low byte of the distance, whose high bits are c & 31. The distance
 * counts from 1. When all its bits are set, two more bytes, the high one first, add to
 * it. A stream begins and ends with literals; of the first control byte only the low
 * five bits count. */
#include <string.h>

#include "codec/decode.h"

#define MAX_NEAR 8191 /* distance - 1 with all thirteen bits set */

typedef struct cursor {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_begin, *out_end;
} cursor;

static bool literals(cursor *c, size_t n) {
    if ((size_t)(c->in_end - c->in) < n || (size_t)(c->out_end - c->out) < n) {
        return false;
    }
    memcpy(c->out, c->in, n);
    c->in += n;
    c->out += n;
    return true;
}

/* Copy n bytes from `distance` back; they may overlap what is written. */
static void copy_match(uint8_t *out, size_t distance, size_t n) {
    const uint8_t *from = out - distance;
    while (n > distance) { /* what has been written repeats with twice the period */
        memcpy(out, from, distance);
        out += distance;
        n -= distance;
        distance *= 2;
    }
    memcpy(out, from, n);
}

static bool match(cursor *c, unsigned control) {
    size_t n = (control >> 5) + 2;
    if (control >> 5 == 7) {
        unsigned more;
        do {
            if (c->in == c->in_end) {
                return false;
            }
            more = *c->in++;
            n += more;
        } while (more == 255);
    }
    if (c->in == c->in_end) {
        return false;
    }
    size_t distance = ((size_t)(control & 31) << 8 | *c->in++) + 1;
    if (distance == MAX_NEAR + 1) {
        if (c->in_end - c->in < 2) {
            return false;
        }
        distance += (size_t)c->in[0] << 8 | c->in[1];
        c->in += 2;
    }
    if ((size_t)(c->out - c->out_begin) < distance || (size_t)(c->out_end - c->out) < n) {
        return false;
    }
    copy_match(c->out, distance, n);
    c->out += n;
    return true;
}

/* True when all instructions were good and the last was a literal run. */
static bool run(cursor *c) {
    bool literal = false;
    if (c->in < c->in_end) {
        literal = true;
        if (!literals(c, (size_t)(*c->in++ & 31) + 1)) {
            return false;
        }
    }
    while (c->in < c->in_end) {
        unsigned control = *c->in++;
        literal = control < 32;
        if (literal ? !literals(c, control + 1) : !match(c, control)) {
            return false;
        }
    }
    return literal;
}

hr_status hr__blosclz_decode(hr__decode *d, hr_error *err) {
    cursor c = {.in = d->src,
                .in_end = d->src + d->src_nbytes,
                .out = d->dst,
                .out_begin = d->dst,
                .out_end = d->dst + d->dst_nbytes};
    if (!run(&c)) {
        return hr__fail(err, HR_ERR_DATA,
                        "BloscLZ stream is malformed at byte %zu of %zu, byte %zu of %zu "
                        "decoded",
                        (size_t)(c.in - d->src), d->src_nbytes, (size_t)(c.out - d->dst),
                        d->dst_nbytes);
    }
    d->out = d->dst;
    d->out_nbytes = (size_t)(c.out - d->dst);
    return HR_OK;
}
