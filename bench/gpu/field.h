/* A field of raw data, cut into blocks and compressed. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_GPU_FIELD_H
#define HR_BENCH_GPU_FIELD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct field {
    uint8_t *data;
    uint64_t nbytes;
    uint32_t itemsize;
} field;

/* The first most_nbytes of a .npy file. Exits if that cannot be. */
field field_load(const char *path, uint64_t most_nbytes);

/* Streams of the blocks of a field, each 16 bytes aligned. */
typedef struct field_blocks {
    uint32_t nblocks, block_nbytes;
    uint8_t *raw;     /* the blocks, byte-shuffled or not */
    uint8_t *streams; /* one behind the other */
    uint64_t streams_nbytes;
    uint64_t *at; /* of each stream */
    uint32_t *nbytes;
} field_blocks;

/* Whole blocks only, of those that compress; by the codec of codec.h, on all cores.
 * shift: streams begin so many bytes behind an aligned place. */
field_blocks field_compress(const field *f, uint32_t block_nbytes, bool is_shuffled,
                            uint32_t shift);
void field_blocks_free(field_blocks *b);

#endif
