/* First half of a read: from an object to the byte ranges of its chunks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "exec/kept.h"
#include "exec/placement.h"
#include "exec/run.h"

/* Ranges grow to this size by merging: large enough that the cost of a system call is
 * nothing, small enough to stay in the cache until decoded or scattered. */
#define RANGE_NBYTES (1U << 20)

hr_status hr__run_key(const hr__source *source, const hr__object_plan *plan, char *key,
                      hr_error *err) {
    size_t prefix = 0;
    if (source->path[0] != '\0') {
        int n = snprintf(key, HR__KEY_MAX, "%s/", source->path);
        if (n < 0 || n >= HR__KEY_MAX) {
            return hr__fail(err, HR_ERR_OVERFLOW, "store key is longer than %d bytes",
                            HR__KEY_MAX);
        }
        prefix = (size_t)n;
    }
    return plan->array->key(plan->array, plan->coords, key + prefix, HR__KEY_MAX - prefix,
                            err);
}

static void fail_object(hr__run *run, const hr__object_plan *plan, const hr_error *err) {
    for (const hr__chunk *c = plan->chunks; c != NULL; c = c->next) {
        hr__run_fail_chunk(run, c, err);
        atomic_fetch_add(&run->ndone, 1);
    }
}

/* The way from an object to one of its chunks, level by level; an index that served the
 * last chunk is kept at hand, since neighbours come one after the other. */
typedef struct walker {
    hr__run *run;
    hr__worker *worker;
    const hr__array *array;
    hr__object *object;
    const hr_read_context *reading;
    hr__cache_key key;
    hr__block *index[HR__MAX_LEVELS];
    hr__extent shard[HR__MAX_LEVELS];
} walker;

static hr_status step_split(const hr__level *level, uint64_t i, hr__extent *at,
                            hr_error *err) {
    uint64_t whole = level->ninner * level->part_nbytes; /* fits: checked at open */
    if (at->nbytes != whole) {
        return hr__fail(err, HR_ERR_DATA, "chunk is %" PRIu64 " bytes, expected %" PRIu64,
                        at->nbytes, whole);
    }
    at->offset += i * level->part_nbytes;
    at->nbytes = level->part_nbytes;
    return HR_OK;
}

static hr_status step_shard(walker *k, int32_t l, uint64_t i, hr__extent *at,
                            bool *missing, hr_error *err) {
    hr__cache *cache = k->run->context->indexes;
    if (k->index[l] == NULL || k->shard[l].offset != at->offset ||
        k->shard[l].nbytes != at->nbytes) {
        hr__cache_release(cache, k->index[l]);
        k->index[l] = NULL;
        uint64_t nread = 0;
        hr__cache_key key = k->key;
        key.offset = at->offset;
        key.nbytes = at->nbytes;
        key.level = (uint64_t)l;
        HR__TRY(hr__index_load(cache, &key, &k->array->levels[l], k->object, *at,
                               k->run->skip_checksums, k->reading, k->worker,
                               &k->index[l], &nread, err));
        k->shard[l] = *at;
        atomic_fetch_add(&k->run->read_nbytes, nread);
        atomic_fetch_add(&k->run->nreads, nread > 0);
    }
    return hr__index_lookup(k->index[l], i, k->shard[l], at, missing, err);
}

static hr_status step_placed(walker *k, int32_t l, const hr__chunk *chunk, uint64_t i,
                             hr__extent *at, bool *missing, hr_error *err) {
    const hr__placement *p = k->array->levels[l].placement;
    hr__cache *cache = k->run->context->indexes;
    hr__place place = hr__placement_find(p, i);
    hr__extent page = {.offset = place.page, .nbytes = at->nbytes};
    if (k->index[l] == NULL || k->shard[l].offset != page.offset) {
        hr__cache_release(cache, k->index[l]);
        k->index[l] = NULL;
        uint64_t nread = 0;
        hr__cache_key key = k->key;
        key.offset = page.offset;
        key.nbytes = page.nbytes;
        key.level = (uint64_t)l;
        HR__TRY(hr__placement_load(cache, &key, p, place.page, k->object, k->reading,
                                   k->worker, &k->index[l], &nread, err));
        k->shard[l] = page;
        atomic_fetch_add(&k->run->read_nbytes, nread);
        atomic_fetch_add(&k->run->nreads, nread > 0);
    }
    const hr__chain *chain = NULL;
    HR__TRY(hr__array_chain(k->array, chunk->coords, &chain, err));
    return hr__placement_lookup(k->index[l], place, &chain->encoded, k->object->nbytes,
                                at, missing, err);
}

static hr_status resolve(walker *k, hr__chunk *chunk, hr_error *err) {
    const hr__array *a = k->array;
    if (atomic_load(&k->run->cancelled)) {
        return hr__run_fail_cancelled(k->run, err);
    }
    hr__extent at = {.offset = 0, .nbytes = k->object->nbytes};
    bool missing = false;
    for (int32_t l = 0; l < a->nlevels && !missing; l++) {
        uint64_t i = hr__plan_inner_number(a, l, chunk->coords);
        if (a->levels[l].is_split) {
            HR__TRY(step_split(&a->levels[l], i, &at, err));
        } else if (a->levels[l].placement != NULL) {
            HR__TRY(step_placed(k, l, chunk, i, &at, &missing, err));
        } else {
            HR__TRY(step_shard(k, l, i, &at, &missing, err));
        }
    }
    chunk->is_missing = missing;
    chunk->offset = at.offset;
    chunk->nbytes = at.nbytes;
    return HR_OK;
}

/* What was read without checking is not kept. */
static hr__cache_key index_key(const hr__run *run, const hr__object_plan *plan) {
    hr__cache_key key = hr__kept_key(run, plan);
    if (run->skip_checksums) {
        key.version = 0;
    }
    return key;
}

/* Resolve all chunks of an object: fill the absent ones, fail the bad ones, and collect
 * the rest in chunks[]. */
static uint64_t resolve_all(walker *k, const hr__object_plan *plan, const hr__source *s,
                            const char *key, hr__chunk **chunks) {
    uint64_t n = 0, start = hr__clock_ns();
    for (hr__chunk *c = plan->chunks; c != NULL; c = c->next) {
        hr_error err = HR_ERROR_INIT;
        if (resolve(k, c, &err) != HR_OK) {
            hr__error_add_place(&err, s->url, key, 0);
            hr__run_fail_chunk(k->run, c, &err);
            atomic_fetch_add(&k->run->ndone, 1);
        } else if (!c->is_missing) {
            chunks[n++] = c;
        }
    }
    (void)hr__stages_lap(&k->run->stages, HR_STAGE_OPEN, start);
    for (const hr__chunk *c = plan->chunks; c != NULL; c = c->next) {
        if (c->is_missing) {
            hr__run_missing(k->run, c);
        }
    }
    return n;
}

static void close_object(hr__run *run, hr__object *object) {
    atomic_fetch_add(&run->direct_nbytes, atomic_load(&object->direct_nbytes));
    hr__object_close(object);
}

void hr__opened_free(hr__run *run, hr__opened *o) {
    close_object(run, o->object);
    hr__free(&run->context->records.allocator, o, o->nbytes);
}

/* Memory for an object's ranges and, behind them, its resolved chunks. */
static hr__opened *allocate_opened(hr__run *run, const hr__object_plan *plan,
                                   hr__object *object, hr__chunk ***chunks) {
    uint64_t nbytes;
    if (!hr__mul_u64(plan->nchunks, sizeof(hr__range) + sizeof(hr__chunk *), &nbytes) ||
        !hr__add_u64(nbytes, sizeof(hr__opened), &nbytes)) {
        return NULL;
    }
    hr__opened *o = hr__alloc(&run->context->records.allocator, nbytes);
    if (o != NULL) {
        memset(o, 0, sizeof *o);
        o->plan = plan;
        o->object = object;
        o->nbytes = nbytes;
        o->ranges = (hr__range *)(o + 1);
        *chunks = (hr__chunk **)(o->ranges + plan->nchunks);
    }
    return o;
}

/* Few objects over many threads: smaller ranges, so that all have something to do. */
static uint64_t range_limit(const hr__run *run, uint64_t nbytes) {
    uint64_t nthreads = run->context->nthreads;
    if (run->plan.nobjects >= 4 * nthreads) {
        return RANGE_NBYTES;
    }
    uint64_t share = nbytes / (4 * nthreads);
    return share < RANGE_NBYTES / 16 ? RANGE_NBYTES / 16
           : share < RANGE_NBYTES    ? share
                                     : RANGE_NBYTES;
}

static void run_levels(hr__run *run, hr__worker *w, const hr__object_plan *plan,
                       hr__object *object, const hr__source *source, const char *key) {
    hr_error err = HR_ERROR_INIT;
    hr__chunk **chunks = NULL;
    hr__opened *o = allocate_opened(run, plan, object, &chunks);
    if (o == NULL) {
        (void)hr__fail_memory(&err, plan->nchunks * sizeof(hr__range));
        hr__error_add_place(&err, source->url, key, 0);
        fail_object(run, plan, &err);
        close_object(run, object);
        return;
    }
    const hr_read_context reading = {.run = run, .chunks = plan->chunks};
    walker k = {.run = run,
                .worker = w,
                .array = plan->array,
                .object = object,
                .reading = &reading,
                .key = index_key(run, plan)};
    uint64_t n = resolve_all(&k, plan, source, key, chunks);
    for (int32_t l = 0; l < HR__MAX_LEVELS; l++) {
        hr__cache_release(run->context->indexes, k.index[l]);
    }
    hr_status status = n == 0 ? HR_OK
                              : hr__plan_ranges(chunks, n, source->store->gap_nbytes,
                                                range_limit(run, object->nbytes),
                                                o->ranges, &o->nranges);
    for (uint64_t i = 0; i < n && status != HR_OK; i++) {
        (void)hr__fail(&err, status, "byte ranges of the chunks do not fit in 64 bits");
        hr__error_add_place(&err, source->url, key, 0);
        hr__run_fail_chunk(run, chunks[i], &err);
        atomic_fetch_add(&run->ndone, 1);
    }
    atomic_store(&o->pending, o->nranges);
    if (o->nranges > 1) {
        hr__run_push(run, o);
        return;
    }
    if (o->nranges == 1) {
        hr__run_range(run, w, plan, object, &o->ranges[0]);
    }
    hr__opened_free(run, o);
}

/* An object that is one chunk: one read, and nothing to remember about it. */
static void run_single(hr__run *run, hr__worker *w, const hr__object_plan *plan,
                       hr__object *object) {
    hr__chunk *chunk = plan->chunks;
    chunk->offset = 0;
    chunk->nbytes = object->nbytes;
    hr__range range = {.nbytes = object->nbytes, .chunks = chunk};
    hr__run_range(run, w, plan, object, &range);
    close_object(run, object);
}

/* A TIFF: the file was there when the array was opened, and absent blocks are told by its
 * tables. */
static bool is_file_of_blocks(const hr__array *a) {
    return a->nlevels > 0 && a->levels[0].placement != NULL;
}

void hr__run_object(hr__run *run, hr__worker *w, hr__object_plan *plan) {
    const hr__source *source = run->targets[plan->array_id].source;
    hr_error err = HR_ERROR_INIT;
    char key[HR__KEY_MAX];
    hr__object *object = NULL;
    hr_status status = hr__run_key(source, plan, key, &err);
    if (status == HR_OK) {
        const hr_read_context reading = {.run = run, .chunks = plan->chunks};
        const uint64_t start = hr__clock_ns();
        status = hr__store_open_for(source->store, key, &reading, &object, &err);
        (void)hr__stages_lap(&run->stages, HR_STAGE_OPEN, start);
        plan->version = status == HR_OK ? object->version : 0;
    }
    if (status == HR_ERR_NOT_FOUND && !is_file_of_blocks(plan->array)) {
        for (const hr__chunk *c = plan->chunks; c != NULL; c = c->next) {
            hr__run_missing(run, c);
        }
    } else if (status != HR_OK) {
        hr__error_add_place(&err, source->url, NULL, 0);
        fail_object(run, plan, &err);
    } else if (plan->array->nlevels == 0) {
        run_single(run, w, plan, object);
    } else {
        run_levels(run, w, plan, object, source, key);
    }
}
