/* Codec chains of chunks, and of chunks that vary in shape.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/hash.h"
#include "core/lock.h"
#include "core/table.h"
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
    int64_t shape[HR_MAX_NDIM];
    hr__arena arena;
    hr__chain chain;
} made;

struct hr__zarr_chains {
    const hr_allocator *allocator;
    hr__lock lock; /* over the table, and over json-c, which is not thread-safe */
    json_object *codecs;
    int32_t first;
    hr__table table; /* of made */
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
    for (uint64_t i = 0; i < c->table.capacity; i++) {
        made *m = c->table.slots[i].item;
        if (m != NULL) {
            hr__arena_free(&m->arena);
            hr__free(c->allocator, m, sizeof *m);
        }
    }
    hr__table_free(c->allocator, &c->table);
    json_object_put(c->codecs);
    hr__lock_destroy(&c->lock);
    hr__free(c->allocator, c, sizeof *c);
}

static hr_status make_chain(const hr__array *a, const struct hr__zarr_chains *c,
                            const int64_t *shape, made *m, hr_error *err) {
    hr__spec spec;
    memcpy(m->shape, shape, (size_t)a->ndim * sizeof *shape);
    HR__TRY(hr__zarr_chunk_spec(a, shape, &a->dtype, a->fill, &spec, err));
    return hr__chain_parse_v3(c->codecs, c->first, &spec, &m->arena, a->custom, 0,
                              &m->chain, err);
}

static uint64_t hash_of(const int64_t *shape, int32_t ndim) {
    uint64_t h = 0;
    for (int32_t i = 0; i < ndim; i++) {
        h = hr__hash_mix(h, (uint64_t)shape[i]);
    }
    return h;
}

static hr_status find_or_make(const hr__array *a, struct hr__zarr_chains *c,
                              const int64_t *shape, const hr__chain **chain,
                              hr_error *err) {
    if (!hr__table_grow(c->allocator, &c->table)) {
        return hr__fail_memory(err, c->table.capacity * sizeof *c->table.slots);
    }
    uint64_t hash = hash_of(shape, a->ndim);
    uint64_t at = hash;
    hr__table_slot *slot;
    while ((slot = hr__table_next(&c->table, hash, &at))->item != NULL) {
        const made *known = slot->item;
        if (memcmp(known->shape, shape, (size_t)a->ndim * sizeof *shape) == 0) {
            *chain = &known->chain;
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
    hr__table_fill(&c->table, slot, hash, m);
    *chain = &m->chain;
    return HR_OK;
}

hr_status hr__zarr_chain_for(const hr__array *a, const int64_t *chunk_shape,
                             const hr__chain **chain, hr_error *err) {
    struct hr__zarr_chains *c = ((const hr__zarr_data *)a->format_data)->chains;
    if (hr__lock_acquire(&c->lock) == HR__LOCK_BROKEN) { /* half changed: start over */
        c->table = (hr__table){0};
    }
    hr_status status = find_or_make(a, c, chunk_shape, chain, err);
    hr__lock_release(&c->lock);
    return status;
}
