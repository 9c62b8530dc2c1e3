/* The cells of a store: how a thread takes items out of a chunk, and in what pieces it
 * writes them. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_KSTORE_CELLS_H
#define HR_DEVICE_KSTORE_CELLS_H

#include "device/loops.h"

#define HR__KSTORE_SLOT_NBYTES 16 /* at most, on either side */
#define HR__KSTORE_BITS_GROUP 8   /* items whose bits share bytes */

/* What a slot is made of: numbers, or bytes that only move. */
typedef struct hr__kstore_element {
    uint32_t from, to; /* bytes */
} hr__kstore_element;

/* The largest power of two that divides all the numbers or'ed together. */
static inline uint32_t hr__lowest_bit(uint64_t bits) {
    return (uint32_t)(bits & (0 - bits));
}

/* Loops of elements become loops of cells; t has its source and its numbers, and is given
 * its path, slots and writes. */
void hr__kstore_make_cells(hr__loops *l, hr__kstore_element e, hr_k_store_task *t);

#endif
