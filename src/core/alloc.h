/* Host memory: the context's allocator, and arenas.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_ALLOC_H
#define HR_CORE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/context.h>

/* malloc behind the hook's interface; what a context without hooks uses. */
extern const hr_allocator hr__malloc_allocator;

/* 64-byte aligned; NULL when there is no memory or nbytes is 0. */
void *hr__alloc(const hr_allocator *a, size_t nbytes);
void *hr__calloc(const hr_allocator *a, size_t nbytes);
void hr__free(const hr_allocator *a, void *ptr, size_t nbytes); /* NULL is accepted */

/* An arena: many small allocations that end together. Not thread-safe. */
typedef struct hr__arena {
    const hr_allocator *allocator;
    struct hr__arena_block *head;
    size_t used, capacity; /* of the head block */
    size_t next_block;
} hr__arena;

void hr__arena_init(hr__arena *arena, const hr_allocator *allocator);
void hr__arena_free(hr__arena *arena); /* leaves it empty and usable */
/* All that another of the same allocator holds, which is empty then. */
void hr__arena_take(hr__arena *arena, hr__arena *from);
/* Zeroed, 16-byte aligned. NULL without memory. nbytes 0 gives a valid pointer. */
void *hr__arena_alloc(hr__arena *arena, size_t nbytes);
/* nelems × size with overflow checked. */
void *hr__arena_array(hr__arena *arena, size_t nelems, size_t size);
char *hr__arena_strdup(hr__arena *arena, const char *text);
char *hr__arena_printf(hr__arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void *hr__arena_copy(hr__arena *arena, const void *data, size_t nbytes);

/* A growing buffer that is reused: contents are lost when it grows. */
typedef struct hr__scratch {
    uint8_t *data;
    size_t capacity;
} hr__scratch;

/* At least nbytes; NULL without memory. */
uint8_t *hr__scratch_reserve(const hr_allocator *a, hr__scratch *s, size_t nbytes);
void hr__scratch_free(const hr_allocator *a, hr__scratch *s);

#endif
