/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/store_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    hr_kind kind;
    uint32_t itemsize;
} numbers[] = {{HR_KIND_BOOL, 1},   {HR_KIND_INT, 1},     {HR_KIND_INT, 2},
               {HR_KIND_INT, 4},    {HR_KIND_INT, 8},     {HR_KIND_UINT, 1},
               {HR_KIND_UINT, 2},   {HR_KIND_UINT, 4},    {HR_KIND_UINT, 8},
               {HR_KIND_FLOAT, 2},  {HR_KIND_FLOAT, 4},   {HR_KIND_FLOAT, 8},
               {HR_KIND_BFLOAT, 2}, {HR_KIND_COMPLEX, 8}, {HR_KIND_COMPLEX, 16}};

#define NNUMBERS (sizeof numbers / sizeof *numbers)
#define NREAL 13

static bool chance(uint64_t *random, uint64_t one_in) {
    return random_below(random, one_in) == 0;
}

static void must(bool promise, const char *what) {
    if (!promise) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
}

static hr_dtype make_number(uint64_t i, uint64_t *random) {
    hr_dtype t = hr__dtype(numbers[i].kind, numbers[i].itemsize);
    t.byte_order = chance(random, 3) ? HR_BIG : HR_LITTLE;
    return t;
}

/* Bytes that only move, and maybe are reversed. */
static void make_moving_types(store_case *c, uint64_t *random) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 24, 255};
    uint64_t itemsize =
        chance(random, 2) ? 1 + random_below(random, 17) : sizes[random_below(random, 7)];
    c->from = hr__dtype(HR_KIND_VOID, itemsize);
    if (chance(random, 2)) {
        c->from = make_number(random_below(random, NNUMBERS), random);
    } else if (chance(random, 6)) {
        c->from = hr__dtype(HR_KIND_UNICODE, 4 * (1 + random_below(random, 5)));
    } else if (chance(random, 10)) {
        c->from = hr__dtype(HR_KIND_DATETIME, 8);
    }
    c->to = c->from;
    if (c->from.kind != HR_KIND_VOID && chance(random, 2)) {
        c->to.byte_order = c->from.byte_order == HR_BIG ? HR_LITTLE : HR_BIG;
    }
    must(hr__kstore_begin(&c->store, &c->from) &&
             hr__kstore_end(&c->store, &c->from, &c->to),
         "no store of bytes");
}

static void make_cast_types(store_case *c, uint64_t *random) {
    c->from = make_number(random_below(random, NNUMBERS), random);
    c->to = make_number(random_below(random, NNUMBERS), random);
    must(hr__kstore_begin(&c->store, &c->from) &&
             hr__kstore_end(&c->store, &c->from, &c->to),
         "no cast");
}

static double make_constant(uint64_t *random) {
    static const double some[] = {1, -1, 0.1, 10, 3, 1e-3, 273.15, 1e30, 0, -0.0, 65504};
    return chance(random, 2) ? some[random_below(random, 11)]
                             : (double)(int64_t)random_next(random) * 0x1p-50;
}

/* As the filter fixedscaleoffset. */
static void make_scaled_types(store_case *c, uint64_t *random) {
    static const uint64_t floats[] = {9, 10, 11, 12};
    c->from = make_number(random_below(random, NREAL), random);
    c->to = make_number(random_below(random, NREAL), random);
    hr_dtype work = make_number(floats[random_below(random, 4)], random);
    hr_dtype decoded = make_number(random_below(random, NREAL), random);
    double scale = make_constant(random), offset = make_constant(random);
    c->has_arithmetic = true;
    must(hr__kstore_begin(&c->store, &c->from) && hr__kstore_cast(&c->store, &work) &&
             hr__kstore_scale(&c->store, HR_K_DIV_ADD, scale, offset) &&
             hr__kstore_cast(&c->store, &decoded) &&
             hr__kstore_end(&c->store, &c->from, &c->to),
         "no scale");
}

/* As CF's packed numbers: the fill value becomes NaN, others x · scale + offset. */
static void make_masked_types(store_case *c, uint64_t *random) {
    static const uint8_t nan[3][8] = {
        {0, 0x7E}, {0, 0, 0xC0, 0x7F}, {0, 0, 0, 0, 0, 0, 0xF8, 0x7F}};
    uint64_t wide = 9 + random_below(random, 3);
    uint8_t fill[8];
    uint64_t bits = random_below(random, 3) << (random_below(random, 4) * 8);
    memcpy(fill, &bits, sizeof fill);
    c->from = make_number(random_below(random, NREAL), random);
    c->to = make_number(random_below(random, NREAL), random);
    hr_dtype work = make_number(wide, random);
    double scale = make_constant(random), offset = make_constant(random);
    c->has_arithmetic = true;
    must(hr__kstore_begin(&c->store, &c->from) &&
             hr__kstore_mark(&c->store, HR_K_MARK, fill) &&
             hr__kstore_cast(&c->store, &work) &&
             hr__kstore_scale(&c->store, HR_K_MUL_ADD, scale, offset) &&
             hr__kstore_mark(&c->store, HR_K_REPLACE, nan[wide - 9]) &&
             hr__kstore_end(&c->store, &c->from, &c->to),
         "no mask");
}

static void make_types(store_case *c, uint64_t *random) {
    switch (random_below(random, 8)) {
    case 0:
    case 1:
    case 2:
        make_cast_types(c, random);
        break;
    case 3:
        make_scaled_types(c, random);
        break;
    case 4:
        make_masked_types(c, random);
        break;
    default:
        make_moving_types(c, random);
    }
}

static void make_shuffle(store_case *c, uint64_t *random) {
    hr_k_store *s = &c->store;
    s->shuffle = (uint32_t)random_below(random, 3);
    s->typesize = (uint32_t)c->from.itemsize;
    if (chance(random, 4)) {
        s->typesize = 1 + (uint32_t)random_below(random, chance(random, 4) ? 255 : 17);
    }
    if (s->shuffle == HR_K_BITS_SHUFFLED && s->typesize > 255) {
        s->typesize = 255; /* what Blosc has */
    }
    s->block_nbytes = c->chunk_nbytes > 0 ? c->chunk_nbytes : 1;
    if (chance(random, 2)) {
        s->block_nbytes = (1 + random_below(random, chance(random, 2) ? 16 : 1000)) *
                          s->typesize * (chance(random, 2) ? 8 : 1);
    }
    if (chance(random, 6)) {
        s->block_nbytes = 1 + random_below(random, c->chunk_nbytes + 10);
    }
}

/* Numbers that conversions stumble over, among any bytes. */
static void make_items(store_case *c, uint64_t *random) {
    static const double special[] = {
        0.0,       -0.0,    0.5,     1.5,     2.5,       -0.5,     0x1p-24,   0x1p-25,
        0x1.8p-24, 0x1p-14, 65504,   65519.9, 65520,     127.5,    128,       -128.5,
        255.5,     256,     0x1p31,  0x1p32,  0x1p63,    0x1p64,   -0x1p63,   -0x1p31,
        0x1p-149,  1e-40,   0x1p127, 3.5e38,  0x1p-1074, INFINITY, -INFINITY, NAN};
    static const uint64_t bits[] = {
        0x7F800001,         0x7C01,    0xFFC12345, 0x7F81, 0x7FF0000000000001,
        0xFFF0000020000000, 0x7FC0FFFF};
    uint64_t itemsize = c->from.itemsize;
    const hr_dtype f64 = hr__dtype(HR_KIND_FLOAT, 8);
    for (uint64_t i = 0; i < c->chunk_nbytes; i++) {
        c->plain[i] = (uint8_t)random_next(random);
    }
    if (!hr__dtype_is_number(&c->from)) {
        return;
    }
    for (uint64_t at = c->loops.copy.src % itemsize; at + itemsize <= c->chunk_nbytes;
         at += itemsize) {
        if (chance(random, 4)) {
            hr__dtype_convert(&c->from, c->plain + at, &f64,
                              (const uint8_t *)&special[random_below(random, 32)], 1);
        } else if (chance(random, 4)) {
            uint64_t any = bits[random_below(random, 7)];
            memcpy(c->plain + at, &any, itemsize < 8 ? itemsize : 8);
        } else if (chance(random, 4)) { /* small numbers and fill values */
            memset(c->plain + at, 0, itemsize);
            c->plain[at + random_below(random, itemsize)] =
                (uint8_t)random_below(random, 3);
        }
    }
}

void store_case_make(store_case *c, int64_t *lists, uint64_t *random) {
    memset(c, 0, sizeof *c);
    make_types(c, random);
    scatter_case_make_sized(&c->loops, lists, (uint32_t)c->from.itemsize,
                            (uint32_t)c->to.itemsize, chance(random, 2), random);
    c->chunk_nbytes =
        c->loops.src_nbytes + (chance(random, 2) ? random_below(random, 40) : 0);
    c->chunk_offset = chance(random, 4) ? random_below(random, 16) : 0;
    make_shuffle(c, random);
    c->plain = malloc(c->chunk_nbytes + 1);
    c->shuffled = malloc(c->chunk_nbytes + 1);
    must(c->plain != NULL && c->shuffled != NULL, "no memory");
    make_items(c, random);
    store_shuffle(&c->store, c->plain, c->shuffled, c->chunk_nbytes);
}

void store_case_free(store_case *c) {
    free(c->plain);
    free(c->shuffled);
}

void store_case_print(const store_case *c) {
    char from[64], to[64];
    (void)hr_dtype_format(&c->from, from, sizeof from);
    (void)hr_dtype_format(&c->to, to, sizeof to);
    printf("store of %s as %s in %" PRIu32 " steps, shuffle %" PRIu32 " of %" PRIu32
           ", blocks of %" PRIu64 ", chunk of %" PRIu64 "\n",
           from, to, c->store.nsteps, c->store.shuffle, c->store.typesize,
           c->store.block_nbytes, c->chunk_nbytes);
    scatter_case_print(&c->loops);
}
