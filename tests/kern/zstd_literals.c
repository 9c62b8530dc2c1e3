/* The section of literals. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kern/random.h"
#include "kern/zstd_block.h"

/* A format of sizes of so many bits that n fits in. */
static uint32_t draw_format(zstd_frame *f, const uint32_t *widths, uint32_t n) {
    uint32_t format;
    do {
        format = zstd_draw_below(&f->random, 4);
    } while (n >> widths[format] != 0);
    return format;
}

static void write_plain(zstd_frame *f, zstd_bytes *out, uint8_t *literals, uint32_t n,
                        bool are_same) {
    static const uint32_t widths[] = {5, 12, 5, 20}, nbytes[] = {1, 2, 1, 3};
    uint32_t format = draw_format(f, widths, n);
    format = format == 2 ? 0 : format; /* its second bit is the size's first */
    const uint8_t byte = (uint8_t)random_next(&f->random);
    for (uint32_t i = 0; i < n; i++) {
        literals[i] = are_same ? byte : (uint8_t)random_next(&f->random);
    }
    zstd_put(out, are_same | format << 2 | n << (format % 2 == 0 ? 3 : 4),
             nbytes[format]);
    if (are_same) {
        zstd_put(out, byte, 1);
    } else {
        zstd_put_all(out, literals, n);
    }
    zstd_reach(&f->memory, are_same ? ZSTD_SAME_LITERALS : ZSTD_RAW_LITERALS, format);
}

/* A tree and its description. */
static void write_tree(zstd_frame *f, zstd_bytes *out) {
    zstd_tree *t = &f->memory.tree;
    uint32_t how;
    do {
        zstd_tree_draw(t, &f->random);
        how = zstd_tree_put(out, t, &f->random);
    } while (how > 2);
    uint32_t log = 0;
    while (t->nsymbols >> log > 1) {
        log++;
    }
    f->memory.has_tree = true;
    zstd_reach(&f->memory, ZSTD_TREE_WEIGHTS, how);
    zstd_reach(&f->memory, ZSTD_TREE_DEPTH, t->log);
    zstd_reach(&f->memory, ZSTD_TREE_SYMBOLS, log);
}

/* As likely as the tree has them, or all alike. */
static void draw_literals(zstd_frame *f, uint8_t *literals, uint32_t n) {
    const zstd_tree *t = &f->memory.tree;
    const bool are_likely = zstd_draw_below(&f->random, 3) > 0;
    for (uint32_t i = 0; i < n; i++) {
        do {
            literals[i] =
                are_likely ? t->places[zstd_draw_below(&f->random, UINT64_C(1) << t->log)]
                           : (uint8_t)random_next(&f->random);
        } while (t->weights[literals[i]] == 0);
    }
}

/* One stream, or four behind a table of the sizes of three. */
static void put_streams(zstd_frame *f, zstd_bytes *out, const uint8_t *literals,
                        uint32_t n, uint32_t nstreams) {
    const zstd_tree *t = &f->memory.tree;
    const uint32_t share = (n + nstreams - 1) / nstreams;
    zstd_bytes streams = {0};
    for (uint32_t i = 0; i < nstreams; i++) {
        const uint32_t first = i * share, begin = streams.n;
        zstd_tree_put_stream(&streams, t, literals + first,
                             i + 1 < nstreams ? share : n - first);
        if (i + 1 < nstreams) {
            zstd_put(out, streams.n - begin, 2);
        }
    }
    zstd_put_all(out, streams.at, streams.n);
    free(streams.at);
}

static void write_coded(zstd_frame *f, zstd_bytes *out, uint8_t *literals, uint32_t n) {
    static const uint32_t widths[] = {10, 10, 14, 18}, nbytes[] = {3, 3, 4, 5};
    const bool has_tree = f->memory.has_tree && zstd_draw_below(&f->random, 2) == 0;
    uint32_t format;
    zstd_bytes part = {0};
    do {
        do { /* fewer than 6 cannot be divided by four */
            format = draw_format(f, widths, n);
        } while (n < 6 && format > 0);
        part.n = 0;
        if (!has_tree) {
            write_tree(f, &part);
        }
        draw_literals(f, literals, n);
        put_streams(f, &part, literals, n, format == 0 ? 1 : 4);
    } while (part.n >> widths[format] != 0);
    zstd_put(out,
             (has_tree ? 3 : 2) | format << 2 | (uint64_t)n << 4 |
                 (uint64_t)part.n << (4 + widths[format]),
             nbytes[format]);
    zstd_put_all(out, part.at, part.n);
    free(part.at);
    zstd_reach(&f->memory, has_tree ? ZSTD_TREELESS_LITERALS : ZSTD_CODED_LITERALS,
               format);
}

void zstd_write_literals(zstd_frame *f, zstd_bytes *out, uint8_t *literals, uint32_t n) {
    const uint32_t kind = zstd_draw_below(&f->random, 8);
    if (n == 0 || kind < 2) {
        write_plain(f, out, literals, n, kind % 2 == 1);
    } else {
        write_coded(f, out, literals, n);
    }
}
