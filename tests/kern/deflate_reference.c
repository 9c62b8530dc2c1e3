/* Deflate, bit by bit: what the kernels must make of a stream, and of a wrong one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cuda/kernel_abi.h"
#include "kern/deflate_case.h"

/* A canonical code: how many of each length, and the symbols in order. */
typedef struct code {
    uint16_t counts[16], symbols[288];
} code;

typedef struct reader {
    decode_case *c;
    uint64_t at; /* in bits */
    uint32_t made;
    uint32_t floor; /* matches do not reach before it */
    bool is_bad_checksum;
    uint32_t bad_checksum_at;
    code literals, distances;
} reader;

/* Behind the end come zeros. */
static uint32_t take(reader *r, uint32_t n) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < n; i++, r->at++) {
        if (r->at >> 3 < r->c->src_nbytes) {
            value |= (uint32_t)(r->c->src[r->at >> 3] >> (r->at & 7) & 1) << i;
        }
    }
    return value;
}

static uint64_t end_of(const reader *r) {
    return (uint64_t)r->c->src_nbytes * 8;
}

static bool make_code(code *h, const uint8_t *lengths, uint32_t n, bool may_be_single) {
    uint32_t firsts[17] = {0}, left = 1U << 15, nsymbols = 0;
    memset(h->counts, 0, sizeof h->counts);
    for (uint32_t i = 0; i < n; i++) {
        h->counts[lengths[i]]++;
    }
    for (uint32_t l = 1; l < 16; l++) {
        uint32_t space = (uint32_t)h->counts[l] << (15 - l);
        if (space > left) {
            return false;
        }
        left -= space;
        nsymbols += h->counts[l];
        firsts[l + 1] = firsts[l] + h->counts[l];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (lengths[i] > 0) {
            h->symbols[firsts[lengths[i]]++] = (uint16_t)i;
        }
    }
    return left == 0 || nsymbols == 0 ||
           (may_be_single && nsymbols == 1 && h->counts[1] == 1);
}

/* −1: no symbol has such a code. */
static int take_symbol(reader *r, const code *h) {
    uint32_t number = 0, first = 0, index = 0;
    for (uint32_t l = 1; l < 16; l++) {
        number |= take(r, 1);
        if (number - first < h->counts[l]) {
            return h->symbols[index + number - first];
        }
        index += h->counts[l];
        first = (first + h->counts[l]) << 1;
        number <<= 1;
    }
    return -1;
}

static uint32_t read_lengths(reader *r, const code *own, uint8_t *lengths, uint32_t n) {
    for (uint32_t i = 0; i < n;) {
        int symbol = take_symbol(r, own);
        if (symbol < 0 || (symbol == 16 && i == 0)) {
            return HR_K_BAD_CODE;
        }
        uint8_t value = symbol < 16 ? (uint8_t)symbol : symbol == 16 ? lengths[i - 1] : 0;
        uint32_t repeats = symbol < 16    ? 1
                           : symbol == 16 ? 3 + take(r, 2)
                           : symbol == 17 ? 3 + take(r, 3)
                                          : 11 + take(r, 7);
        if (repeats > n - i) {
            return HR_K_BAD_CODE;
        }
        memset(lengths + i, value, repeats);
        i += repeats;
    }
    return 0;
}

static uint32_t read_description(reader *r, uint8_t *lengths, uint32_t *nliterals,
                                 uint32_t *ndistances) {
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t own_lengths[19] = {0};
    code own;
    *nliterals = take(r, 5) + 257;
    *ndistances = take(r, 5) + 1;
    uint32_t n = take(r, 4) + 4;
    if (*nliterals > 286 || *ndistances > 30) {
        return HR_K_BAD_CODE;
    }
    for (uint32_t i = 0; i < n; i++) {
        own_lengths[order[i]] = (uint8_t)take(r, 3);
    }
    return make_code(&own, own_lengths, 19, false)
               ? read_lengths(r, &own, lengths, *nliterals + *ndistances)
               : HR_K_BAD_CODE;
}

static uint32_t read_codes(reader *r, uint32_t kind) {
    uint8_t lengths[320];
    uint32_t nliterals = 288, ndistances = 32;
    for (uint32_t i = 0; i < 320; i++) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    }
    uint32_t wrong =
        kind == 2 ? read_description(r, lengths, &nliterals, &ndistances) : 0;
    if (wrong != 0 || lengths[256] == 0 ||
        !make_code(&r->literals, lengths, nliterals, true) ||
        !make_code(&r->distances, lengths + nliterals, ndistances, true)) {
        return HR_K_BAD_CODE;
    }
    return r->at > end_of(r) ? HR_K_TRUNCATED : 0;
}

static uint32_t read_match(reader *r, uint32_t symbol, uint32_t *nbytes,
                           uint32_t *offset) {
    uint32_t s = symbol - 257, extra = s >= 8 && s < 28 ? s / 4 - 1 : 0;
    *nbytes = s == 28 ? 258 : s < 8 ? 3 + s : 3 + ((4 + s % 4) << extra);
    *nbytes += take(r, extra);
    int d = take_symbol(r, &r->distances);
    if (s > 28 || d < 0 || d > 29) {
        return HR_K_BAD_CODE;
    }
    extra = d < 4 ? 0 : (uint32_t)d / 2 - 1;
    *offset = d < 4 ? 1 + (uint32_t)d : 1 + ((2 + (uint32_t)d % 2) << extra);
    *offset += take(r, extra);
    return 0;
}

/* One symbol; 0 or a code, with r->at in front of it then. */
static uint32_t read_symbol(reader *r, bool *is_end) {
    uint64_t begin = r->at;
    uint32_t nbytes = 1, offset = 0, wrong = 0;
    int symbol = take_symbol(r, &r->literals);
    *is_end = symbol == 256;
    wrong = symbol < 0     ? HR_K_BAD_CODE
            : symbol > 256 ? read_match(r, (uint32_t)symbol, &nbytes, &offset)
                           : 0;
    nbytes = *is_end ? 0 : nbytes;
    wrong = wrong != 0                                    ? wrong
            : r->at > end_of(r)                           ? HR_K_TRUNCATED
            : symbol > 256 && offset > r->made - r->floor ? HR_K_BAD_OFFSET
            : nbytes > r->c->dst_nbytes - r->made         ? HR_K_TOO_LONG
                                                          : 0;
    if (wrong != 0) {
        r->at = begin;
        return wrong;
    }
    for (; nbytes > 0; nbytes--, r->made++) {
        r->c->want[r->made] =
            symbol < 256 ? (uint8_t)symbol : r->c->want[r->made - offset];
    }
    return 0;
}

static uint32_t read_stored(reader *r) {
    r->at = (r->at + 7) / 8 * 8;
    uint32_t n = take(r, 16), inverse = take(r, 16);
    if ((n ^ inverse) != 0xFFFF) {
        return HR_K_BAD_CODE;
    }
    if (r->at > end_of(r) || n > (end_of(r) - r->at) / 8) {
        return HR_K_TRUNCATED;
    }
    if (n > r->c->dst_nbytes - r->made) {
        return HR_K_TOO_LONG;
    }
    if (n > 0) {
        memcpy(r->c->want + r->made, r->c->src + r->at / 8, n);
    }
    r->made += n;
    r->at += (uint64_t)n * 8;
    return 0;
}

static uint32_t read_block(reader *r, bool *is_last) {
    uint64_t begin = r->at;
    if (end_of(r) - begin < 3) {
        return HR_K_TRUNCATED;
    }
    *is_last = take(r, 1) != 0;
    uint32_t kind = take(r, 2);
    uint32_t wrong = kind == 0   ? read_stored(r)
                     : kind == 3 ? HR_K_BAD_CODE
                                 : read_codes(r, kind);
    if (wrong != 0) {
        r->at = begin;
    }
    bool is_end = kind == 0;
    while (wrong == 0 && !is_end) {
        wrong = read_symbol(r, &is_end);
    }
    return wrong;
}

static uint32_t read_blocks(reader *r) {
    uint32_t wrong = 0;
    bool is_last = false;
    while (wrong == 0 && !is_last) {
        wrong = read_block(r, &is_last);
    }
    r->at = wrong == 0 ? (r->at + 7) / 8 * 8 : r->at;
    return wrong;
}

/* A checksum that is not right is told only if nothing that counts more is wrong; the
 * last one counts. */
static void check(reader *r, uint32_t stored, uint32_t actual) {
    if (stored != actual && (r->c->wrapper & HR_K_DEFLATE_UNCHECKED) == 0) {
        r->bad_checksum_at = (uint32_t)(r->at / 8);
        r->is_bad_checksum = true;
    }
}

static uint32_t read_zlib(reader *r) {
    const uint8_t *src = r->c->src;
    if (r->c->src_nbytes < 2) {
        return HR_K_TRUNCATED;
    }
    if ((src[0] & 15) != 8 || src[0] >> 4 > 7 || (src[0] << 8 | src[1]) % 31 != 0 ||
        (src[1] & 0x20) != 0) {
        return HR_K_BAD_WRAPPER;
    }
    r->at = 16;
    uint32_t wrong = read_blocks(r);
    if (wrong != 0 || end_of(r) - r->at < 32) {
        return wrong != 0 ? wrong : HR_K_TRUNCATED;
    }
    const uint8_t *t = src + r->at / 8;
    check(r, (uint32_t)t[0] << 24 | (uint32_t)t[1] << 16 | (uint32_t)t[2] << 8 | t[3],
          (uint32_t)adler32(1, r->c->want, r->made));
    r->at += 32;
    return 0;
}

/* Where the header that begins at `at` ends; or a code. */
static uint32_t read_gzip_header(const decode_case *c, uint64_t *at) {
    const uint8_t *h = c->src + *at;
    if (c->src_nbytes - *at < 10) {
        return HR_K_TRUNCATED;
    }
    if (h[0] != 0x1F || h[1] != 0x8B || h[2] != 8 || h[3] >= 0x20) {
        return HR_K_BAD_WRAPPER;
    }
    uint64_t end = *at + 10;
    if ((h[3] & 4) != 0) {
        end += end + 2 <= c->src_nbytes ? 2 + (uint64_t)(h[10] | h[11] << 8) : 2;
    }
    for (int text = 8; text <= 16; text += 8) {
        if ((h[3] & text) != 0) {
            for (; end < c->src_nbytes && c->src[end] != 0; end++) {
            }
            end++;
        }
    }
    end += (h[3] & 2) != 0 ? 2 : 0;
    *at = end <= c->src_nbytes ? end : *at;
    return end <= c->src_nbytes ? 0 : HR_K_TRUNCATED;
}

static uint32_t take_word(reader *r) {
    uint32_t low = take(r, 16);
    return low | take(r, 16) << 16;
}

static uint32_t read_gzip_member(reader *r) {
    uint64_t at = r->at / 8;
    r->floor = r->made;
    uint32_t wrong = read_gzip_header(r->c, &at);
    if (wrong != 0) {
        return wrong;
    }
    r->at = at * 8;
    wrong = read_blocks(r);
    if (wrong != 0 || end_of(r) - r->at < 64) {
        return wrong != 0 ? wrong : HR_K_TRUNCATED;
    }
    uint64_t begin = r->at;
    uint32_t stored = take_word(r), size = take_word(r), made = r->made - r->floor;
    r->at = begin;
    if (size != made) {
        return HR_K_BAD_WRAPPER;
    }
    check(r, stored, (uint32_t)crc32(0, r->c->want + r->floor, made));
    r->at += 64;
    return 0;
}

static uint32_t read_gzip(reader *r) {
    uint32_t wrong;
    uint64_t at;
    bool is_more;
    do {
        wrong = read_gzip_member(r);
        at = r->at / 8;
        is_more = wrong == 0 && r->c->src_nbytes - at >= 2 && r->c->src[at] == 0x1F &&
                  r->c->src[at + 1] == 0x8B;
    } while (is_more);
    for (; wrong == 0 && at < r->c->src_nbytes; at++) {
        wrong = r->c->src[at] != 0 ? HR_K_BAD_WRAPPER : 0;
    }
    return wrong;
}

decode_case deflate_case_make(const uint8_t *src, uint32_t src_nbytes,
                              uint32_t dst_nbytes, uint16_t wrapper) {
    decode_case c = {.src = must_malloc(src_nbytes),
                     .src_nbytes = src_nbytes,
                     .dst_nbytes = dst_nbytes,
                     .wrapper = wrapper,
                     .want = must_malloc(dst_nbytes)};
    memcpy(c.src, src, src_nbytes);
    memset(c.want, 0, dst_nbytes);
    reader *r = must_malloc(sizeof *r);
    *r = (reader){.c = &c};
    int kind = wrapper & ~HR_K_DEFLATE_UNCHECKED;
    c.code = kind == HR_K_DEFLATE_RAW    ? read_blocks(r)
             : kind == HR_K_DEFLATE_ZLIB ? read_zlib(r)
                                         : read_gzip(r);
    if (c.code == 0 && r->made < dst_nbytes) {
        c.code = HR_K_TOO_SHORT;
    }
    c.where = c.code == 0 ? 0 : (uint32_t)(r->at / 8);
    if (r->is_bad_checksum) {
        c.code = HR_K_BAD_CHECKSUM;
        c.where = r->bad_checksum_at;
    }
    free(r);
    return c;
}
