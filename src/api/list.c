/* Members of groups. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/node.h"

/* Groups below groups are followed to this depth. */
#define MAX_DEPTH 64

struct hr_member_list {
    hr__arena arena; /* this struct's own memory too */
    hr_member *members;
    size_t n, capacity;
};

typedef struct lister {
    hr_store *store;
    hr_member_list *list;
    bool recursive;
    hr_error *err;
} lister;

/* Names of the sub-directories of one prefix. */
typedef struct names {
    hr__arena *arena;
    const char **names;
    size_t n, capacity;
} names;

static bool grow(hr__arena *arena, void **items, size_t n, size_t *capacity,
                 size_t size) {
    if (n < *capacity) {
        return true;
    }
    size_t more = *capacity == 0 ? 16 : *capacity * 2;
    void *p = hr__arena_array(arena, more, size);
    if (p == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(p, *items, n * size);
    }
    *items = p;
    *capacity = more;
    return true;
}

static bool add_name(void *user, const char *name, bool is_prefix) {
    names *s = user;
    void *items = s->names;
    if (!is_prefix) {
        return true;
    }
    if (!grow(s->arena, &items, s->n, &s->capacity, sizeof *s->names)) {
        return false;
    }
    s->names = items;
    s->names[s->n] = hr__arena_strdup(s->arena, name);
    return s->names[s->n++] != NULL;
}

static bool add_member(hr_member_list *list, const char *path, hr_node_kind kind) {
    void *items = list->members;
    if (!grow(&list->arena, &items, list->n, &list->capacity, sizeof *list->members)) {
        return false;
    }
    list->members = items;
    list->members[list->n++] = (hr_member){.path = path, .kind = kind};
    return true;
}

/* The documents are there, and no store is to blame. */
static bool is_unreadable(hr_status status) {
    return status == HR_ERR_METADATA || status == HR_ERR_UNSUPPORTED ||
           status == HR_ERR_OVERFLOW;
}

/* What the documents of a directory make it. They are read into memory of their own:
 * those of a large group together may be more than anyone has. */
static hr_status probe(lister *l, const char *prefix, const char *name,
                       hr_node_kind *kind) {
    hr__arena arena;
    hr__arena_init(&arena, l->store->allocator);
    hr__doc_source docs = hr__node_documents(l->store);
    const char *full =
        hr__arena_printf(&arena, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", name);
    hr_status status = full == NULL
                           ? hr__fail_memory(l->err, strlen(name))
                           : hr__zarr_probe_kind(&docs, full, &arena, kind, l->err);
    hr__arena_free(&arena);
    if (is_unreadable(status)) {
        *kind = HR_NODE_UNREADABLE;
        return HR_OK;
    }
    return status;
}

static hr_status list_below(lister *l, const char *root, const char *relative,
                            int depth) {
    hr__arena *arena = &l->list->arena;
    const char *sep = root[0] != '\0' && relative[0] != '\0' ? "/" : "";
    const char *prefix = hr__arena_printf(arena, "%s%s%s", root, sep, relative);
    names found = {.arena = arena};
    const hr__list_sink sink = {.user = &found, .entry = add_name};
    if (prefix == NULL) {
        return hr__fail_memory(l->err, strlen(relative));
    }
    HR__TRY(hr__store_list(l->store, prefix, &sink, l->err));
    for (size_t i = 0; i < found.n; i++) {
        const char *name = found.names[i];
        const char *path = hr__arena_printf(arena, "%s%s%s", relative,
                                            relative[0] != '\0' ? "/" : "", name);
        hr_node_kind kind;
        if (path == NULL) {
            return hr__fail_memory(l->err, strlen(name));
        }
        hr_status status = probe(l, prefix, name, &kind);
        if (status == HR_ERR_NOT_FOUND) {
            continue; /* chunks, or something else's directory */
        }
        HR__TRY(status);
        if (!add_member(l->list, path, kind)) {
            return hr__fail_memory(l->err, sizeof(hr_member));
        }
        if (l->recursive && kind == HR_NODE_GROUP) {
            if (depth == MAX_DEPTH) {
                return hr__fail(l->err, HR_ERR_OVERFLOW, "groups nested deeper than %d",
                                MAX_DEPTH);
            }
            HR__TRY(list_below(l, root, path, depth + 1));
        }
    }
    return HR_OK;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const hr_member *)a)->path, ((const hr_member *)b)->path);
}

hr_status hr_node_list(const hr_node *group, int32_t recursive, hr_member_list **out,
                       hr_error *err) {
    HR__TRY(hr__node_check(group, HR_NODE_GROUP, err));
    if (out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "out is NULL");
    }
    hr__arena arena;
    hr__arena_init(&arena, group->store->allocator);
    hr_member_list *list = hr__arena_alloc(&arena, sizeof *list);
    if (list == NULL) {
        return hr__fail_memory(err, sizeof *list);
    }
    list->arena = arena;
    hr_status status;
    if (group->zarr.consolidated != NULL) {
        status = hr__zarr_consolidated_list(&group->zarr, recursive != 0, &list->arena,
                                            &list->members, &list->n, err);
    } else {
        lister l = {
            .store = group->store, .list = list, .recursive = recursive != 0, .err = err};
        status = list_below(&l, group->zarr.path, "", 0);
        if (status == HR_OK && list->n > 0) {
            qsort(list->members, list->n, sizeof *list->members, by_path);
        }
    }
    if (status != HR_OK) {
        hr__error_add_place(err, group->url, NULL, 0);
        hr_member_list_free(list);
        return status;
    }
    *out = list;
    return HR_OK;
}

size_t hr_member_list_size(const hr_member_list *list) {
    return list != NULL ? list->n : 0;
}

hr_member hr_member_list_get(const hr_member_list *list, size_t i) {
    return i < hr_member_list_size(list) ? list->members[i] : (hr_member){0};
}

void hr_member_list_free(hr_member_list *list) {
    if (list != NULL) {
        hr__arena arena = list->arena; /* it holds *list itself */
        hr__arena_free(&arena);
    }
}
