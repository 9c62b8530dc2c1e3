/* Finding and opening nodes. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format/zarr/internal.h"

/* What opening one node needs at every step. */
typedef struct opening {
    const hr__doc_source *docs;
    hr_consolidated mode;
    int32_t format; /* asked for; 0 = any */
    hr__arena *arena;
    hr__zarr_node *node;
} opening;

static const char *key_of(const char *path, const char *name, hr__arena *arena) {
    return hr__arena_printf(arena, "%s%s%s", path, path[0] == '\0' ? "" : "/", name);
}

/* Read and parse path/name. Caller owns *out. HR_ERR_NOT_FOUND where it is absent, which
 * is no failure yet: *err is then left alone. */
static hr_status read_document(const hr__doc_source *docs, const char *path,
                               const char *name, hr__arena *arena, json_object **out,
                               hr_error *err) {
    const char *key = key_of(path, name, arena);
    if (key == NULL) {
        return hr__fail_memory(err, strlen(path));
    }
    char *text;
    size_t nbytes;
    hr_error failure = HR_ERROR_INIT;
    hr_status status = docs->get(docs->user, key, arena, &text, &nbytes, &failure);
    if (status != HR_OK) {
        if (status != HR_ERR_NOT_FOUND) {
            hr__error_copy(err, &failure);
            hr__error_add_place(err, NULL, key, 0);
        }
        return status;
    }
    status = hr__json_parse(text, nbytes, out, err);
    if (status != HR_OK) {
        hr__error_add_place(err, NULL, key, 0);
    }
    return status;
}

/* After a document has been used: name it in an error, and let it go. */
static hr_status done(hr_status status, json_object *document, const char *path,
                      const char *name, hr__arena *arena, hr_error *err) {
    if (status != HR_OK) {
        hr__error_add_place(err, NULL, key_of(path, name, arena), 0);
    }
    json_object_put(document);
    return status;
}

static hr_status fail_not_consolidated(const opening *o, hr_error *err) {
    return hr__fail(err, HR_ERR_METADATA,
                    "\"%.200s\" has no consolidated metadata, which was asked for",
                    o->node->path);
}

static hr_status fail_not_found(const char *path, int32_t format, hr_error *err) {
    const char *version = format == 2 ? " v2" : format == 3 ? " v3" : "";
    if (path[0] == '\0') {
        return hr__fail(err, HR_ERR_NOT_FOUND, "no Zarr%s array or group is here",
                        version);
    }
    return hr__fail(err, HR_ERR_NOT_FOUND, "no Zarr%s array or group at \"%.200s\"",
                    version, path);
}

/* --- from the store --- */

static hr_status use_v3(const opening *o, json_object *document, hr_error *err) {
    hr__zarr_node *node = o->node;
    HR__TRY(hr__zarr_v3_node(document, o->arena, node, err));
    bool must = o->mode == HR_CONSOLIDATED_MUST;
    if (node->kind == HR_NODE_GROUP && o->mode != HR_CONSOLIDATED_NEVER) {
        HR__TRY(hr__zarr_consolidated_v3(document, node->path, must, o->arena,
                                         &node->consolidated, err));
    }
    return must && node->consolidated == NULL ? fail_not_consolidated(o, err) : HR_OK;
}

static hr_status open_v3(const opening *o, hr_error *err) {
    json_object *document;
    const char *path = o->node->path;
    HR__TRY(read_document(o->docs, path, "zarr.json", o->arena, &document, err));
    return done(use_v3(o, document, err), document, path, "zarr.json", o->arena, err);
}

static hr_status read_attributes(const opening *o, hr_error *err) {
    json_object *document;
    const char *path = o->node->path;
    hr_status status = read_document(o->docs, path, ".zattrs", o->arena, &document, err);
    if (status == HR_ERR_NOT_FOUND) {
        return hr__zarr_v2_attributes(NULL, o->arena, o->node, err);
    }
    HR__TRY(status);
    status = hr__zarr_v2_attributes(document, o->arena, o->node, err);
    return done(status, document, path, ".zattrs", o->arena, err);
}

static hr_status open_v2_array(const opening *o, hr_error *err) {
    json_object *document;
    const char *path = o->node->path;
    HR__TRY(read_document(o->docs, path, ".zarray", o->arena, &document, err));
    hr_status status = o->mode == HR_CONSOLIDATED_MUST
                           ? fail_not_consolidated(o, err)
                           : hr__zarr_v2_array(document, o->arena, o->node, err);
    HR__TRY(done(status, document, path, ".zarray", o->arena, err));
    return read_attributes(o, err);
}

/* .zmetadata of a group, where there is one. */
static hr_status read_consolidated(const opening *o, hr_error *err) {
    json_object *document;
    const char *path = o->node->path;
    hr_status status =
        read_document(o->docs, path, ".zmetadata", o->arena, &document, err);
    if (status == HR_ERR_NOT_FOUND) {
        return o->mode == HR_CONSOLIDATED_MUST ? fail_not_consolidated(o, err) : HR_OK;
    }
    HR__TRY(status);
    status =
        hr__zarr_consolidated_v2(document, path, o->arena, &o->node->consolidated, err);
    return done(status, document, path, ".zmetadata", o->arena, err);
}

static hr_status open_v2_group(const opening *o, hr_error *err) {
    json_object *document;
    const char *path = o->node->path;
    HR__TRY(read_document(o->docs, path, ".zgroup", o->arena, &document, err));
    hr_status status = hr__zarr_check_format(document, 2, err);
    HR__TRY(done(status, document, path, ".zgroup", o->arena, err));
    o->node->kind = HR_NODE_GROUP;
    o->node->format = 2;
    if (o->mode != HR_CONSOLIDATED_NEVER) {
        HR__TRY(read_consolidated(o, err));
    }
    return read_attributes(o, err);
}

static hr_status open_stored(const opening *o, hr_error *err) {
    static hr_status (*const probes[])(const opening *, hr_error *) = {
        open_v3, open_v2_array, open_v2_group};
    for (int i = 0; i < 3; i++) {
        if (o->format == 0 || o->format == (i == 0 ? 3 : 2)) {
            hr_status status = probes[i](o, err);
            if (status != HR_ERR_NOT_FOUND) {
                return status;
            }
        }
    }
    return fail_not_found(o->node->path, o->format, err);
}

/* --- from consolidated metadata --- */

static hr_status parse_entry(const char *text, json_object **out, hr_error *err) {
    return hr__json_parse(text, strlen(text), out, err);
}

static hr_status use_entry(const opening *o, const hr__zarr_entry *entry, int32_t format,
                           json_object *document, hr_error *err) {
    if (format == 3) {
        return hr__zarr_v3_node(document, o->arena, o->node, err);
    }
    o->node->kind = entry->kind;
    o->node->format = 2;
    return entry->kind == HR_NODE_ARRAY
               ? hr__zarr_v2_array(document, o->arena, o->node, err)
               : hr__zarr_check_format(document, 2, err);
}

static const char *document_name(const hr__zarr_entry *entry, int32_t format) {
    return format == 3                    ? "zarr.json"
           : entry->kind == HR_NODE_ARRAY ? ".zarray"
                                          : ".zgroup";
}

static hr_status open_entry(const opening *o, const hr__consolidated *from,
                            const hr__zarr_entry *entry, hr_error *err) {
    int32_t format = hr__zarr_consolidated_format(from);
    json_object *document;
    HR__TRY(parse_entry(entry->document, &document, err));
    hr_status status = use_entry(o, entry, format, document, err);
    HR__TRY(done(status, document, o->node->path, document_name(entry, format), o->arena,
                 err));
    o->node->consolidated = from;
    if (format == 3) {
        return HR_OK;
    }
    document = NULL;
    if (entry->attributes != NULL) {
        HR__TRY(parse_entry(entry->attributes, &document, err));
    }
    status = hr__zarr_v2_attributes(document, o->arena, o->node, err);
    return done(status, document, o->node->path, ".zattrs", o->arena, err);
}

/* In the parent's consolidated metadata first, where that may be used. */
static hr_status open_anywhere(const opening *o, const hr__consolidated *parent,
                               hr_error *err) {
    bool usable = parent != NULL && o->mode != HR_CONSOLIDATED_NEVER &&
                  (o->format == 0 || o->format == hr__zarr_consolidated_format(parent));
    if (usable) {
        const hr__zarr_entry *entry = hr__zarr_consolidated_find(parent, o->node->path);
        if (entry != NULL) {
            return open_entry(o, parent, entry, err);
        }
        if (o->mode == HR_CONSOLIDATED_MUST) {
            return hr__fail(err, HR_ERR_NOT_FOUND,
                            "\"%.200s\" is not in the consolidated metadata",
                            o->node->path);
        }
    }
    return open_stored(o, err);
}

hr_status hr__zarr_open(const hr__doc_source *docs, const char *path,
                        const hr_open_options *options, const hr__consolidated *parent,
                        hr__arena *arena, hr__zarr_node *node, hr_error *err) {
    opening o = {.docs = docs, .arena = arena, .node = node};
    if (options != NULL) {
        o.mode = options->consolidated;
        o.format = options->zarr_format;
    }
    if (o.format != 0 && o.format != 2 && o.format != 3) {
        return hr__fail(err, HR_ERR_ARGUMENT, "zarr_format is %d, expected 0, 2 or 3",
                        (int)o.format);
    }
    if (o.mode < HR_CONSOLIDATED_AUTO || o.mode > HR_CONSOLIDATED_NEVER) {
        return hr__fail(err, HR_ERR_ARGUMENT, "consolidated is %d, expected 0, 1 or 2",
                        (int)o.mode);
    }
    *node = (hr__zarr_node){.path = hr__arena_strdup(arena, path),
                            .array.custom = docs->custom};
    if (node->path == NULL) {
        return hr__fail_memory(err, strlen(path) + 1);
    }
    hr_status status = open_anywhere(&o, parent, err);
    if (status != HR_OK) {
        hr__zarr_close(node);
    }
    return status;
}

void hr__zarr_close(hr__zarr_node *node) {
    hr__zarr_data *data = node->array.format_data;
    if (data != NULL) {
        hr__zarr_chains_destroy(data->chains);
        data->chains = NULL;
    }
}

hr_status hr__zarr_probe_kind(const hr__doc_source *docs, const char *path,
                              hr__arena *arena, hr_node_kind *kind, hr_error *err) {
    json_object *document;
    hr_status status = read_document(docs, path, "zarr.json", arena, &document, err);
    if (status == HR_OK) {
        status = hr__zarr_v3_kind(document, kind, err);
        return done(status, document, path, "zarr.json", arena, err);
    }
    static const char *const names[] = {".zarray", ".zgroup"};
    for (int i = 0; status == HR_ERR_NOT_FOUND && i < 2; i++) {
        status = read_document(docs, path, names[i], arena, &document, err);
        if (status == HR_OK) {
            json_object_put(document);
            *kind = i == 0 ? HR_NODE_ARRAY : HR_NODE_GROUP;
        }
    }
    return status == HR_ERR_NOT_FOUND ? fail_not_found(path, 0, err) : status;
}
