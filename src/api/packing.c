/* What a request wants done to packed numbers. SPDX-License-Identifier: Apache-2.0 */
#include "api/packing.h"

#include <math.h>
#include <string.h>

#include "api/node.h"
#include "api/options.h"

static hr_status read_packing(const hr_request *r, size_t i, hr_packing *p,
                              hr_error *err) {
    *p = HR_PACKING_INIT;
    HR__TRY(hr__options_read(p, sizeof *p, r->packing, "hr_packing", err));
    if (p->nfills > HR_MAX_FILLS || (p->nfills > 0 && p->fills == NULL)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "request %zu: %u fills%s, expected at most %d", i, p->nfills,
                        p->fills == NULL ? " at NULL" : "", HR_MAX_FILLS);
    }
    if (isnan(p->scale) || isnan(p->offset)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "request %zu: scale %g and offset %g, expected numbers", i,
                        p->scale, p->offset);
    }
    return HR_OK;
}

static bool is_float(const hr_dtype *t) {
    return t->kind == HR_KIND_FLOAT || t->kind == HR_KIND_BFLOAT;
}

static hr_status check_types(const hr_dtype *from, const hr_dtype *to, size_t i,
                             hr_error *err) {
    bool is_packed = hr__dtype_is_number(from) && from->kind != HR_KIND_BOOL &&
                     from->kind != HR_KIND_COMPLEX;
    if (is_packed && hr__dtype_is_number(to) && is_float(to)) {
        return HR_OK;
    }
    char have[64];
    char want[64];
    (void)hr_dtype_format(from, have, sizeof have);
    (void)hr_dtype_format(to, want, sizeof want);
    return hr__fail(err, HR_ERR_DTYPE,
                    "request %zu: array is %s, destination is %s, expected numbers to be "
                    "unpacked to floats",
                    i, have, want);
}

static void set_nan(hr__step *step) {
    const hr_dtype f32 = hr__dtype(HR_KIND_FLOAT, 4);
    const uint32_t nan = 0x7FC00000;
    hr__dtype_convert(&step->dtype, step->item, &f32, (const uint8_t *)&nan, 1);
}

/* There is room for all of them. */
static void add_steps(const hr_packing *p, const hr_dtype *from, const hr_dtype *to,
                      hr__steps *s) {
    hr_dtype stored = *from, number, work = *to;
    bool is_scaled = p->scale != 1 || p->offset != 0 || !signbit(p->offset);
    stored.byte_order = work.byte_order = HR_LITTLE;
    for (uint32_t k = 0; k < p->nfills; k++) {
        hr__step mark = {.code = HR__STEP_MARK, .dtype = stored};
        memcpy(mark.item, (const uint8_t *)p->fills + k * stored.itemsize,
               stored.itemsize);
        (void)hr__steps_add(s, &mark);
    }
    number = stored;
    if (p->is_unsigned && stored.kind == HR_KIND_INT) {
        number.kind = HR_KIND_UINT;
        (void)hr__steps_cast(s, &stored, &number);
    }
    if (is_scaled) {
        work = hr__dtype(HR_KIND_FLOAT, p->in_double || work.itemsize == 8 ? 8 : 4);
    }
    (void)hr__steps_cast(s, &number, &work);
    if (is_scaled) {
        (void)hr__steps_add(s, &(hr__step){.code = HR__STEP_MUL_ADD,
                                           .dtype = work,
                                           .a = p->scale,
                                           .b = p->offset});
    }
    if (p->nfills > 0) {
        hr__step replace = {.code = HR__STEP_REPLACE, .dtype = work};
        set_nan(&replace);
        (void)hr__steps_add(s, &replace);
    }
}

hr_status hr__packing_steps(const hr_request *r, size_t i, hr__arena *arena,
                            const hr__steps **out, hr_error *err) {
    *out = NULL;
    if (r->packing == NULL) {
        return HR_OK;
    }
    const hr_dtype *from = &r->array->source.array->dtype;
    hr_packing p;
    HR__TRY(read_packing(r, i, &p, err));
    HR__TRY(check_types(from, &r->dst.dtype, i, err));
    hr__steps steps = {.n = 0};
    add_steps(&p, from, &r->dst.dtype, &steps);
    if (steps.n > 0) {
        *out = hr__arena_copy(arena, &steps, sizeof steps);
    }
    return steps.n == 0 || *out != NULL ? HR_OK : hr__fail_memory(err, sizeof steps);
}
