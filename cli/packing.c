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
    if (m >= 65520) {
        return sign | 0x7C00;
    }
    double fraction = frexp(m, &e);
    if (e < -13) { /* less than 2^-14 */
        return (uint16_t)(sign | (uint16_t)rint(ldexp(m, 24)));
    }
    return (uint16_t)(sign + ((e + 14) << 10) + (int)rint(ldexp(fraction, 11)) - 1024);
}

static uint16_t bfloat_of(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
    return (uint16_t)(isnan(value) ? 0x7FC0 : rounded >> 16);
}

static void put_float(const hr_dtype *t, double value, uint8_t *item) {
    float single = (float)value;
    uint16_t small = t->kind == HR_KIND_BFLOAT ? bfloat_of(value) : half_of(value);
    if (t->itemsize == 2) {
        memcpy(item, &small, sizeof small);
    } else if (t->itemsize == 4) {
        memcpy(item, &single, sizeof single);
    } else {
        memcpy(item, &value, sizeof value);
    }
}

static bool is_float(const hr_dtype *t) {
    return t->kind == HR_KIND_FLOAT || t->kind == HR_KIND_BFLOAT;
}

/* -999.0 and 1e3 are integers, too. */
static bool put_integral(const hr_dtype *t, double value, uint8_t *item) {
    bool is_signed = t->kind == HR_KIND_INT;
    double past = ldexp(1, 8 * (int)t->itemsize - is_signed);
    bool fits = rint(value) == value && value < past && value >= (is_signed ? -past : 0);
    uint64_t bits = !fits ? 0 : value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    memcpy(item, &bits, sizeof bits);
    return fits;
}

/* Digits, which a double may not hold. */
static bool put_digits(const hr_dtype *t, const char *text, uint8_t *item) {
    int spare = 64 - 8 * (int)t->itemsize;
    errno = 0;
    if (t->kind == HR_KIND_INT) {
        long long value = strtoll(text, NULL, 10);
        memcpy(item, &value, sizeof value);
        return errno == 0 && value >= INT64_MIN >> spare && value <= INT64_MAX >> spare;
    }
    unsigned long long value = strtoull(text, NULL, 10);
    memcpy(item, &value, sizeof value);
    return errno == 0 && (text[0] != '-' || value == 0) && value <= UINT64_MAX >> spare;
}

static bool is_number_text(const char *text, double *out) {
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

/* False: the type has no such value. */
static bool put_text(const hr_dtype *t, const char *text, uint8_t *item) {
    double value;
    if (!is_number_text(text, &value)) {
        return false;
    }
    if (is_float(t)) {
        put_float(t, value, item);
        return true;
    }
    bool is_digits = text[strspn(text, "+-0123456789")] == '\0';
    return is_digits ? put_digits(t, text, item) : put_integral(t, value, item);
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
    uint8_t bytes[9], *at = bytes;
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
        *at++ = (uint8_t)(bits >> 16);
        *at++ = (uint8_t)(bits >> 8);
        *at++ = (uint8_t)bits;
    }
    memcpy(out, bytes, sizeof *out);
    return true;
}

static int add_fill(cli_packing *p, const uint8_t *item) {
    uint64_t itemsize = p->dtype.itemsize;
    uint32_t n = p->packing.nfills;
    uint8_t *all = &p->fills[0][0]; /* packed items */
    for (uint32_t i = 0; i < n; i++) {
        if (memcmp(all + i * itemsize, item, itemsize) == 0) {
            return CLI_OK;
        }
    }
    if (n == HR_MAX_FILLS) {
        return cli_failure("the attributes name more than %d fill values", HR_MAX_FILLS);
    }
    memcpy(all + n * itemsize, item, itemsize);
    p->packing.nfills++;
    p->is_packed = true;
    return CLI_OK;
}

static bool is_number_value(json_object *value) {
    return json_object_is_type(value, json_type_double) ||
           json_object_is_type(value, json_type_int);
}

static int refuse(const char *name) {
    return cli_failure("attribute %s cannot be understood", name);
}

/* One value. A number that the type does not have equals no element. */
static int take_fill(json_object *value, const char *name, cli_packing *p) {
    const hr_dtype *t = &p->dtype;
    uint8_t item[8];
    double decoded;
    const char *text = json_object_get_string(value);
    bool is_text = json_object_is_type(value, json_type_string);
    if (!is_text && !is_number_value(value)) {
        return refuse(name);
    }
    if (is_text && is_float(t) && decode_double(text, &decoded)) {
        put_float(t, decoded, item);
        return add_fill(p, item);
    }
    if (put_text(t, text, item)) {
        return add_fill(p, item);
    }
    return is_text ? refuse(name) : CLI_OK;
}

/* One value, or a list of them. */
static int take_fills(json_object *attributes, const char *name, cli_packing *p) {
    json_object *value = NULL;
    int rc = CLI_OK;
    if (!json_object_object_get_ex(attributes, name, &value)) {
        return CLI_OK;
    }
    if (!json_object_is_type(value, json_type_array)) {
        return take_fill(value, name, p);
    }
    for (size_t i = 0; i < json_object_array_length(value) && rc == CLI_OK; i++) {
        rc = take_fill(json_object_array_get_idx(value, i), name, p);
    }
    return rc;
}

/* A list of one is taken for its element. */
static int take_number(json_object *attributes, const char *name, double *out,
                       bool *is_given) {
    json_object *value = NULL;
    if (!json_object_object_get_ex(attributes, name, &value)) {
        return CLI_OK;
    }
    if (json_object_is_type(value, json_type_array) &&
        json_object_array_length(value) == 1) {
        value = json_object_array_get_idx(value, 0);
    }
    if (!is_number_value(value) || isnan(json_object_get_double(value))) {
        return refuse(name);
    }
    *out = json_object_get_double(value);
    *is_given = true;
    return CLI_OK;
}

static void take_unsigned(json_object *attributes, cli_packing *p) {
    json_object *value = NULL;
    if (json_object_object_get_ex(attributes, "_Unsigned", &value) &&
        json_object_is_type(value, json_type_string) &&
        strcmp(json_object_get_string(value), "true") == 0) {
        p->packing.is_unsigned = 1;
        p->is_packed = p->is_packed || p->dtype.kind == HR_KIND_INT;
    }
}

/* Zarr v2 has the fill value of CF in its metadata, which goes before an attribute; v3
 * has it among the attributes. What an option says is not looked at. */
static int take_attributes(json_object *attributes, const hr_node_info *info,
                           const cli_args *args, cli_packing *p, bool *is_scaled) {
    bool is_in_metadata =
        strcmp(info->format, "zarr2") == 0 && strcmp(info->fill_value_json, "null") != 0;
    int rc = CLI_OK;
    if ((args->scale == NULL && json_object_object_get_ex(attributes, "scales", NULL)) ||
        (args->offset == NULL &&
         json_object_object_get_ex(attributes, "offsets", NULL))) {
        return cli_failure("scale or offset differ from band to band: read bands one by "
                           "one with --scale and --offset");
    }
    take_unsigned(attributes, p);
    if (args->scale == NULL) {
        rc = take_number(attributes, "scale_factor", &p->packing.scale, is_scaled);
    }
    if (rc == CLI_OK && args->offset == NULL) {
        rc = take_number(attributes, "add_offset", &p->packing.offset, is_scaled);
    }
    if (rc != CLI_OK || args->fill != NULL) {
        return rc;
    }
    rc = is_in_metadata ? add_fill(p, info->fill_value)
                        : take_fills(attributes, "_FillValue", p);
    return rc == CLI_OK ? take_fills(attributes, "missing_value", p) : rc;
}

/* --- options --- */

static int parse_number(const char *option, const char *text, double *out) {
    if (text != NULL && (!is_number_text(text, out) || !isfinite(*out))) {
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
        rc = add_fill(p, item);
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
            rc = take_attributes(attributes, info, args, out, &is_scaled);
        }
        json_object_put(attributes);
        if (rc == CLI_OK) {
            rc = take_options(args, out, &is_scaled);
        }
        out->is_packed = out->is_packed || is_scaled;
    } else if (is_asked && !args->mask_and_scale) {
        rc = cli_usage_error("only integers and real floats can be unpacked");
    }
    return rc == CLI_OK ? choose_dtype(args, out, is_scaled) : rc;
}
