/* Fill values of both formats. SPDX-License-Identifier: Apache-2.0
 *
 * What Zarr v2 and v3 write for one type differs, but hardly ever contradicts, so each
 * type has one reader that takes every encoding. */
#include <string.h>

#include "core/dtype.h"
#include "format/zarr/internal.h"

static hr_status mismatch(json_object *value, const hr_dtype *t, hr_error *err) {
    char name[128];
    (void)hr_dtype_format(t, name, sizeof name);
    return hr__fail(err, HR_ERR_METADATA,
                    "fill_value is " HR__ZARR_BRIEF ", expected a value of dtype %s",
                    hr__zarr_brief(value), name);
}

static hr_status fixed_item(json_object *value, const hr_dtype *t, uint8_t *item,
                            hr_error *err);

/* {"field": value, …}: every named field must be there. */
static hr_status struct_item(json_object *value, const hr_dtype *t, uint8_t *item,
                             hr_error *err) {
    for (uint64_t i = 0; i < t->nfields; i++) {
        const hr_field *f = &t->fields[i];
        if (f->name[0] == '\0') {
            continue;
        }
        json_object *v = hr__json_get(value, f->name);
        if (v == NULL || f->ndim > 0) {
            return hr__fail(err, HR_ERR_METADATA,
                            "fill_value is " HR__ZARR_BRIEF
                            ", expected a value for field \"%.60s\"",
                            hr__zarr_brief(value), f->name);
        }
        HR__TRY(fixed_item(v, &f->dtype, item + f->offset_nbytes, err));
    }
    return HR_OK;
}

static hr_status fixed_item(json_object *value, const hr_dtype *t, uint8_t *item,
                            hr_error *err) {
    bool ok;
    switch (t->kind) {
    case HR_KIND_STRUCT:
        if (json_object_is_type(value, json_type_object)) {
            return struct_item(value, t, item, err);
        }
        ok = hr__zarr_fill_fixed(value, t, item);
        break;
    case HR_KIND_STRING:
    case HR_KIND_UNICODE:
    case HR_KIND_VOID:
        ok = hr__zarr_fill_fixed(value, t, item);
        break;
    default:
        ok = hr__zarr_fill_number(value, t, item);
    }
    return ok ? HR_OK : mismatch(value, t, err);
}

/* NCZarr writes [value]. A list is a value of its own for bytes. */
static json_object *unwrap(json_object *value, const hr_dtype *t) {
    bool lists =
        t->kind == HR_KIND_VOID || t->kind == HR_KIND_STRING || hr__dtype_is_vlen(t);
    if (!lists && json_object_is_type(value, json_type_array) &&
        json_object_array_length(value) == 1) {
        return json_object_array_get_idx(value, 0);
    }
    return value;
}

static hr_status read_item(json_object *value, const hr_dtype *dtype,
                           const hr_dtype *stored, hr__arena *arena, uint8_t *item,
                           hr_error *err) {
    if (hr__dtype_is_vlen(dtype)) {
        bool ok;
        HR__TRY(
            hr__zarr_fill_vlen(value, dtype, arena, (hr_vlen *)(void *)item, &ok, err));
        return ok ? HR_OK : mismatch(value, dtype, err);
    }
    HR__TRY(fixed_item(value, dtype, item, err));
    /* base64 of a structure holds the bytes as they are stored */
    if (dtype->kind == HR_KIND_STRUCT && json_object_is_type(value, json_type_string) &&
        stored->byte_order == HR_BIG) {
        hr__dtype_swap(stored, item, item, 1);
    }
    return HR_OK;
}

/* null, in format 2: undefined. Others who read such arrays take NaT for times, zeros for
 * everything else, times in structures too. */
static void undefined_item(const hr_dtype *dtype, uint8_t *item) {
    if (dtype->kind == HR_KIND_DATETIME || dtype->kind == HR_KIND_TIMEDELTA) {
        const int64_t nat = INT64_MIN;
        memcpy(item, &nat, sizeof nat);
    }
}

hr_status hr__zarr_fill(json_object *value, const hr_dtype *dtype, const hr_dtype *stored,
                        hr__arena *arena, const void **fill, const void **stored_fill,
                        hr_error *err) {
    uint8_t *item = hr__arena_alloc(arena, dtype->itemsize);
    if (item == NULL) {
        return hr__fail_memory(err, dtype->itemsize);
    }
    value = unwrap(value, dtype);
    if (value != NULL) {
        HR__TRY(read_item(value, dtype, stored, arena, item, err));
    } else {
        undefined_item(dtype, item);
    }
    uint8_t *other = item;
    if (stored->byte_order == HR_BIG) {
        other = hr__arena_alloc(arena, dtype->itemsize);
        if (other == NULL) {
            return hr__fail_memory(err, dtype->itemsize);
        }
        hr__dtype_swap(stored, other, item, 1);
    }
    *fill = item;
    *stored_fill = other;
    return HR_OK;
}
