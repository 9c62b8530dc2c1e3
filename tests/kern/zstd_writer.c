/* SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY
#include "kern/zstd_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "kern/memory.h"
#include "kern/random.h"
#include "kern/zstd_block.h"

#define MAGIC UINT32_C(0xFD2FB528)
#define SKIPPABLE_MAGIC UINT32_C(0x184D2A50)

enum { RAW, SAME, CODED };

/* --- blocks --- */

static void fill(zstd_frame *f, uint32_t kind, uint32_t nbytes) {
    const uint8_t byte = (uint8_t)random_next(&f->random);
    for (uint32_t i = 0; i < nbytes; i++) {
        f->raw[f->made++] = kind == SAME ? byte : (uint8_t)random_next(&f->random);
    }
}

/* The content of a block that makes up to so many bytes, and its kind in the end: one of
 * sequences is stored as it is if it grew too large. */
static uint32_t write_content(zstd_frame *f, zstd_bytes *out, uint32_t nbytes) {
    static const uint8_t kinds[] = {RAW, SAME, CODED, CODED, CODED, CODED, CODED, CODED};
    uint32_t kind = kinds[zstd_draw_below(&f->random, sizeof kinds)];
    const uint32_t begin = f->made;
    if (kind == CODED) {
        const zstd_memory before = f->memory;
        zstd_write_block(f, out, nbytes);
        if (out->n > f->block_limit) {
            f->memory = before;
            kind = RAW;
        }
    } else {
        fill(f, kind, nbytes);
    }
    if (kind == RAW) {
        out->n = 0;
        zstd_put_all(out, f->raw + begin, f->made - begin);
    } else if (kind == SAME) {
        zstd_put(out, nbytes > 0 ? f->raw[begin] : 7, 1);
    }
    return kind;
}

static void write_blocks(zstd_frame *f, uint32_t nbytes) {
    bool is_last;
    zstd_bytes content = {0};
    do {
        const uint32_t begin = f->made, size = zstd_draw_below(&f->random, 8);
        const uint32_t left = nbytes - begin;
        uint32_t most = left < f->block_limit ? left : f->block_limit;
        most = size == 0 ? 0 : size < 3 && most > 300 ? 300 : most;
        most = size < 5 ? zstd_draw_below(&f->random, (uint64_t)most + 1) : most;
        content.n = 0;
        const uint32_t kind = write_content(f, &content, most);
        const uint32_t made = f->made - begin;
        is_last = f->made == nbytes && zstd_draw_below(&f->random, 4) > 0;
        zstd_put(&f->out, is_last | kind << 1 | (kind == SAME ? made : content.n) << 3,
                 3);
        zstd_put_all(&f->out, content.at, content.n);
        zstd_reach(&f->memory, ZSTD_BLOCK, kind);
        if (made == 0) {
            zstd_reach(&f->memory, ZSTD_EMPTY_BLOCK, kind);
        } else if (made == ZSTD_BLOCK_NBYTES) {
            zstd_reach(&f->memory, ZSTD_LARGEST_BLOCK, kind);
        }
    } while (!is_last);
    free(content.at);
}

/* --- frames --- */

/* Its content's checksum: libzstd tells it. */
static uint32_t checksum(const uint8_t *raw, uint32_t n) {
    const size_t bound = ZSTD_compressBound(n);
    uint8_t *frame = must_malloc(bound);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, -100);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    const size_t made = ZSTD_compress2(c, frame, bound, raw, n);
    ZSTD_freeCCtx(c);
    if (ZSTD_isError(made)) {
        printf("libzstd cannot compress: %s\n", ZSTD_getErrorName(made));
        exit(EXIT_FAILURE);
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum |= (uint32_t)frame[made - 4 + i] << 8 * i;
    }
    free(frame);
    return sum;
}

/* Which flag stands for the width of a frame's size: one that it fits in. */
static uint32_t draw_size_flag(zstd_frame *f, bool is_single, uint32_t nbytes,
                               uint32_t *width) {
    static const uint32_t widths[] = {0, 2, 4, 8};
    uint32_t flag;
    do {
        flag = zstd_draw_below(&f->random, 4);
    } while ((flag == 0 && is_single && nbytes > 255) ||
             (flag == 1 && (nbytes < 256 || nbytes > 255 + 65536)));
    *width = flag == 0 && is_single ? 1 : widths[flag];
    return flag;
}

/* A frame too long for its blocks would be nothing but headers. */
static void write_window(zstd_frame *f, uint32_t nbytes) {
    const uint32_t least = nbytes > 20000 ? 7 : 0;
    uint32_t byte = zstd_draw_below(&f->random, 64);
    byte = zstd_draw_below(&f->random, 4) == 0 ? zstd_draw_below(&f->random, 176) : byte;
    byte = zstd_draw_below(&f->random, 16) == 0 ? 175 : byte; /* the largest */
    byte = byte / 8 < least ? least * 8 + byte % 8 : byte;
    f->window = (UINT64_C(8) + byte % 8) << (7 + byte / 8);
    zstd_put(&f->out, byte, 1);
    zstd_reach(&f->memory, ZSTD_WINDOW, byte == 175 ? 2 : f->window < nbytes);
}

static void write_frame_header(zstd_frame *f, uint32_t nbytes, bool has_checksum) {
    static const uint32_t id_widths[] = {0, 1, 2, 4};
    const bool is_single = zstd_draw_below(&f->random, 2) == 0;
    const uint32_t id = zstd_draw_below(&f->random, 4);
    const uint32_t unused = zstd_draw_below(&f->random, 2);
    uint32_t width, flag = draw_size_flag(f, is_single, nbytes, &width);
    zstd_put(&f->out, MAGIC, 4);
    zstd_put(&f->out,
             id | (has_checksum ? 4 : 0) | unused << 4 | (is_single ? 32 : 0) | flag << 6,
             1);
    f->window = nbytes;
    if (!is_single) {
        write_window(f, nbytes);
    }
    f->block_limit =
        f->window < ZSTD_BLOCK_NBYTES ? (uint32_t)f->window : ZSTD_BLOCK_NBYTES;
    zstd_put(&f->out, 0, id_widths[id]); /* no dictionary */
    zstd_put(&f->out, nbytes - (width == 2 ? 256 : 0), width);
    zstd_reach(&f->memory, ZSTD_SEGMENT, is_single);
    zstd_reach(&f->memory, ZSTD_CONTENT_SIZE, width);
    zstd_reach(&f->memory, ZSTD_DICTIONARY_ID, id_widths[id]);
    zstd_reach(&f->memory, ZSTD_UNUSED_BIT, unused);
    zstd_reach(&f->memory, ZSTD_CHECKSUM, has_checksum);
}

/* A frame that makes so many bytes of raw. */
static void write_frame(zstd_frame *f, uint32_t nbytes) {
    const bool has_checksum = zstd_draw_below(&f->random, 2) == 0;
    f->made = 0;
    f->memory.has_tree = f->memory.has_tables = false;
    memcpy(f->memory.offsets, (uint32_t[]){1, 4, 8}, sizeof f->memory.offsets);
    write_frame_header(f, nbytes, has_checksum);
    write_blocks(f, nbytes);
    if (has_checksum) {
        zstd_put(&f->out, checksum(f->raw, nbytes), 4);
    }
}

static void write_skippable(zstd_frame *f) {
    const uint32_t which = zstd_draw_below(&f->random, 16);
    const uint32_t n = zstd_draw_below(&f->random, 40);
    zstd_put(&f->out, SKIPPABLE_MAGIC + which, 4);
    zstd_put(&f->out, n, 4);
    for (uint32_t i = 0; i < n; i++) {
        zstd_put(&f->out, random_next(&f->random), 1);
    }
    zstd_reach(&f->memory, ZSTD_SKIPPABLE, which);
}

/* --- streams --- */

#define MOST_FRAMES 3

static uint32_t draw_nframes(zstd_frame *f) {
    uint32_t n = 1;
    while (n < MOST_FRAMES && zstd_draw_below(&f->random, 4) == 0) {
        n++;
    }
    return n;
}

/* Frames that make so many bytes each, with skippable ones around them. */
static void write_stream(zstd_frame *f, const uint32_t *sizes, uint32_t nframes,
                         zstd_drawn *out) {
    *out = (zstd_drawn){0};
    for (uint32_t i = 0; i < nframes; i++) {
        out->raw_nbytes += sizes[i];
    }
    out->raw = f->raw = must_malloc(out->raw_nbytes);
    for (uint32_t i = 0; i <= nframes; i++) {
        while (zstd_draw_below(&f->random, 4) == 0) {
            write_skippable(f);
        }
        if (i < nframes) {
            write_frame(f, sizes[i]);
            f->raw += sizes[i];
        }
    }
    zstd_reach(&f->memory, ZSTD_FRAMES, nframes);
    out->stream = f->out.at;
    out->stream_nbytes = f->out.n;
    memcpy(out->reached, f->memory.reached, sizeof out->reached);
}

/* One from which few streams have all modes. */
#define FIRST_SEED 4000

void zstd_draw(uint64_t number, zstd_drawn *out) {
    static const uint32_t most[] = {1, 40, 40, 2000, 5000, 20000};
    zstd_frame f = {.random = FIRST_SEED + number};
    uint32_t sizes[MOST_FRAMES], nframes = draw_nframes(&f);
    for (uint32_t i = 0; i < nframes; i++) {
        sizes[i] = zstd_draw_below(&f.random, most[zstd_draw_below(&f.random, 6)]);
    }
    if (number % 8 == 7) {
        sizes[0] = ZSTD_BLOCK_NBYTES + zstd_draw_below(&f.random, 70000);
    }
    if (number % 256 == 255) {
        sizes[0] = UINT32_C(4) << 20;
    }
    write_stream(&f, sizes, nframes, out);
}

void zstd_draw_sized(uint64_t number, uint32_t nbytes, zstd_drawn *out) {
    zstd_frame f = {.random = number};
    uint32_t sizes[MOST_FRAMES], nframes = draw_nframes(&f);
    for (uint32_t i = 0; i < nframes; i++) {
        const uint32_t some = zstd_draw_below(&f.random, (uint64_t)nbytes + 1);
        sizes[i] = i + 1 < nframes ? some : nbytes;
        nbytes -= sizes[i];
    }
    write_stream(&f, sizes, nframes, out);
}

void zstd_drawn_free(zstd_drawn *d) {
    free(d->stream);
    free(d->raw);
}

bool zstd_agrees(const zstd_drawn *d) {
    uint8_t *made = must_malloc(d->raw_nbytes);
    const size_t n = ZSTD_decompress(made, d->raw_nbytes, d->stream, d->stream_nbytes);
    const bool is_same = n == d->raw_nbytes && memcmp(made, d->raw, n) == 0;
    free(made);
    return is_same;
}

uint32_t zstd_print_missing(const uint64_t reached[ZSTD_NGROUPS]) {
#define GROUP(name, wanted) {#name, wanted},
    static const struct {
        const char *name;
        uint64_t wanted;
    } groups[] = {ZSTD_MODES(GROUP)};
    uint32_t nmissing = 0;
    for (uint32_t i = 0; i < ZSTD_NGROUPS; i++) {
        const uint64_t missing = groups[i].wanted & ~reached[i];
        if (missing != 0) {
            printf("never drawn: %s 0x%" PRIx64 "\n", groups[i].name, missing);
            nmissing++;
        }
    }
    return nmissing;
}
