/* A hash table of pointers. SPDX-License-Identifier: Apache-2.0 */
#include "core/table.h"

#define FIRST_CAPACITY 64

bool hr__table_grow(const hr_allocator *a, hr__table *table) {
    if (table->count < table->capacity / 2) {
        return true;
    }
    uint64_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
    hr__table grown = {.capacity = capacity};
    grown.slots = hr__calloc(a, capacity * sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < table->capacity; i++) {
        const hr__table_slot *old = &table->slots[i];
        if (old->item != NULL) {
            uint64_t at = old->hash;
            hr__table_slot *slot;
            do { /* all items differ, so only the free slot is of interest */
                slot = hr__table_next(&grown, old->hash, &at);
            } while (slot->item != NULL);
            hr__table_fill(&grown, slot, old->hash, old->item);
        }
    }
    hr__table_free(a, table);
    *table = grown;
    return true;
}

void hr__table_free(const hr_allocator *a, hr__table *table) {
    hr__free(a, table->slots, table->capacity * sizeof *table->slots);
    *table = (hr__table){0};
}

void hr__table_fill(hr__table *table, hr__table_slot *slot, uint64_t hash, void *item) {
    *slot = (hr__table_slot){.hash = hash, .item = item};
    table->count++;
}
