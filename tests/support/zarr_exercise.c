/* Open any metadata and use what comes of it. SPDX-License-Identifier: Apache-2.0 */
#include "support/zarr_exercise.h"

#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                  \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            abort();                                                                     \
        }                                                                                \
    } while (0)

typedef struct documents {
    const char *name;
    const uint8_t *text;
    size_t nbytes;
} documents;

static hr_status get(void *user, const char *key, hr__arena *arena, char **text,
                     size_t *nbytes, hr_error *err) {
    const documents *d = user;
    const char *slash = strrchr(key, '/');
    const char *name = slash == NULL ? key : slash + 1;
    /* .zgroup is there for .zmetadata's sake */
    bool is_group = strcmp(name, ".zgroup") == 0 && strcmp(d->name, ".zmetadata") == 0;
    if (!is_group && strcmp(name, d->name) != 0) {
        return hr__fail(err, HR_ERR_NOT_FOUND, "no %s", key);
    }
    static const char group[] = "{\"zarr_format\":2}";
    *nbytes = is_group ? sizeof group - 1 : d->nbytes;
    *text = hr__arena_alloc(arena, *nbytes + 1);
    if (*text == NULL) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory");
    }
    memcpy(*text, is_group ? (const void *)group : d->text, *nbytes);
    return HR_OK;
}

static void check_axis(const hr__grid_axis *g) {
    MUST(g->length >= 0 && g->chunk >= 1 && g->nchunks >= 0);
    MUST((g->length == 0) == (g->nchunks == 0));
    const int64_t some[] = {0, g->length / 2, g->length - 1};
    for (size_t i = 0; g->length > 0 && i < 3; i++) {
        int64_t c = hr__grid_find(g, some[i]);
        MUST(c >= 0 && c < g->nchunks);
        int64_t start = hr__grid_start(g, c);
        int64_t n = hr__grid_length(g, c);
        MUST(n >= 1 && n <= g->chunk && start <= some[i] && some[i] - start < n);
    }
}

static void check_order(const int32_t *order, int32_t ndim) {
    uint32_t seen = 0;
    for (int32_t i = 0; i < ndim; i++) {
        MUST(order[i] >= 0 && order[i] < ndim && (seen >> order[i] & 1) == 0);
        seen |= 1U << order[i];
    }
}

static void check_levels(const hr__array *a) {
    for (int32_t k = 0; k < a->nlevels; k++) {
        const hr__level *l = &a->levels[k];
        uint64_t ninner = 1;
        check_order(l->order, a->ndim);
        for (int32_t i = 0; i < a->ndim; i++) {
            int64_t whole = k == 0 ? a->outer[i].chunk : a->levels[k - 1].shape[i];
            MUST(l->counts[i] * l->shape[i] == whole);
            ninner *= (uint64_t)l->counts[i];
        }
        MUST(l->ninner == ninner);
        MUST(l->is_split || (l->index.decoded.nbytes == 16 * ninner &&
                             l->index.encoded.nbytes != HR__SIZE_UNKNOWN));
    }
}

static void check_chunk(const hr__array *a, bool last) {
    char key[1024];
    int64_t chunk[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    for (int32_t i = 0; i < a->ndim; i++) {
        if (a->outer[i].nchunks == 0) {
            return;
        }
        chunk[i] = last ? a->outer[i].nchunks - 1 : 0;
        shape[i] = hr__grid_length(&a->outer[i], chunk[i]);
    }
    hr_error err = HR_ERROR_INIT;
    MUST(a->key(a, chunk, key, sizeof key, &err) == HR_OK);
    const hr__chain *chain = &a->chain;
    if (a->chain_for != NULL && a->chain_for(a, shape, &chain, &err) == HR_OK) {
        MUST(chain->decoded.ndim == a->ndim);
    }
}

static void check_array(hr__array *a) {
    MUST(a->ndim >= 0 && a->ndim <= HR_MAX_NDIM && a->fill != NULL);
    MUST(a->dtype.byte_order == HR_LITTLE && a->stored.itemsize == a->dtype.itemsize);
    MUST(a->nlevels >= 0 && a->nlevels <= HR__MAX_LEVELS);
    check_order(a->order, a->ndim);
    for (int32_t i = 0; i < a->ndim; i++) {
        check_axis(&a->outer[i]);
        check_axis(&a->grid[i]);
        MUST(a->outer[i].length == a->shape[i] && a->grid[i].length == a->shape[i]);
        MUST(a->outer[i].chunk % a->grid[i].chunk == 0);
        MUST(a->chain_for != NULL ||
             a->chain.decoded.shape[i] == a->grid[a->order[i]].chunk);
    }
    check_levels(a);
    check_chunk(a, false);
    check_chunk(a, true);
    hr__array_split_raw(a, 1 << 20);
    check_levels(a);
}

static void use(const hr__doc_source *source, hr__zarr_node *node, hr__arena *arena,
                bool open_members) {
    char text[256];
    MUST(node->attributes_json != NULL);
    if (node->kind == HR_NODE_ARRAY) {
        MUST(node->codecs_json != NULL && node->fill_value_json != NULL);
        (void)hr_dtype_format(&node->array.dtype, text, sizeof text);
        check_array(&node->array);
    }
    if (node->consolidated == NULL || !open_members) {
        return;
    }
    hr_member *members;
    size_t n;
    hr_error err = HR_ERROR_INIT;
    MUST(hr__zarr_consolidated_list(node, true, arena, &members, &n, &err) == HR_OK);
    for (size_t i = 0; i < n; i++) {
        MUST(i == 0 || strcmp(members[i - 1].path, members[i].path) < 0);
        hr__zarr_node member;
        if (i < 16 && hr__zarr_open(source, members[i].path, NULL, node->consolidated,
                                    arena, &member, &err) == HR_OK) {
            MUST(member.kind == members[i].kind);
            use(source, &member, arena, false);
            hr__zarr_close(&member);
        }
    }
}

hr_status zarr_exercise(const char *name, const uint8_t *text, size_t nbytes) {
    documents d = {.name = name, .text = text, .nbytes = nbytes};
    hr__doc_source source = {.user = &d, .get = get};
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__zarr_node node;
    hr_node_kind kind;
    hr_error err = HR_ERROR_INIT;
    (void)hr__zarr_probe_kind(&source, "", &arena, &kind, NULL);
    hr_status status = hr__zarr_open(&source, "", NULL, NULL, &arena, &node, &err);
    MUST(err.status == status);
    if (status == HR_OK) {
        use(&source, &node, &arena, true);
        hr__zarr_close(&node);
    } else {
        MUST(status == HR_ERR_METADATA || status == HR_ERR_UNSUPPORTED ||
             status == HR_ERR_NOT_FOUND || status == HR_ERR_OVERFLOW);
        MUST(err.message[0] != '\0');
    }
    hr__arena_free(&arena);
    return status;
}
