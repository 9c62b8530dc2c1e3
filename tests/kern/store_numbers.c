/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/store_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "device/kstore.h"
#include "kern/scatter_case.h"

#define NITEMS 65536
#define ITEM_NBYTES 16

static const char *const names[] = {"|b1",      "|i1", "<i2", "<i4", "<i8",
                                    "|u1",      "<u2", "<u4", "<u8", "<f2",
                                    "bfloat16", "<f4", "<f8", "<c8", "<c16"};
#define NTYPES (sizeof names / sizeof *names)

static void must(bool promise, const char *what) {
    if (!promise) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* A float near one of the halves, or just between two of them. */
static float near_half(uint64_t *random) {
    static const uint32_t offsets[] = {0, 0xFFF, 0x1000, 0x1001, 0x1FFF};
    float value = hr__half_to_float((uint16_t)random_next(random));
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += offsets[random_below(random, 5)];
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double any_double(uint64_t *random) {
    uint64_t bits = random_next(random);
    double value;
    memcpy(&value, &bits, sizeof value);
    switch (random_below(random, 4)) {
    case 0:
        return value;
    case 1: /* about the size of an integer */
        return (double)(int64_t)bits *
               (1.0 / (double)(UINT64_C(1) << random_below(random, 63)));
    case 2: { /* next to a tie of halves */
        uint64_t near = (uint64_t)random_below(random, 3) - 1;
        value = near_half(random);
        memcpy(&bits, &value, sizeof bits);
        bits += near;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    default:
        return near_half(random);
    }
}

static void make_items(const hr_dtype *type, uint8_t *items, uint64_t *random) {
    const hr_dtype f32 = hr__dtype(HR_KIND_FLOAT, 4), f64 = hr__dtype(HR_KIND_FLOAT, 8);
    for (uint64_t i = 0; i < NITEMS * type->itemsize; i++) {
        items[i] = (uint8_t)random_next(random);
    }
    uint64_t part = type->kind == HR_KIND_COMPLEX ? type->itemsize / 2 : type->itemsize;
    for (uint32_t i = 0; i < NITEMS * type->itemsize / part; i++) {
        uint8_t *item = items + i * part;
        if (part == 2) {
            uint16_t bits = (uint16_t)i;
            memcpy(item, &bits, sizeof bits);
        } else if (part == 8 && type->kind != HR_KIND_INT && type->kind != HR_KIND_UINT) {
            double value = any_double(random);
            hr__dtype_convert(&f64, item, &f64, (const uint8_t *)&value, 1);
        } else if (part == 4 && i % 2 == 0 && type->kind != HR_KIND_INT &&
                   type->kind != HR_KIND_UINT) {
            float value = near_half(random);
            hr__dtype_convert(&f32, item, &f32, (const uint8_t *)&value, 1);
        }
        if (type->kind == HR_KIND_COMPLEX && random_below(random, 4) == 0) {
            memset(item, 0, part);
        }
    }
}

static void print_bytes(const char *before, const uint8_t *bytes, uint64_t n) {
    printf("%s", before);
    for (uint64_t i = 0; i < n; i++) {
        printf("%02x", bytes[i]);
    }
}

static int check_pair(runner *r, const char *from_name, const char *to_name,
                      hr__devptr memory, uint64_t seed) {
    static uint8_t items[NITEMS * ITEM_NBYTES], want[NITEMS * ITEM_NBYTES],
        got[NITEMS * ITEM_NBYTES];
    static hr_k_store_tile tiles[4096];
    hr_dtype from, to;
    hr_k_store s;
    hr_k_store_task task;
    must(hr_dtype_parse(from_name, &from, NULL) == HR_OK &&
             hr_dtype_parse(to_name, &to, NULL) == HR_OK && hr__kstore_begin(&s, &from) &&
             hr__kstore_cast(&s, &to) && hr__kstore_end(&s, &from, &to),
         "no cast");
    make_items(&from, items, &seed);
    hr__dtype_convert(&to, want, &from, items, NITEMS);
    s.chunk = memory;
    s.chunk_nbytes = NITEMS * from.itemsize;
    s.copy.dst = memory + sizeof items;
    s.copy.nitems = NITEMS;
    s.copy.ndim = 1;
    s.copy.dims[0] = (hr_k_dim){.n = NITEMS,
                                .src_step = (int64_t)from.itemsize,
                                .dst_step = (int64_t)to.itemsize};
    hr_k_store_batch b = {.tasks = memory + 2 * sizeof items};
    b.tiles = b.tasks + sizeof task;
    must(hr__kstore_lower(&s, &task, NULL) == HR_OK && task.tiles.ntiles <= 4096 &&
             hr__kstore_list(&task, 1, tiles, &b, NULL) == HR_OK,
         "no task");
    runner_upload(r, s.chunk, items, s.chunk_nbytes);
    runner_upload(r, b.tasks, &task, sizeof task);
    runner_upload(r, b.tiles, tiles, task.tiles.ntiles * sizeof *tiles);
    runner_launch(r, HR__KERNEL_STORE, &b);
    runner_download(r, got, s.copy.dst, NITEMS * to.itemsize);
    for (uint64_t i = 0; i < NITEMS; i++) {
        uint64_t at = i * to.itemsize;
        if (memcmp(got + at, want + at, to.itemsize) != 0) {
            printf("cast of %s to %s:", from_name, to_name);
            print_bytes(" ", items + i * from.itemsize, from.itemsize);
            print_bytes(" gave ", got + at, to.itemsize);
            print_bytes(", expected ", want + at, to.itemsize);
            printf("\n");
            return 1;
        }
    }
    return 0;
}

int store_numbers(runner *r, uint64_t seed) {
    hr__devptr memory = runner_alloc(r, 3 * NITEMS * ITEM_NBYTES);
    int nwrong = 0;
    for (size_t i = 0; i < NTYPES; i++) {
        for (size_t k = 0; k < NTYPES; k++) {
            nwrong += check_pair(r, names[i], names[k], memory, seed);
        }
    }
    printf("%zu casts of %d numbers, %d wrong\n", NTYPES * NTYPES, NITEMS, nwrong);
    r->ops->free(r->device, memory);
    return nwrong;
}
