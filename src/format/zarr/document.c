/* Reading metadata documents member by member. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/checked.h"
#include "format/zarr/internal.h"

#define TEXT_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

hr_status hr__zarr_text(json_object *value, hr__arena *arena, const char **text,
                        hr_error *err) {
    size_t nbytes = 0;
    const char *made = json_object_to_json_string_length(value, TEXT_FLAGS, &nbytes);
    const char *copy = made == NULL ? NULL : hr__arena_copy(arena, made, nbytes + 1);
    if (copy == NULL) {
        return hr__fail_memory(err, nbytes + 1);
    }
    *text = copy;
    return HR_OK;
}

const char *hr__zarr_brief(json_object *value) {
    const char *text = json_object_to_json_string_ext(value, TEXT_FLAGS);
    return text == NULL ? "?" : text;
}

hr_status hr__zarr_check_members(json_object *object, const char *what,
                                 const char *const *known, bool may_ignore,
                                 hr_error *err) {
    json_object_object_foreach(object, name, value) {
        const char *const *k = known;
        while (*k != NULL && strcmp(*k, name) != 0) {
            k++;
        }
        if (*k != NULL) {
            continue;
        }
        if (may_ignore && hr__json_is_false(hr__json_get(value, "must_understand"))) {
            continue;
        }
        return hr__fail(err, HR_ERR_UNSUPPORTED, "%s has the unknown member \"%.60s\"",
                        what, name);
    }
    return HR_OK;
}

hr_status hr__zarr_extension_read(json_object *value, const char *what,
                                  hr__zarr_extension *extension, hr_error *err) {
    static const char *const known[] = {"name", "configuration", "must_understand", NULL};
    if (value == NULL) {
        return hr__fail(err, HR_ERR_METADATA, "%s is missing", what);
    }
    const char *bare = hr__json_str(value);
    if (bare != NULL) {
        *extension = (hr__zarr_extension){.name = bare};
        return HR_OK;
    }
    const char *name = hr__json_str(hr__json_get(value, "name"));
    if (name == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%s is " HR__ZARR_BRIEF
                        ", expected a name or an object with a \"name\"",
                        what, hr__zarr_brief(value));
    }
    HR__TRY(hr__zarr_check_members(value, what, known, false, err));
    json_object *config = hr__json_get(value, "configuration");
    if (config != NULL && !json_object_is_type(config, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%s \"%.60s\": configuration is " HR__ZARR_BRIEF
                        ", expected an object",
                        what, name, hr__zarr_brief(config));
    }
    *extension = (hr__zarr_extension){.name = name, .config = config};
    return HR_OK;
}

hr_status hr__zarr_sizes(json_object *list, const char *what, int64_t lo, int32_t ndim,
                         int64_t *sizes, int32_t *n, hr_error *err) {
    if (!json_object_is_type(list, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%s is " HR__ZARR_BRIEF ", expected a list of integers", what,
                        list == NULL ? "missing" : hr__zarr_brief(list));
    }
    size_t length = json_object_array_length(list);
    if (ndim >= 0 ? length != (size_t)ndim : length > HR_MAX_NDIM) {
        return hr__fail(err, HR_ERR_METADATA, "%s has %zu entries, expected %s%d", what,
                        length, ndim >= 0 ? "" : "at most ",
                        ndim >= 0 ? ndim : HR_MAX_NDIM);
    }
    for (size_t i = 0; i < length; i++) {
        json_object *v = json_object_array_get_idx(list, i);
        if (!json_object_is_type(v, json_type_int) || !hr__json_i64(v, &sizes[i]) ||
            sizes[i] < lo) {
            return hr__fail(err, HR_ERR_METADATA,
                            "%s[%zu] is " HR__ZARR_BRIEF
                            ", expected an integer from %lld to 2^63-1",
                            what, i, hr__zarr_brief(v), (long long)lo);
        }
    }
    if (n != NULL) {
        *n = (int32_t)length;
    }
    return HR_OK;
}

hr_status hr__zarr_check_format(json_object *document, int32_t format, hr_error *err) {
    if (!json_object_is_type(document, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "the document is " HR__ZARR_BRIEF ", expected an object",
                        hr__zarr_brief(document));
    }
    json_object *value = hr__json_get(document, "zarr_format");
    int64_t found;
    if (!hr__json_i64(value, &found) || found != format) {
        return hr__fail(err, HR_ERR_METADATA,
                        "zarr_format is " HR__ZARR_BRIEF ", expected %d",
                        value == NULL ? "missing" : hr__zarr_brief(value), (int)format);
    }
    return HR_OK;
}

hr_status hr__zarr_shape(json_object *document, hr__array *a, hr_error *err) {
    HR__TRY(hr__zarr_sizes(hr__json_get(document, "shape"), "shape", 0, -1, a->shape,
                           &a->ndim, err));
    uint64_t nelems;
    if (!hr__shape_nelems(a->ndim, a->shape, &nelems)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "shape " HR__ZARR_BRIEF " has more than 2^63-1 elements",
                        hr__zarr_brief(hr__json_get(document, "shape")));
    }
    return HR_OK;
}
