/* Scatter against a plain evaluation of the loops. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/scatter.h"

#define MAX_ITEMS 4096
#define CASES 3000

static uint64_t seed = 20261130;

static uint64_t rnd(uint64_t below) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % below;
}

static void randomize(uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)rnd(256);
    }
}

/* A random use: a chunk of `shape` in C order, to a destination whose axes are permuted,
 * some reversed, some picked by a list. */
typedef struct sample {
    int32_t ndim;
    int64_t shape[4];
    hr__piece pieces[4];
    int64_t lists[4][2][16];
    hr__use *use;
} sample;

static void make_sample(sample *s, uint64_t itemsize) {
    s->ndim = (int32_t)rnd(5);
    s->use = calloc(1, sizeof(hr__use) + 4 * sizeof(hr__dim));
    s->use->ndim = s->ndim;
    int64_t src = 1;
    int64_t dst = (int64_t)itemsize;
    int32_t order[4] = {0, 1, 2, 3};
    for (int32_t i = 0; i < s->ndim; i++) {
        s->shape[i] = 1 + (int64_t)rnd(8);
        int32_t j = i + (int32_t)rnd((uint64_t)(s->ndim - i));
        int32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int32_t i = s->ndim - 1; i >= 0; i--) {
        s->use->dims[i].src_stride = src;
        src *= s->shape[i];
    }
    for (int32_t k = s->ndim - 1; k >= 0; k--) {
        int32_t i = order[k];
        hr__piece *p = &s->pieces[i];
        bool backwards = rnd(3) == 0;
        int64_t n = 1 + (int64_t)rnd((uint64_t)s->shape[i]);
        *p = (hr__piece){.n = n,
                         .src0 = backwards ? n - 1 : s->shape[i] - n,
                         .src_step = backwards ? -1 : 1,
                         .dst0 = 1,
                         .dst_step = 1};
        for (int64_t e = 0; e < n; e++) {
            s->lists[i][0][e] = (int64_t)rnd((uint64_t)s->shape[i]);
            s->lists[i][1][e] = n - e;
        }
        p->src_list = rnd(4) == 0 ? s->lists[i][0] : NULL;
        p->dst_list = rnd(4) == 0 ? s->lists[i][1] : NULL;
        s->use->dims[i].piece = p;
        s->use->dims[i].dst_stride = dst;
        dst *= s->shape[i] + 1;
    }
    assert_true(dst <= 9 * 9 * 9 * 9 * (int64_t)itemsize);
}

static int64_t at(int64_t start, int64_t step, const int64_t *list, int64_t k) {
    return list != NULL ? list[k] : start + k * step;
}

/* What hr__dim says, item by item. */
static void evaluate(const sample *s, uint8_t *dst, const uint8_t *src, uint64_t to_size,
                     uint64_t from_size, void (*item)(uint8_t *, const uint8_t *)) {
    int64_t total = 1;
    for (int32_t i = 0; i < s->ndim; i++) {
        total *= s->pieces[i].n;
    }
    for (int64_t t = 0; t < total; t++) {
        int64_t rest = t;
        int64_t a = 0;
        int64_t b = 0;
        for (int32_t i = 0; i < s->ndim; i++) {
            const hr__piece *p = &s->pieces[i];
            int64_t k = rest % p->n;
            rest /= p->n;
            a += at(p->src0, p->src_step, p->src_list, k) * s->use->dims[i].src_stride;
            b += at(p->dst0, p->dst_step, p->dst_list, k) * s->use->dims[i].dst_stride;
        }
        if (item != NULL) {
            item(dst + b, src + (uint64_t)a * from_size);
        } else {
            memcpy(dst + b, src + (uint64_t)a * from_size, to_size);
        }
    }
}

#define DST_NBYTES (9 * 9 * 9 * 9 * 16 + 64)

/* One random copy of src against the model; with an item, which all of src then holds, a
 * fill. Nothing else in the destination may change. */
static void try_one(const hr_dtype *to, const uint8_t *src, const hr_dtype *from,
                    void (*convert)(uint8_t *, const uint8_t *), const uint8_t *item) {
    static uint8_t want[DST_NBYTES];
    static uint8_t have[DST_NBYTES];
    sample s;
    hr__copy copy;
    make_sample(&s, to->itemsize);
    memset(want, 0xAA, sizeof want);
    memset(have, 0xAA, sizeof have);
    evaluate(&s, want, src, to->itemsize, from->itemsize, convert);
    hr__copy_from_use(s.use, from->itemsize, &copy);
    if (item != NULL) {
        hr__scatter_fill(&copy, have, to, item, from, NULL);
    } else {
        hr__scatter(&copy, have, to, src, from, NULL);
    }
    assert_memory_equal(want, have, sizeof want);
    free(s.use);
}

static void moves_items_of_every_size(void **state) {
    (void)state;
    static uint8_t src[MAX_ITEMS * 16];
    randomize(src, sizeof src);
    for (int c = 0; c < CASES; c++) {
        hr_dtype t = hr__dtype(HR_KIND_VOID, 1 + rnd(16));
        try_one(&t, src, &t, NULL, NULL);
    }
}

static void u16_to_f32(uint8_t *dst, const uint8_t *src) {
    float f = (float)((unsigned)src[0] << 8 | src[1]); /* big-endian source */
    memcpy(dst, &f, sizeof f);
}

static void u16_swap(uint8_t *dst, const uint8_t *src) {
    dst[0] = src[1];
    dst[1] = src[0];
}

static void converts_and_swaps(void **state) {
    (void)state;
    static uint8_t src[MAX_ITEMS * 2];
    randomize(src, sizeof src);
    hr_dtype big = hr__dtype(HR_KIND_UINT, 2);
    big.byte_order = HR_BIG;
    for (int c = 0; c < CASES; c++) {
        bool cast = rnd(2) == 0;
        hr_dtype to = cast ? hr__dtype(HR_KIND_FLOAT, 4) : hr__dtype(HR_KIND_UINT, 2);
        try_one(&to, src, &big, cast ? u16_to_f32 : u16_swap, NULL);
    }
}

static void fills_every_place_and_no_other(void **state) {
    (void)state;
    static uint8_t items[MAX_ITEMS * 16];
    for (int c = 0; c < CASES; c++) {
        uint8_t item[16];
        hr_dtype t = hr__dtype(HR_KIND_VOID, 1 + rnd(16));
        randomize(item, sizeof item);
        for (size_t i = 0; i < MAX_ITEMS; i++) {
            memcpy(items + i * t.itemsize, item, t.itemsize);
        }
        try_one(&t, items, &t, NULL, item);
    }
}

/* Large enough that rows are written around the caches, at every place in a line. */
static void moves_long_rows_and_nothing_beside_them(void **state) {
    (void)state;
    enum { ROWS = 4096, ROW = 300, STEP = 364 };
    uint8_t *src = malloc(ROWS * ROW);
    uint8_t *dst = malloc(ROWS * STEP + 64);
    assert_non_null(src);
    assert_non_null(dst);
    for (size_t i = 0; i < ROWS * ROW; i++) {
        src[i] = (uint8_t)rnd(256);
    }
    const hr_dtype type = hr__dtype(HR_KIND_UINT, 1);
    for (size_t shift = 0; shift < 64; shift += 21) {
        memset(dst, 0xAA, ROWS * STEP + 64);
        hr__copy copy = {.nloops = 2,
                         .loops = {{.n = ROWS, .src_step = ROW, .dst_step = STEP},
                                   {.n = ROW, .src_step = 1, .dst_step = 1}}};
        hr__scatter(&copy, dst + shift, &type, src, &type, NULL);
        for (size_t i = 0; i < ROWS; i++) {
            const uint8_t *row = dst + shift + i * STEP;
            assert_memory_equal(row, src + i * ROW, ROW);
            for (size_t k = ROW; k < STEP; k++) {
                assert_int_equal(row[k], 0xAA);
            }
        }
    }
    free(src);
    free(dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_items_of_every_size),
        cmocka_unit_test(moves_long_rows_and_nothing_beside_them),
        cmocka_unit_test(converts_and_swaps),
        cmocka_unit_test(fills_every_place_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
