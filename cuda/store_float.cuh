/* Formats of floats, bits to bits. SPDX-License-Identifier: Apache-2.0
 *
 * NaNs are carried by hand, since processors do not agree about them. */
#ifndef HR_CUDA_STORE_FLOAT_CUH
#define HR_CUDA_STORE_FLOAT_CUH

#include <string.h>

#include "simt.h"

static __device__ __forceinline__ float as_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static __device__ __forceinline__ uint64_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static __device__ __forceinline__ double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static __device__ __forceinline__ uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static __device__ __forceinline__ bool is_nan32(uint64_t x) {
    return (x & 0x7FFFFFFF) > 0x7F800000;
}

static __device__ __forceinline__ bool is_nan64(uint64_t x) {
    return (x & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
}

static __device__ __forceinline__ uint64_t float_to_double(uint64_t x) {
    uint64_t nan = (x & 0x80000000) << 32 | 0x7FF8000000000000 | (x & 0x7FFFFF) << 29;
    return is_nan32(x) ? nan : double_bits((double)as_float(x));
}

static __device__ __forceinline__ uint64_t double_to_float(uint64_t x) {
    uint64_t nan = (x >> 32 & 0x80000000) | 0x7FC00000 | (x >> 29 & 0x3FFFFF);
    return is_nan64(x) ? nan : float_bits((float)as_double(x));
}

static __device__ __forceinline__ uint64_t half_to_float(uint64_t x) {
    uint32_t magnitude = (uint32_t)x & 0x7FFF, sign = (uint32_t)(x & 0x8000) << 16;
    uint32_t special = magnitude << 13 | 0x7F800000; /* infinity, NaN */
#ifdef __CUDACC__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)magnitude));
    uint32_t finite = (uint32_t)float_bits(value);
#else
    uint32_t finite = (magnitude << 13) + ((127U - 15) << 23);
    if (magnitude < 0x400) { /* x·2^-24, by way of 0.5 whose last place is just that */
        finite = (uint32_t)float_bits(as_float(0x3F000000 + magnitude) - 0.5F);
    }
#endif
    return sign | (magnitude < 0x7C00 ? finite : special);
}

static __device__ __forceinline__ uint64_t float_to_half(uint64_t x) {
    uint32_t magnitude = (uint32_t)x & 0x7FFFFFFF, sign = (uint32_t)x >> 16 & 0x8000;
    uint32_t payload = magnitude >> 13 & 0x3FF;
    uint32_t nan = 0x7C00 | (payload == 0 ? 1 : payload);
#ifdef __CUDACC__
    uint16_t rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(as_float(magnitude)));
#else
    uint32_t odd = magnitude >> 13 & 1;
    uint32_t rounded = (magnitude - ((127U - 15) << 23) + 0xFFF + odd) >> 13;
    if (magnitude < 0x38800000) {
        rounded = (uint32_t)float_bits(as_float(magnitude) + 0.5F) - 0x3F000000;
    } else if (magnitude >= 0x47800000) {
        rounded = 0x7C00;
    }
#endif
    return sign | (magnitude > 0x7F800000 ? nan : rounded);
}

/* Rounded once: what the float cuts off goes into its last bit, which is far below a
 * half's. */
static __device__ __forceinline__ uint64_t double_to_half(uint64_t x) {
    uint64_t magnitude = x & 0x7FFFFFFFFFFFFFFF, sign = x >> 48 & 0x8000;
    uint64_t payload = magnitude >> 42 & 0x3FF;
    if (is_nan64(x)) {
        return sign | 0x7C00 | (payload == 0 ? 1 : payload);
    }
    const uint64_t least = (uint64_t)(1023 - 30) << 52, most = (uint64_t)(1023 + 17)
                                                               << 52;
    if (magnitude < least) {
        return sign;
    }
    magnitude = magnitude > most ? most : magnitude;
    uint64_t f = (magnitude - ((uint64_t)(1023 - 127) << 52)) >> 29;
    return sign | float_to_half(f | ((magnitude & 0x1FFFFFFF) != 0));
}

static __device__ __forceinline__ uint64_t float_to_bfloat(uint64_t bits) {
    uint32_t x = (uint32_t)bits;
    uint32_t rounded = (x + 0x7FFF + (x >> 16 & 1)) >> 16;
    return is_nan32(bits) ? x >> 16 | 0x40 : rounded;
}

#endif
