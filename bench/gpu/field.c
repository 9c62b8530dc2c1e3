/* SPDX-License-Identifier: Apache-2.0 */
#include "field.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec.h"

#define ALIGNMENT 16
#define MOST_THREADS 256

static void fail(const char *what, const char *path) {
    printf("%s: %s\n", path, what);
    exit(EXIT_FAILURE);
}

static void *must(void *p) {
    if (p == NULL) {
        fail("no memory", "bench");
    }
    return p;
}

field field_load(const char *path, uint64_t most_nbytes) {
    uint8_t prefix[10];
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(prefix, 1, sizeof prefix, file) != sizeof prefix ||
        memcmp(prefix, "\x93NUMPY\x01", 7) != 0) {
        fail("not a .npy file of version 1", path);
    }
    uint32_t header_nbytes = prefix[8] | (uint32_t)prefix[9] << 8;
    char *header = must(calloc(1, header_nbytes + 1));
    if (fread(header, 1, header_nbytes, file) != header_nbytes) {
        fail("ends in its header", path);
    }
    const char *descr = strstr(header, "'descr': '");
    int itemsize = descr == NULL ? 0 : atoi(descr + strlen("'descr': '") + 2);
    if (itemsize < 1 || itemsize > 16) {
        fail("elements of an unexpected size", path);
    }
    free(header);
    field f = {.data = must(malloc(most_nbytes)), .itemsize = (uint32_t)itemsize};
    f.nbytes = fread(f.data, 1, most_nbytes, file);
    fclose(file);
    return f;
}

typedef struct work {
    const field *field;
    field_blocks *blocks;
    bool is_shuffled;
    uint8_t *room; /* bound bytes for every block */
    uint32_t bound;
    uint32_t first, step; /* of the blocks */
} work;

static void shuffle(const uint8_t *src, uint8_t *dst, uint32_t nbytes, uint32_t size) {
    uint32_t n = nbytes / size;
    for (uint32_t b = 0; b < size; b++) {
        for (uint32_t i = 0; i < n; i++) {
            dst[b * n + i] = src[i * size + b];
        }
    }
}

static void *compress_some(void *arg) {
    const work *w = arg;
    field_blocks *b = w->blocks;
    for (uint32_t i = w->first; i < b->nblocks; i += w->step) {
        uint64_t at = (uint64_t)i * b->block_nbytes;
        if (w->is_shuffled) {
            shuffle(w->field->data + at, b->raw + at, b->block_nbytes,
                    w->field->itemsize);
        } else {
            memcpy(b->raw + at, w->field->data + at, b->block_nbytes);
        }
        b->nbytes[i] = codec.compress(b->raw + at, b->block_nbytes,
                                      w->room + (uint64_t)i * w->bound, w->bound);
    }
    return NULL;
}

static void compress_all(const work *all) {
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = ncores < 1 ? 1 : ncores > MOST_THREADS ? MOST_THREADS : (uint32_t)ncores;
    pthread_t threads[MOST_THREADS];
    work parts[MOST_THREADS];
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = *all;
        parts[i].first = i;
        parts[i].step = n;
        if (pthread_create(&threads[i], NULL, compress_some, &parts[i]) != 0) {
            fail("cannot start a thread", "bench");
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* Leave out blocks that have no stream. */
static void drop_empty(field_blocks *b, uint8_t *room, uint32_t bound) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->nblocks; i++) {
        if (b->nbytes[i] == 0) {
            continue;
        }
        memmove(b->raw + (uint64_t)n * b->block_nbytes,
                b->raw + (uint64_t)i * b->block_nbytes, b->block_nbytes);
        memmove(room + (uint64_t)n * bound, room + (uint64_t)i * bound, b->nbytes[i]);
        b->nbytes[n++] = b->nbytes[i];
    }
    b->nblocks = n;
}

field_blocks field_compress(const field *f, uint32_t block_nbytes, bool is_shuffled,
                            uint32_t shift) {
    field_blocks b = {.nblocks = (uint32_t)(f->nbytes / block_nbytes),
                      .block_nbytes = block_nbytes};
    uint32_t bound = codec.bound(block_nbytes);
    b.raw = must(malloc((uint64_t)b.nblocks * block_nbytes));
    b.at = must(calloc(b.nblocks, sizeof *b.at));
    b.nbytes = must(calloc(b.nblocks, sizeof *b.nbytes));
    work all = {.field = f, .blocks = &b, .is_shuffled = is_shuffled, .bound = bound};
    all.room = must(malloc((uint64_t)b.nblocks * bound));
    compress_all(&all);
    drop_empty(&b, all.room, bound);
    for (uint32_t i = 0; i < b.nblocks; i++) {
        b.at[i] = b.streams_nbytes + shift;
        b.streams_nbytes += (shift + b.nbytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    b.streams = must(calloc(1, b.streams_nbytes + 1));
    for (uint32_t i = 0; i < b.nblocks; i++) {
        memcpy(b.streams + b.at[i], all.room + (uint64_t)i * bound, b.nbytes[i]);
    }
    free(all.room);
    return b;
}

void field_blocks_free(field_blocks *b) {
    free(b->raw);
    free(b->streams);
    free(b->at);
    free(b->nbytes);
}
