/* Per-thread state for decoding. SPDX-License-Identifier: Apache-2.0 */
#include "codec/worker.h"

#include <pthread.h>

void hr__worker_init(hr__worker *w, const hr_allocator *a) {
    *w = (hr__worker){.allocator = a};
}

void hr__worker_free(hr__worker *w) {
    for (int i = 0; i < HR__NSLOTS; i++) {
        if (w->slots[i].object != NULL) {
            w->slots[i].destroy(w->slots[i].object);
        }
    }
    for (int i = 0; i < HR__SCRATCH_LEVELS; i++) {
        hr__scratch_free(w->allocator, &w->stage[i][0]);
        hr__scratch_free(w->allocator, &w->stage[i][1]);
        hr__scratch_free(w->allocator, &w->part[i]);
    }
    hr__scratch_free(w->allocator, &w->read);
    hr__vec_free(w->allocator, &w->leaves);
    hr__vec_free(w->allocator, &w->zstd_blocks);
    hr__worker_init(w, w->allocator);
}

void *hr__worker_slot(hr__worker *w, hr__slot_id id, void *(*create)(void),
                      void (*destroy)(void *object)) {
    hr__slot *slot = &w->slots[id];
    if (slot->object == NULL) {
        slot->object = create();
        slot->destroy = destroy;
    }
    return slot->object;
}

struct hr__heap {
    const hr_allocator *allocator;
    pthread_mutex_t lock;
    hr__arena arena;
};

hr__heap *hr__heap_create(const hr_allocator *a) {
    hr__heap *heap = hr__calloc(a, sizeof *heap);
    if (heap != NULL) {
        heap->allocator = a;
        pthread_mutex_init(&heap->lock, NULL);
        hr__arena_init(&heap->arena, a);
    }
    return heap;
}

void hr__heap_destroy(hr__heap *heap) {
    if (heap != NULL) {
        hr__arena_free(&heap->arena);
        pthread_mutex_destroy(&heap->lock);
        hr__free(heap->allocator, heap, sizeof *heap);
    }
}

void *hr__heap_alloc(hr__heap *heap, size_t nbytes) {
    pthread_mutex_lock(&heap->lock);
    void *p = hr__arena_alloc(&heap->arena, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return p;
}
