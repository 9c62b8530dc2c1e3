/* Zarr v2 and v3 metadata to array descriptions. SPDX-License-Identifier: Apache-2.0
 *
 * Pure but for the document source, through which metadata documents are asked for. */
#ifndef HR_FORMAT_ZARR_ZARR_H
#define HR_FORMAT_ZARR_ZARR_H

#include <headrace/node.h>

#include "format/array.h"

/* Where metadata documents come from. Keys are relative to the store's root. */
typedef struct hr__doc_source {
    void *user;
    /* Text of a document in arena memory with a NUL after it. HR_ERR_NOT_FOUND only when
     * it is absent. */
    hr_status (*get)(void *user, const char *key, hr__arena *arena, char **text,
                     size_t *nbytes, hr_error *err);
    const struct hr__custom_codecs *custom; /* codecs of the caller's; NULL: none */
} hr__doc_source;

/* Consolidated metadata of the group that an open went through: documents by key. */
typedef struct hr__consolidated hr__consolidated;

typedef struct hr__zarr_node {
    hr_node_kind kind;
    int32_t format;   /* 2 or 3 */
    const char *path; /* in the store, "" = root, no slashes at the ends */
    const char *attributes_json;
    /* Consolidated metadata found at this node (or handed down); NULL without. */
    const hr__consolidated *consolidated;
    /* Arrays: */
    hr__array array;                  /* before hr__array_split_raw */
    int64_t chunk_shape[HR_MAX_NDIM]; /* innermost, as hr_node_info gives it */
    int64_t shard_shape[HR_MAX_NDIM];
    bool has_shards; /* also where shards can only be decoded as a whole */
    bool is_rectilinear;
    const char *codecs_json;
    const char *fill_value_json;
    const char *const *dimension_names;
} hr__zarr_node;

/* Open the node at `path`. Probes zarr.json, then .zarray, .zgroup (or only one format's
 * documents). `parent` is consolidated metadata to look in first, or NULL. Everything
 * lives in the arena; `node` must not move afterwards (format_data points into it).
 * Errors: HR_ERR_NOT_FOUND, HR_ERR_METADATA, HR_ERR_UNSUPPORTED, those of the source. */
hr_status hr__zarr_open(const hr__doc_source *docs, const char *path,
                        const hr_open_options *options, const hr__consolidated *parent,
                        hr__arena *arena, hr__zarr_node *node, hr_error *err);
/* What a closed node still holds outside the arena (lazily made chains, locks). */
void hr__zarr_close(hr__zarr_node *node);

/* Members listed by consolidated metadata of a group at node->path, in byte order of
 * their relative paths; count in *n. Only when node->consolidated. */
hr_status hr__zarr_consolidated_list(const hr__zarr_node *node, bool recursive,
                                     hr__arena *arena, hr_member **members, size_t *n,
                                     hr_error *err);

/* For listing through the store: is the directory with these entries an array, a group,
 * or neither? v3 needs the document. */
hr_status hr__zarr_probe_kind(const hr__doc_source *docs, const char *path,
                              hr__arena *arena, hr_node_kind *kind, hr_error *err);

#endif
