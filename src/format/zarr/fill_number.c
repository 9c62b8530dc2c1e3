/* Fill values of numbers, bools and times. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/json_number.h"
#include "format/zarr/internal.h"

static bool bool_item(json_object *v, uint8_t *item) {
    uint64_t n;
    if (json_object_is_type(v, json_type_boolean)) {
        item[0] = json_object_get_boolean(v) ? 1 : 0;
        return true;
    }
    if (hr__json_u64(v, &n) && n <= 1) {
        item[0] = (uint8_t)n;
        return true;
    }
    return false;
}

static bool number_item(json_object *v, const hr_dtype *t, uint8_t *item);

/* A number in quotes, as GDAL writes it; so is each part of a complex one. */
static bool quoted_item(json_object *v, const hr_dtype *t, uint8_t *item) {
    json_object *inner = NULL;
    const char *text = hr__json_str(v);
    if (text == NULL || hr__json_parse(text, strlen(text), &inner, NULL) != HR_OK) {
        return false;
    }
    bool ok = !json_object_is_type(inner, json_type_string) &&
              !json_object_is_type(inner, json_type_array) && number_item(inner, t, item);
    json_object_put(inner);
    return ok;
}

static bool complex_item(json_object *v, const hr_dtype *t, uint8_t *item) {
    hr_dtype part = hr__dtype(HR_KIND_FLOAT, t->itemsize / 2);
    if (!json_object_is_type(v, json_type_array)) {
        return hr__zarr_fill_number(v, &part, item); /* the imaginary part stays 0 */
    }
    return json_object_array_length(v) == 2 &&
           hr__zarr_fill_number(json_object_array_get_idx(v, 0), &part, item) &&
           hr__zarr_fill_number(json_object_array_get_idx(v, 1), &part,
                                item + part.itemsize);
}

static bool number_item(json_object *v, const hr_dtype *t, uint8_t *item) {
    switch (t->kind) {
    case HR_KIND_BOOL:
        return bool_item(v, item);
    case HR_KIND_COMPLEX:
        return complex_item(v, t, item);
    case HR_KIND_DATETIME:
    case HR_KIND_TIMEDELTA:
        if (hr__json_is(v, "NaT")) {
            const int64_t nat = INT64_MIN;
            memcpy(item, &nat, sizeof nat);
            return true;
        }
        return hr__json_number(v, t, item);
    default:
        return hr__json_number(v, t, item);
    }
}

bool hr__zarr_fill_number(json_object *value, const hr_dtype *t, uint8_t *item) {
    return number_item(value, t, item) || quoted_item(value, t, item);
}
