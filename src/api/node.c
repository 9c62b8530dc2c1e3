/* Opening and describing arrays and groups. SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

#include <ctype.h>
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
    return (hr__doc_source){.user = store, .get = get_document};
}

hr_status hr__node_check(const hr_node *node, hr_node_kind kind, hr_error *err) {
    if (node == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "node is NULL");
    }
    if (node->zarr.kind != kind) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s is %s, not %s", node->url,
                        node->zarr.kind == HR_NODE_ARRAY ? "an array" : "a group",
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

static void finish_array(hr_node *node) {
    hr__array *a = &node->zarr.array;
    for (int32_t i = 0; i < a->ndim; i++) {
        node->grid_shape[i] =
            node->zarr.is_rectilinear
                ? a->grid[i].nchunks
                : hr__ceil_div_i64(a->shape[i], node->zarr.chunk_shape[i]);
    }
    hr__array_split_raw(a, SPLIT_NBYTES);
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

static hr_status node_open(hr_store *store, hr_node *parent, const char *path,
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
    hr__doc_source docs = hr__node_documents(store);
    hr_status status =
        node->url == NULL
            ? hr__fail_memory(err, strlen(path))
            : hr__zarr_open(&docs, path, options,
                            parent == NULL ? NULL : parent->zarr.consolidated,
                            &node->arena, &node->zarr, err);
    if (status != HR_OK) {
        hr__error_add_place(err, node->url, NULL, 0);
        node_free(node);
        return status;
    }
    node->source =
        (hr__source){.id = atomic_fetch_add(&store->context->next_source_id, 1),
                     .store = store,
                     .path = node->zarr.path,
                     .url = node->url,
                     .array = &node->zarr.array};
    if (node->zarr.kind == HR_NODE_ARRAY) {
        finish_array(node);
    }
    hr__log_write(&store->context->log, HR_LOG_DEBUG, "opened %s: %s of Zarr v%d",
                  node->url, node->zarr.kind == HR_NODE_ARRAY ? "array" : "group",
                  (int)node->zarr.format);
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
    return node_open(store, NULL, path, &o, out, err);
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
    hr_status status =
        full == NULL ? hr__fail_memory(err, strlen(path))
                     : node_open(group->store, group, full, &group->options, out, err);
    hr__arena_free(&arena);
    return status;
}

static int hex_digit(char c) {
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

#define SCHEME_CHARACTERS                                                                \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

/* Path of a file URL: %XX decoded. A URL without scheme is a path as it is. */
static hr_status path_from_url(const char *url, hr__arena *arena, const char **path,
                               hr_error *err) {
    const char *scheme_end = url + strspn(url, SCHEME_CHARACTERS);
    if (scheme_end == url || strncmp(scheme_end, "://", 3) != 0) {
        *path = url;
        return HR_OK;
    }
    if (strncmp(url, "file://", 7) != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "URL scheme \"%.*s\" is not supported: only paths and file://",
                        (int)(scheme_end - url), url);
    }
    const char *p = url + 7;
    char *text = hr__arena_alloc(arena, strlen(p) + 1);
    if (text == NULL) {
        return hr__fail_memory(err, strlen(p) + 1);
    }
    *path = text;
    for (; *p != '\0'; p++) {
        if (p[0] == '%' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
            *text = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
            if (*text++ == '\0') { /* the rest would go unread */
                return hr__fail(err, HR_ERR_ARGUMENT, "the URL has a %%00 at byte %zu",
                                (size_t)(p - url));
            }
            p += 2;
        } else {
            *text++ = *p;
        }
    }
    return HR_OK;
}

hr_status hr_open(hr_context *context, const char *url, const hr_open_options *options,
                  hr_node **out, hr_error *err) {
    if (context == NULL || url == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, url or out is NULL");
    }
    hr__arena arena;
    hr__arena_init(&arena, &context->allocator);
    const char *path = NULL;
    hr_store *store = NULL;
    hr_status status = path_from_url(url, &arena, &path, err);
    if (status == HR_OK) {
        status = hr_store_open_directory(context, path, &store, err);
    }
    if (status == HR_OK) {
        status = hr_open_store(store, "", options, out, err);
    }
    hr__error_add_place(status == HR_OK ? NULL : err, url, NULL, 0);
    hr_store_unref(store); /* the node holds it */
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
    const hr__zarr_node *z = &node->zarr;
    hr_node_info known = HR_NODE_INFO_INIT;
    known.kind = z->kind;
    known.format = z->format == 2 ? "zarr2" : "zarr3";
    known.url = node->url;
    known.attributes_json = z->attributes_json;
    if (z->kind == HR_NODE_ARRAY) {
        known.dtype = z->array.dtype;
        known.ndim = z->array.ndim;
        known.shape = z->array.shape;
        known.chunk_shape = z->chunk_shape;
        known.shard_shape = z->has_shards ? z->shard_shape : NULL;
        known.grid_shape = node->grid_shape;
        known.is_rectilinear = z->is_rectilinear;
        known.codecs_json = z->codecs_json;
        known.fill_value_json = z->fill_value_json;
        known.fill_value = z->array.fill;
        known.dimension_names = z->dimension_names;
    }
    return hr__options_write(info, &known, sizeof known, "hr_node_info", err);
}

hr_status hr_node_chunk_extent(const hr_node *node, int32_t axis, int64_t i,
                               int64_t *start, int64_t *count, hr_error *err) {
    HR__TRY(hr__node_check(node, HR_NODE_ARRAY, err));
    if (start == NULL || count == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "start or count is NULL");
    }
    const hr__array *a = &node->zarr.array;
    if (axis < 0 || axis >= a->ndim || i < 0 || i >= node->grid_shape[axis]) {
        return hr__fail(err, HR_ERR_SELECTION, "no chunk %" PRId64 " along axis %d", i,
                        axis);
    }
    int64_t first = node->zarr.is_rectilinear ? hr__grid_start(&a->grid[axis], i)
                                              : i * node->zarr.chunk_shape[axis];
    int64_t length = node->zarr.is_rectilinear ? hr__grid_length(&a->grid[axis], i)
                                               : node->zarr.chunk_shape[axis];
    int64_t rest = a->shape[axis] - first;
    *start = first;
    *count = length < rest ? length : rest;
    return HR_OK;
}
