/* Half and bfloat16 for loops that should vectorise.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_HALF_H
#define HR_CORE_HALF_H

#include <stdint.h>
#include <string.h>

#include "core/dtype.h"

static inline uint32_t hr__float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float hr__bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* x < limit ? a : b, where x and limit are less than 2^31. By masks and signed
 * comparison, since that is what every vector unit has. */
static inline uint32_t hr__select_below(uint32_t x, uint32_t limit, uint32_t a,
                                        uint32_t b) {
    uint32_t mask = -(uint32_t)((int32_t)x < (int32_t)limit);
    return (a & mask) | (b & ~mask);
}

static inline float hr__half_to_float_inline(uint16_t bits) {
    uint32_t x = bits & 0x7FFFU;
    uint32_t normal = (x << 13) + ((127U - 15) << 23);
    uint32_t special = (x << 13) | 0x7F800000; /* infinity, NaN */
    /* x·2^-24, by way of 0.5 whose last place is just that */
    uint32_t denormal = hr__float_bits(hr__bits_float(0x3F000000 + x) - 0.5F);
    uint32_t r = hr__select_below(x, 0x7C00, normal, special);
    r = hr__select_below(x, 0x400, denormal, r);
    return hr__bits_float(r | (uint32_t)(bits & 0x8000) << 16);
}

/* Half without sign for the bits of a float without sign. */
static inline uint16_t hr__round_to_half(uint32_t x) {
    uint32_t odd = x >> 13 & 1;
    uint32_t normal = (x - ((127U - 15) << 23) + 0xFFF + odd) >> 13;
    uint32_t denormal = hr__float_bits(hr__bits_float(x) + 0.5F) - 0x3F000000;
    uint32_t payload = x >> 13 & 0x3FF;
    uint32_t nan = 0x7C00 | hr__select_below(payload, 1, 1, payload);
    uint32_t r = hr__select_below(x, 0x7F800001, 0x7C00, nan);
    r = hr__select_below(x, 0x47800000, normal, r);
    r = hr__select_below(x, 0x38800000, denormal, r);
    return (uint16_t)r;
}

static inline uint16_t hr__float_to_half_inline(float value) {
    uint32_t bits = hr__float_bits(value);
    return (uint16_t)(hr__round_to_half(bits & 0x7FFFFFFF) | (bits >> 16 & 0x8000));
}

static inline float hr__bfloat_to_float_inline(uint16_t bits) {
    return hr__bits_float((uint32_t)bits << 16);
}

static inline uint16_t hr__float_to_bfloat_inline(float value) {
    uint32_t x = hr__float_bits(value);
    uint32_t rounded = (x + 0x7FFF + (x >> 16 & 1)) >> 16;
    uint32_t nan = x >> 16 | 0x40; /* rounding could make an infinity of it */
    return (uint16_t)((x & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
}

#endif
