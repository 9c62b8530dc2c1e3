/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/lz4_case.h"

#include <lz4.h>
#include <lz4hc.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernel_abi.h"
#include "kern/random.h"

/* The length bytes behind a nibble of 15. */
static bool read_more(const decode_case *c, uint32_t *at, uint64_t *n) {
    uint8_t byte = 255;
    while (byte == 255) {
        if (*at == c->src_nbytes) {
            return false;
        }
        byte = c->src[(*at)++];
        *n += byte;
    }
    return true;
}

/* One sequence at *at into want[*made]; 0 or a code. */
static uint32_t decode_sequence(const decode_case *c, uint32_t *at, uint32_t *made,
                                bool *is_last) {
    uint32_t p = *at, m = *made;
    if (p == c->src_nbytes) {
        return HR_K_TRUNCATED;
    }
    uint8_t token = c->src[p++];
    uint64_t n = token >> 4;
    if ((n == 15 && !read_more(c, &p, &n)) || n > c->src_nbytes - p) {
        return HR_K_TRUNCATED;
    }
    if (n > c->dst_nbytes - m) {
        return HR_K_TOO_LONG;
    }
    const uint8_t *literals = c->src + p;
    uint32_t nliterals = (uint32_t)n, offset = 0;
    p += nliterals;
    *is_last = p == c->src_nbytes;
    n = 0;
    if (!*is_last) {
        if (c->src_nbytes - p < 2) {
            return HR_K_TRUNCATED;
        }
        offset = c->src[p] | (uint32_t)c->src[p + 1] << 8;
        p += 2;
        n = token & 15;
        if (n == 15 && !read_more(c, &p, &n)) {
            return HR_K_TRUNCATED;
        }
        n += 4;
        if (offset == 0 || offset > m + nliterals) {
            return HR_K_BAD_OFFSET;
        }
        if (n > c->dst_nbytes - m - nliterals) {
            return HR_K_TOO_LONG;
        }
    }
    memcpy(c->want + m, literals, nliterals);
    m += nliterals;
    for (uint32_t i = 0; i < n; i++, m++) {
        c->want[m] = c->want[m - offset];
    }
    *at = p;
    *made = m;
    return 0;
}

decode_case lz4_case_make(const uint8_t *src, uint32_t src_nbytes, uint32_t dst_nbytes) {
    decode_case c = {.src = must_malloc(src_nbytes),
                     .src_nbytes = src_nbytes,
                     .dst_nbytes = dst_nbytes,
                     .want = must_malloc(dst_nbytes)};
    memcpy(c.src, src, src_nbytes);
    memset(c.want, 0, dst_nbytes);
    uint32_t made = 0;
    bool is_last = false;
    while (!is_last && c.code == 0) {
        c.code = decode_sequence(&c, &c.where, &made, &is_last);
    }
    if (c.code == 0 && made < dst_nbytes) {
        c.code = HR_K_TOO_SHORT;
    } else if (c.code == 0) {
        c.where = 0;
    }
    return c;
}

static void fill_words(uint8_t *raw, uint32_t nbytes, uint64_t *random) {
    static const char *const words[] = {"chunk", "array", "of",    "shape",    "and",
                                        "time",  "level", "north", "gradient", "mean"};
    uint32_t at = 0;
    while (at < nbytes) {
        char word[16];
        int n = snprintf(word, sizeof word, "%s ", words[random_below(random, 10)]);
        for (int i = 0; i < n && at < nbytes; i++) {
            raw[at++] = (uint8_t)word[i];
        }
    }
}

static void fill_shuffled(uint8_t *raw, uint32_t nbytes, uint64_t *random) {
    uint32_t n = nbytes / 4;
    double phase = (double)random_below(random, 100);
    for (uint32_t i = 0; i < n; i++) {
        float x = (float)(280 + 20 * sin(phase + i * 0.01) +
                          0.01 * (double)random_below(random, 10));
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= 0xFFFFF800;
        for (uint32_t b = 0; b < 4; b++) {
            raw[b * n + i] = (uint8_t)(bits >> (8 * b));
        }
    }
    memset(raw + (size_t)4 * n, 7, nbytes - 4 * n);
}

/* Runs of new bytes and of copies from near and far, some of them long. */
static void fill_mixture(uint8_t *raw, uint32_t nbytes, uint64_t *random) {
    uint32_t at = 0;
    while (at < nbytes) {
        uint64_t longest = random_below(random, 20) == 0 ? 6000 : 40;
        uint64_t n = 1 + random_below(random, longest);
        uint64_t back = 1 + random_below(random, random_below(random, 2) ? 70 : 70000);
        bool is_new = back > at || random_below(random, 3) == 0;
        for (uint64_t i = 0; i < n && at < nbytes; i++, at++) {
            raw[at] = is_new ? (uint8_t)random_next(random) : raw[at - back];
        }
    }
}

void lz4_fill(uint32_t kind, uint8_t *raw, uint32_t nbytes, uint64_t *random) {
    uint64_t period = 1 + random_below(random, 70);
    switch (kind) {
    case 0:
    case 1:
        for (uint32_t i = 0; i < nbytes; i++) {
            raw[i] =
                kind == 0 || i < period ? (uint8_t)random_next(random) : raw[i - period];
        }
        break;
    case 2:
        fill_words(raw, nbytes, random);
        break;
    case 3:
        fill_shuffled(raw, nbytes, random);
        break;
    default:
        fill_mixture(raw, nbytes, random);
        break;
    }
}

uint32_t lz4_compress(const uint8_t *raw, uint32_t nbytes, int level, uint8_t **out) {
    int bound = LZ4_compressBound((int)nbytes);
    *out = must_malloc((uint64_t)bound);
    int n =
        level == 0
            ? LZ4_compress_default((const char *)raw, (char *)*out, (int)nbytes, bound)
            : LZ4_compress_HC((const char *)raw, (char *)*out, (int)nbytes, bound, level);
    if (n <= 0) {
        printf("liblz4 cannot compress %u bytes\n", nbytes);
        exit(EXIT_FAILURE);
    }
    return (uint32_t)n;
}

static void put(lz4_writer *w, uint32_t byte) {
    if (w->nbytes == w->capacity) {
        w->capacity = 2 * w->capacity + 64;
        uint8_t *bytes = must_malloc(w->capacity);
        memcpy(bytes, w->bytes == NULL ? bytes : w->bytes, w->nbytes);
        free(w->bytes);
        w->bytes = bytes;
    }
    w->bytes[w->nbytes++] = (uint8_t)byte;
}

static void put_more(lz4_writer *w, uint32_t n) {
    for (; n >= 255; n -= 255) {
        put(w, 255);
    }
    put(w, n);
}

void lz4_write_sequence(lz4_writer *w, uint32_t nliterals, uint32_t offset,
                        uint32_t nmatch, uint64_t *random) {
    uint32_t more = offset == 0 ? 0 : nmatch - 4;
    put(w, (nliterals < 15 ? nliterals : 15) << 4 | (more < 15 ? more : 15));
    if (nliterals >= 15) {
        put_more(w, nliterals - 15);
    }
    for (uint32_t i = 0; i < nliterals; i++) {
        put(w, (uint32_t)random_next(random) & 255);
    }
    w->produced += nliterals;
    if (offset != 0) {
        put(w, offset & 255);
        put(w, offset >> 8);
        if (more >= 15) {
            put_more(w, more - 15);
        }
        w->produced += nmatch;
    }
}

void lz4_writer_free(lz4_writer *w) {
    free(w->bytes);
    *w = (lz4_writer){0};
}
