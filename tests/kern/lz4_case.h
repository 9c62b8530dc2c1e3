/* LZ4 streams for the kernel tests: a strict reference, raw data, hand-made streams.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_LZ4_CASE_H
#define HR_KERN_LZ4_CASE_H

#include <stdint.h>

#include "kern/decode_batch.h"

/* A case from a stream and the size it should decode to, right or wrong. Copies src. */
decode_case lz4_case_make(const uint8_t *src, uint32_t src_nbytes, uint32_t dst_nbytes);

/* Kinds of raw data: random, periodic, words, a smooth field byte-shuffled, mixtures. */
#define LZ4_NKINDS 5
void lz4_fill(uint32_t kind, uint8_t *raw, uint32_t nbytes, uint64_t *random);

/* liblz4's stream of raw data, level 0 by the fast compressor, above by HC. */
uint32_t lz4_compress(const uint8_t *raw, uint32_t nbytes, int level, uint8_t **out);

/* A stream written sequence by sequence. */
typedef struct lz4_writer {
    uint8_t *bytes;
    uint32_t nbytes, capacity;
    uint32_t produced;
} lz4_writer;

/* offset 0: the last sequence, literals only (nmatch unused). */
void lz4_write_sequence(lz4_writer *w, uint32_t nliterals, uint32_t offset,
                        uint32_t nmatch, uint64_t *random);
void lz4_writer_free(lz4_writer *w);

#endif
