/* base64 text to bytes (RFC 4648). SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_BASE64_H
#define HR_CODEC_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Bytes in n characters of text, n a multiple of 4: three of four, without the padding.
 */
size_t hr__base64_nbytes(const uint8_t *text, size_t n);

/* Decode them to dst. Returns n, or the place of the first character that may not stand
 * there. */
size_t hr__base64_decode(const uint8_t *text, size_t n, uint8_t *dst);

#endif
