/* Fill values of numbers, bools and times. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "format/zarr/internal.h"

static void put_le(uint8_t *dst, uint64_t value, uint64_t nbytes) {
    for (uint64_t i = 0; i < nbytes; i++) {
        dst[i] = (uint8_t)(value >> (8 * i));
    }
}

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

static bool uint_item(json_object *v, uint64_t nbytes, uint8_t *item) {
    uint64_t n;
    if (!hr__json_u64(v, &n) || (nbytes < 8 && n >> (8 * nbytes) != 0)) {
        return false;
    }
    put_le(item, n, nbytes);
    return true;
}

static bool int_item(json_object *v, uint64_t nbytes, uint8_t *item) {
    int64_t n;
    if (!hr__json_i64(v, &n)) {
        return false;
    }
    int64_t max = (int64_t)(UINT64_MAX >> (65 - 8 * nbytes));
    if (n > max || n < -max - 1) {
        return false;
    }
    put_le(item, (uint64_t)n, nbytes);
    return true;
}

/* "0x7fc00000": the bits, all of them. */
static bool hex_item(const char *text, uint64_t nbytes, uint8_t *item) {
    if (strncmp(text, "0x", 2) != 0 || strlen(text) != 2 + 2 * nbytes) {
        return false;
    }
    uint64_t bits = 0;
    for (const char *c = text + 2; *c != '\0'; c++) {
        static const char digits[] = "0123456789abcdef";
        const char *d = strchr(digits, *c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c);
        if (d == NULL) {
            return false;
        }
        bits = bits << 4 | (uint64_t)(d - digits);
    }
    put_le(item, bits, nbytes);
    return true;
}

/* The NaN that NumPy makes. */
static uint64_t nan_bits(const hr_dtype *t) {
    if (t->kind == HR_KIND_BFLOAT) {
        return 0x7fc0;
    }
    return t->itemsize == 2 ? 0x7e00 : t->itemsize == 4 ? 0x7fc00000 : 0x7ff8ULL << 48;
}

static bool float_item(json_object *v, const hr_dtype *t, uint8_t *item) {
    const char *text = hr__json_str(v);
    double d;
    if (text != NULL && strcmp(text, "NaN") == 0) {
        d = NAN;
    } else if (text != NULL &&
               (strcmp(text, "Infinity") == 0 || strcmp(text, "+Infinity") == 0)) {
        d = INFINITY;
    } else if (text != NULL && strcmp(text, "-Infinity") == 0) {
        d = -INFINITY;
    } else if (text != NULL) {
        return hex_item(text, t->itemsize, item);
    } else if (!hr__json_double(v, &d)) {
        return false;
    }
    if (isnan(d)) {
        put_le(item, nan_bits(t), t->itemsize);
        return true;
    }
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    uint8_t little[8];
    put_le(little, bits, sizeof little);
    hr_dtype f8 = hr__dtype(HR_KIND_FLOAT, 8);
    hr__dtype_convert(t, item, &f8, little, 1);
    return true;
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
    case HR_KIND_UINT:
        return uint_item(v, t->itemsize, item);
    case HR_KIND_INT:
        return int_item(v, t->itemsize, item);
    case HR_KIND_FLOAT:
    case HR_KIND_BFLOAT:
        return float_item(v, t, item);
    case HR_KIND_COMPLEX:
        return complex_item(v, t, item);
    case HR_KIND_DATETIME:
    case HR_KIND_TIMEDELTA:
        if (hr__json_is(v, "NaT")) {
            put_le(item, 1ULL << 63, sizeof(int64_t));
            return true;
        }
        return int_item(v, t->itemsize, item);
    default:
        return false;
    }
}

bool hr__zarr_fill_number(json_object *value, const hr_dtype *t, uint8_t *item) {
    return number_item(value, t, item) || quoted_item(value, t, item);
}
