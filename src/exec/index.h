/* Indexes of shards and files: reading, checking, keeping. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_INDEX_H
#define HR_EXEC_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/worker.h"
#include "exec/cache.h"
#include "format/array.h"
#include "store/store.h"

/* The decoded index of one shard, or a page of the tables of a file, is a block of a
 * cache: pairs[2i], pairs[2i + 1] = offset and size of inner chunk i; both UINT64_MAX
 * where it is absent. */

/* A range of an object: a shard, or the whole object. */
typedef struct hr__extent {
    uint64_t offset, nbytes;
} hr__extent;

/* Makes the pairs of an index that is not in the cache. */
typedef struct hr__index_fill {
    void *user;
    hr_status (*fill)(void *user, uint64_t *pairs, hr_error *err);
} hr__index_fill;

/* Index of n pairs: from the cache, else made by `fill` and kept. Release *out with
 * hr__cache_release. Errors: those of fill. */
hr_status hr__index_get(hr__cache *cache, const hr__cache_key *key, uint64_t n,
                        const hr__index_fill *fill, hr__block **out, hr_error *err);
const uint64_t *hr__index_pairs(hr__block *index);
/* The bytes of one, in memory of the worker's (`read`). Errors name the offset. */
hr_status hr__index_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                         const hr_read_context *reading, hr__worker *worker,
                         uint8_t **out, hr_error *err);

/* Index of the shard that lies at `shard` in the object: from the cache or the store.
 * Release *out with hr__cache_release. Errors: HR_ERR_DATA naming the shard's size and
 * the index's, HR_ERR_CHECKSUM, those of the store. */
hr_status hr__index_load(hr__cache *cache, const hr__cache_key *key,
                         const hr__level *level, hr__object *object, hr__extent shard,
                         bool skip_checksums, const hr_read_context *reading,
                         hr__worker *worker, hr__block **out, uint64_t *read_nbytes,
                         hr_error *err);

/* Place of inner chunk i, relative to the object. *missing instead where it is absent.
 * HR_ERR_DATA where the entry reaches outside the shard. */
hr_status hr__index_lookup(hr__block *index, uint64_t i, hr__extent shard,
                           hr__extent *out, bool *missing, hr_error *err);

#endif
