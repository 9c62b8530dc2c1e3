/* Numbers of an element type from JSON. SPDX-License-Identifier: Apache-2.0 */
#include "core/json_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

/* The low bytes of `bits` as an item. */
static void store(const hr_dtype *dtype, uint64_t bits, uint8_t *item) {
    memcpy(item, &bits, dtype->itemsize);
    if (dtype->byte_order == HR_BIG) {
        hr__dtype_swap(dtype, item, item, 1);
    }
}

static bool int_item(json_object *value, const hr_dtype *dtype, uint8_t *item) {
    unsigned spare = 64 - 8 * (unsigned)dtype->itemsize;
    int64_t i;
    if (!hr__json_i64(value, &i) || i < INT64_MIN >> spare || i > INT64_MAX >> spare) {
        return false;
    }
    store(dtype, (uint64_t)i, item);
    return true;
}

static bool uint_item(json_object *value, const hr_dtype *dtype, uint8_t *item) {
    unsigned spare = 64 - 8 * (unsigned)dtype->itemsize;
    uint64_t u;
    if (!hr__json_u64(value, &u) || u > UINT64_MAX >> spare) {
        return false;
    }
    store(dtype, u, item);
    return true;
}

/* All the bits, the highest first. */
static bool is_hex(const char *text, size_t itemsize) {
    return strncmp(text, "0x", 2) == 0 && strlen(text) == 2 + 2 * itemsize &&
           strspn(text + 2, "0123456789abcdefABCDEF") == 2 * itemsize;
}

static bool parse_real(json_object *value, double *out) {
    const char *text = hr__json_str(value);
    if (text == NULL) {
        return hr__json_double(value, out);
    }
    if (strcmp(text, "NaN") == 0) {
        *out = NAN;
    } else if (strcmp(text, "Infinity") == 0 || strcmp(text, "+Infinity") == 0) {
        *out = HUGE_VAL;
    } else if (strcmp(text, "-Infinity") == 0) {
        *out = -HUGE_VAL;
    } else {
        return false;
    }
    return true;
}

static bool float_item(json_object *value, const hr_dtype *dtype, uint8_t *item) {
    const hr_dtype f64 = hr__dtype(HR_KIND_FLOAT, 8);
    const char *text = hr__json_str(value);
    double real;
    if (text != NULL && is_hex(text, dtype->itemsize)) {
        store(dtype, strtoull(text + 2, NULL, 16), item);
        return true;
    }
    if (!parse_real(value, &real)) {
        return false;
    }
    real = isnan(real) ? (double)NAN : real; /* the one that NumPy makes */
    hr__dtype_convert(dtype, item, &f64, (const uint8_t *)&real, 1);
    return true;
}

bool hr__json_number(json_object *value, const hr_dtype *dtype, uint8_t *item) {
    switch (dtype->kind) {
    case HR_KIND_INT:
    case HR_KIND_DATETIME:
    case HR_KIND_TIMEDELTA:
        return int_item(value, dtype, item);
    case HR_KIND_UINT:
        return uint_item(value, dtype, item);
    case HR_KIND_FLOAT:
    case HR_KIND_BFLOAT:
        return float_item(value, dtype, item);
    default:
        return false;
    }
}
