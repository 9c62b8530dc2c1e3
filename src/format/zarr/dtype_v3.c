/* data_type of Zarr v3. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/dtype.h"
#include "format/zarr/internal.h"

/* Other names of types, mostly from before the specification settled. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"complex_float32", "complex64"},   {"complex_float64", "complex128"},
    {"variable_length_utf8", "string"}, {"binary", "bytes"},
    {"variable_length_bytes", "bytes"}, {"variable_length_binary", "bytes"},
};

typedef struct sized_type {
    const char *name;
    hr_kind kind;
    uint64_t unit; /* what length_bytes must be a multiple of */
} sized_type;

static const sized_type sized_types[] = {
    {"fixed_length_utf32", HR_KIND_UNICODE, 4},
    {"null_terminated_bytes", HR_KIND_STRING, 1},
    {"raw_bytes", HR_KIND_VOID, 1},
};

static bool find_named(const char *name, hr_dtype *dtype) {
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].alias, name) == 0) {
            name = aliases[i].name;
        }
    }
    return hr__dtype_named(name, dtype);
}

static const sized_type *find_sized(const char *name) {
    for (size_t i = 0; i < sizeof sized_types / sizeof sized_types[0]; i++) {
        if (strcmp(sized_types[i].name, name) == 0) {
            return &sized_types[i];
        }
    }
    return NULL;
}

/* "r" and a number of bits; 0 where the name is none of these. */
static uint64_t raw_bits(const char *name) {
    if (name[0] != 'r' || name[1] < '1' || name[1] > '9' || strlen(name) > 12) {
        return 0;
    }
    uint64_t bits = 0;
    for (const char *c = name + 1; *c != '\0'; c++) {
        if (*c < '0' || *c > '9') {
            return 0;
        }
        bits = bits * 10 + (uint64_t)(*c - '0');
    }
    return bits;
}

static hr_status raw(const char *name, uint64_t bits, hr_dtype *dtype, hr_error *err) {
    if (bits % 8 != 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "data_type \"%.60s\": bits are not a multiple of 8", name);
    }
    HR__TRY(hr__zarr_check_itemsize(bits / 8, "data_type", err));
    *dtype = hr__dtype(HR_KIND_VOID, bits / 8);
    return HR_OK;
}

static hr_status sized(const sized_type *type, json_object *config, hr_dtype *dtype,
                       hr_error *err) {
    static const char *const known[] = {"length_bytes", NULL};
    int64_t length;
    HR__TRY(hr__zarr_check_members(config, type->name, known, false, err));
    json_object *v = hr__json_get(config, "length_bytes");
    if (!json_object_is_type(v, json_type_int) || !hr__json_i64(v, &length) ||
        length < 1 || length % (int64_t)type->unit != 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "length_bytes of data_type \"%s\" is " HR__ZARR_BRIEF
                        ", expected a positive multiple of %d",
                        type->name, v == NULL ? "missing" : hr__zarr_brief(v),
                        (int)type->unit);
    }
    HR__TRY(hr__zarr_check_itemsize((uint64_t)length, "data_type", err));
    *dtype = hr__dtype(type->kind, (uint64_t)length);
    return HR_OK;
}

static hr_status numpy_time(const char *name, hr_kind kind, json_object *config,
                            hr_dtype *dtype, hr_error *err) {
    static const char *const known[] = {"unit", "scale_factor", NULL};
    HR__TRY(hr__zarr_check_members(config, name, known, false, err));
    int64_t scale;
    HR__TRY(
        hr__json_member_i64(config, name, "scale_factor", 1, INT32_MAX, 1, &scale, err));
    json_object *value = hr__json_get(config, "unit");
    const char *unit = hr__json_str(value);
    bool is_generic = hr__json_is(value, "generic"); /* NumPy has no scale there */
    char text[64] = "";
    if (unit != NULL && (unit[0] < '0' || unit[0] > '9')) {
        (void)snprintf(text, sizeof text, "<%c8[%.0d%s]",
                       kind == HR_KIND_DATETIME ? 'M' : 'm', is_generic ? 0 : (int)scale,
                       unit);
    }
    hr_dtype t;
    if (hr_dtype_parse(text, &t, NULL) != HR_OK) {
        return hr__fail(err, HR_ERR_METADATA,
                        "unit of data_type \"%s\" is " HR__ZARR_BRIEF
                        ", expected a NumPy time unit",
                        name, value == NULL ? "missing" : hr__zarr_brief(value));
    }
    t.time_scale = (int32_t)scale;
    *dtype = t;
    return HR_OK;
}

/* {"name", "data_type"}, or the legacy pair [name, data_type]. */
static hr_status read_field(json_object *v, hr__arena *arena, hr_field *field,
                            hr_error *err) {
    json_object *name = hr__json_get(v, "name");
    json_object *type = hr__json_get(v, "data_type");
    if (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 2) {
        name = json_object_array_get_idx(v, 0);
        type = json_object_array_get_idx(v, 1);
    }
    const char *text = hr__json_str(name);
    if (text == NULL || text[0] == '\0' || type == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "a field of the data_type is " HR__ZARR_BRIEF
                        ", expected {\"name\", \"data_type\"}",
                        hr__zarr_brief(v));
    }
    *field = (hr_field){.name = hr__arena_strdup(arena, text)};
    if (field->name == NULL) {
        return hr__fail_memory(err, strlen(text) + 1);
    }
    return hr__zarr_dtype_v3(type, arena, &field->dtype, err);
}

static hr_status structure(const char *name, json_object *config, hr__arena *arena,
                           hr_dtype *dtype, hr_error *err) {
    static const char *const known[] = {"fields", NULL};
    HR__TRY(hr__zarr_check_members(config, name, known, false, err));
    json_object *list = hr__json_get(config, "fields");
    if (!json_object_is_type(list, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "fields of data_type \"%s\" are " HR__ZARR_BRIEF
                        ", expected a list",
                        name, list == NULL ? "missing" : hr__zarr_brief(list));
    }
    return hr__zarr_dtype_struct(list, read_field, arena, dtype, err);
}

hr_status hr__zarr_dtype_v3(json_object *value, hr__arena *arena, hr_dtype *dtype,
                            hr_error *err) {
    static const char *const no_members[] = {NULL};
    hr__zarr_extension e;
    HR__TRY(hr__zarr_extension_read(value, "data_type", &e, err));
    const sized_type *type = find_sized(e.name);
    bool is_datetime = strcmp(e.name, "numpy.datetime64") == 0;
    bool is_timedelta = strcmp(e.name, "numpy.timedelta64") == 0;
    bool is_struct = strcmp(e.name, "struct") == 0 || strcmp(e.name, "structured") == 0;
    if ((type != NULL || is_datetime || is_timedelta || is_struct) && e.config == NULL) {
        return hr__fail(err, HR_ERR_METADATA, "data_type \"%s\" has no configuration",
                        e.name);
    }
    if (type != NULL) {
        return sized(type, e.config, dtype, err);
    }
    if (is_datetime || is_timedelta) {
        return numpy_time(e.name, is_datetime ? HR_KIND_DATETIME : HR_KIND_TIMEDELTA,
                          e.config, dtype, err);
    }
    if (is_struct) {
        return structure(e.name, e.config, arena, dtype, err);
    }
    uint64_t bits = raw_bits(e.name);
    hr_dtype named = {0};
    if (bits == 0 && !find_named(e.name, &named)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "data_type \"%.60s\" is not supported",
                        e.name);
    }
    if (e.config != NULL) {
        HR__TRY(hr__zarr_check_members(e.config, "data_type", no_members, false, err));
    }
    if (bits != 0) {
        return raw(e.name, bits, dtype, err);
    }
    *dtype = named;
    return HR_OK;
}
