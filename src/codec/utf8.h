/* UTF-8. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_UTF8_H
#define HR_CODEC_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without overlong sequences, surrogates, or code points above U+10FFFF. */
bool hr__is_utf8(const uint8_t *p, size_t nbytes);

/* The code point at *p of valid UTF-8; *p moves past it. */
uint32_t hr__utf8_next(const uint8_t **p);

#endif
