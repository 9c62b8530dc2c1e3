/* Chunks of a file whose tables say where they lie. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_PLACEMENT_H
#define HR_EXEC_PLACEMENT_H

#include "exec/index.h"

/* Entries of a table that are read at once. */
#define HR__PLACEMENT_PAGE 4096

/* A chunk as the tables know it. */
typedef struct hr__place {
    uint64_t page;   /* of the tables, counted through all */
    uint64_t entry;  /* in its table */
    uint64_t before; /* bytes of the entry */
} hr__place;

hr__place hr__placement_find(const hr__placement *p, uint64_t chunk);

/* One page of the tables: from the cache or the object. As hr__index_load. */
hr_status hr__placement_load(hr__cache *cache, const hr__cache_key *key,
                             const hr__placement *p, uint64_t page, hr__object *object,
                             const hr_read_context *reading, hr__worker *worker,
                             hr__block **out, uint64_t *read_nbytes, hr_error *err);

/* Where the chunk lies in the object of object_nbytes; *missing instead where its entry
 * is empty. More bytes than an uncompressed chunk has are left aside. HR_ERR_DATA where
 * it reaches outside the object. */
hr_status hr__placement_lookup(hr__block *index, hr__place place, const hr__spec *encoded,
                               uint64_t object_nbytes, hr__extent *out, bool *missing,
                               hr_error *err);

#endif
