/* Chunks that a context keeps between calls. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_KEPT_H
#define HR_EXEC_KEPT_H

#include "exec/run.h"

/* Names an object's outer chunk in the caches; with version 0 where it is not to be kept.
 */
hr__cache_key hr__kept_key(const hr__run *run, const hr__object_plan *plan);

/* Read a range; what is kept of it encoded is not read again, the rest is kept. With no
 * such cache, only what is wanted is read of uncompressed chunks. */
hr_status hr__kept_read(hr__run *run, hr__object *object, const hr__range *range,
                        uint8_t *dst, hr_error *err);
/* A chunk failed: its encoded bytes may have been read wrong. */
void hr__kept_forget(hr__run *run, const hr__chunk *chunk);

/* Deliver the chunks of a range that are kept decoded, and take them out of it; it
 * shrinks to what is left. Raw chunks are never kept decoded, and strict lets none pass
 * that belong to a device alone. */
void hr__kept_take(hr__run *run, hr__range *range);
/* Would the chunk be kept decoded? Then the whole of it is wanted. */
bool hr__kept_wants(const hr__run *run, const hr__chunk *chunk, const hr__chain *chain);
/* Keep it, if so: chain->decoded.nbytes at bytes. */
void hr__kept_add(hr__run *run, const hr__chunk *chunk, const hr__chain *chain,
                  const uint8_t *bytes);

#endif
