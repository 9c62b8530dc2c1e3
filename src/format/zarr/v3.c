/* zarr.json: arrays and groups of Zarr v3. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format/zarr/internal.h"

hr_status hr__zarr_v3_kind(json_object *document, hr_node_kind *kind, hr_error *err) {
    HR__TRY(hr__zarr_check_format(document, 3, err));
    json_object *type = hr__json_get(document, "node_type");
    if (hr__json_is(type, "array")) {
        *kind = HR_NODE_ARRAY;
    } else if (hr__json_is(type, "group")) {
        *kind = HR_NODE_GROUP;
    } else {
        return hr__fail(err, HR_ERR_METADATA,
                        "node_type is " HR__ZARR_BRIEF
                        ", expected \"array\" or \"group\"",
                        type == NULL ? "missing" : hr__zarr_brief(type));
    }
    return HR_OK;
}

static hr_status attributes(json_object *document, hr__arena *arena, hr__zarr_node *node,
                            hr_error *err) {
    json_object *value = hr__json_get(document, "attributes");
    if (value != NULL && !json_object_is_type(value, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "attributes is " HR__ZARR_BRIEF ", expected an object",
                        hr__zarr_brief(value));
    }
    if (value == NULL) {
        node->attributes_json = "{}";
        return HR_OK;
    }
    return hr__zarr_text(value, arena, &node->attributes_json, err);
}

/* None exist that could be supported; those that may be ignored are. */
static hr_status storage_transformers(json_object *document, hr_error *err) {
    json_object *list = hr__json_get(document, "storage_transformers");
    if (list == NULL) {
        return HR_OK;
    }
    if (!json_object_is_type(list, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "storage_transformers is " HR__ZARR_BRIEF ", expected a list",
                        hr__zarr_brief(list));
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        hr__zarr_extension e;
        json_object *v = json_object_array_get_idx(list, i);
        HR__TRY(hr__zarr_extension_read(v, "a storage transformer", &e, err));
        if (!hr__json_is_false(hr__json_get(v, "must_understand"))) {
            return hr__fail(err, HR_ERR_UNSUPPORTED,
                            "storage transformer \"%.60s\" is not supported", e.name);
        }
    }
    return HR_OK;
}

static bool is_name_list(json_object *list, int32_t ndim, bool null_ok) {
    bool ok = json_object_is_type(list, json_type_array) &&
              json_object_array_length(list) == (size_t)ndim;
    for (size_t i = 0; ok && i < (size_t)ndim; i++) {
        json_object *v = json_object_array_get_idx(list, i);
        ok = hr__json_str(v) != NULL || (v == NULL && null_ok);
    }
    return ok;
}

hr_status hr__zarr_dimension_names(json_object *list, int32_t ndim, bool null_ok,
                                   hr__arena *arena, const char *const **names,
                                   hr_error *err) {
    *names = NULL;
    if (!is_name_list(list, ndim, null_ok)) {
        return HR_OK;
    }
    const char **copies = hr__arena_array(arena, (size_t)ndim, sizeof *copies);
    if (copies == NULL) {
        return hr__fail_memory(err, (size_t)ndim * sizeof *copies);
    }
    for (size_t i = 0; i < (size_t)ndim; i++) {
        const char *name = hr__json_str(json_object_array_get_idx(list, i));
        if (name != NULL && (copies[i] = hr__arena_strdup(arena, name)) == NULL) {
            return hr__fail_memory(err, strlen(name) + 1);
        }
    }
    *names = copies;
    return HR_OK;
}

static hr_status dimension_names(json_object *document, hr__arena *arena,
                                 hr__zarr_node *node, hr_error *err) {
    json_object *list = hr__json_get(document, "dimension_names");
    HR__TRY(hr__zarr_dimension_names(list, node->array.ndim, true, arena,
                                     &node->dimension_names, err));
    if (list != NULL && node->dimension_names == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "dimension_names is " HR__ZARR_BRIEF
                        ", expected a list of %d names or nulls",
                        hr__zarr_brief(list), (int)node->array.ndim);
    }
    return HR_OK;
}

static hr_status array(json_object *document, hr__arena *arena, hr__zarr_node *node,
                       hr_error *err) {
    static const char *const known[] = {
        "zarr_format",          "node_type",  "shape",           "data_type",
        "chunk_grid",           "fill_value", "codecs",          "chunk_key_encoding",
        "storage_transformers", "attributes", "dimension_names", NULL};
    hr__array *a = &node->array;
    hr__zarr_data *data = hr__arena_alloc(arena, sizeof *data);
    if (data == NULL) {
        return hr__fail_memory(err, sizeof *data);
    }
    a->format_data = data;
    a->key = hr__zarr_key;
    HR__TRY(hr__zarr_check_members(document, "zarr.json", known, true, err));
    HR__TRY(storage_transformers(document, err));
    HR__TRY(hr__zarr_shape(document, a, err));
    HR__TRY(
        hr__zarr_dtype_v3(hr__json_get(document, "data_type"), arena, &a->dtype, err));
    HR__TRY(
        hr__zarr_keys_v3(hr__json_get(document, "chunk_key_encoding"), &data->keys, err));
    HR__TRY(hr__zarr_grid_v3(hr__json_get(document, "chunk_grid"), arena, a,
                             &node->is_rectilinear, err));
    const void *unused;
    HR__TRY(hr__zarr_fill(hr__json_get(document, "fill_value"), &a->dtype, &a->dtype,
                          arena, &a->fill, &unused, err));
    HR__TRY(dimension_names(document, arena, node, err));
    HR__TRY(
        hr__zarr_text(hr__json_get(document, "codecs"), arena, &node->codecs_json, err));
    HR__TRY(hr__zarr_text(hr__json_get(document, "fill_value"), arena,
                          &node->fill_value_json, err));
    return hr__zarr_layout_v3(hr__json_get(document, "codecs"), node->is_rectilinear,
                              arena, node, err);
}

hr_status hr__zarr_v3_node(json_object *document, hr__arena *arena, hr__zarr_node *node,
                           hr_error *err) {
    static const char *const known[] = {"zarr_format", "node_type", "attributes",
                                        "consolidated_metadata", NULL};
    HR__TRY(hr__zarr_v3_kind(document, &node->kind, err));
    node->format = 3;
    HR__TRY(attributes(document, arena, node, err));
    if (node->kind == HR_NODE_ARRAY) {
        return array(document, arena, node, err);
    }
    return hr__zarr_check_members(document, "zarr.json", known, true, err);
}
