/* dtype of Zarr v2: NumPy type strings, field lists, objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/dtype.h"
#include "format/zarr/internal.h"

static hr_status read_dtype(json_object *value, hr__arena *arena, hr_dtype *dtype,
                            hr_error *err);

/* Types that other writers have and this library does not. */
static bool is_foreign(const char *text) {
    static const char *const names[] = {"int2", "uint2", "int4", "uint4", NULL};
    for (const char *const *n = names; *n != NULL; n++) {
        if (strcmp(*n, text) == 0) {
            return true;
        }
    }
    if (strncmp(text, "float4", 6) == 0 || strncmp(text, "float6_", 7) == 0 ||
        strncmp(text, "float8", 6) == 0) {
        return true;
    }
    /* long double, and complex of these */
    const char *kind = text + strspn(text, "<>=|");
    return strcmp(kind, "f12") == 0 || strcmp(kind, "f16") == 0 ||
           strcmp(kind, "c24") == 0 || strcmp(kind, "c32") == 0 || kind[0] == 'O';
}

static hr_status plain(const char *text, hr_dtype *dtype, hr_error *err) {
    hr_dtype t;
    if (is_foreign(text)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "dtype \"%.60s\" is not supported",
                        text);
    }
    if (hr_dtype_parse(text, &t, NULL) != HR_OK || hr__dtype_is_vlen(&t)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "dtype is \"%.60s\", expected a NumPy type string", text);
    }
    HR__TRY(hr__zarr_check_itemsize(t.itemsize, "dtype", err));
    *dtype = t;
    return HR_OK;
}

/* Shape of a subarray field: a list, or one length. */
static hr_status subarray(json_object *value, hr__arena *arena, hr_field *field,
                          hr_error *err) {
    int64_t shape[HR_MAX_NDIM];
    if (json_object_is_type(value, json_type_int) && hr__json_i64(value, shape) &&
        shape[0] >= 1) {
        field->ndim = 1;
    } else {
        HR__TRY(hr__zarr_sizes(value, "the shape of a dtype field", 1, -1, shape,
                               &field->ndim, err));
    }
    size_t nbytes = (size_t)field->ndim * sizeof *shape;
    field->shape = hr__arena_copy(arena, shape, nbytes);
    return field->shape == NULL ? hr__fail_memory(err, nbytes) : HR_OK;
}

/* [name, dtype] or [name, dtype, shape]. NumPy writes the padding of aligned types as
 * fields with an empty name. */
static hr_status read_field(json_object *v, hr__arena *arena, hr_field *field,
                            hr_error *err) {
    size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
    const char *name = n >= 2 ? hr__json_str(json_object_array_get_idx(v, 0)) : NULL;
    if (name == NULL || n > 3) {
        return hr__fail(err, HR_ERR_METADATA,
                        "a field of dtype is " HR__ZARR_BRIEF
                        ", expected [name, dtype] or [name, dtype, shape]",
                        hr__zarr_brief(v));
    }
    *field = (hr_field){.name = hr__arena_strdup(arena, name)};
    if (field->name == NULL) {
        return hr__fail_memory(err, strlen(name) + 1);
    }
    HR__TRY(read_dtype(json_object_array_get_idx(v, 1), arena, &field->dtype, err));
    return n == 3 ? subarray(json_object_array_get_idx(v, 2), arena, field, err) : HR_OK;
}

static hr_status read_dtype(json_object *value, hr__arena *arena, hr_dtype *dtype,
                            hr_error *err) {
    if (json_object_is_type(value, json_type_array)) {
        return hr__zarr_dtype_struct(value, read_field, arena, dtype, err);
    }
    const char *text = hr__json_str(value);
    if (text == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "dtype is " HR__ZARR_BRIEF
                        ", expected a type string or a list of fields",
                        value == NULL ? "missing" : hr__zarr_brief(value));
    }
    return plain(text, dtype, err);
}

static hr_status vlen_array(json_object *codec, hr__arena *arena, hr_dtype *dtype,
                            hr_error *err) {
    hr_dtype base;
    HR__TRY(read_dtype(hr__json_get(codec, "dtype"), arena, &base, err));
    *dtype = hr__dtype(HR_KIND_VLEN_ARRAY, sizeof(hr_vlen));
    dtype->base = hr__arena_copy(arena, &base, sizeof base);
    return dtype->base == NULL ? hr__fail_memory(err, sizeof base) : HR_OK;
}

/* The codec next to the array turns objects into bytes, so it says what they are. */
static hr_status object_dtype(json_object *document, hr__arena *arena, hr_dtype *dtype,
                              hr_error *err) {
    json_object *codec = hr__json_get(document, "filters");
    if (json_object_is_type(codec, json_type_array)) {
        codec = json_object_array_get_idx(codec, 0);
    }
    if (codec == NULL) {
        codec = hr__json_get(document, "compressor");
    }
    json_object *value = hr__json_get(codec, "id");
    const char *id = hr__json_str(value);
    if (id == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "dtype is \"|O\", but the first filter is " HR__ZARR_BRIEF
                        ", expected an object codec such as vlen-utf8",
                        hr__zarr_brief(codec));
    }
    if (strcmp(id, "vlen-utf8") == 0 || strcmp(id, "categorize") == 0) {
        *dtype = hr__dtype(HR_KIND_VLEN_UTF8, sizeof(hr_vlen));
    } else if (strcmp(id, "vlen-bytes") == 0) {
        *dtype = hr__dtype(HR_KIND_VLEN_BYTES, sizeof(hr_vlen));
    } else if (strcmp(id, "vlen-array") == 0) {
        return vlen_array(codec, arena, dtype, err);
    } else {
        const char *reason = hr__codec_refusal(id);
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "dtype \"|O\" with codec \"%.60s\" is not supported%s%s", id,
                        reason != NULL ? ": " : "", reason != NULL ? reason : "");
    }
    return HR_OK;
}

hr_status hr__zarr_dtype_v2(json_object *document, hr__arena *arena, hr_dtype *stored,
                            hr_error *err) {
    json_object *value = hr__json_get(document, "dtype");
    if (hr__json_is(value, "|O") || hr__json_is(value, "O")) {
        return object_dtype(document, arena, stored, err);
    }
    return read_dtype(value, arena, stored, err);
}
