/* Deflate streams for the kernel tests: a strict reference, and streams that no encoder
 * writes. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_DEFLATE_CASE_H
#define HR_KERN_DEFLATE_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/decode_batch.h"

/* A case from a stream and the size it should decode to, right or wrong. Copies src.
 * wrapper: HR_K_DEFLATE_RAW … */
decode_case deflate_case_make(const uint8_t *src, uint32_t src_nbytes,
                              uint32_t dst_nbytes, uint16_t wrapper);

/* Streams are written bit by bit. */
typedef struct deflate_writer {
    uint8_t *bytes;
    uint64_t nbits, capacity; /* bits, bytes */
    uint32_t made;            /* bytes that the stream makes */
} deflate_writer;

void deflate_write(deflate_writer *w, uint32_t value, uint32_t nbits);

/* What blocks are like. */
typedef struct deflate_shape {
    uint32_t nsymbols; /* in a block */
    uint32_t literal_percent;
    uint32_t nliterals; /* different ones, at most */
    uint32_t longest;   /* match, at most */
    uint32_t farthest;  /* at most */
} deflate_shape;

/* A drawn block, as it is drawn: stored, fixed, or with drawn codes. */
void deflate_write_block(deflate_writer *w, const deflate_shape *shape, bool is_last,
                         uint64_t *random);
uint32_t deflate_writer_nbytes(const deflate_writer *w);

#endif
