/* Types of a store. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "core/dtype_swap.h"
#include "device/kstore.h"

uint32_t hr__kstore_number(const hr_dtype *t) {
    uint32_t log_nbytes = t->itemsize == 1   ? 0
                          : t->itemsize == 2 ? 1
                          : t->itemsize == 4 ? 2
                                             : 3;
    switch (t->kind) {
    case HR_KIND_BOOL:
        return HR_K_BOOL;
    case HR_KIND_INT:
        return HR_K_I8 + log_nbytes;
    case HR_KIND_UINT:
        return HR_K_U8 + log_nbytes;
    case HR_KIND_FLOAT:
        return t->itemsize == 2 ? HR_K_F16 : t->itemsize == 4 ? HR_K_F32 : HR_K_F64;
    case HR_KIND_BFLOAT:
        return HR_K_BF16;
    case HR_KIND_COMPLEX:
        return t->itemsize == 8 ? HR_K_C64 : HR_K_C128;
    default:
        return HR_K_RAW;
    }
}

/* Bytes to be reversed on the way to or from memory. */
static uint32_t unit_of(const hr_dtype *t) {
    return t->byte_order == HR_BIG ? hr__dtype_swap_unit(t) : 1;
}

bool hr__kstore_begin(hr_k_store *s, const hr_dtype *from) {
    if (hr__dtype_is_vlen(from) || from->itemsize == 0 || from->itemsize > UINT32_MAX) {
        return false;
    }
    memset(s, 0, sizeof *s);
    s->from = s->to = hr__kstore_number(from);
    s->from_unit = unit_of(from);
    s->to_unit = 1;
    s->typesize = 1;
    s->copy.itemsize = (uint32_t)from->itemsize;
    return true;
}

static bool add_step(hr_k_store *s, hr_k_step step) {
    if (s->nsteps == HR_K_MAX_STEPS) {
        return false;
    }
    s->steps[s->nsteps++] = step;
    s->to = step.number;
    return true;
}

bool hr__kstore_cast(hr_k_store *s, const hr_dtype *to) {
    return s->to != HR_K_RAW && hr__dtype_is_number(to) &&
           add_step(s, (hr_k_step){.code = HR_K_CAST, .number = hr__kstore_number(to)});
}

static uint64_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A constant of arithmetic. */
static uint64_t constant_of(uint32_t number, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    switch (number) {
    case HR_K_F16:
        return float_bits(hr__half_to_float(hr__float_to_half((float)value)));
    case HR_K_BF16:
        return float_bits(hr__bfloat_to_float(hr__float_to_bfloat((float)value)));
    case HR_K_F32:
        return float_bits((float)value);
    default:
        return bits;
    }
}

bool hr__kstore_scale(hr_k_store *s, uint32_t code, double scale, double offset) {
    return s->to >= HR_K_F16 && s->to <= HR_K_F64 && !isnan(scale) && !isnan(offset) &&
           add_step(s, (hr_k_step){.code = code,
                                   .number = s->to,
                                   .a = constant_of(s->to, scale),
                                   .b = constant_of(s->to, offset)});
}

bool hr__kstore_mark(hr_k_store *s, uint32_t code, const uint8_t *item) {
    static const uint8_t nbytes[HR_K_C64] = {
        [HR_K_BOOL] = 1, [HR_K_I8] = 1,  [HR_K_I16] = 2, [HR_K_I32] = 4, [HR_K_I64] = 8,
        [HR_K_U8] = 1,   [HR_K_U16] = 2, [HR_K_U32] = 4, [HR_K_U64] = 8, [HR_K_F16] = 2,
        [HR_K_BF16] = 2, [HR_K_F32] = 4, [HR_K_F64] = 8};
    if (s->to == HR_K_RAW || s->to >= HR_K_C64) {
        return false;
    }
    uint64_t a = 0;
    uint32_t spare = 64 - 8U * nbytes[s->to];
    memcpy(&a, item, nbytes[s->to]);
    if (s->to == HR_K_BOOL) {
        a = a != 0;
    } else if (s->to <= HR_K_I64) {
        a = (uint64_t)((int64_t)(a << spare) >> spare);
    }
    return add_step(s, (hr_k_step){.code = code, .number = s->to, .a = a});
}

static bool add_any(hr_k_store *s, const hr__step *step) {
    switch (step->code) {
    case HR__STEP_CAST:
        return hr__kstore_cast(s, &step->dtype);
    case HR__STEP_DIV_ADD:
        return hr__kstore_scale(s, HR_K_DIV_ADD, step->a, step->b);
    case HR__STEP_MUL_ADD:
        return hr__kstore_scale(s, HR_K_MUL_ADD, step->a, step->b);
    case HR__STEP_MARK:
        return hr__kstore_mark(s, HR_K_MARK, step->item);
    default:
        return hr__kstore_mark(s, HR_K_REPLACE, step->item);
    }
}

bool hr__kstore_steps(hr_k_store *s, const hr__steps *steps) {
    bool can = true;
    for (uint32_t i = 0; i < steps->n && can; i++) {
        can = add_any(s, &steps->steps[i]);
    }
    return can;
}

bool hr__kstore_end(hr_k_store *s, const hr_dtype *from, const hr_dtype *to) {
    if (s->to == HR_K_RAW) {
        bool can = from->kind == HR_KIND_STRUCT ? hr__dtype_equal(from, to)
                                                : hr__dtype_same_kind(from, to);
        s->from_unit = from->byte_order == to->byte_order ? 1 : hr__dtype_swap_unit(to);
        return can;
    }
    if (s->to != hr__kstore_number(to) && !hr__kstore_cast(s, to)) {
        return false;
    }
    if (s->nsteps > 0) {
        s->to_unit = unit_of(to);
    } else {
        s->from_unit = from->byte_order == to->byte_order ? 1 : hr__dtype_swap_unit(to);
    }
    return true;
}
