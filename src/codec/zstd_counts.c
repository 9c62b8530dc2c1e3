/* Reading normalised counts. SPDX-License-Identifier: Apache-2.0 */
#include "codec/zstd_counts.h"

#include <stdbool.h>

/* Bits from the lowest of the first byte on; zeros behind the last. */
typedef struct bits {
    const uint8_t *src;
    uint64_t nbits, at;
} bits;

static uint32_t peek(const bits *b, uint32_t n) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t byte = b->at / 8 + i;
        value |= byte < b->nbits / 8 ? (uint32_t)b->src[byte] << (8 * i) : 0;
    }
    return value >> (b->at % 8) & ((1U << n) - 1);
}

/* A number from 0 to left: those below the gap to the next power of two are a bit
 * shorter. */
static uint32_t read_below(bits *b, uint32_t left) {
    uint32_t width = 1;
    while (left >> width != 0) {
        width++;
    }
    uint32_t nshort = (1U << width) - 1 - left;
    uint32_t low = peek(b, width - 1);
    if (low < nshort) {
        b->at += width - 1;
        return low;
    }
    uint32_t value = peek(b, width);
    b->at += width;
    return value >> (width - 1) != 0 ? value - nshort : value;
}

/* Runs of symbols without a count, behind one: 3 means that more follow. */
static uint32_t read_zeros(bits *b) {
    uint32_t n = 0, more;
    do {
        more = peek(b, 2);
        b->at += 2;
        n += more;
    } while (more == 3 && b->at < b->nbits);
    return n;
}

uint32_t hr__zstd_counts_nbytes(const uint8_t *src, uint32_t n,
                                const hr__zstd_limits *limits) {
    bits b = {.src = src, .nbits = (uint64_t)n * 8, .at = 4};
    if (n == 0 || (src[0] & 15U) + 5 > limits->max_log) {
        return 0;
    }
    uint32_t left = 32U << (src[0] & 15U), symbol = 0;
    while (left > 0 && symbol <= limits->max_symbol) {
        uint32_t value = read_below(&b, left + 1); /* the count + 1; 0: less than one */
        uint32_t count = value == 0 ? 1 : value - 1;
        if (count > left) {
            return 0;
        }
        left -= count;
        symbol += 1 + (value == 1 ? read_zeros(&b) : 0);
    }
    bool is_good = left == 0 && symbol <= limits->max_symbol + 1 && b.at <= b.nbits;
    return is_good ? (uint32_t)((b.at + 7) / 8) : 0;
}
