/* Delivering a large chunk in pieces. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_PIECES_H
#define HR_EXEC_PIECES_H

#include "exec/run.h"

/* A chunk that is decoded plane by plane, each scattered while it is in the cache: less
 * memory, and no second pass through it. *done false: this chunk is to be decoded whole
 * (it is small, goes to a device, is picked by lists along its slowest axis, …). */
hr_status hr__run_deliver_pieces(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                                 const hr__chain *chain, const uint8_t *src, bool *done,
                                 hr_error *err);

#endif
