/* Numbers in byte strings. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_BYTES_H
#define HR_CORE_BYTES_H

#include <stdint.h>

/* Little-endian, from any address. */
static inline uint32_t hr__load_le32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t hr__load_le64(const uint8_t *p) {
    return hr__load_le32(p) | (uint64_t)hr__load_le32(p + 4) << 32;
}

#endif
