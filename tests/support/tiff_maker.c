/* Writing small TIFF files in memory. SPDX-License-Identifier: Apache-2.0 */
#include "support/tiff_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

/* --- bytes --- */

static size_t append(tiff_file *f, const void *data, size_t n) {
    size_t at = f->nbytes;
    if (f->nbytes + n > f->capacity) {
        f->capacity = 2 * (f->nbytes + n);
        f->bytes = realloc(f->bytes, f->capacity);
        assert_non_null(f->bytes);
    }
    if (data == NULL) {
        memset(f->bytes + at, 0, n);
    } else if (n > 0) {
        memcpy(f->bytes + at, data, n);
    }
    f->nbytes += n;
    return at;
}

void tiff_put(tiff_file *f, size_t at, size_t nbytes, uint64_t value) {
    for (size_t i = 0; i < nbytes; i++) {
        size_t shift = 8 * (f->is_big_endian ? nbytes - 1 - i : i);
        f->bytes[at + i] = (uint8_t)(value >> shift);
    }
}

uint64_t tiff_get(const tiff_file *f, size_t at, size_t nbytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes; i++) {
        size_t shift = 8 * (f->is_big_endian ? nbytes - 1 - i : i);
        value |= (uint64_t)f->bytes[at + i] << shift;
    }
    return value;
}

size_t tiff_word(const tiff_file *f) {
    return f->is_big ? 8 : 4;
}

void tiff_start(tiff_file *f, bool is_big_endian, bool is_big) {
    *f = (tiff_file){.is_big_endian = is_big_endian, .is_big = is_big};
    append(f, NULL, is_big ? 16 : 8);
    memset(f->bytes, is_big_endian ? 'M' : 'I', 2);
    tiff_put(f, 2, 2, is_big ? 43 : 42);
    if (is_big) {
        tiff_put(f, 4, 2, 8);
    }
    f->next_at = is_big ? 8 : 4;
}

void tiff_free(tiff_file *f) {
    free(f->bytes);
}

/* --- compression --- */

static size_t compress_block(unsigned compression, const uint8_t *src, size_t n,
                             uint8_t *dst) {
    uLongf size = (uLongf)(2 * n + 64);
    switch (compression) {
    case 5:
        return tiff_encode_lzw(src, n, false, dst);
    case 8:
    case 32946:
        assert_int_equal(compress2(dst, &size, src, (uLong)n, 6), Z_OK);
        return size;
    case 32773:
        return tiff_encode_packbits(src, n, dst);
    case 50000:
        return ZSTD_compress(dst, size, src, n, 1);
    default:
        memcpy(dst, src, n);
        return n;
    }
}

/* --- predictors and byte order --- */

static void swap_items(uint8_t *items, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t byte = items[i * size + k];
            items[i * size + k] = items[i * size + size - 1 - k];
            items[i * size + size - 1 - k] = byte;
        }
    }
}

/* Differences of little-endian integers, from the end of the row. */
static void difference(uint8_t *row, size_t n, size_t size, size_t stride) {
    for (size_t i = n; i-- > stride;) {
        unsigned borrow = 0;
        for (size_t k = 0; k < size; k++) {
            unsigned x = row[i * size + k];
            unsigned y = row[(i - stride) * size + k] + borrow;
            row[i * size + k] = (uint8_t)(x - y);
            borrow = x < y;
        }
    }
}

static void encode_row(const tiff_file *f, const tiff_spec *s, uint8_t *row, size_t n,
                       size_t stride) {
    size_t size = s->bits / 8;
    if (s->predictor == 2) {
        difference(row, n, size, stride);
    }
    if (s->predictor == 3) {
        uint8_t *bytes = malloc(n * size);
        assert_non_null(bytes);
        for (size_t i = 0; i < n; i++) {
            for (size_t b = 0; b < size; b++) {
                bytes[(size - 1 - b) * n + i] = row[i * size + b];
            }
        }
        difference(bytes, n * size, 1, stride);
        memcpy(row, bytes, n * size);
        free(bytes);
    } else if (f->is_big_endian) {
        swap_items(row, n, size);
    }
}

/* --- blocks --- */

static int64_t at_least_one(int64_t n) {
    return n > 0 ? n : 1;
}

/* The block with these rows and columns of a plane, padded where it reaches beyond. */
static size_t gather(const tiff_file *f, const tiff_spec *s, const uint8_t *image,
                     int64_t plane, int64_t y0, int64_t x0, int64_t nrows, int64_t ncols,
                     uint8_t *block) {
    size_t size = s->bits / 8;
    size_t stride = s->is_planar ? 1 : (size_t)at_least_one(s->nsamples);
    size_t pixel = stride * size;
    for (int64_t r = 0; r < nrows; r++) {
        uint8_t *row = block + (size_t)(r * ncols) * pixel;
        memset(row, 0x5A, (size_t)ncols * pixel);
        for (int64_t c = 0; c < ncols; c++) {
            int64_t y = y0 + r;
            int64_t x = x0 + c;
            if (y < s->height && x < s->width) {
                int64_t at = (plane * s->height + y) * s->width + x;
                memcpy(row + (size_t)c * pixel, image + (size_t)at * pixel, pixel);
            }
        }
        encode_row(f, s, row, (size_t)ncols * stride, stride);
    }
    return (size_t)(nrows * ncols) * pixel;
}

static void reverse_bits(uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned reversed = 0;
        for (unsigned k = 0; k < 8; k++) {
            reversed |= (bytes[i] >> k & 1U) << (7 - k);
        }
        bytes[i] = (uint8_t)reversed;
    }
}

typedef struct tables {
    uint64_t *offsets, *sizes;
    size_t n;
} tables;

static void add_block(tiff_file *f, const tiff_spec *s, uint8_t *block, size_t n,
                      tables *t) {
    uint8_t *packed = malloc(2 * n + 64);
    assert_non_null(packed);
    size_t size = compress_block(s->compression, block, n, packed);
    if (s->fill_order == 2) {
        reverse_bits(packed, size);
    }
    t->offsets = realloc(t->offsets, (t->n + 1) * sizeof *t->offsets);
    t->sizes = realloc(t->sizes, (t->n + 1) * sizeof *t->sizes);
    bool is_sparse = s->sparse_block == (int64_t)t->n + 1;
    t->offsets[t->n] = is_sparse ? 0 : append(f, packed, size);
    t->sizes[t->n++] = is_sparse ? 0 : size;
    free(packed);
}

static void add_blocks(tiff_file *f, const tiff_spec *s, const uint8_t *image,
                       tables *t) {
    int64_t ncols = s->is_tiled ? s->block_width : s->width;
    int64_t rows = s->block_height > 0 ? s->block_height : s->height;
    int64_t nplanes = s->is_planar ? s->nsamples : 1;
    size_t room = (size_t)(rows * ncols * at_least_one(s->nsamples)) * s->bits / 8;
    uint8_t *block = malloc(room);
    assert_non_null(block);
    for (int64_t p = 0; p < nplanes; p++) {
        for (int64_t y = 0; y < s->height; y += rows) {
            for (int64_t x = 0; x < s->width; x += ncols) {
                bool is_short = !s->is_tiled && s->height - y < rows;
                int64_t nrows = is_short ? s->height - y : rows;
                add_block(f, s, block, gather(f, s, image, p, y, x, nrows, ncols, block),
                          t);
            }
        }
    }
    free(block);
}

/* --- directories --- */

enum { ASCII = 2, SHORT = 3, LONG = 4, DOUBLE = 12, LONG8 = 16, MAX_TAGS = 40 };

typedef struct tiff_tag {
    unsigned id, type;
    size_t count;
    uint8_t *values; /* in the file's order; freed when written */
} tiff_tag;

typedef struct tag_list {
    size_t n;
    tiff_tag tags[MAX_TAGS];
} tag_list;

static size_t type_size(unsigned type) {
    return type == SHORT ? 2 : type == LONG ? 4 : type == LONG8 || type == DOUBLE ? 8 : 1;
}

static void add_tag(const tiff_file *f, tag_list *list, unsigned id, unsigned type,
                    size_t count, const uint64_t *values) {
    size_t size = type_size(type);
    tiff_file one = *f;
    one.bytes = calloc(count + 1, size);
    assert_non_null(one.bytes);
    for (size_t i = 0; i < count; i++) {
        tiff_put(&one, i * size, size, values[i]);
    }
    assert_true(list->n < MAX_TAGS);
    list->tags[list->n++] =
        (tiff_tag){.id = id, .type = type, .count = count, .values = one.bytes};
}

static void add_number(const tiff_file *f, tag_list *list, unsigned id, uint64_t value) {
    if (value != 0) {
        add_tag(f, list, id, value <= UINT16_MAX ? SHORT : LONG, 1, &value);
    }
}

static void add_same(const tiff_file *f, tag_list *list, unsigned id, uint64_t value,
                     size_t n) {
    uint64_t values[64];
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) {
        values[i] = value;
    }
    if (value != 0) {
        add_tag(f, list, id, SHORT, n, values);
    }
}

static void add_extra(const tiff_file *f, tag_list *list, const tiff_extra *e) {
    uint64_t values[256] = {0};
    size_t size = type_size(e->type);
    assert_true(e->count <= 256);
    for (size_t i = 0; i < e->count; i++) {
        memcpy(&values[i], (const uint8_t *)e->values + i * size, size);
    }
    add_tag(f, list, e->id, e->type, e->count, values);
}

static void list_tags(const tiff_file *f, const tiff_spec *s, const tables *t,
                      tag_list *list) {
    size_t n = (size_t)at_least_one(s->nsamples);
    unsigned type = s->has_short_tables ? SHORT : f->is_big ? LONG8 : LONG;
    add_number(f, list, 254, s->subfile_type);
    add_number(f, list, 256, (uint64_t)s->width);
    add_number(f, list, 257, (uint64_t)s->height);
    add_same(f, list, 258, s->bits, n);
    add_number(f, list, 259, s->compression);
    add_number(f, list, 262, 1);
    add_number(f, list, 266, s->fill_order);
    if (!s->is_tiled) {
        add_tag(f, list, 273, type, t->n, t->offsets);
    }
    add_number(f, list, 277, n);
    if (!s->is_tiled) {
        add_number(f, list, 278, (uint64_t)s->block_height);
        if (!s->without_sizes) {
            add_tag(f, list, 279, type, t->n, t->sizes);
        }
    }
    add_number(f, list, 284, s->is_planar ? 2 : 1);
    add_number(f, list, 317, s->predictor);
    if (s->is_tiled) {
        add_number(f, list, 322, (uint64_t)s->block_width);
        add_number(f, list, 323, (uint64_t)s->block_height);
        add_tag(f, list, 324, type, t->n, t->offsets);
        add_tag(f, list, 325, type, t->n, t->sizes);
    }
    add_same(f, list, 339, s->format, n);
    if (s->nodata != NULL) {
        uint64_t text[64] = {0};
        size_t length = strlen(s->nodata);
        for (size_t i = 0; i < length && i < 63; i++) {
            text[i] = (uint8_t)s->nodata[i];
        }
        add_tag(f, list, 42113, ASCII, length + 1, text);
    }
    for (size_t i = 0; i < s->nextra; i++) {
        add_extra(f, list, &s->extra[i]);
    }
}

static void write_ifd(tiff_file *f, tag_list *list) {
    size_t word = tiff_word(f);
    size_t head = f->is_big ? 8 : 2;
    size_t entry = 4 + 2 * word;
    size_t at = append(f, NULL, head + list->n * entry + word);
    tiff_put(f, f->next_at, word, at);
    tiff_put(f, at, head, list->n);
    f->ifd = at;
    f->next_at = at + head + list->n * entry;
    for (size_t i = 0; i < list->n; i++) {
        tiff_tag *t = &list->tags[i];
        size_t nbytes = t->count * type_size(t->type);
        size_t place = at + head + i * entry;
        tiff_put(f, place, 2, t->id);
        tiff_put(f, place + 2, 2, t->type);
        tiff_put(f, place + 4, word, t->count);
        if (nbytes <= word) {
            memcpy(f->bytes + place + 4 + word, t->values, nbytes);
        } else {
            size_t values = append(f, t->values, nbytes);
            tiff_put(f, place + 4 + word, word, values);
        }
        free(t->values);
    }
}

void tiff_add(tiff_file *f, const tiff_spec *spec, const uint8_t *image) {
    tables t = {0};
    tag_list list = {0};
    add_blocks(f, spec, image, &t);
    list_tags(f, spec, &t, &list);
    write_ifd(f, &list);
    free(t.offsets);
    free(t.sizes);
}

size_t tiff_entry(const tiff_file *f, unsigned tag) {
    size_t head = f->is_big ? 8 : 2;
    size_t entry = 4 + 2 * tiff_word(f);
    size_t n = (size_t)tiff_get(f, f->ifd, head);
    for (size_t i = 0; i < n; i++) {
        size_t at = f->ifd + head + i * entry;
        if (tiff_get(f, at, 2) == tag) {
            return at;
        }
    }
    return 0;
}

size_t tiff_count_at(const tiff_file *f, unsigned tag) {
    return tiff_entry(f, tag) + 4;
}

size_t tiff_value_at(const tiff_file *f, unsigned tag) {
    return tiff_entry(f, tag) + 4 + tiff_word(f);
}
