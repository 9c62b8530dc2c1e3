/* Blocks of bytes, least recently used out first. SPDX-License-Identifier: Apache-2.0 */
#include "exec/cache.h"

#include <string.h>

#include "core/checked.h"
#include "core/hash.h"
#include "core/lock.h"

#define FIRST_NBUCKETS 64

struct hr__block {
    hr__cache_key key;
    uint32_t refs;   /* under the cache's lock; the cache itself holds one while linked */
    bool is_counted; /* in the cache's nbytes: until it is freed, not only while linked */
    size_t nbytes;   /* of this allocation */
    hr__block *hash_next;
    hr__block *newer, *older; /* order of use; older: the next of those to be freed */
    _Alignas(64) uint8_t bytes[];
};

struct hr__cache {
    const hr_allocator *allocator;
    uint64_t max_nbytes;
    hr__lock lock;
    hr__block *newest, *oldest;
    hr__block **buckets;
    uint64_t nbuckets; /* a power of two, or 0 */
    hr_cache_stats stats;
};

hr__cache *hr__cache_create(const hr_allocator *a, uint64_t max_nbytes) {
    hr__cache *c = hr__calloc(a, sizeof *c);
    if (c != NULL) {
        c->allocator = a;
        c->max_nbytes = max_nbytes;
        hr__lock_init(&c->lock);
    }
    return c;
}

/* In a forked child nobody is left who could release what other threads were using; and
 * the lists may be half changed: then start over, and let go of what the parent had. */
static void lock_cache(hr__cache *c) {
    hr__lock_state state = hr__lock_acquire(&c->lock);
    if (state == HR__LOCK_USUAL) {
        return;
    }
    c->stats.nbytes = c->stats.nblocks = 0;
    if (state == HR__LOCK_BROKEN) {
        c->newest = c->oldest = NULL;
        c->buckets = NULL;
        c->nbuckets = 0;
    }
    for (hr__block *x = c->newest; x != NULL; x = x->older) {
        x->refs = 1;
        c->stats.nbytes += x->nbytes;
        c->stats.nblocks++;
    }
}

/* Blocks that were let go are freed outside the lock: that may be slow. */
static void unlock_and_free(hr__cache *c, hr__block *dead) {
    hr__lock_release(&c->lock);
    while (dead != NULL) {
        hr__block *next = dead->older;
        hr__free(c->allocator, dead, dead->nbytes);
        dead = next;
    }
}

static hr__block **bucket(const hr__cache *c, const hr__cache_key *k) {
    const uint64_t parts[] = {k->source_id, k->number, k->offset, k->level, k->version};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = hr__hash_mix(hash, parts[i]);
    }
    return &c->buckets[hash & (c->nbuckets - 1)];
}

static bool same_key(const hr__cache_key *a, const hr__cache_key *b) {
    return a->source_id == b->source_id && a->number == b->number &&
           a->offset == b->offset && a->nbytes == b->nbytes && a->level == b->level &&
           a->version == b->version;
}

static void hash_link(hr__cache *c, hr__block *x) {
    hr__block **at = bucket(c, &x->key);
    x->hash_next = *at;
    *at = x;
}

static void use_link(hr__cache *c, hr__block *x) {
    x->older = c->newest;
    x->newer = NULL;
    if (c->newest != NULL) {
        c->newest->newer = x;
    } else {
        c->oldest = x;
    }
    c->newest = x;
}

static void use_unlink(hr__cache *c, hr__block *x) {
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

static void drop_ref(hr__cache *c, hr__block *x, hr__block **dead) {
    if (--x->refs == 0) {
        c->stats.nbytes -= x->is_counted ? x->nbytes : 0;
        x->older = *dead;
        *dead = x;
    }
}

static void forget(hr__cache *c, hr__block *x, hr__block **dead) {
    hr__block **at = bucket(c, &x->key);
    while (*at != x) {
        at = &(*at)->hash_next;
    }
    *at = x->hash_next;
    use_unlink(c, x);
    c->stats.nblocks--;
    drop_ref(c, x, dead);
}

/* Room for nbytes, at the cost of blocks that nobody is using. */
static bool make_room(hr__cache *c, uint64_t nbytes, hr__block **dead) {
    hr__block *x = c->oldest;
    while (c->max_nbytes - c->stats.nbytes < nbytes && x != NULL) {
        hr__block *newer = x->newer;
        if (x->refs == 1) {
            forget(c, x, dead);
            c->stats.nevicted++;
        }
        x = newer;
    }
    return c->max_nbytes - c->stats.nbytes >= nbytes;
}

/* About a bucket for each block. With no memory for more, the lists get longer. */
static void grow_buckets(hr__cache *c) {
    uint64_t n = c->nbuckets == 0 ? FIRST_NBUCKETS : 2 * c->nbuckets;
    hr__block **buckets = NULL;
    if (c->stats.nblocks >= c->nbuckets) {
        buckets = hr__calloc(c->allocator, n * sizeof(void *));
    }
    if (buckets == NULL) {
        return;
    }
    hr__block **before = c->buckets;
    uint64_t nbefore = c->nbuckets;
    c->buckets = buckets;
    c->nbuckets = n;
    for (hr__block *x = c->newest; x != NULL; x = x->older) {
        hash_link(c, x);
    }
    hr__free(c->allocator, before, nbefore * sizeof(void *));
}

static hr__block *look_up(const hr__cache *c, const hr__cache_key *key) {
    hr__block *x = c->nbuckets > 0 ? *bucket(c, key) : NULL;
    while (x != NULL && !same_key(&x->key, key)) {
        x = x->hash_next;
    }
    return x;
}

hr__block *hr__cache_find(hr__cache *c, const hr__cache_key *key) {
    if (c == NULL) {
        return NULL;
    }
    lock_cache(c);
    hr__block *x = key->version != 0 ? look_up(c, key) : NULL;
    if (x != NULL) {
        x->refs++;
        use_unlink(c, x);
        use_link(c, x);
        c->stats.nhits++;
    } else {
        c->stats.nmisses++;
    }
    hr__lock_release(&c->lock);
    return x;
}

static bool add_header(uint64_t nbytes, uint64_t *total) {
    return hr__add_u64(nbytes, sizeof(hr__block), total) && *total <= SIZE_MAX;
}

bool hr__cache_takes(const hr__cache *c, uint64_t version, uint64_t nbytes) {
    uint64_t total;
    return c != NULL && version != 0 && add_header(nbytes, &total) &&
           total <= c->max_nbytes;
}

hr__block *hr__cache_new(hr__cache *c, const hr__cache_key *key, uint64_t nbytes,
                         bool needed) {
    uint64_t total;
    if (c == NULL || !add_header(nbytes, &total)) {
        return NULL;
    }
    bool is_counted = false;
    if (hr__cache_takes(c, key->version, nbytes)) {
        hr__block *dead = NULL;
        lock_cache(c);
        is_counted = make_room(c, total, &dead);
        c->stats.nbytes += is_counted ? total : 0;
        unlock_and_free(c, dead);
    }
    if (!is_counted && !needed) {
        return NULL;
    }
    hr__block *x = hr__alloc(c->allocator, total);
    if (x != NULL) {
        memset(x, 0, sizeof *x);
        x->key = *key;
        x->refs = 1;
        x->is_counted = is_counted;
        x->nbytes = total;
    } else if (is_counted) {
        lock_cache(c);
        c->stats.nbytes -= total;
        hr__lock_release(&c->lock);
    }
    return x;
}

void hr__cache_keep(hr__cache *c, hr__block *x) {
    lock_cache(c);
    if (x->is_counted && look_up(c, &x->key) == NULL) {
        grow_buckets(c);
        if (c->nbuckets > 0) {
            x->refs++;
            hash_link(c, x);
            use_link(c, x);
            c->stats.nblocks++;
        }
    }
    hr__lock_release(&c->lock);
}

void hr__cache_drop(hr__cache *c, const hr__cache_key *key) {
    if (c != NULL) {
        hr__block *dead = NULL;
        lock_cache(c);
        hr__block *x = look_up(c, key);
        if (x != NULL) {
            forget(c, x, &dead);
        }
        unlock_and_free(c, dead);
    }
}

void hr__cache_release(hr__cache *c, hr__block *x) {
    if (x != NULL) {
        hr__block *dead = NULL;
        lock_cache(c);
        drop_ref(c, x, &dead);
        unlock_and_free(c, dead);
    }
}

void hr__cache_clear(hr__cache *c) {
    if (c != NULL) {
        hr__block *dead = NULL;
        lock_cache(c);
        for (hr__block *x = c->oldest, *newer; x != NULL; x = newer) {
            newer = x->newer;
            if (x->refs == 1) {
                forget(c, x, &dead);
            }
        }
        unlock_and_free(c, dead);
    }
}

void hr__cache_destroy(hr__cache *c) {
    if (c != NULL) {
        hr__cache_clear(c);
        hr__free(c->allocator, c->buckets, c->nbuckets * sizeof(void *));
        hr__lock_destroy(&c->lock);
        hr__free(c->allocator, c, sizeof *c);
    }
}

uint8_t *hr__block_bytes(hr__block *block) {
    return block->bytes;
}

void hr__cache_get_stats(hr__cache *c, hr_cache_stats *out) {
    *out = (hr_cache_stats){0};
    if (c != NULL) {
        lock_cache(c);
        *out = c->stats;
        hr__lock_release(&c->lock);
        out->max_nbytes = c->max_nbytes;
    }
}
