/* A hash table of pointers. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_TABLE_H
#define HR_CORE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"

typedef struct hr__table_slot {
    uint64_t hash;
    void *item; /* NULL = free */
} hr__table_slot;

/* Open addressing with linear probing. Zeroed is empty. Items are found by the caller's
 * own comparison:
 *
 *     uint64_t at = hash;
 *     hr__table_slot *slot;
 *     while ((slot = hr__table_next(table, hash, &at))->item != NULL) {
 *         … return slot->item if it is the one
 *     }
 *     hr__table_fill(table, slot, hash, item);
 */
typedef struct hr__table {
    hr__table_slot *slots;
    uint64_t capacity; /* a power of two */
    uint64_t count;
} hr__table;

/* Make sure that one more item fits, before the search; false without memory. */
bool hr__table_grow(const hr_allocator *a, hr__table *table);
void hr__table_free(const hr_allocator *a, hr__table *table);

/* The next slot with this hash, or the free one that ends the search. */
static inline hr__table_slot *hr__table_next(const hr__table *table, uint64_t hash,
                                             uint64_t *at) {
    for (;;) {
        hr__table_slot *slot = &table->slots[(*at)++ & (table->capacity - 1)];
        if (slot->item == NULL || slot->hash == hash) {
            return slot;
        }
    }
}
void hr__table_fill(hr__table *table, hr__table_slot *slot, uint64_t hash, void *item);

#endif
