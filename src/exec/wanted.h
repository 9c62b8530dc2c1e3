/* Reading and decoding no more of a chunk than its uses take.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_WANTED_H
#define HR_EXEC_WANTED_H

#include "codec/wanted.h"
#include "exec/run.h"

/* What the uses of a chunk take of its decoded bytes. False: all, or too much of it, or
 * too little to look at. */
bool hr__wanted_find(const hr__chunk *chunk, const hr__chain *chain, hr__wanted *out);

/* The same for hr__decode.wanted: NULL where the chain decodes chunks as a whole anyway,
 * or where the whole is to be kept. `own` holds the result. */
const hr__wanted *hr__wanted_to_decode(const hr__run *run, const hr__chunk *chunk,
                                       const hr__chain *chain, hr__wanted *own);

/* Read a range into dst, of uncompressed chunks only what their uses take. */
hr_status hr__wanted_read(hr__run *run, hr__object *object, const hr__range *range,
                          uint8_t *dst, hr_error *err);

#endif
