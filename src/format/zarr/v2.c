/* .zarray and .zattrs: arrays of Zarr v2. SPDX-License-Identifier: Apache-2.0
 *
 * Members that the format does not have are left alone: NCZarr and others put theirs
 * there. */
#include "format/zarr/internal.h"

static hr_status present(json_object *document, const char *name, hr_error *err) {
    return hr__json_has(document, name)
               ? HR_OK
               : hr__fail(err, HR_ERR_METADATA, "%s is missing", name);
}

static hr_status set_order(json_object *document, hr__array *a, hr_error *err) {
    json_object *order = hr__json_get(document, "order");
    bool is_f = hr__json_is(order, "F");
    if (!is_f && !hr__json_is(order, "C")) {
        return hr__fail(err, HR_ERR_METADATA,
                        "order is " HR__ZARR_BRIEF ", expected \"C\" or \"F\"",
                        order == NULL ? "missing" : hr__zarr_brief(order));
    }
    for (int32_t i = 0; i < a->ndim; i++) {
        a->order[i] = is_f ? a->ndim - 1 - i : i;
    }
    return HR_OK;
}

/* Filters and compressor in one list, as v3 has it. */
static hr_status codecs_text(json_object *filters, json_object *compressor,
                             hr__arena *arena, const char **text, hr_error *err) {
    json_object *all = json_object_new_array();
    bool ok = all != NULL;
    size_t n = json_object_is_type(filters, json_type_array)
                   ? json_object_array_length(filters)
                   : 0;
    for (size_t i = 0; ok && i < n; i++) {
        json_object *filter = json_object_array_get_idx(filters, i);
        ok = json_object_array_add(all, json_object_get(filter)) == 0;
    }
    if (ok && compressor != NULL) {
        ok = json_object_array_add(all, json_object_get(compressor)) == 0;
    }
    hr_status status = ok ? hr__zarr_text(all, arena, text, err)
                          : hr__fail_memory(err, n * sizeof(void *));
    json_object_put(all);
    return status;
}

static hr_status codecs(json_object *document, const void *stored_fill, hr__arena *arena,
                        hr__zarr_node *node, hr_error *err) {
    hr__array *a = &node->array;
    json_object *filters = hr__json_get(document, "filters");
    json_object *compressor = hr__json_get(document, "compressor");
    HR__TRY(present(document, "compressor", err));
    for (int32_t i = 0; i < a->ndim; i++) {
        node->chunk_shape[i] = a->outer[i].chunk;
        a->grid[i] = a->outer[i];
    }
    hr__spec spec;
    HR__TRY(
        hr__zarr_chunk_spec(a, node->chunk_shape, &a->stored, stored_fill, &spec, err));
    HR__TRY(
        hr__chain_parse_v2(filters, compressor, &spec, arena, a->custom, &a->chain, err));
    return codecs_text(filters, compressor, arena, &node->codecs_json, err);
}

hr_status hr__zarr_v2_array(json_object *document, hr__arena *arena, hr__zarr_node *node,
                            hr_error *err) {
    hr__array *a = &node->array;
    hr__zarr_data *data = hr__arena_alloc(arena, sizeof *data);
    if (data == NULL) {
        return hr__fail_memory(err, sizeof *data);
    }
    a->format_data = data;
    a->key = hr__zarr_key;
    HR__TRY(hr__zarr_check_format(document, 2, err));
    node->kind = HR_NODE_ARRAY;
    node->format = 2;
    HR__TRY(hr__zarr_shape(document, a, err));
    HR__TRY(hr__zarr_dtype_v2(document, arena, &a->stored, err));
    if (!hr__dtype_in_order(&a->stored, HR_LITTLE, arena, &a->dtype)) {
        return hr__fail_memory(err, a->stored.nfields * sizeof(hr_field));
    }
    HR__TRY(hr__zarr_separator(hr__json_get(document, "dimension_separator"), '.',
                               &data->keys.separator, err));
    HR__TRY(hr__zarr_grid_regular(hr__json_get(document, "chunks"), "chunks", a, err));
    HR__TRY(set_order(document, a, err));
    json_object *value = hr__json_get(document, "fill_value");
    const void *stored_fill;
    HR__TRY(
        hr__zarr_fill(value, &a->dtype, &a->stored, arena, &a->fill, &stored_fill, err));
    HR__TRY(hr__zarr_text(value, arena, &node->fill_value_json, err));
    return codecs(document, stored_fill, arena, node, err);
}

hr_status hr__zarr_v2_attributes(json_object *document, hr__arena *arena,
                                 hr__zarr_node *node, hr_error *err) {
    if (document == NULL) {
        node->attributes_json = "{}";
        return HR_OK;
    }
    if (!json_object_is_type(document, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "the document is " HR__ZARR_BRIEF ", expected an object",
                        hr__zarr_brief(document));
    }
    HR__TRY(hr__zarr_text(document, arena, &node->attributes_json, err));
    if (node->kind != HR_NODE_ARRAY) {
        return HR_OK;
    }
    /* xarray's convention; anything else under this name is somebody else's */
    return hr__zarr_dimension_names(hr__json_get(document, "_ARRAY_DIMENSIONS"),
                                    node->array.ndim, false, arena,
                                    &node->dimension_names, err);
}
