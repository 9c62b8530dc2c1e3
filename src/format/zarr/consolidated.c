/* Consolidated metadata: the documents of many nodes in one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "format/zarr/internal.h"

struct hr__consolidated {
    int32_t format;
    const char *path;        /* of its group in the store */
    hr__zarr_entry *entries; /* by path, unique */
    size_t n;
};

/* Where a document of a node goes; v2 has several. */
typedef enum role { ROLE_ARRAY, ROLE_GROUP, ROLE_ATTRIBUTES } role;

typedef struct piece {
    const char *path;
    role role;
    const char *text;
} piece;

static int compare_pieces(const void *a, const void *b) {
    const piece *x = a;
    const piece *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : (int)x->role - (int)y->role;
}

/* No slashes at the ends, no empty, "." or ".." parts; "" is the group itself. */
static bool path_is_clean(const char *path, size_t n) {
    for (size_t i = 0; n > 0 && i <= n;) {
        const char *end = memchr(path + i, '/', n - i);
        size_t part = end == NULL ? n - i : (size_t)(end - (path + i));
        if (part == 0 || (part == 1 && path[i] == '.') ||
            (part == 2 && path[i] == '.' && path[i + 1] == '.')) {
            return false;
        }
        i += part + 1;
    }
    return true;
}

/* Copy what a member says into *p. The key's path is its first path_nbytes bytes. */
static hr_status make_piece(const char *key, size_t path_nbytes, role r,
                            json_object *value, hr__arena *arena, piece *p,
                            hr_error *err) {
    if (!path_is_clean(key, path_nbytes)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "consolidated metadata has the key \"%.100s\", expected a "
                        "relative path",
                        key);
    }
    if (!json_object_is_type(value, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "consolidated metadata of \"%.100s\" is " HR__ZARR_BRIEF
                        ", expected an object",
                        key, hr__zarr_brief(value));
    }
    char *path = hr__arena_copy(arena, key, path_nbytes + 1);
    if (path == NULL) {
        return hr__fail_memory(err, path_nbytes + 1);
    }
    path[path_nbytes] = '\0';
    *p = (piece){.path = path, .role = r};
    return hr__zarr_text(value, arena, &p->text, err);
}

/* Sorted pieces to entries: attributes join the document they belong to. */
static hr_status finish(const piece *pieces, size_t n, int32_t format, const char *path,
                        hr__arena *arena, const hr__consolidated **out, hr_error *err) {
    hr__consolidated *c = hr__arena_alloc(arena, sizeof *c);
    hr__zarr_entry *entries = hr__arena_array(arena, n, sizeof *entries);
    char *own_path = hr__arena_strdup(arena, path);
    if (c == NULL || entries == NULL || own_path == NULL) {
        return hr__fail_memory(err, n * sizeof *entries);
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const piece *p = &pieces[i];
        hr__zarr_entry *last = count > 0 ? &entries[count - 1] : NULL;
        bool joins = last != NULL && strcmp(last->path, p->path) == 0;
        if (p->role == ROLE_ATTRIBUTES && joins) {
            last->attributes = p->text;
        } else if (p->role != ROLE_ATTRIBUTES && !joins) {
            entries[count++] = (hr__zarr_entry){
                .path = p->path,
                .kind = p->role == ROLE_ARRAY ? HR_NODE_ARRAY : HR_NODE_GROUP,
                .document = p->text};
        }
    }
    *c = (hr__consolidated){
        .format = format, .path = own_path, .entries = entries, .n = count};
    *out = c;
    return HR_OK;
}

/* Pieces are needed only while the entries are made: not in the arena. */
static piece *pieces_create(const hr__arena *arena, json_object *metadata,
                            size_t *nbytes) {
    *nbytes = ((size_t)json_object_object_length(metadata) + 1) * sizeof(piece);
    return hr__calloc(arena->allocator, *nbytes);
}

static hr_status collect_v3(json_object *metadata, hr__arena *arena, piece *pieces,
                            size_t *n, hr_error *err) {
    json_object_object_foreach(metadata, key, value) {
        hr_node_kind kind;
        hr_status status = hr__zarr_v3_kind(value, &kind, err);
        if (status != HR_OK) {
            hr__error_add_place(err, NULL, key, 0);
            return status;
        }
        HR__TRY(make_piece(key, strlen(key),
                           kind == HR_NODE_ARRAY ? ROLE_ARRAY : ROLE_GROUP, value, arena,
                           &pieces[*n], err));
        (*n)++;
    }
    return HR_OK;
}

static hr_status collect_v2(json_object *metadata, hr__arena *arena, piece *pieces,
                            size_t *n, hr_error *err) {
    static const struct {
        const char *name;
        role role;
    } documents[] = {
        {".zarray", ROLE_ARRAY}, {".zgroup", ROLE_GROUP}, {".zattrs", ROLE_ATTRIBUTES}};
    json_object_object_foreach(metadata, key, value) {
        const char *slash = strrchr(key, '/');
        const char *name = slash == NULL ? key : slash + 1;
        for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
            if (strcmp(name, documents[i].name) == 0) {
                size_t path_nbytes = slash == NULL ? 0 : (size_t)(slash - key);
                HR__TRY(make_piece(key, path_nbytes, documents[i].role, value, arena,
                                   &pieces[*n], err));
                (*n)++;
            }
        }
    }
    return HR_OK;
}

static hr_status build(json_object *metadata, int32_t format, const char *path,
                       hr__arena *arena, const hr__consolidated **out, hr_error *err) {
    if (!json_object_is_type(metadata, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "metadata of the consolidated metadata is " HR__ZARR_BRIEF
                        ", expected an object",
                        metadata == NULL ? "missing" : hr__zarr_brief(metadata));
    }
    size_t nbytes;
    size_t n = 0;
    piece *pieces = pieces_create(arena, metadata, &nbytes);
    if (pieces == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    hr_status status = format == 3 ? collect_v3(metadata, arena, pieces, &n, err)
                                   : collect_v2(metadata, arena, pieces, &n, err);
    if (status == HR_OK) {
        qsort(pieces, n, sizeof *pieces, compare_pieces);
        status = finish(pieces, n, format, path, arena, out, err);
    }
    hr__free(arena->allocator, pieces, nbytes);
    return status;
}

hr_status hr__zarr_consolidated_v3(json_object *document, const char *path,
                                   bool empty_counts, hr__arena *arena,
                                   const hr__consolidated **out, hr_error *err) {
    json_object *value = hr__json_get(document, "consolidated_metadata");
    json_object *metadata = hr__json_get(value, "metadata");
    if (value == NULL ||
        (!empty_counts && json_object_is_type(metadata, json_type_object) &&
         json_object_object_length(metadata) == 0)) {
        *out = NULL;
        return HR_OK;
    }
    json_object *kind = hr__json_get(value, "kind");
    if (kind != NULL && !hr__json_is(kind, "inline")) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "kind of the consolidated metadata is " HR__ZARR_BRIEF
                        ", expected \"inline\"",
                        hr__zarr_brief(kind));
    }
    return build(metadata, 3, path, arena, out, err);
}

hr_status hr__zarr_consolidated_v2(json_object *document, const char *path,
                                   hr__arena *arena, const hr__consolidated **out,
                                   hr_error *err) {
    json_object *value = hr__json_get(document, "zarr_consolidated_format");
    int64_t format = 0;
    if (!hr__json_i64(value, &format) || format != 1) {
        return hr__fail(err, HR_ERR_METADATA,
                        "zarr_consolidated_format is " HR__ZARR_BRIEF ", expected 1",
                        value == NULL ? "missing" : hr__zarr_brief(value));
    }
    return build(hr__json_get(document, "metadata"), 2, path, arena, out, err);
}

int32_t hr__zarr_consolidated_format(const hr__consolidated *c) {
    return c->format;
}

/* `path` below `group`: "" for itself, NULL where it lies elsewhere. */
static const char *below(const char *group, const char *path) {
    size_t n = strlen(group);
    if (n == 0) {
        return path;
    }
    if (strncmp(path, group, n) != 0 || (path[n] != '\0' && path[n] != '/')) {
        return NULL;
    }
    return path[n] == '/' ? path + n + 1 : path + n;
}

static int compare_path(const void *path, const void *entry) {
    return strcmp(path, ((const hr__zarr_entry *)entry)->path);
}

const hr__zarr_entry *hr__zarr_consolidated_find(const hr__consolidated *c,
                                                 const char *path) {
    const char *relative = below(c->path, path);
    return relative == NULL || c->n == 0
               ? NULL
               : bsearch(relative, c->entries, c->n, sizeof *c->entries, compare_path);
}

hr_status hr__zarr_consolidated_list(const hr__zarr_node *node, bool recursive,
                                     hr__arena *arena, hr_member **members, size_t *n,
                                     hr_error *err) {
    const hr__consolidated *c = node->consolidated;
    const char *group = below(c->path, node->path);
    hr_member *list = hr__arena_array(arena, c->n, sizeof *list);
    if (list == NULL) {
        return hr__fail_memory(err, c->n * sizeof *list);
    }
    size_t count = 0;
    for (size_t i = 0; group != NULL && i < c->n; i++) {
        const char *path = below(group, c->entries[i].path);
        if (path == NULL || path[0] == '\0' ||
            (!recursive && strchr(path, '/') != NULL)) {
            continue;
        }
        list[count].path = hr__arena_strdup(arena, path);
        list[count].kind = c->entries[i].kind;
        if (list[count++].path == NULL) {
            return hr__fail_memory(err, strlen(path) + 1);
        }
    }
    *members = list;
    *n = count;
    return HR_OK;
}
