/* Per-thread state for decoding. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_WORKER_H
#define HR_CODEC_WORKER_H

#include <stddef.h>

#include "core/alloc.h"
#include "core/vec.h"

/* Decompression contexts that are kept from chunk to chunk. */
typedef enum hr__slot_id { HR__SLOT_ZSTD, HR__SLOT_DEFLATE, HR__NSLOTS } hr__slot_id;

typedef struct hr__slot {
    void *object;
    void (*destroy)(void *object);
} hr__slot;

/* One thread's decoding state: scratch that grows to the largest chunk seen and stays.
 * Nested chains (a shard decoded as a whole) use one level each. */
#define HR__SCRATCH_LEVELS 9

typedef struct hr__worker {
    const hr_allocator *allocator;
    hr__slot slots[HR__NSLOTS];
    int level;                                /* current nesting of chains */
    hr__scratch stage[HR__SCRATCH_LEVELS][2]; /* ping-pong between codecs */
    hr__scratch part[HR__SCRATCH_LEVELS];     /* a codec's own: a Blosc block before
                                                 un-shuffling, the index of a shard */
    hr__scratch read;                         /* encoded bytes */
    hr__vec leaves, zstd_blocks; /* of the chunk that is described for a device */
} hr__worker;

void hr__worker_init(hr__worker *w, const hr_allocator *a);
void hr__worker_free(hr__worker *w);

/* The object of a slot, created on first use. NULL without memory. */
void *hr__worker_slot(hr__worker *w, hr__slot_id id, void *(*create)(void),
                      void (*destroy)(void *object));

/* Memory for the bytes of variable-length elements: lives as long as the batch.
 * Thread-safe. */
typedef struct hr__heap hr__heap;
hr__heap *hr__heap_create(const hr_allocator *a);
void hr__heap_destroy(hr__heap *heap);
/* NULL without memory; nbytes 0 gives a valid pointer. */
void *hr__heap_alloc(hr__heap *heap, size_t nbytes);

#endif
