/* Writing small TIFF files in memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_TIFF_MAKER_H
#define HR_TEST_TIFF_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tag besides those of the layout. */
typedef struct tiff_extra {
    unsigned id, type; /* 2: text, 3: numbers of 16 bits, 12: doubles */
    size_t count;
    const void *values; /* char, uint16_t or double */
} tiff_extra;

/* What one image is to be like. Zeros are sensible where nothing else is said. */
typedef struct tiff_spec {
    int64_t width, height;
    int64_t nsamples; /* 0: 1 */
    bool is_planar, is_tiled;
    int64_t block_width, block_height; /* of a tile; of a strip its rows; 0: one strip */
    unsigned bits;                     /* 8, 16, 32 or 64 */
    unsigned format;                   /* SampleFormat; 0: not written */
    unsigned compression; /* 1, 5, 8, 32773, 32946, 50000; 0: not written, as 1 */
    unsigned predictor;   /* 0: not written */
    unsigned fill_order;  /* 0: not written */
    unsigned subfile_type;
    int64_t sparse_block;  /* counted from 1: nothing is written of it; 0: none */
    const char *nodata;    /* NULL: none */
    bool without_sizes;    /* no StripByteCounts */
    bool has_short_tables; /* offsets and sizes in 16 bits: small files only */
    const tiff_extra *extra;
    size_t nextra;
} tiff_spec;

typedef struct tiff_file {
    bool is_big_endian, is_big;
    uint8_t *bytes;
    size_t nbytes, capacity;
    size_t ifd;     /* the last one */
    size_t next_at; /* its pointer to the next */
} tiff_file;

void tiff_start(tiff_file *f, bool is_big_endian, bool is_big);
void tiff_free(tiff_file *f);
/* Add an image, in C order as (y, x), (y, x, sample) or, where planar, (sample, y, x);
 * items little-endian. */
void tiff_add(tiff_file *f, const tiff_spec *spec, const uint8_t *image);

/* Where a tag's entry is in the last IFD; 0 if it has none. */
size_t tiff_entry(const tiff_file *f, unsigned tag);
/* Its count and, behind it, its value or offset. */
size_t tiff_count_at(const tiff_file *f, unsigned tag);
size_t tiff_value_at(const tiff_file *f, unsigned tag);
/* A number of nbytes in the file's byte order. */
void tiff_put(tiff_file *f, size_t at, size_t nbytes, uint64_t value);
uint64_t tiff_get(const tiff_file *f, size_t at, size_t nbytes);
/* Bytes of offsets and counts in entries: 4 or 8. */
size_t tiff_word(const tiff_file *f);

/* Encoders, which return the encoded size; dst has room for 2 × n + 64 bytes. */
size_t tiff_encode_lzw(const uint8_t *src, size_t n, bool is_old, uint8_t *dst);
size_t tiff_encode_packbits(const uint8_t *src, size_t n, uint8_t *dst);

#endif
