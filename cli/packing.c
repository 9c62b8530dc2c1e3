/* Casting and unpacking, as options and CF attributes ask for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "packing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "report.h"

/* --- one item from a number --- */

static uint16_t half_of(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double m = fabs(value);
    int e;
    if (isnan(value)) {
        return 0x7E00;
    }
    if (m > 65519) {
        return sign | 0x7C00;
    }
    double fraction = frexp(m, &e);
    if (e < -13) { /* less than 2^-14 */
        return (uint16_t)(sign | (uint16_t)rint(ldexp(m, 24)));
    }
    return (uint16_t)(sign + ((e + 14) << 10) + (int)rint(ldexp(fraction, 11)) - 1024);
}

static void put_float(const hr_dtype *t, double value, uint8_t *item) {
    float single = (float)value;
    uint16_t half = half_of(value);
    if (t->kind == HR_KIND_BFLOAT) {
        memcpy(item, (const uint8_t *)&single + 2, 2);
    } else if (t->itemsize == 2) {
        memcpy(item, &half, sizeof half);
    } else if (t->itemsize == 4) {
        memcpy(item, &single, sizeof single);
    } else {
        memcpy(item, &value, sizeof value);
    }
}

static bool is_float(const hr_dtype *t) {
    return t->kind == HR_KIND_FLOAT || t->kind == HR_KIND_BFLOAT;
}

/* A fill that the type cannot hold equals no element. */
static bool put_text(const hr_dtype *t, const char *text, uint8_t *item) {
    char *end = NULL;
    errno = 0;
    if (is_float(t)) {
        double value = strtod(text, &end);
        put_float(t, value, item);
        return end != text && *end == '\0';
    }
    int spare = 64 - 8 * (int)t->itemsize;
    if (t->kind == HR_KIND_INT) {
        long long value = strtoll(text, &end, 10);
        memcpy(item, &value, sizeof value);
        return end != text && *end == '\0' && errno == 0 && value >= INT64_MIN >> spare &&
               value <= INT64_MAX >> spare;
    }
    unsigned long long value = strtoull(text, &end, 10);
    memcpy(item, &value, sizeof value);
    return t->kind == HR_KIND_UINT && end != text && *end == '\0' && errno == 0 &&
           text[0] != '-' && value <= UINT64_MAX >> spare;
}

/* --- attributes --- */

static uint32_t digit_of(char c) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? 64 : (uint32_t)(at - digits);
}

/* A double as xarray writes it to attributes: the base64 of its bytes. */
static bool decode_double(const char *text, double *out) {
    uint8_t bytes[9];
    if (strlen(text) != 12 || text[11] != '=') {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            uint32_t digit = i * 4 + k == 11 ? 0 : digit_of(text[i * 4 + k]);
            if (digit > 63) {
                return false;
            }
            bits = bits << 6 | digit;
        }
        bytes[3 * i] = (uint8_t)(bits >> 16);
        bytes[3 * i + 1] = (uint8_t)(bits >> 8);
        bytes[3 * i + 2] = (uint8_t)bits;
    }
    memcpy(out, bytes, sizeof *out);
    return true;
}

/* As text; a list of one is taken for its element. */
static bool fill_of(json_object *value, const hr_dtype *t, uint8_t *item) {
    double decoded;
    if (json_object_is_type(value, json_type_array) &&
        json_object_array_length(value) == 1) {
        value = json_object_array_get_idx(value, 0);
    }
    const char *text = json_object_get_string(value);
    if (text == NULL) {
        return false;
    }
    if (json_object_is_type(value, json_type_string) && is_float(t) &&
        decode_double(text, &decoded)) {
        put_float(t, decoded, item);
        return true;
    }
    return put_text(t, text, item);
}

static void add_fill(cli_packing *p, const uint8_t *item) {
    uint64_t itemsize = p->dtype.itemsize;
    uint32_t n = p->packing.nfills;
    uint8_t *all = &p->fills[0][0]; /* packed items */
    if (n < HR_MAX_FILLS && (n == 0 || memcmp(all, item, itemsize) != 0)) {
        memcpy(all + n * itemsize, item, itemsize);
        p->packing.nfills++;
        p->is_packed = true;
    }
}

static void set_number(json_object *attributes, const char *name, double *out,
                       bool *is_given) {
    json_object *value = NULL;
    if (json_object_object_get_ex(attributes, name, &value) &&
        (json_object_is_type(value, json_type_double) ||
         json_object_is_type(value, json_type_int))) {
        *out = json_object_get_double(value);
        *is_given = true;
    }
}

/* Zarr v2 has the fill value of CF in its metadata, v3 among the attributes. */
static void take_attributes(json_object *attributes, const hr_node_info *info,
                            cli_packing *p, bool *is_scaled) {
    static const char *const names[] = {"_FillValue", "missing_value"};
    json_object *value = NULL;
    set_number(attributes, "scale_factor", &p->packing.scale, is_scaled);
    set_number(attributes, "add_offset", &p->packing.offset, is_scaled);
    if (strcmp(info->format, "zarr2") == 0 &&
        strcmp(info->fill_value_json, "null") != 0) {
        add_fill(p, info->fill_value);
    }
    for (int i = 0; i < 2; i++) {
        uint8_t item[8];
        if (json_object_object_get_ex(attributes, names[i], &value) &&
            fill_of(value, &p->dtype, item)) {
            add_fill(p, item);
        }
    }
    if (json_object_object_get_ex(attributes, "_Unsigned", &value) &&
        json_object_is_type(value, json_type_string) &&
        strcmp(json_object_get_string(value), "true") == 0) {
        p->packing.is_unsigned = 1;
        p->is_packed = p->is_packed || p->dtype.kind == HR_KIND_INT;
    }
}

/* --- options --- */

static int parse_number(const char *option, const char *text, double *out) {
    char *end = NULL;
    if (text == NULL) {
        return CLI_OK;
    }
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || isnan(*out)) {
        return cli_usage_error("%s wants a number, not '%s'", option, text);
    }
    return CLI_OK;
}

static int take_options(const cli_args *args, cli_packing *p, bool *is_scaled) {
    *is_scaled = *is_scaled || args->scale != NULL || args->offset != NULL;
    int rc = parse_number("--scale", args->scale, &p->packing.scale);
    if (rc == CLI_OK) {
        rc = parse_number("--offset", args->offset, &p->packing.offset);
    }
    if (rc == CLI_OK && args->fill != NULL) {
        uint8_t item[8];
        if (!put_text(&p->dtype, args->fill, item)) {
            return cli_usage_error("--fill wants a value of the array's type, not '%s'",
                                   args->fill);
        }
        p->packing.nfills = 0; /* instead of what the attributes say */
        add_fill(p, item);
    }
    return rc;
}

/* As xarray chooses. */
static const char *float_for(const hr_dtype *t, bool is_scaled) {
    uint64_t most = is_float(t) ? 4 : 2;
    return !is_scaled && t->itemsize <= most ? "float32" : "float64";
}

static int choose_dtype(const cli_args *args, cli_packing *p, bool is_scaled) {
    const char *name = args->dtype;
    hr_error err = HR_ERROR_INIT;
    if (name == NULL && p->is_packed) {
        name = float_for(&p->dtype, is_scaled);
    }
    p->is_cast = args->dtype != NULL;
    if (name != NULL && hr_dtype_parse(name, &p->dtype, &err) != HR_OK) {
        return cli_usage_error("--dtype: %s", err.message);
    }
    if (p->dtype.byte_order != HR_LITTLE) {
        return cli_usage_error("--dtype wants a little-endian type, not '%s'", name);
    }
    return CLI_OK;
}

static bool is_number(const hr_dtype *t) {
    return t->kind == HR_KIND_INT || t->kind == HR_KIND_UINT || is_float(t);
}

int cli_packing_read(const cli_args *args, const hr_node_info *info, cli_packing *out) {
    *out = (cli_packing){.packing = HR_PACKING_INIT, .dtype = info->dtype};
    bool is_asked = args->mask_and_scale || args->scale != NULL || args->offset != NULL ||
                    args->fill != NULL;
    bool is_scaled = false;
    int rc = CLI_OK;
    out->packing.in_double = 1;
    out->packing.fills = out->fills;
    out->dtype.byte_order = HR_LITTLE;
    if (is_asked && is_number(&info->dtype)) {
        json_object *attributes = json_tokener_parse(info->attributes_json);
        if (args->mask_and_scale && attributes != NULL) {
            take_attributes(attributes, info, out, &is_scaled);
        }
        json_object_put(attributes);
        rc = take_options(args, out, &is_scaled);
        out->is_packed = out->is_packed || is_scaled;
    } else if (is_asked && !args->mask_and_scale) {
        rc = cli_usage_error("only integers and real floats can be unpacked");
    }
    return rc == CLI_OK ? choose_dtype(args, out, is_scaled) : rc;
}
