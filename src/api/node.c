/* Opening and describing arrays and groups. SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/options.h"
#include "core/checked.h"

/* Uncompressed chunks are read in pieces of about this size, which stay in the cache
 * between the read and the scatter. */
#define SPLIT_NBYTES (UINT64_C(256) << 10)

static hr_status get_document(void *user, const char *key, hr__arena *arena, char **text,
                              size_t *nbytes, hr_error *err) {
    hr_store *store = user;
    return hr__store_get(store, key, store->context->metadata_max_nbytes, arena, text,
                         nbytes, err);
}

hr__doc_source hr__node_documents(hr_store *store) {
    return (hr__doc_source){
        .user = store, .get = get_document, .custom = &store->context->codecs};
}

hr_status hr__node_check(const hr_node *node, hr_node_kind kind, hr_error *err) {
    if (node == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "node is NULL");
    }
    if (node->info.kind != kind) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s is %s, not %s", node->url,
                        node->info.kind == HR_NODE_ARRAY ? "an array" : "a group",
                        kind == HR_NODE_ARRAY ? "an array" : "a group");
    }
    return HR_OK;
}

static void node_free(hr_node *node) {
    hr_store *store = node->store;
    hr_node *parent = node->parent;
    hr__zarr_close(&node->zarr);
    hr__arena_free(&node->arena);
    hr__free(store->allocator, node, sizeof *node);
    hr_node_unref(parent);
    hr_store_unref(store);
}

/* What a Zarr node is. */
static void describe_zarr(hr_node *node) {
    const hr__zarr_node *z = &node->zarr;
    hr_node_info *info = &node->info;
    info->kind = z->kind;
    info->format = z->format == 2 ? "zarr2" : "zarr3";
    info->attributes_json = z->attributes_json;
    if (z->kind == HR_NODE_ARRAY) {
        node->source.array = &z->array;
        info->chunk_shape = z->chunk_shape;
        info->shard_shape = z->has_shards ? z->shard_shape : NULL;
        info->is_rectilinear = z->is_rectilinear;
        info->codecs_json = z->codecs_json;
        info->fill_value_json = z->fill_value_json;
        info->dimension_names = z->dimension_names;
    }
}

static void describe_tiff(hr_node *node) {
    const hr__tiff_node *t = &node->tiff;
    hr_node_info *info = &node->info;
    info->kind = HR_NODE_ARRAY;
    info->format = t->is_big ? "bigtiff" : "tiff";
    info->attributes_json = t->attributes_json;
    node->source.array = &t->array;
    info->chunk_shape = t->chunk_shape;
    info->codecs_json = t->codecs_json;
    info->fill_value_json = t->fill_value_json;
    info->dimension_names = t->dimension_names;
}

/* What the descriptions of all formats share. */
static void finish_array(hr_node *node, hr__array *a) {
    hr_node_info *info = &node->info;
    info->dtype = a->dtype;
    info->ndim = a->ndim;
    info->shape = a->shape;
    info->fill_value = a->fill;
    info->grid_shape = node->grid_shape;
    for (int32_t i = 0; i < a->ndim; i++) {
        node->grid_shape[i] = info->is_rectilinear
                                  ? a->grid[i].nchunks
                                  : hr__ceil_div_i64(a->shape[i], info->chunk_shape[i]);
    }
}

/* Who keeps the consolidated metadata that a group looks into: itself, or the one that
 * it holds. Never a chain, which would end by recursion. */
static hr_node *owner_of_consolidated(hr_node *group) {
    if (group == NULL || group->zarr.consolidated == NULL) {
        return NULL;
    }
    hr_node *above = group->parent;
    return above != NULL && above->zarr.consolidated == group->zarr.consolidated ? above
                                                                                 : group;
}

static hr_status open_zarr(hr_node *node, hr_node *parent, const char *path,
                           hr_error *err) {
    hr__doc_source docs = hr__node_documents(node->store);
    HR__TRY(hr__zarr_open(&docs, path, &node->options,
                          parent == NULL ? NULL : parent->zarr.consolidated, &node->arena,
                          &node->zarr, err));
    describe_zarr(node);
    if (node->info.kind == HR_NODE_ARRAY) {
        hr__array_split_raw(&node->zarr.array, SPLIT_NBYTES);
    }
    return HR_OK;
}

/* `path` is the key of a file, perhaps with "#…" behind it. */
static hr_status open_tiff(hr_node *node, const char *path, bool *is_tiff,
                           hr_error *err) {
    *is_tiff = false;
    hr_status status = hr__node_open_tiff(node, path, NULL, is_tiff, err);
    const char *mark = strrchr(path, '#');
    if (status == HR_ERR_NOT_FOUND && mark != NULL) {
        size_t n = (size_t)(mark - path);
        char *key = hr__arena_copy(&node->arena, path, n + 1);
        if (key == NULL) {
            return hr__fail_memory(err, n + 1);
        }
        key[n] = '\0';
        status = hr__node_open_tiff(node, key, mark + 1, is_tiff, err);
    }
    HR__TRY(status);
    describe_tiff(node);
    return HR_OK;
}

/* A group or array of Zarr, else a file. */
static hr_status open_any(hr_node *node, hr_node *parent, const char *path, bool is_file,
                          hr_error *err) {
    bool is_tiff;
    if (is_file) {
        return open_tiff(node, path, &is_tiff, err);
    }
    hr_status status = open_zarr(node, parent, path, err);
    if (path[0] == '\0' || (status != HR_ERR_NOT_FOUND && status != HR_ERR_IO)) {
        return status;
    }
    hr_error other = HR_ERROR_INIT;
    hr_status as_file = open_tiff(node, path, &is_tiff, &other);
    if (is_tiff) {
        hr__error_copy(err, &other);
        status = as_file;
    }
    return status;
}

hr_status hr__node_open(hr_store *store, hr_node *parent, const char *path, bool is_file,
                        const hr_open_options *options, hr_node **out, hr_error *err) {
    hr_node *node = hr__calloc(store->allocator, sizeof *node);
    if (node == NULL) {
        return hr__fail_memory(err, sizeof *node);
    }
    atomic_init(&node->refs, 1);
    node->store = hr_store_ref(store);
    node->parent = hr_node_ref(owner_of_consolidated(parent));
    node->options = *options;
    hr__arena_init(&node->arena, store->allocator);
    node->url = hr__arena_printf(&node->arena, "%s%s%s", store->url,
                                 path[0] != '\0' ? "/" : "", path);
    node->info = HR_NODE_INFO_INIT;
    node->info.url = node->url;
    hr_status status = node->url == NULL ? hr__fail_memory(err, strlen(path))
                                         : open_any(node, parent, path, is_file, err);
    if (status != HR_OK) {
        hr__error_add_place(err, node->url, NULL, 0);
        node_free(node);
        return status;
    }
    bool is_zarr = node->zarr.kind != 0;
    node->source.id = atomic_fetch_add(&store->context->next_source_id, 1);
    node->source.store = store;
    node->source.path = is_zarr ? node->zarr.path : "";
    node->source.url = node->url;
    node->source.info = &node->info;
    if (node->info.kind == HR_NODE_ARRAY) {
        finish_array(node, is_zarr ? &node->zarr.array : &node->tiff.array);
        node->source.alike =
            hr__history_alike(node->source.array, node->info.codecs_json);
    }
    hr__log_write(&store->context->log, HR_LOG_DEBUG, "opened %s: %s of %s", node->url,
                  node->info.kind == HR_NODE_ARRAY ? "array" : "group",
                  !is_zarr                 ? "TIFF"
                  : node->zarr.format == 2 ? "Zarr v2"
                                           : "Zarr v3");
    *out = node;
    return HR_OK;
}

hr_status hr_open_store(hr_store *store, const char *path, const hr_open_options *options,
                        hr_node **out, hr_error *err) {
    if (store == NULL || path == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "store, path or out is NULL");
    }
    hr_open_options o = HR_OPEN_OPTIONS_INIT;
    HR__TRY(hr__options_read(&o, sizeof o, options, "hr_open_options", err));
    return hr__node_open(store, NULL, path, false, &o, out, err);
}

hr_status hr_node_open(hr_node *group, const char *path, hr_node **out, hr_error *err) {
    HR__TRY(hr__node_check(group, HR_NODE_GROUP, err));
    if (path == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "path or out is NULL");
    }
    hr__arena arena;
    hr__arena_init(&arena, group->store->allocator);
    const char *sep = group->zarr.path[0] != '\0' && path[0] != '\0' ? "/" : "";
    const char *full = hr__arena_printf(&arena, "%s%s%s", group->zarr.path, sep, path);
    hr_status status = full == NULL ? hr__fail_memory(err, strlen(path))
                                    : hr__node_open(group->store, group, full, false,
                                                    &group->options, out, err);
    hr__arena_free(&arena);
    return status;
}

hr_node *hr_node_ref(hr_node *node) {
    if (node != NULL) {
        atomic_fetch_add(&node->refs, 1);
    }
    return node;
}

void hr_node_unref(hr_node *node) {
    if (node != NULL && atomic_fetch_sub(&node->refs, 1) == 1) {
        node_free(node);
    }
}

hr_status hr_node_describe(const hr_node *node, hr_node_info *info, hr_error *err) {
    if (node == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "node is NULL");
    }
    hr_node_info known = node->info;
    known.struct_size = sizeof known;
    return hr__options_write(info, &known, sizeof known, "hr_node_info", err);
}

hr_status hr_node_chunk_extent(const hr_node *node, int32_t axis, int64_t i,
                               int64_t *start, int64_t *count, hr_error *err) {
    HR__TRY(hr__node_check(node, HR_NODE_ARRAY, err));
    if (start == NULL || count == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "start or count is NULL");
    }
    const hr__array *a = node->source.array;
    const hr_node_info *info = &node->info;
    if (axis < 0 || axis >= a->ndim || i < 0 || i >= node->grid_shape[axis]) {
        return hr__fail(err, HR_ERR_SELECTION, "no chunk %" PRId64 " along axis %d", i,
                        axis);
    }
    int64_t first = info->is_rectilinear ? hr__grid_start(&a->grid[axis], i)
                                         : i * info->chunk_shape[axis];
    int64_t length = info->is_rectilinear ? hr__grid_length(&a->grid[axis], i)
                                          : info->chunk_shape[axis];
    int64_t rest = a->shape[axis] - first;
    *start = first;
    *count = length < rest ? length : rest;
    return HR_OK;
}
