/* Host memory and arenas. SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"

#define ALIGNMENT 64
#define ARENA_ALIGNMENT 16
#define ARENA_FIRST_BLOCK 4096
#define ARENA_LARGEST_BLOCK (1U << 20)

static void *malloc_alloc(void *user, size_t nbytes) {
    (void)user;
    void *p = NULL;
    return posix_memalign(&p, ALIGNMENT, nbytes) == 0 ? p : NULL;
}

static void malloc_free(void *user, void *ptr, size_t nbytes) {
    (void)user;
    (void)nbytes;
    free(ptr);
}

const hr_allocator hr__malloc_allocator = {
    .struct_size = sizeof(hr_allocator), .alloc = malloc_alloc, .free = malloc_free};

void *hr__alloc(const hr_allocator *a, size_t nbytes) {
    return nbytes == 0 ? NULL : a->alloc(a->user, nbytes);
}

void *hr__calloc(const hr_allocator *a, size_t nbytes) {
    void *p = hr__alloc(a, nbytes);
    if (p != NULL) {
        memset(p, 0, nbytes);
    }
    return p;
}

void hr__free(const hr_allocator *a, void *ptr, size_t nbytes) {
    if (ptr != NULL) {
        a->free(a->user, ptr, nbytes);
    }
}

struct hr__arena_block {
    struct hr__arena_block *next;
    size_t nbytes; /* as allocated, header included */
};

#define BLOCK_HEADER                                                                     \
    ((sizeof(struct hr__arena_block) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT *          \
     ARENA_ALIGNMENT)

void hr__arena_init(hr__arena *arena, const hr_allocator *allocator) {
    *arena = (hr__arena){.allocator = allocator, .next_block = ARENA_FIRST_BLOCK};
}

void hr__arena_free(hr__arena *arena) {
    struct hr__arena_block *b = arena->head;
    while (b != NULL) {
        struct hr__arena_block *next = b->next;
        hr__free(arena->allocator, b, b->nbytes);
        b = next;
    }
    hr__arena_init(arena, arena->allocator);
}

void hr__arena_take(hr__arena *arena, hr__arena *from) {
    if (arena->head == NULL) {
        *arena = *from;
    } else if (from->head != NULL) { /* behind the block that is being filled */
        struct hr__arena_block *last = from->head;
        while (last->next != NULL) {
            last = last->next;
        }
        last->next = arena->head->next;
        arena->head->next = from->head;
    }
    hr__arena_init(from, arena->allocator);
}

static bool arena_grow(hr__arena *arena, size_t nbytes) {
    size_t capacity = arena->next_block > BLOCK_HEADER
                          ? arena->next_block - BLOCK_HEADER /* a power of two with it */
                          : 0;
    if (capacity < nbytes) {
        capacity = nbytes;
    } else if (arena->next_block < ARENA_LARGEST_BLOCK) {
        arena->next_block *= 2;
    }
    if (capacity > SIZE_MAX - BLOCK_HEADER) {
        return false;
    }
    struct hr__arena_block *b = hr__alloc(arena->allocator, BLOCK_HEADER + capacity);
    if (b == NULL) {
        return false;
    }
    b->nbytes = BLOCK_HEADER + capacity;
    b->next = arena->head;
    arena->head = b;
    arena->used = 0;
    arena->capacity = capacity;
    return true;
}

void *hr__arena_alloc(hr__arena *arena, size_t nbytes) {
    if (nbytes > SIZE_MAX - ARENA_ALIGNMENT) {
        return NULL;
    }
    size_t n = (nbytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (n == 0) {
        n = ARENA_ALIGNMENT;
    }
    if ((arena->head == NULL || n > arena->capacity - arena->used) &&
        !arena_grow(arena, n)) {
        return NULL;
    }
    uint8_t *p = (uint8_t *)arena->head + BLOCK_HEADER + arena->used;
    arena->used += n;
    return memset(p, 0, n);
}

void *hr__arena_array(hr__arena *arena, size_t nelems, size_t size) {
    uint64_t nbytes;
    return hr__mul_u64(nelems, size, &nbytes) ? hr__arena_alloc(arena, nbytes) : NULL;
}

void *hr__arena_copy(hr__arena *arena, const void *data, size_t nbytes) {
    void *p = hr__arena_alloc(arena, nbytes);
    if (p != NULL && nbytes > 0) {
        memcpy(p, data, nbytes);
    }
    return p;
}

char *hr__arena_strdup(hr__arena *arena, const char *text) {
    return hr__arena_copy(arena, text, strlen(text) + 1);
}

char *hr__arena_printf(hr__arena *arena, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = n < 0 ? NULL : hr__arena_alloc(arena, (size_t)n + 1);
    if (p != NULL) {
        va_start(args, fmt);
        (void)vsnprintf(p, (size_t)n + 1, fmt, args);
        va_end(args);
    }
    return p;
}

uint8_t *hr__scratch_reserve(const hr_allocator *a, hr__scratch *s, size_t nbytes) {
    if (nbytes <= s->capacity && s->data != NULL) {
        return s->data;
    }
    hr__scratch_free(a, s);
    size_t capacity = nbytes < ALIGNMENT ? ALIGNMENT : nbytes;
    s->data = hr__alloc(a, capacity);
    s->capacity = s->data == NULL ? 0 : capacity;
    return s->data;
}

void hr__scratch_free(const hr_allocator *a, hr__scratch *s) {
    hr__free(a, s->data, s->capacity);
    *s = (hr__scratch){0};
}
