/* Element types: what they are, and their byte order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/dtype.h"

#include <string.h>

#include "core/dtype_swap.h"

hr_dtype hr__dtype(hr_kind kind, uint64_t itemsize) {
    bool is_time = kind == HR_KIND_DATETIME || kind == HR_KIND_TIMEDELTA;
    return (hr_dtype){
        .kind = (uint8_t)kind, .itemsize = itemsize, .time_scale = is_time ? 1 : 0};
}

bool hr__dtype_is_vlen(const hr_dtype *t) {
    return t->kind == HR_KIND_VLEN_UTF8 || t->kind == HR_KIND_VLEN_BYTES ||
           t->kind == HR_KIND_VLEN_ARRAY;
}

bool hr__dtype_is_integer(const hr_dtype *t) {
    return t->kind == HR_KIND_INT || t->kind == HR_KIND_UINT;
}

bool hr__dtype_is_number(const hr_dtype *t) {
    uint64_t n = t->itemsize;
    switch (t->kind) {
    case HR_KIND_BOOL:
        return n == 1;
    case HR_KIND_INT:
    case HR_KIND_UINT:
        return n == 1 || n == 2 || n == 4 || n == 8;
    case HR_KIND_FLOAT:
        return n == 2 || n == 4 || n == 8;
    case HR_KIND_BFLOAT:
        return n == 2;
    case HR_KIND_COMPLEX:
        return n == 8 || n == 16;
    default:
        return false;
    }
}

static bool same(const hr_dtype *a, const hr_dtype *b, bool with_order);

static bool same_fields(const hr_dtype *a, const hr_dtype *b, bool with_order) {
    if (a->nfields != b->nfields) {
        return false;
    }
    for (uint64_t i = 0; i < a->nfields; i++) {
        const hr_field *f = &a->fields[i];
        const hr_field *g = &b->fields[i];
        if (strcmp(f->name, g->name) != 0 || f->offset_nbytes != g->offset_nbytes ||
            f->ndim != g->ndim || !same(&f->dtype, &g->dtype, with_order)) {
            return false;
        }
        for (int32_t k = 0; k < f->ndim; k++) {
            if (f->shape[k] != g->shape[k]) {
                return false;
            }
        }
    }
    return true;
}

static bool same(const hr_dtype *a, const hr_dtype *b, bool with_order) {
    if (a->kind != b->kind || a->itemsize != b->itemsize ||
        a->time_unit != b->time_unit || a->time_scale != b->time_scale) {
        return false;
    }
    switch (a->kind) {
    case HR_KIND_STRUCT:
        return same_fields(a, b, with_order);
    case HR_KIND_VLEN_ARRAY:
        return same(a->base, b->base, with_order);
    default:
        return !with_order || a->byte_order == b->byte_order || !hr__dtype_needs_swap(a);
    }
}

bool hr__dtype_equal(const hr_dtype *a, const hr_dtype *b) {
    return same(a, b, true);
}

bool hr__dtype_same_kind(const hr_dtype *a, const hr_dtype *b) {
    return same(a, b, false);
}

uint32_t hr__dtype_swap_unit(const hr_dtype *t) {
    switch (t->kind) {
    case HR_KIND_INT:
    case HR_KIND_UINT:
    case HR_KIND_FLOAT:
    case HR_KIND_BFLOAT:
    case HR_KIND_DATETIME:
    case HR_KIND_TIMEDELTA:
        return (uint32_t)t->itemsize;
    case HR_KIND_COMPLEX:
        return (uint32_t)t->itemsize / 2;
    case HR_KIND_UNICODE:
        return 4;
    default:
        return 1;
    }
}

bool hr__dtype_needs_swap(const hr_dtype *t) {
    if (t->kind != HR_KIND_STRUCT) {
        return hr__dtype_swap_unit(t) > 1;
    }
    for (uint64_t i = 0; i < t->nfields; i++) {
        if (hr__dtype_needs_swap(&t->fields[i].dtype)) {
            return true;
        }
    }
    return false;
}

#define SWAP_LOOP(bits, from)                                                            \
    for (uint64_t i = 0; i < n; i++) {                                                   \
        uint##bits##_t v;                                                                \
        memcpy(&v, (from) + i * sizeof v, sizeof v);                                     \
        v = __builtin_bswap##bits(v);                                                    \
        memcpy(dst + i * sizeof v, &v, sizeof v);                                        \
    }

/* Two loops, so that the compiler knows about aliasing in either case. */
#define SWAP(bits)                                                                       \
    static void swap_apart##bits(uint8_t *restrict dst, const uint8_t *restrict src,     \
                                 uint64_t n) {                                           \
        SWAP_LOOP(bits, src)                                                             \
    }                                                                                    \
    static void swap##bits(uint8_t *dst, const uint8_t *src, uint64_t n) {               \
        if (dst != src) {                                                                \
            swap_apart##bits(dst, src, n);                                               \
        } else {                                                                         \
            SWAP_LOOP(bits, dst)                                                         \
        }                                                                                \
    }

SWAP(16)
SWAP(32)
SWAP(64)

void hr__swap_units(uint32_t unit, uint8_t *dst, const uint8_t *src, uint64_t n) {
    switch (unit) {
    case 2:
        swap16(dst, src, n);
        break;
    case 4:
        swap32(dst, src, n);
        break;
    case 8:
        swap64(dst, src, n);
        break;
    default:
        if (dst != src && n > 0) {
            memcpy(dst, src, n);
        }
    }
}

static void swap_fields(const hr_dtype *t, uint8_t *data, uint64_t n) {
    for (uint64_t i = 0; i < t->nfields; i++) {
        const hr_field *f = &t->fields[i];
        bool is_struct = f->dtype.kind == HR_KIND_STRUCT;
        if (!hr__dtype_needs_swap(&f->dtype) ||
            (!is_struct && f->dtype.byte_order != HR_BIG)) {
            continue;
        }
        uint64_t count = 1;
        for (int32_t k = 0; k < f->ndim; k++) {
            count *= (uint64_t)f->shape[k];
        }
        for (uint64_t j = 0; j < n; j++) {
            uint8_t *p = data + j * t->itemsize + f->offset_nbytes;
            hr__dtype_swap(&f->dtype, p, p, count);
        }
    }
}

void hr__dtype_swap(const hr_dtype *t, uint8_t *dst, const uint8_t *src, uint64_t n) {
    if (t->kind != HR_KIND_STRUCT) {
        uint32_t unit = hr__dtype_swap_unit(t);
        hr__swap_units(unit, dst, src, n * (t->itemsize / unit));
        return;
    }
    hr__swap_units(1, dst, src, n * t->itemsize);
    swap_fields(t, dst, n);
}

bool hr__dtype_in_order(const hr_dtype *t, hr_byte_order order, hr__arena *arena,
                        hr_dtype *out) {
    hr_dtype result = *t;
    result.byte_order = HR_LITTLE;
    if (t->kind != HR_KIND_STRUCT) {
        if (order == HR_BIG && hr__dtype_needs_swap(t)) {
            result.byte_order = HR_BIG;
        }
        *out = result;
        return true;
    }
    hr_field *fields = hr__arena_array(arena, t->nfields, sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < t->nfields; i++) {
        fields[i] = t->fields[i];
        if (!hr__dtype_in_order(&t->fields[i].dtype, order, arena, &fields[i].dtype)) {
            return false;
        }
        if (fields[i].dtype.byte_order == HR_BIG) {
            result.byte_order = HR_BIG; /* by convention, where a field is */
        }
    }
    result.fields = fields;
    *out = result;
    return true;
}
