/* Chunks that a context keeps between calls. SPDX-License-Identifier: Apache-2.0 */
#include "exec/kept.h"

#include <string.h>

#include "core/checked.h"
#include "exec/wanted.h"

/* Number of a chunk in its grid, C order; false if it does not fit. */
static bool number_of(const hr__grid_axis *grid, const int64_t *coords, int32_t ndim,
                      uint64_t *out) {
    *out = 0;
    for (int32_t i = 0; i < ndim; i++) {
        if (!hr__mul_u64(*out, (uint64_t)grid[i].nchunks, out) ||
            !hr__add_u64(*out, (uint64_t)coords[i], out)) {
            return false;
        }
    }
    return true;
}

static hr__cache_key key_in(const hr__run *run, const hr__object_plan *plan,
                            const hr__grid_axis *grid, const int64_t *coords) {
    hr__cache_key key = {.source_id = run->targets[plan->array_id].source->id};
    bool fits = number_of(grid, coords, plan->array->ndim, &key.number);
    key.version = fits ? plan->version : 0;
    return key;
}

hr__cache_key hr__kept_key(const hr__run *run, const hr__object_plan *plan) {
    return key_in(run, plan, plan->array->outer, plan->coords);
}

/* --- encoded --- */

static hr__cache_key encoded_key(const hr__run *run, const hr__chunk *chunk) {
    hr__cache_key key = hr__kept_key(run, chunk->object);
    key.offset = chunk->offset;
    key.nbytes = chunk->nbytes;
    return key;
}

static bool copy_kept(hr__run *run, const hr__chunk *chunk, uint8_t *dst) {
    hr__cache *cache = run->context->encoded;
    const hr__cache_key key = encoded_key(run, chunk);
    hr__block *block = hr__cache_find(cache, &key);
    if (block == NULL) {
        return false;
    }
    memcpy(dst, hr__block_bytes(block), chunk->nbytes);
    hr__cache_release(cache, block);
    atomic_fetch_add(&run->nkept_encoded, 1);
    return true;
}

static void keep(hr__cache *cache, const hr__cache_key *key, const uint8_t *bytes,
                 uint64_t nbytes) {
    hr__block *block = hr__cache_new(cache, key, nbytes, false);
    if (block != NULL) {
        memcpy(hr__block_bytes(block), bytes, nbytes);
        hr__cache_keep(cache, block);
        hr__cache_release(cache, block);
    }
}

hr_status hr__kept_read(hr__run *run, hr__object *object, const hr__range *range,
                        uint8_t *dst, hr_error *err) {
    hr__cache *cache = run->context->encoded;
    if (cache == NULL) {
        return hr__wanted_read(run, object, range, dst, err);
    }
    uint64_t lo = UINT64_MAX;
    uint64_t hi = 0;
    for (hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        c->is_kept = copy_kept(run, c, dst + (c->offset - range->offset));
        if (!c->is_kept) {
            lo = c->offset < lo ? c->offset : lo;
            hi = c->offset + c->nbytes > hi ? c->offset + c->nbytes : hi;
        }
    }
    if (lo < hi) {
        const hr__range rest = {.offset = lo, .nbytes = hi - lo, .chunks = range->chunks};
        HR__TRY(hr__run_read(run, object, &rest, dst + (lo - range->offset), err));
    }
    /* Who checks later shall not fail by what nobody checked and is mended since. */
    for (const hr__chunk *c = range->chunks; c != NULL && !run->skip_checksums;
         c = c->next) {
        if (!c->is_kept) {
            const hr__cache_key key = encoded_key(run, c);
            keep(cache, &key, dst + (c->offset - range->offset), c->nbytes);
        }
    }
    return HR_OK;
}

void hr__kept_forget(hr__run *run, const hr__chunk *chunk) {
    const hr__cache_key key = encoded_key(run, chunk);
    hr__cache_drop(run->context->encoded, &key);
}

/* --- decoded --- */

static hr__cache_key decoded_key(const hr__run *run, const hr__chunk *chunk) {
    return key_in(run, chunk->object, chunk->object->array->grid, chunk->coords);
}

/* Elements of variable length point elsewhere. */
static bool is_of_a_kind(const hr__run *run, const hr__chunk *chunk,
                         const hr__chain *chain) {
    return run->context->decoded != NULL && !hr__chain_is_raw(chain) &&
           !hr__dtype_is_vlen(&chunk->object->array->stored);
}

/* Deliver from the cache; false if the chunk is not there, or may not be. */
static bool take(hr__run *run, const hr__chunk *chunk) {
    hr__cache *cache = run->context->decoded;
    const hr__chain *chain = NULL;
    if (hr__array_chain(chunk->object->array, chunk->coords, &chain, NULL) != HR_OK ||
        !is_of_a_kind(run, chunk, chain) ||
        (run->strict && hr__run_has_ring(run, chunk))) {
        return false;
    }
    const hr__cache_key key = decoded_key(run, chunk);
    hr__block *block = hr__cache_find(cache, &key);
    if (block == NULL) {
        return false;
    }
    hr_error err = HR_ERROR_INIT;
    atomic_fetch_add(&run->nkept_decoded, 1);
    if (hr__run_put(run, chunk, hr__block_bytes(block), chain->decoded.nbytes, &err) !=
        HR_OK) {
        hr__run_report(run, chunk, &err);
    }
    hr__cache_release(cache, block);
    return true;
}

void hr__kept_take(hr__run *run, hr__range *range) {
    if (run->context->decoded == NULL) {
        return;
    }
    uint64_t hi = 0;
    hr__chunk **link = &range->chunks;
    while (*link != NULL) {
        hr__chunk *c = *link;
        if (take(run, c)) {
            *link = c->next;
        } else {
            hi = c->offset + c->nbytes > hi ? c->offset + c->nbytes : hi;
            link = &c->next;
        }
    }
    if (range->chunks != NULL) { /* sorted by offset */
        range->offset = range->chunks->offset;
        range->nbytes = hi - range->offset;
    }
}

bool hr__kept_wants(const hr__run *run, const hr__chunk *chunk, const hr__chain *chain) {
    return !run->skip_checksums && is_of_a_kind(run, chunk, chain) &&
           hr__cache_takes(run->context->decoded, chunk->object->version,
                           chain->decoded.nbytes);
}

void hr__kept_add(hr__run *run, const hr__chunk *chunk, const hr__chain *chain,
                  const uint8_t *bytes) {
    if (hr__kept_wants(run, chunk, chain)) {
        const hr__cache_key key = decoded_key(run, chunk);
        keep(run->context->decoded, &key, bytes, chain->decoded.nbytes);
    }
}
