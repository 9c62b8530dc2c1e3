/* Codec chains of chunks, and of chunks that vary in shape.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/hash.h"
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

#define FIRST_NBUCKETS 64 /* a power of two */

/* The chain of one chunk shape, once it has been needed. */
typedef struct made {
    struct made *next; /* in its bucket */
    uint64_t hash;
    int64_t shape[HR_MAX_NDIM];
    hr__arena arena;
    hr__chain chain;
} made;

struct hr__zarr_chains {
    const hr_allocator *allocator;
    hr__lock lock; /* over the table, and over json-c, which is not thread-safe */
    json_object *codecs;
    int32_t first;
    made **buckets;
    size_t nbuckets, count;
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

static size_t buckets_nbytes(size_t nbuckets) {
    return nbuckets * sizeof(made *);
}

void hr__zarr_chains_destroy(struct hr__zarr_chains *c) {
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->nbuckets; i++) {
        for (made *m = c->buckets[i]; m != NULL;) {
            made *next = m->next;
            hr__arena_free(&m->arena);
            hr__free(c->allocator, m, sizeof *m);
            m = next;
        }
    }
    hr__free(c->allocator, c->buckets, buckets_nbytes(c->nbuckets));
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

static uint64_t hash_of(const int64_t *shape, int32_t ndim) {
    uint64_t h = 0;
    for (int32_t i = 0; i < ndim; i++) {
        h = hr__hash_mix(h, (uint64_t)shape[i]);
    }
    return h;
}

static made **bucket(const struct hr__zarr_chains *c, uint64_t hash) {
    return &c->buckets[hash & (c->nbuckets - 1)];
}

static void link_made(struct hr__zarr_chains *c, made *m) {
    m->next = *bucket(c, m->hash);
    *bucket(c, m->hash) = m;
}

/* Keep the buckets short. Without memory they grow longer; there must be some, though. */
static bool grow(struct hr__zarr_chains *c) {
    if (c->count < c->nbuckets) {
        return true;
    }
    struct hr__zarr_chains old = *c;
    size_t nbuckets = old.nbuckets == 0 ? FIRST_NBUCKETS : old.nbuckets * 2;
    made **buckets = hr__calloc(c->allocator, buckets_nbytes(nbuckets));
    if (buckets == NULL) {
        return old.nbuckets > 0;
    }
    c->buckets = buckets;
    c->nbuckets = nbuckets;
    for (size_t i = 0; i < old.nbuckets; i++) {
        for (made *m = old.buckets[i]; m != NULL;) {
            made *next = m->next;
            link_made(c, m);
            m = next;
        }
    }
    hr__free(c->allocator, old.buckets, buckets_nbytes(old.nbuckets));
    return true;
}

static hr_status find_or_make(const hr__array *a, struct hr__zarr_chains *c,
                              const int64_t *shape, const hr__chain **chain,
                              hr_error *err) {
    uint64_t hash = hash_of(shape, a->ndim);
    made *m = c->nbuckets > 0 ? *bucket(c, hash) : NULL;
    while (m != NULL && (m->hash != hash ||
                         memcmp(m->shape, shape, (size_t)a->ndim * sizeof *shape) != 0)) {
        m = m->next;
    }
    if (m != NULL) {
        *chain = &m->chain;
        return HR_OK;
    }
    m = grow(c) ? hr__calloc(c->allocator, sizeof *m) : NULL;
    if (m == NULL) {
        return hr__fail_memory(err, sizeof *m);
    }
    m->hash = hash;
    hr__arena_init(&m->arena, c->allocator);
    hr_status status = make_chain(a, c, shape, m, err);
    if (status != HR_OK) {
        hr__arena_free(&m->arena);
        hr__free(c->allocator, m, sizeof *m);
        return status;
    }
    link_made(c, m);
    c->count++;
    *chain = &m->chain;
    return HR_OK;
}

hr_status hr__zarr_chain_for(const hr__array *a, const int64_t *chunk_shape,
                             const hr__chain **chain, hr_error *err) {
    struct hr__zarr_chains *c = ((const hr__zarr_data *)a->format_data)->chains;
    if (hr__lock_acquire(&c->lock) == HR__LOCK_BROKEN) { /* half changed: start over */
        c->buckets = NULL;
        c->nbuckets = c->count = 0;
    }
    hr_status status = find_or_make(a, c, chunk_shape, chain, err);
    hr__lock_release(&c->lock);
    return status;
}
