/* Shard indexes: reading, checking, keeping. SPDX-License-Identifier: Apache-2.0 */
#include "exec/index.h"

#include <inttypes.h>
#include <string.h>

#include "codec/sharding.h"
#include "core/checked.h"
#include "core/hash.h"
#include "core/lock.h"

#define NBUCKETS 4096

struct hr__index {
    hr__index_key key;
    uint32_t refs; /* under the cache's lock; the cache itself holds one while linked */
    bool linked;
    uint64_t n;    /* pairs */
    size_t nbytes; /* of this allocation */
    hr__index *hash_next;
    hr__index *newer, *older; /* order of use */
    uint64_t pairs[];
};

struct hr__index_cache {
    const hr_allocator *allocator;
    uint64_t max_nbytes;
    hr__lock lock;
    uint64_t nbytes;
    hr__index *newest, *oldest;
    hr__index *buckets[NBUCKETS];
};

hr__index_cache *hr__index_cache_create(const hr_allocator *a, uint64_t max_nbytes) {
    hr__index_cache *c = hr__calloc(a, sizeof *c);
    if (c != NULL) {
        c->allocator = a;
        c->max_nbytes = max_nbytes;
        hr__lock_init(&c->lock);
    }
    return c;
}

/* In a forked child the lists may be half changed: then start over, and let go of what
 * the parent had read. */
static void lock_cache(hr__index_cache *c) {
    if (hr__lock_acquire(&c->lock) == HR__LOCK_BROKEN) {
        c->nbytes = 0;
        c->newest = c->oldest = NULL;
        memset(c->buckets, 0, sizeof c->buckets);
    }
}

static hr__index **bucket(hr__index_cache *c, const hr__index_key *k) {
    const uint64_t parts[] = {k->source_id, k->outer, k->offset, k->level, k->version};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = hr__hash_mix(hash, parts[i]);
    }
    return &c->buckets[hash % NBUCKETS];
}

static bool same_key(const hr__index_key *a, const hr__index_key *b) {
    return a->source_id == b->source_id && a->outer == b->outer &&
           a->offset == b->offset && a->nbytes == b->nbytes && a->level == b->level &&
           a->version == b->version;
}

static void use_link(hr__index_cache *c, hr__index *x) {
    x->older = c->newest;
    x->newer = NULL;
    if (c->newest != NULL) {
        c->newest->newer = x;
    } else {
        c->oldest = x;
    }
    c->newest = x;
}

static void use_unlink(hr__index_cache *c, hr__index *x) {
    if (x->newer != NULL) {
        x->newer->older = x->older;
    } else {
        c->newest = x->older;
    }
    if (x->older != NULL) {
        x->older->newer = x->newer;
    } else {
        c->oldest = x->newer;
    }
}

static void drop_ref(hr__index_cache *c, hr__index *x) {
    if (--x->refs == 0) {
        hr__free(c->allocator, x, x->nbytes);
    }
}

static void evict(hr__index_cache *c, hr__index *x) {
    hr__index **at = bucket(c, &x->key);
    while (*at != x) {
        at = &(*at)->hash_next;
    }
    *at = x->hash_next;
    use_unlink(c, x);
    x->linked = false;
    c->nbytes -= x->nbytes;
    drop_ref(c, x);
}

static hr__index *find(hr__index_cache *c, const hr__index_key *key) {
    lock_cache(c);
    hr__index *x = *bucket(c, key);
    while (x != NULL && !same_key(&x->key, key)) {
        x = x->hash_next;
    }
    if (x != NULL) {
        x->refs++;
        use_unlink(c, x);
        use_link(c, x);
    }
    hr__lock_release(&c->lock);
    return x;
}

/* Two threads may have read the same index: both copies work, the later one is kept. */
static void keep(hr__index_cache *c, hr__index *x) {
    lock_cache(c);
    if (x->key.version != 0 && x->nbytes <= c->max_nbytes) {
        while (c->nbytes > c->max_nbytes - x->nbytes) {
            evict(c, c->oldest);
        }
        hr__index **at = bucket(c, &x->key);
        x->hash_next = *at;
        *at = x;
        x->linked = true;
        x->refs++;
        use_link(c, x);
        c->nbytes += x->nbytes;
    }
    hr__lock_release(&c->lock);
}

void hr__index_release(hr__index_cache *cache, hr__index *index) {
    if (index != NULL) {
        lock_cache(cache);
        drop_ref(cache, index);
        hr__lock_release(&cache->lock);
    }
}

void hr__index_cache_destroy(hr__index_cache *cache) {
    if (cache != NULL) {
        lock_cache(cache);
        while (cache->oldest != NULL) {
            evict(cache, cache->oldest);
        }
        hr__lock_release(&cache->lock);
        hr__lock_destroy(&cache->lock);
        hr__free(cache->allocator, cache, sizeof *cache);
    }
}

hr_status hr__index_get(hr__index_cache *cache, const hr__index_key *key, uint64_t n,
                        const hr__index_fill *fill, hr__index **out, hr_error *err) {
    hr__index *x = key->version != 0 ? find(cache, key) : NULL;
    if (x == NULL) {
        uint64_t nbytes;
        if (!hr__mul_u64(n, 16, &nbytes) || !hr__add_u64(nbytes, sizeof *x, &nbytes)) {
            return hr__fail(err, HR_ERR_OVERFLOW, "index of %" PRIu64 " entries", n);
        }
        x = hr__alloc(cache->allocator, nbytes);
        if (x == NULL) {
            return hr__fail_memory(err, nbytes);
        }
        *x = (hr__index){.key = *key, .refs = 1, .n = n, .nbytes = nbytes};
        hr_status status = fill->fill(fill->user, x->pairs, err);
        if (status != HR_OK) {
            hr__free(cache->allocator, x, x->nbytes);
            return status;
        }
        keep(cache, x);
    }
    *out = x;
    return HR_OK;
}

const uint64_t *hr__index_pairs(const hr__index *index) {
    return index->pairs;
}

/* The index of a shard that is to be read. */
typedef struct shard_reader {
    const hr__level *level;
    hr__object *object;
    hr__extent shard;
    bool skip_checksums;
    hr__worker *worker;
    uint64_t *read_nbytes;
} shard_reader;

static hr_status read_index(void *user, uint64_t *pairs, hr_error *err) {
    const shard_reader *r = user;
    uint64_t encoded = r->level->index.encoded.nbytes;
    uint8_t *raw = hr__scratch_reserve(r->worker->allocator, &r->worker->read, encoded);
    if (raw == NULL) {
        return hr__fail_memory(err, encoded);
    }
    uint64_t at = r->level->index_at_start ? 0 : r->shard.nbytes - encoded;
    HR__TRY(hr__object_read(r->object, r->shard.offset + at, encoded, raw, err));
    hr__decode d = {.worker = r->worker,
                    .skip_checksums = r->skip_checksums,
                    .src = raw,
                    .src_nbytes = encoded,
                    .dst = (uint8_t *)pairs,
                    .dst_nbytes = r->level->ninner * 16};
    hr_status status = hr__chain_decode(&r->level->index, &d, err);
    if (status != HR_OK) {
        hr__error_add_codec(err, hr__codec_sharding.name);
        hr__error_add_place(err, NULL, NULL, r->shard.offset + at);
        return status;
    }
    *r->read_nbytes += encoded;
    return HR_OK;
}

hr_status hr__index_load(hr__index_cache *cache, const hr__index_key *key,
                         const hr__level *level, hr__object *object, hr__extent shard,
                         bool skip_checksums, hr__worker *worker, hr__index **out,
                         uint64_t *read_nbytes, hr_error *err) {
    uint64_t encoded = level->index.encoded.nbytes;
    if (shard.nbytes < encoded) { /* before anything is allocated by claim */
        return hr__fail(err, HR_ERR_DATA,
                        "shard is %" PRIu64 " bytes, its index needs %" PRIu64,
                        shard.nbytes, encoded);
    }
    shard_reader r = {.level = level,
                      .object = object,
                      .shard = shard,
                      .skip_checksums = skip_checksums,
                      .worker = worker,
                      .read_nbytes = read_nbytes};
    const hr__index_fill fill = {.user = &r, .fill = read_index};
    return hr__index_get(cache, key, level->ninner, &fill, out, err);
}

hr_status hr__index_lookup(const hr__index *index, uint64_t i, hr__extent shard,
                           hr__extent *out, bool *missing, hr_error *err) {
    uint64_t offset, nbytes;
    hr_status status = hr__shard_range((const uint8_t *)index->pairs, i, shard.nbytes,
                                       &offset, &nbytes, err);
    if (status != HR_OK) {
        hr__error_add_codec(err, hr__codec_sharding.name);
        return status;
    }
    *missing = nbytes == UINT64_MAX;
    if (!*missing) {
        *out = (hr__extent){.offset = shard.offset + offset, .nbytes = nbytes};
    }
    return HR_OK;
}
