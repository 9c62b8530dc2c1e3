/* A codec whose streams are rows of elements: one for each program that is linked with
 * kern_elements.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ELEMENTS_H
#define HR_KERN_ELEMENTS_H

#include "kern/decode_batch.h"
#include "kern/encode.h"

/* A drawn element has at most so many bytes. */
#define ELEMENT_NBYTES 3010

typedef struct element_codec {
    hr__kernel kernel;
    /* The whole stream, from *at and *made, both 0, to where it ends or goes wrong: 0 or
     * a code. */
    uint32_t (*decode)(const decode_case *c, uint32_t *at, uint32_t *made);
    /* So many elements of every kind, length and distance: their bytes, in `out`, and how
     * many bytes they make. */
    uint32_t (*draw)(uint64_t *random, uint8_t *out, uint32_t nelements, uint32_t *made);
    encode_function *compress;
    const uint8_t *known_bad; /* a stream for four bytes that is easily taken for good */
    uint32_t known_bad_nbytes;
} element_codec;

extern const element_codec elements;

#endif
