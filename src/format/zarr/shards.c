/* Codecs of a v3 array: transposes become an order, shards levels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/sharding.h"
#include "codec/transpose.h"
#include "core/checked.h"
#include "format/zarr/internal.h"

/* order := the axes as they lie after a transpose. */
static hr_status compose(json_object *config, int32_t ndim, int32_t *order,
                         hr_error *err) {
    int32_t axes[HR_MAX_NDIM];
    int32_t result[HR_MAX_NDIM];
    HR__TRY(hr__transpose_order(config, ndim, axes, err));
    for (int32_t i = 0; i < ndim; i++) {
        result[i] = order[axes[i]];
    }
    memcpy(order, result, (size_t)ndim * sizeof *order);
    return HR_OK;
}

/* Without the transposes among the first n codecs. The caller puts it. */
static json_object *without_transposes(json_object *codecs, size_t n) {
    json_object *rest = json_object_new_array();
    for (size_t i = 0; i < json_object_array_length(codecs) && rest != NULL; i++) {
        json_object *entry = json_object_array_get_idx(codecs, i), *config;
        const char *name = "";
        (void)hr__codec_entry_v3(entry, &name, &config, NULL);
        if (i >= n || strcmp(name, "transpose") != 0) {
            (void)json_object_array_add(rest, json_object_get(entry));
        }
    }
    return rest;
}

/* Take the transposes that codecs begin with into a->order, also those behind codecs that
 * work item by item. *codecs from *first on are the others; it may become a list made
 * here, which *own then holds, instead of what it held. */
static hr_status take_transposes(json_object **codecs, hr__array *a, int32_t *first,
                                 json_object **own, hr_error *err) {
    size_t n = json_object_array_length(*codecs), i = 0;
    int32_t ntaken = 0;
    bool is_in_front = true;
    for (; i < n; i++) {
        const char *name;
        json_object *config;
        hr__codec_dialect dialect;
        HR__TRY(hr__codec_entry_v3(json_object_array_get_idx(*codecs, i), &name, &config,
                                   err));
        if (strcmp(name, "transpose") == 0) {
            HR__TRY(compose(config, a->ndim, a->order, err));
            ntaken++;
            is_in_front = is_in_front && (size_t)ntaken == i + 1;
            continue;
        }
        const hr__codec_type *type = hr__codec_find_v3(a->custom, name, &dialect);
        if (type == NULL || !type->itemwise) {
            break;
        }
    }
    *first = is_in_front ? ntaken : 0;
    if (!is_in_front) {
        json_object *rest = without_transposes(*codecs, i);
        if (rest == NULL) {
            return hr__fail_memory(err, n);
        }
        json_object_put(*own);
        *codecs = *own = rest;
    }
    return HR_OK;
}

/* One more level, in array axes; `shape` becomes that of its inner chunks. */
static void lift(const hr__sharding_config *c, hr__array *a, int64_t *shape) {
    hr__level *level = &a->levels[a->nlevels++];
    *level = (hr__level){
        .ninner = c->ninner, .index_at_start = c->index_at_start, .index = c->index};
    for (int32_t i = 0; i < a->ndim; i++) {
        int32_t axis = a->order[i];
        level->order[i] = axis;
        level->shape[axis] = c->chunk_shape[i];
        level->counts[axis] = c->counts[i];
        shape[axis] = c->chunk_shape[i];
    }
}

/* Chunk shapes inside shards that stay in the chain, for the node's description. What is
 * read here has been checked when the chain was parsed. */
static hr_status look_inside(json_object *codecs, int32_t first, hr__zarr_node *node,
                             hr_error *err) {
    const hr__array *a = &node->array;
    int32_t order[HR_MAX_NDIM];
    memcpy(order, a->order, sizeof order);
    for (size_t i = (size_t)first; i < json_object_array_length(codecs); i++) {
        const char *name;
        json_object *config;
        hr__codec_dialect dialect;
        HR__TRY(hr__codec_entry_v3(json_object_array_get_idx(codecs, i), &name, &config,
                                   err));
        const hr__codec_type *type = hr__codec_find_v3(a->custom, name, &dialect);
        if (strcmp(name, "transpose") == 0) {
            HR__TRY(compose(config, a->ndim, order, err));
        } else if (type == &hr__codec_sharding) {
            int64_t inner[HR_MAX_NDIM];
            HR__TRY(hr__zarr_sizes(hr__json_get(config, "chunk_shape"), "chunk_shape", 1,
                                   a->ndim, inner, NULL, err));
            for (int32_t k = 0; k < a->ndim; k++) {
                node->chunk_shape[order[k]] = inner[k];
            }
            node->has_shards = true;
            codecs = hr__json_get(config, "codecs");
            i = SIZE_MAX; /* from the beginning of the inner list */
        } else if (type != NULL &&
                   (type->klass != HR__ARRAY_TO_ARRAY || strcmp(name, "reshape") == 0)) {
            break;
        }
    }
    return HR_OK;
}

static void set_grid(hr__array *a, const int64_t *shape) {
    for (int32_t i = 0; i < a->ndim; i++) {
        a->grid[i] = a->outer[i];
        if (a->nlevels > 0) {
            a->grid[i].chunk = shape[i];
            a->grid[i].nchunks = hr__ceil_div_i64(a->shape[i], shape[i]);
        }
    }
}

static hr_status layout(json_object *codecs, bool irregular, hr__arena *arena,
                        json_object **own, hr__zarr_node *node, hr_error *err) {
    hr__array *a = &node->array;
    int64_t shape[HR_MAX_NDIM];
    int32_t first;
    for (int32_t i = 0; i < a->ndim; i++) {
        a->order[i] = i;
        shape[i] = a->outer[i].chunk;
    }
    if (!json_object_is_type(codecs, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "codecs is " HR__ZARR_BRIEF ", expected a list",
                        codecs == NULL ? "missing" : hr__zarr_brief(codecs));
    }
    for (;;) {
        hr__spec spec;
        HR__TRY(take_transposes(&codecs, a, &first, own, err));
        HR__TRY(hr__zarr_chunk_spec(a, shape, &a->dtype, a->fill, &spec, err));
        HR__TRY(hr__chain_parse_v3(codecs, first, &spec, arena, a->custom, a->nlevels,
                                   &a->chain, err));
        if (irregular || a->nlevels == HR__MAX_LEVELS || a->chain.ncodecs != 1 ||
            a->chain.codecs[0].type != &hr__codec_sharding) {
            break;
        }
        const hr__sharding_config *config = a->chain.codecs[0].config;
        lift(config, a, shape);
        codecs = config->inner_codecs;
    }
    a->stored = a->chain.decoded.dtype;
    set_grid(a, shape);
    memcpy(node->chunk_shape, shape, (size_t)a->ndim * sizeof *shape);
    node->has_shards = a->nlevels > 0;
    HR__TRY(look_inside(codecs, first, node, err));
    for (int32_t i = 0; node->has_shards && i < a->ndim; i++) {
        node->shard_shape[i] = a->outer[i].chunk;
    }
    if (irregular) {
        hr__zarr_data *data = a->format_data;
        a->chain_for = hr__zarr_chain_for;
        return hr__zarr_chains_create(codecs, first, arena->allocator, &data->chains,
                                      err);
    }
    return HR_OK;
}

hr_status hr__zarr_layout_v3(json_object *codecs, bool irregular, hr__arena *arena,
                             hr__zarr_node *node, hr_error *err) {
    json_object *own = NULL;
    hr_status status = layout(codecs, irregular, arena, &own, node, err);
    json_object_put(own);
    return status;
}
