/* What usual encoders make of data. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ENCODE_H
#define HR_KERN_ENCODE_H

#include <stdint.h>

/* Room for what any of them makes of so many bytes. */
uint32_t encode_bound(uint32_t nbytes);

/* Make a stream of raw data; its size. */
typedef uint32_t encode_function(const uint8_t *raw, uint32_t nbytes, uint8_t *out,
                                 uint32_t bound);

encode_function encode_snappy;  /* without the size in front */
encode_function encode_blosclz; /* none, of 0 bytes, where c-blosc makes no single one */
encode_function encode_lzw;     /* none, of 0 bytes, where there is no room for it */
encode_function encode_packbits;

#endif
