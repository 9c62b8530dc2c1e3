/* Converting numbers: a short pipeline of loops. SPDX-License-Identifier: Apache-2.0
 *
 * A conversion goes through at most six steps: swap, to a type that C computes with,
 * convert, from such a type, swap. Each step is one tight loop over a block that stays
 * in cache; where one step is enough, the block is everything. */
#include <stddef.h>

#include "core/convert_loops.h"
#include "core/dtype.h"
#include "core/dtype_swap.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the library takes its host to be little-endian");

#define BLOCK 256 /* items */
#define MAX_STEPS 6
#define MAX_ITEM 16

typedef struct step {
    hr__convert_loop loop; /* NULL: swap units */
    uint32_t unit;         /* of a swap */
    uint32_t per_item;     /* elements of the loop per item */
} step;

typedef struct pipeline {
    step steps[MAX_STEPS];
    uint32_t nsteps;
} pipeline;

static void add(pipeline *p, hr__convert_loop loop, uint32_t per_item) {
    p->steps[p->nsteps++] = (step){.loop = loop, .per_item = per_item};
}

static void add_swap(pipeline *p, const hr_dtype *t) {
    uint32_t unit = hr__dtype_swap_unit(t);
    if (t->byte_order == HR_BIG && unit > 1) {
        p->steps[p->nsteps++] =
            (step){.unit = unit, .per_item = (uint32_t)t->itemsize / unit};
    }
}

/* The type that C computes with: itself, or float for halves, or the part's type. */
static hr__number number_of(const hr_dtype *t) {
    switch (t->kind) {
    case HR_KIND_INT:
        return t->itemsize == 1   ? HR__I8
               : t->itemsize == 2 ? HR__I16
               : t->itemsize == 4 ? HR__I32
                                  : HR__I64;
    case HR_KIND_FLOAT:
        return t->itemsize == 8 ? HR__F64 : HR__F32;
    case HR_KIND_COMPLEX:
        return t->itemsize == 16 ? HR__F64 : HR__F32;
    case HR_KIND_BFLOAT:
        return HR__F32;
    default: /* BOOL, UINT */
        return t->itemsize == 1   ? HR__U8
               : t->itemsize == 2 ? HR__U16
               : t->itemsize == 4 ? HR__U32
                                  : HR__U64;
    }
}

static bool is_half(const hr_dtype *t) {
    return t->kind == HR_KIND_FLOAT && t->itemsize == 2;
}

/* Append the conversion between computed types, if there is one to do. */
static void add_convert(pipeline *p, hr__number to, hr__number from, uint32_t per_item) {
    if (to != from) {
        add(p, hr__loop_convert(to, from), per_item);
    }
}

/* From a stored type to a computed one; complex numbers stay pairs if `pairs`. */
static void add_widen(pipeline *p, const hr_dtype *from, bool pairs) {
    if (from->kind == HR_KIND_BOOL) {
        add(p, hr__loop_to_bool(HR__U8), 1); /* any nonzero byte is true */
    } else if (is_half(from)) {
        add(p, hr__loop_half_to_float, 1);
    } else if (from->kind == HR_KIND_BFLOAT) {
        add(p, hr__loop_bfloat_to_float, 1);
    } else if (from->kind == HR_KIND_COMPLEX && !pairs) {
        add(p, hr__loop_real_part(number_of(from)), 1);
    }
}

static void plan(pipeline *p, const hr_dtype *to, const hr_dtype *from) {
    hr__number n = number_of(from);
    bool from_pairs = from->kind == HR_KIND_COMPLEX;
    add_swap(p, from);
    if (to->kind == HR_KIND_BOOL) {
        add_widen(p, from, true);
        if (from_pairs) {
            add(p, hr__loop_pair_to_bool(n), 1);
        } else if (from->kind != HR_KIND_BOOL) {
            add(p, hr__loop_to_bool(n), 1);
        }
        return;
    }
    add_widen(p, from, to->kind == HR_KIND_COMPLEX);
    if (to->kind == HR_KIND_COMPLEX) {
        add_convert(p, number_of(to), n, from_pairs ? 2 : 1);
        if (!from_pairs) {
            add(p, hr__loop_pad_imaginary(number_of(to)), 1);
        }
    } else if (is_half(to) && n == HR__F64) {
        add(p, hr__loop_double_to_half, 1);
    } else {
        add_convert(p, number_of(to), n, 1);
        if (is_half(to)) {
            add(p, hr__loop_float_to_half, 1);
        } else if (to->kind == HR_KIND_BFLOAT) {
            add(p, hr__loop_float_to_bfloat, 1);
        }
    }
    add_swap(p, to);
}

static void run(const step *s, uint8_t *dst, const uint8_t *src, uint64_t n) {
    if (s->loop == NULL) {
        hr__swap_units(s->unit, dst, src, n * s->per_item);
    } else {
        s->loop(dst, src, n * s->per_item);
    }
}

void hr__dtype_convert(const hr_dtype *to, uint8_t *dst, const hr_dtype *from,
                       const uint8_t *src, uint64_t n) {
    pipeline p = {.nsteps = 0};
    plan(&p, to, from);
    if (p.nsteps == 0) {
        hr__swap_units(1, dst, src, n * to->itemsize);
        return;
    }
    uint8_t buffers[2][BLOCK * MAX_ITEM];
    uint64_t block = p.nsteps == 1 ? n : BLOCK;
    for (uint64_t i = 0; i < n; i += block) {
        uint64_t count = n - i < block ? n - i : block;
        const uint8_t *in = src + i * from->itemsize;
        for (uint32_t k = 0; k < p.nsteps; k++) {
            uint8_t *out = k + 1 == p.nsteps ? dst + i * to->itemsize : buffers[k % 2];
            run(&p.steps[k], out, in, count);
            in = out;
        }
    }
}
