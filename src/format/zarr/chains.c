/* Codec chains of chunks, and of chunks that vary in shape.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/lock.h"
#include "format/zarr/internal.h"

hr_status hr__zarr_chunk_spec(const hr__array *a, const int64_t *shape,
                              const hr_dtype *dtype, const void *fill, hr__spec *spec,
                              hr_error *err) {
    hr__spec s = {.ndim = a->ndim, .dtype = *dtype, .fill = fill};
    for (int32_t i = 0; i < a->ndim; i++) {
        s.shape[i] = shape[a->order[i]];
    }
    if (!hr__spec_measure(&s) || s.nbytes > HR__ZARR_MAX_CHUNK_NBYTES) {
        return hr__fail(err, HR_ERR_METADATA,
                        "the chunk shape gives chunks of more than %llu bytes",
                        (unsigned long long)HR__ZARR_MAX_CHUNK_NBYTES);
    }
    *spec = s;
    return HR_OK;
}

/* The chain of one chunk shape, once it has been needed. */
typedef struct made {
    struct made *next;
    int64_t shape[HR_MAX_NDIM];
    hr__arena arena;
    hr__chain chain;
} made;

struct hr__zarr_chains {
    const hr_allocator *allocator;
    hr__lock lock; /* over the list, and over json-c, which is not thread-safe */
    json_object *codecs;
    int32_t first;
    made *list;
};

hr_status hr__zarr_chains_create(json_object *codecs, int32_t first,
                                 const hr_allocator *allocator,
                                 struct hr__zarr_chains **out, hr_error *err) {
    struct hr__zarr_chains *c = hr__calloc(allocator, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    hr__lock_init(&c->lock);
    c->allocator = allocator;
    c->codecs = json_object_get(codecs);
    c->first = first;
    *out = c;
    return HR_OK;
}

void hr__zarr_chains_destroy(struct hr__zarr_chains *c) {
    if (c == NULL) {
        return;
    }
    while (c->list != NULL) {
        made *m = c->list;
        c->list = m->next;
        hr__arena_free(&m->arena);
        hr__free(c->allocator, m, sizeof *m);
    }
    json_object_put(c->codecs);
    hr__lock_destroy(&c->lock);
    hr__free(c->allocator, c, sizeof *c);
}

static hr_status make_chain(const hr__array *a, const struct hr__zarr_chains *c,
                            const int64_t *shape, made *m, hr_error *err) {
    hr__spec spec;
    memcpy(m->shape, shape, (size_t)a->ndim * sizeof *shape);
    HR__TRY(hr__zarr_chunk_spec(a, shape, &a->dtype, a->fill, &spec, err));
    return hr__chain_parse_v3(c->codecs, c->first, &spec, &m->arena, 0, &m->chain, err);
}

static hr_status find_or_make(const hr__array *a, struct hr__zarr_chains *c,
                              const int64_t *shape, const hr__chain **chain,
                              hr_error *err) {
    for (made *m = c->list; m != NULL; m = m->next) {
        if (memcmp(m->shape, shape, (size_t)a->ndim * sizeof *shape) == 0) {
            *chain = &m->chain;
            return HR_OK;
        }
    }
    made *m = hr__calloc(c->allocator, sizeof *m);
    if (m == NULL) {
        return hr__fail_memory(err, sizeof *m);
    }
    hr__arena_init(&m->arena, c->allocator);
    hr_status status = make_chain(a, c, shape, m, err);
    if (status != HR_OK) {
        hr__arena_free(&m->arena);
        hr__free(c->allocator, m, sizeof *m);
        return status;
    }
    m->next = c->list;
    c->list = m;
    *chain = &m->chain;
    return HR_OK;
}

hr_status hr__zarr_chain_for(const hr__array *a, const int64_t *chunk_shape,
                             const hr__chain **chain, hr_error *err) {
    struct hr__zarr_chains *c = ((const hr__zarr_data *)a->format_data)->chains;
    (void)hr__lock_acquire(&c->lock); /* the list is whole whenever a process forks */
    hr_status status = find_or_make(a, c, chunk_shape, chain, err);
    hr__lock_release(&c->lock);
    return status;
}
