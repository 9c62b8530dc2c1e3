/* A growing array. SPDX-License-Identifier: Apache-2.0 */
#include "core/vec.h"

#include <stdint.h>
#include <string.h>

#include "core/checked.h"

#define FIRST_NBYTES 1024

void *hr__vec_push(const hr_allocator *a, hr__vec *v, size_t size) {
    uint64_t used;
    uint64_t needed;
    if (!hr__mul_u64(v->n, size, &used) || !hr__add_u64(used, size, &needed)) {
        return NULL;
    }
    if (needed > v->capacity_nbytes) {
        size_t capacity =
            v->capacity_nbytes < FIRST_NBYTES ? FIRST_NBYTES : v->capacity_nbytes * 2;
        if (capacity < needed) {
            capacity = needed;
        }
        void *items = hr__alloc(a, capacity);
        if (items == NULL) {
            return NULL;
        }
        if (used > 0) {
            memcpy(items, v->items, used);
        }
        hr__free(a, v->items, v->capacity_nbytes);
        v->items = items;
        v->capacity_nbytes = capacity;
    }
    v->n++;
    return (uint8_t *)v->items + used;
}

void hr__vec_free(const hr_allocator *a, hr__vec *v) {
    hr__free(a, v->items, v->capacity_nbytes);
    *v = (hr__vec){0};
}
