/* LZW streams for the kernel tests: a reference, hand-made streams.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_LZW_CASE_H
#define HR_KERN_LZW_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/decode_batch.h"

/* A case from a stream and the size it should decode to, right or wrong. Copies src. */
decode_case lzw_case_make(const uint8_t *src, uint32_t src_nbytes, uint32_t dst_nbytes);

/* A stream written code by code, which keeps count of what it makes. */
typedef struct lzw_stream {
    uint8_t *bytes;
    uint32_t nbits, capacity; /* bytes */
    bool is_old;
    uint32_t ncodes;        /* since a Clear */
    uint32_t lengths[4096]; /* of what those made, as far as codes stand for it */
    uint64_t nmade;
} lzw_stream;

void lzw_stream_open(lzw_stream *s, bool is_old);
void lzw_stream_close(lzw_stream *s);
uint32_t lzw_stream_nbytes(const lzw_stream *s);
void lzw_put(lzw_stream *s, uint32_t code);
/* A code that is right there: a byte, an earlier string, the one just being made. */
uint32_t lzw_draw(const lzw_stream *s, uint64_t *random, uint64_t nliterals_in_16,
                  uint64_t nnew_in_16);

#endif
