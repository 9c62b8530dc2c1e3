/* What a store should give, by the host's codecs and conversions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/shuffle_kernels.h"
#include "kern/store_case.h"

#define ITEM_NBYTES 16

static void shuffle_block(const hr_k_store *s, const uint8_t *plain, uint8_t *out,
                          uint64_t nbytes) {
    uint64_t n = nbytes / s->typesize, whole = n * s->typesize;
    memcpy(out, plain, nbytes);
    if (s->shuffle == HR_K_PLAIN || (s->shuffle == HR_K_BITS_SHUFFLED && n % 8 != 0)) {
        return;
    }
    memset(out, 0, whole);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < s->typesize; j++) {
            uint8_t byte = plain[i * s->typesize + j];
            if (s->shuffle == HR_K_BYTES_SHUFFLED) {
                out[j * n + i] = byte;
                continue;
            }
            for (uint64_t k = 0; k < 8; k++) {
                uint64_t bit = (j * 8 + k) * n + i;
                out[bit / 8] = (uint8_t)(out[bit / 8] | (byte >> k & 1) << bit % 8);
            }
        }
    }
}

static void unshuffle_block(const hr_k_store *s, const uint8_t *in, uint8_t *out,
                            uint64_t nbytes) {
    if (s->shuffle == HR_K_BYTES_SHUFFLED) {
        hr__unshuffle(s->typesize, nbytes, in, out);
    } else if (s->shuffle == HR_K_BITS_SHUFFLED) {
        hr__bitunshuffle(s->typesize, nbytes, in, out);
    } else {
        memcpy(out, in, nbytes);
    }
}

void store_shuffle(const hr_k_store *s, const uint8_t *plain, uint8_t *shuffled,
                   uint64_t n) {
    uint8_t *again = malloc(n + 1);
    for (uint64_t at = 0; again != NULL && at < n; at += s->block_nbytes) {
        uint64_t nbytes = n - at < s->block_nbytes ? n - at : s->block_nbytes;
        shuffle_block(s, plain + at, shuffled + at, nbytes);
        unshuffle_block(s, shuffled + at, again + at, nbytes);
    }
    if (again == NULL || memcmp(again, plain, n) != 0) {
        printf("the host does not undo the shuffle\n");
        exit(EXIT_FAILURE);
    }
    free(again);
}

/* --- steps --- */

static hr_dtype dtype_of(uint32_t number) {
    static const hr_kind kinds[HR_K_NNUMBERS] = {
        [HR_K_BOOL] = HR_KIND_BOOL,   [HR_K_I8] = HR_KIND_INT,
        [HR_K_I16] = HR_KIND_INT,     [HR_K_I32] = HR_KIND_INT,
        [HR_K_I64] = HR_KIND_INT,     [HR_K_U8] = HR_KIND_UINT,
        [HR_K_U16] = HR_KIND_UINT,    [HR_K_U32] = HR_KIND_UINT,
        [HR_K_U64] = HR_KIND_UINT,    [HR_K_F16] = HR_KIND_FLOAT,
        [HR_K_BF16] = HR_KIND_BFLOAT, [HR_K_F32] = HR_KIND_FLOAT,
        [HR_K_F64] = HR_KIND_FLOAT,   [HR_K_C64] = HR_KIND_COMPLEX,
        [HR_K_C128] = HR_KIND_COMPLEX};
    static const uint8_t sizes[HR_K_NNUMBERS] = {0, 1, 1, 2, 4, 8, 1, 2,
                                                 4, 8, 2, 2, 4, 8, 8, 16};
    return hr__dtype(kinds[number], sizes[number]);
}

static double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float as_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* x / a + b or x · a + b, each rounded to the type. */
static void scale_item(const hr_k_step *step, uint8_t *item) {
    const hr_dtype type = dtype_of(step->number), f32 = hr__dtype(HR_KIND_FLOAT, 4);
    if (step->number == HR_K_F64) {
        double x;
        memcpy(&x, item, sizeof x);
        x = step->code == HR_K_DIV_ADD ? x / as_double(step->a) : x * as_double(step->a);
        x = x + as_double(step->b);
        memcpy(item, &x, sizeof x);
        return;
    }
    float x;
    hr__dtype_convert(&f32, (uint8_t *)&x, &type, item, 1);
    x = step->code == HR_K_DIV_ADD ? x / as_float(step->a) : x * as_float(step->a);
    hr__dtype_convert(&type, item, &f32, (const uint8_t *)&x, 1);
    hr__dtype_convert(&f32, (uint8_t *)&x, &type, item, 1);
    x = x + as_float(step->b);
    hr__dtype_convert(&type, item, &f32, (const uint8_t *)&x, 1);
}

static bool is_float(const hr_dtype *type) {
    return type->kind == HR_KIND_FLOAT || type->kind == HR_KIND_BFLOAT;
}

static double value_of(const hr_dtype *type, const uint8_t *item) {
    const hr_dtype f64 = hr__dtype(HR_KIND_FLOAT, 8);
    double value;
    hr__dtype_convert(&f64, (uint8_t *)&value, type, item, 1);
    return value;
}

/* Does an item equal the bits of a mark? */
static bool is_marked(const hr_dtype *type, const uint8_t *item, uint64_t a) {
    uint8_t mark[sizeof a];
    memcpy(mark, &a, sizeof a);
    if (!is_float(type)) {
        return type->kind == HR_KIND_BOOL ? (item[0] != 0) == (mark[0] != 0)
                                          : memcmp(item, mark, type->itemsize) == 0;
    }
    double x = value_of(type, item), y = value_of(type, mark);
    return x == y || (isnan(x) && isnan(y));
}

void store_item(const store_case *c, const uint8_t *item, uint8_t *out) {
    const hr_k_store *s = &c->store;
    uint8_t value[ITEM_NBYTES], next[ITEM_NBYTES];
    bool marked = false;
    if (s->nsteps == 0) {
        if (c->from.byte_order == c->to.byte_order) {
            memcpy(out, item, c->from.itemsize);
        } else {
            hr__dtype_swap(&c->from, out, item, 1);
        }
        return;
    }
    hr_dtype type = c->from;
    type.byte_order = HR_LITTLE;
    memcpy(value, item, c->from.itemsize);
    if (c->from.byte_order == HR_BIG) {
        hr__dtype_swap(&c->from, value, item, 1);
    }
    for (uint32_t i = 0; i < s->nsteps; i++) {
        const hr_k_step *step = &s->steps[i];
        const hr_dtype to = dtype_of(step->number);
        switch (step->code) {
        case HR_K_CAST:
            hr__dtype_convert(&to, next, &type, value, 1);
            memcpy(value, next, to.itemsize);
            break;
        case HR_K_MARK:
            marked = marked || is_marked(&type, value, step->a);
            break;
        case HR_K_REPLACE:
            if (marked) {
                memcpy(value, &step->a, type.itemsize);
            }
            marked = false;
            break;
        default:
            scale_item(step, value);
        }
        type = to;
    }
    memcpy(out, value, c->to.itemsize);
    if (c->to.byte_order == HR_BIG) {
        hr__dtype_swap(&c->to, out, value, 1);
    }
}

void store_case_reference(const store_case *c, uint8_t *dst) {
    for (uint64_t i = 0; i < c->loops.copy.nitems; i++) {
        int64_t from, to;
        scatter_case_at(&c->loops, i, &from, &to);
        store_item(c, c->plain + from, dst + to);
    }
}

void store_case_forgive(const store_case *c, uint8_t *want, const uint8_t *got) {
    if (!c->has_arithmetic || !is_float(&c->to)) {
        return;
    }
    for (uint64_t i = 0; i < c->loops.copy.nitems; i++) {
        int64_t from, to;
        scatter_case_at(&c->loops, i, &from, &to);
        if (isnan(value_of(&c->to, want + to)) && isnan(value_of(&c->to, got + to))) {
            memcpy(want + to, got + to, c->to.itemsize);
        }
    }
}
