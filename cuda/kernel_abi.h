/* Parameter blocks of the kernels: plain data, the same on host and device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_KERNEL_ABI_H
#define HR_CUDA_KERNEL_ABI_H

#include <stdint.h>

#define HR_K_MAX_DIMS 8

/* One loop of a scatter. Strides and starts in bytes; lists hold element numbers that
 * the stride multiplies, and are device pointers (0 = arithmetic). */
typedef struct hr_k_dim {
    uint64_t n;
    int64_t src0, src_step; /* bytes: element k at src0 + k·src_step */
    int64_t dst0, dst_step;
    uint64_t src_list, dst_list; /* const int64_t *: offset list[k]·step instead */
} hr_k_dim;

/* Copy nitems = Π n items of itemsize bytes from src to dst; dims[ndim − 1] is fastest. */
typedef struct hr_k_scatter {
    uint64_t src; /* const uint8_t * */
    uint64_t dst; /* uint8_t * */
    uint64_t nitems;
    uint32_t itemsize;
    int32_t ndim; /* 1 … HR_K_MAX_DIMS */
    hr_k_dim dims[HR_K_MAX_DIMS];
} hr_k_scatter;

/* Write one item to every place of the destination's loops (src side unused). */
typedef struct hr_k_fill {
    hr_k_scatter where; /* where.src = device copy of the item */
} hr_k_fill;

#endif
