/* Half and bfloat16 bits. SPDX-License-Identifier: Apache-2.0
 *
 * No result depends on denormal floats, which a program may have set to flush to zero. */
#include <string.h>

#include "core/half.h"

#define DOUBLE_2_POW(e) ((uint64_t)(1023 + (e)) << 52)

float hr__half_to_float(uint16_t bits) {
    return hr__half_to_float_inline(bits);
}

uint16_t hr__float_to_half(float value) {
    return hr__float_to_half_inline(value);
}

float hr__bfloat_to_float(uint16_t bits) {
    return hr__bfloat_to_float_inline(bits);
}

uint16_t hr__float_to_bfloat(float value) {
    return hr__float_to_bfloat_inline(value);
}

uint16_t hr__double_to_half(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    uint64_t x = bits & 0x7FFFFFFFFFFFFFFF;
    if (x > DOUBLE_2_POW(1024)) { /* NaN: keep what fits of the payload */
        uint16_t payload = (uint16_t)(x >> 42 & 0x3FF);
        return (uint16_t)(sign | 0x7C00 | (payload == 0 ? 1 : payload));
    }
    if (x < DOUBLE_2_POW(-30)) {
        return sign;
    }
    if (x > DOUBLE_2_POW(17)) {
        x = DOUBLE_2_POW(17);
    }
    /* As float, with what is cut off folded into the last bit: that bit is far below a
     * half's, so rounding once more is exact. */
    uint32_t f = (uint32_t)((x - ((uint64_t)(1023 - 127) << 52)) >> 29);
    return (uint16_t)(sign | hr__round_to_half(f | ((x & 0x1FFFFFFF) != 0)));
}
