/* SHA-256, for comparing with recorded hashes. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_SHA256_H
#define HR_TEST_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Lower-case hexadecimal, NUL-terminated. */
void sha256_hex(const uint8_t *data, size_t nbytes, char hex[65]);

#endif
