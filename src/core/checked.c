/* Sizes of shapes. SPDX-License-Identifier: Apache-2.0 */
#include "core/checked.h"

bool hr__shape_nelems(int32_t ndim, const int64_t *shape, uint64_t *nelems) {
    return hr__shape_nbytes(ndim, shape, 1, nelems);
}

bool hr__shape_nbytes(int32_t ndim, const int64_t *shape, uint64_t itemsize,
                      uint64_t *nbytes) {
    uint64_t total = itemsize;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] == 0) { /* however long the other axes are */
            *nbytes = 0;
            return true;
        }
    }
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] < 0 || !hr__mul_u64(total, (uint64_t)shape[i], &total) ||
            total > INT64_MAX) {
            return false;
        }
    }
    *nbytes = total;
    return total <= INT64_MAX;
}

void hr__strides_c(int32_t ndim, const int64_t *shape, uint64_t itemsize,
                   int64_t *strides_nbytes) {
    int64_t stride = (int64_t)itemsize;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        strides_nbytes[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
}
