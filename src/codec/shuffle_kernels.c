/* Byte and bit unshuffle. SPDX-License-Identifier: Apache-2.0
 *
 * Vectors are the compiler's own: on x86-64 they become SSE2, on AArch64 NEON. */
#include "codec/shuffle_kernels.h"

#include <string.h>

#define WIDTH 16 /* bytes in a vector */

typedef uint8_t vec __attribute__((vector_size(WIDTH)));
typedef uint16_t vec16 __attribute__((vector_size(WIDTH)));

static inline vec load(const uint8_t *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(uint8_t *p, vec v) {
    memcpy(p, &v, sizeof v);
}

/* Loops over the vectors of an array are unrolled whole, to keep them in registers; gcc
 * has to be told. */
#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* Interleave the bytes of n vectors: one round puts the first and the second half of
 * them together byte by byte; log2 n rounds give byte 0 of each, byte 1 of each, … */
static inline __attribute__((always_inline)) void interleave(vec *v, size_t n) {
    vec t[16];
    UNROLL
    for (size_t round = 1; round < n; round *= 2) {
        UNROLL
        for (size_t i = 0; i < n / 2; i++) {
            t[2 * i] = __builtin_shufflevector(v[i], v[i + n / 2], ZIP_LOW);
            t[2 * i + 1] = __builtin_shufflevector(v[i], v[i + n / 2], ZIP_HIGH);
        }
        memcpy(v, t, n * sizeof *v);
    }
}

/* Items [0, n) whose byte j lies in src + j × stride, in whole vectors of items; returns
 * how many were done. typesize is a constant power of two. */
static inline __attribute__((always_inline)) size_t
unshuffle_vectors(size_t typesize, size_t n, size_t stride, const uint8_t *restrict src,
                  uint8_t *restrict dst) {
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        vec v[16];
        UNROLL
        for (size_t j = 0; j < typesize; j++) {
            v[j] = load(src + j * stride + i);
        }
        interleave(v, typesize);
        UNROLL
        for (size_t j = 0; j < typesize; j++) {
            store(dst + i * typesize + j * WIDTH, v[j]);
        }
    }
    return i;
}

/* Any typesize: a few items at a time, so that what is written stays in the cache. */
static void unshuffle_bytes(size_t typesize, size_t begin, size_t n, size_t stride,
                            const uint8_t *restrict src, uint8_t *restrict dst) {
    enum { TILE = 64 };
    for (size_t i = begin; i < n; i += TILE) {
        size_t end = n - i < TILE ? n : i + TILE;
        for (size_t j = 0; j < typesize; j++) {
            for (size_t k = i; k < end; k++) {
                dst[k * typesize + j] = src[j * stride + k];
            }
        }
    }
}

static void unshuffle_items(size_t typesize, size_t n, size_t stride,
                            const uint8_t *restrict src, uint8_t *restrict dst) {
    size_t done = 0;
    switch (typesize) {
    case 1:
        memcpy(dst, src, n);
        return;
    case 2:
        done = unshuffle_vectors(2, n, stride, src, dst);
        break;
    case 4:
        done = unshuffle_vectors(4, n, stride, src, dst);
        break;
    case 8:
        done = unshuffle_vectors(8, n, stride, src, dst);
        break;
    case 16:
        done = unshuffle_vectors(16, n, stride, src, dst);
        break;
    default:
        break;
    }
    unshuffle_bytes(typesize, done, n, stride, src, dst);
}

void hr__unshuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst) {
    size_t n = nbytes / typesize;
    size_t whole = n * typesize;
    unshuffle_items(typesize, n, n, src, dst);
    memcpy(dst + whole, src + whole, nbytes - whole);
}

/* Exchange bits between rows a and b: those that `mask` selects in b, and those `shift`
 * above them in a. */
static inline __attribute__((always_inline)) void swap_bits(vec *a, vec *b, int shift,
                                                            unsigned mask) {
    vec16 x = (vec16)*a, y = (vec16)*b;
    vec16 t = ((x >> shift) ^ y) & (uint16_t)(mask << 8 | mask);
    *b = (vec)(y ^ t);
    *a = (vec)(x ^ (t << shift));
}

/* Rows of bits to bytes: v[k] holds bit k of 8 × WIDTH bytes, which become v[0..7] in
 * order. First every column of 8 × 8 bits is transposed, then the columns are joined. */
static inline void join_bits(vec v[8]) {
    for (int i = 0; i < 4; i++) {
        swap_bits(&v[i], &v[i + 4], 4, 0x0f);
    }
    for (int i = 0; i < 8; i++) {
        if ((i & 2) == 0) {
            swap_bits(&v[i], &v[i + 2], 2, 0x33);
        }
    }
    for (int i = 0; i < 8; i += 2) {
        swap_bits(&v[i], &v[i + 1], 1, 0x55);
    }
    interleave(v, 8);
}

/* Bytes of one tile of items from its rows of bits, each `n` ≤ WIDTH bytes long. */
static void join_rows(size_t n, size_t stride, const uint8_t *src, uint8_t *bytes) {
    vec v[8];
    for (size_t k = 0; k < 8; k++) {
        if (n == WIDTH) {
            v[k] = load(src + k * stride);
        } else {
            v[k] = (vec){0};
            memcpy(&v[k], src + k * stride, n);
        }
    }
    join_bits(v);
    memcpy(bytes, v, sizeof v);
}

void hr__bitunshuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst) {
    enum { TILE = 8 * WIDTH }; /* items */
    uint8_t tile[255 * TILE];  /* their first bytes, their second bytes, … */
    size_t n = nbytes / typesize;
    if (n % 8 != 0) {
        memcpy(dst, src, nbytes);
        return;
    }
    size_t row = n / 8;
    for (size_t i = 0; i < row; i += WIDTH) {
        size_t width = row - i < WIDTH ? row - i : WIDTH;
        for (size_t j = 0; j < typesize; j++) {
            join_rows(width, row, src + j * 8 * row + i, tile + j * TILE);
        }
        unshuffle_items(typesize, width * 8, TILE, tile, dst + i * 8 * typesize);
    }
    size_t whole = n * typesize;
    memcpy(dst + whole, src + whole, nbytes - whole);
}
