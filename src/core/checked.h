/* Arithmetic on sizes that says when it does not fit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_CHECKED_H
#define HR_CORE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* Each returns false, and leaves *out alone, when the exact result does not fit. */
static inline bool hr__add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}

static inline bool hr__mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}

static inline bool hr__add_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}

static inline bool hr__mul_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}

static inline int64_t hr__ceil_div_i64(int64_t a, int64_t b) { /* a ≥ 0, b > 0 */
    return a / b + (a % b != 0);
}

/* Product of n extents (each ≥ 0) times itemsize; false on overflow of int64. */
bool hr__shape_nelems(int32_t ndim, const int64_t *shape, uint64_t *nelems);
bool hr__shape_nbytes(int32_t ndim, const int64_t *shape, uint64_t itemsize,
                      uint64_t *nbytes);

/* C-order strides in bytes. The caller has checked that the total fits. */
void hr__strides_c(int32_t ndim, const int64_t *shape, uint64_t itemsize,
                   int64_t *strides_nbytes);

#endif
