/* Arithmetic on the items of a chunk, on the host. SPDX-License-Identifier: Apache-2.0
 *
 * Block by block, so that items stay in the near cache between steps. */
#include "core/steps.h"

#include <math.h>
#include <string.h>

#include "core/half.h"

#define BLOCK_NELEMS 512

typedef struct block {
    _Alignas(16) uint8_t items[BLOCK_NELEMS * 8];
    uint8_t other[BLOCK_NELEMS * 8];
    bool marked[BLOCK_NELEMS];
} block;

bool hr__steps_add(hr__steps *s, const hr__step *step) {
    if (s->n == HR__MAX_STEPS) {
        return false;
    }
    s->steps[s->n++] = *step;
    return true;
}

bool hr__steps_cast(hr__steps *s, const hr_dtype *from, const hr_dtype *to) {
    hr__step step = {.code = HR__STEP_CAST, .dtype = *to};
    step.dtype.byte_order = HR_LITTLE;
    return hr__dtype_same_kind(from, to) || hr__steps_add(s, &step);
}

/* --- arithmetic --- */

#define ARITHMETIC(name, type)                                                           \
    static void name(const hr__step *s, uint8_t *items, size_t n) {                      \
        type a = (type)s->a, b = (type)s->b;                                             \
        for (size_t i = 0; i < n; i++) {                                                 \
            type x;                                                                      \
            memcpy(&x, items + i * sizeof x, sizeof x);                                  \
            x = s->code == HR__STEP_DIV_ADD ? x / a : x * a;                             \
            x += b;                                                                      \
            memcpy(items + i * sizeof x, &x, sizeof x);                                  \
        }                                                                                \
    }

ARITHMETIC(scale_f32, float)
ARITHMETIC(scale_f64, double)

#define SMALL_ARITHMETIC(name, widen, narrow)                                            \
    static void name(const hr__step *s, uint8_t *items, size_t n) {                      \
        float a = widen(narrow((float)s->a)), b = widen(narrow((float)s->b));            \
        for (size_t i = 0; i < n; i++) {                                                 \
            uint16_t bits;                                                               \
            memcpy(&bits, items + i * sizeof bits, sizeof bits);                         \
            float x = widen(bits);                                                       \
            x = widen(narrow(s->code == HR__STEP_DIV_ADD ? x / a : x * a));              \
            bits = narrow(x + b);                                                        \
            memcpy(items + i * sizeof bits, &bits, sizeof bits);                         \
        }                                                                                \
    }

SMALL_ARITHMETIC(scale_half, hr__half_to_float_inline, hr__float_to_half_inline)
SMALL_ARITHMETIC(scale_bfloat, hr__bfloat_to_float_inline, hr__float_to_bfloat_inline)

static void scale(const hr__step *s, uint8_t *items, size_t n) {
    if (s->dtype.kind == HR_KIND_BFLOAT) {
        scale_bfloat(s, items, n);
    } else if (s->dtype.itemsize == 2) {
        scale_half(s, items, n);
    } else if (s->dtype.itemsize == 4) {
        scale_f32(s, items, n);
    } else {
        scale_f64(s, items, n);
    }
}

/* --- fill values --- */

/* Floats are compared as numbers, everything else by bytes. */
static void mark(const hr__step *s, const uint8_t *items, size_t n, bool *marked) {
    const hr_dtype f64 = hr__dtype(HR_KIND_FLOAT, 8);
    size_t itemsize = s->dtype.itemsize;
    if (s->dtype.kind != HR_KIND_FLOAT && s->dtype.kind != HR_KIND_BFLOAT) {
        for (size_t i = 0; i < n; i++) {
            marked[i] |= memcmp(items + i * itemsize, s->item, itemsize) == 0;
        }
        return;
    }
    double wanted, values[BLOCK_NELEMS];
    hr__dtype_convert(&f64, (uint8_t *)&wanted, &s->dtype, s->item, 1);
    hr__dtype_convert(&f64, (uint8_t *)values, &s->dtype, items, n);
    for (size_t i = 0; i < n; i++) {
        marked[i] |= values[i] == wanted || (isnan(values[i]) && isnan(wanted));
    }
}

static void replace(const hr__step *s, uint8_t *items, size_t n, bool *marked) {
    size_t itemsize = s->dtype.itemsize;
    for (size_t i = 0; i < n; i++) {
        if (marked[i]) {
            memcpy(items + i * itemsize, s->item, itemsize);
        }
    }
    memset(marked, 0, n * sizeof *marked);
}

/* --- all steps --- */

/* b->items to type `to`; returns that. */
static const hr_dtype *cast(block *b, const hr_dtype *from, const hr_dtype *to,
                            size_t n) {
    hr__dtype_convert(to, b->other, from, b->items, n);
    memcpy(b->items, b->other, n * to->itemsize);
    return to;
}

static void run_block(const hr__steps *s, block *b, const hr_dtype *type, uint8_t *dst,
                      const hr_dtype *to, size_t n) {
    for (uint32_t i = 0; i < s->n; i++) {
        const hr__step *step = &s->steps[i];
        switch (step->code) {
        case HR__STEP_CAST:
            type = cast(b, type, &step->dtype, n);
            break;
        case HR__STEP_MARK:
            mark(step, b->items, n, b->marked);
            break;
        case HR__STEP_REPLACE:
            replace(step, b->items, n, b->marked);
            break;
        default:
            scale(step, b->items, n);
        }
    }
    hr__dtype_convert(to, dst, type, b->items, n);
}

void hr__steps_run(const hr__steps *s, const hr_dtype *to, uint8_t *dst,
                   const hr_dtype *from, const uint8_t *src, uint64_t n) {
    hr_dtype native = *from;
    native.byte_order = HR_LITTLE;
    for (uint64_t i = 0; i < n; i += BLOCK_NELEMS) {
        block b;
        size_t count = n - i < BLOCK_NELEMS ? (size_t)(n - i) : BLOCK_NELEMS;
        memset(b.marked, 0, count * sizeof *b.marked);
        hr__dtype_convert(&native, b.items, from, src + i * from->itemsize, count);
        run_block(s, &b, &native, dst + i * to->itemsize, to, count);
    }
}
