/* Is it UTF-8? SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_UTF8_H
#define HR_CODEC_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without overlong sequences, surrogates, or code points above U+10FFFF. */
bool hr__is_utf8(const uint8_t *p, size_t nbytes);

#endif
