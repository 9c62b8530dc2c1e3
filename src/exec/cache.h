/* What a context keeps between calls. SPDX-License-Identifier: Apache-2.0
 *
 * One structure for indexes of shards, encoded chunks and decoded ones, each with a
 * budget of its own. */
#ifndef HR_EXEC_CACHE_H
#define HR_EXEC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"

/* Blocks of bytes up to a budget, least recently used out first. Thread-safe. A forked
 * child goes on with what the parent had, or starts empty where that was being changed.
 * A NULL cache keeps nothing. */
typedef struct hr__cache hr__cache;

/* Bytes that are shared, and immutable once they are kept. */
typedef struct hr__block hr__block;

/* Names what a block was made from, in one version of one object. */
typedef struct hr__cache_key {
    uint64_t source_id;
    uint64_t number;  /* of the chunk: the outer one, or for decoded ones the inner */
    uint64_t offset;  /* of the bytes inside the object */
    uint64_t nbytes;  /* of the same */
    uint64_t level;   /* an inner shard may begin where its outer one does */
    uint64_t version; /* of the object; 0 = unknown: not kept */
} hr__cache_key;

/* NULL without memory. */
hr__cache *hr__cache_create(const hr_allocator *a, uint64_t max_nbytes);
void hr__cache_destroy(hr__cache *cache);
/* Forget all that nobody is using. */
void hr__cache_clear(hr__cache *cache);

/* The block of this name, or NULL. Release it. */
hr__block *hr__cache_find(hr__cache *cache, const hr__cache_key *key);
/* Would a block of that many bytes ever be kept? */
bool hr__cache_takes(const hr__cache *cache, uint64_t version, uint64_t nbytes);
/* A block to be filled; what is kept makes room for it. NULL where the budget (what is in
 * use counts) or memory does not allow it; then with `needed` it is made beside the
 * budget and hr__cache_keep will not keep it. Release it. */
hr__block *hr__cache_new(hr__cache *cache, const hr__cache_key *key, uint64_t nbytes,
                         bool needed);
/* Keep a block that is filled, unless another thread was first. */
void hr__cache_keep(hr__cache *cache, hr__block *block);
/* Let go of the block of this name, if it is kept. */
void hr__cache_drop(hr__cache *cache, const hr__cache_key *key);
void hr__cache_release(hr__cache *cache, hr__block *block); /* NULL is accepted */

uint8_t *hr__block_bytes(hr__block *block); /* aligned to 64 bytes */

void hr__cache_get_stats(hr__cache *cache, hr_cache_stats *out);

#endif
