/* Byte order by units, for the files of core/dtype.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_DTYPE_SWAP_H
#define HR_CORE_DTYPE_SWAP_H

#include "core/dtype.h"

/* Bytes that a swap reverses together: 1 where order does not apply, and for structures.
 */
uint32_t hr__dtype_swap_unit(const hr_dtype *t);

/* Reverse n units of 2, 4 or 8 bytes; 1 copies. dst and src are the same or apart. */
void hr__swap_units(uint32_t unit, uint8_t *dst, const uint8_t *src, uint64_t n);

#endif
