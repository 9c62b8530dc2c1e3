/* Parameter blocks of copies through loops. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_SCATTER_ABI_H
#define HR_CUDA_SCATTER_ABI_H

#include <stdint.h>

#define HR_K_MAX_DIMS 8

/* One loop of a scatter. Strides and starts in bytes; lists hold element numbers that
 * the stride multiplies, and are device pointers (0 = arithmetic). */
typedef struct hr_k_dim {
    uint64_t n;
    int64_t src0, src_step; /* bytes: element k at src0 + k·src_step */
    int64_t dst0, dst_step;
    uint64_t src_list, dst_list; /* const int64_t *: list[k]·step instead, start unused */
} hr_k_dim;

/* Copy nitems = Π n items of itemsize bytes from src to dst; dims[ndim − 1] is fastest.
 * Places written twice end with either item. */
typedef struct hr_k_scatter {
    uint64_t src; /* const uint8_t * */
    uint64_t dst; /* uint8_t * */
    uint64_t nitems;
    uint32_t itemsize;
    int32_t ndim; /* 0 … HR_K_MAX_DIMS */
    hr_k_dim dims[HR_K_MAX_DIMS];
} hr_k_scatter;

/* Write one item to every place of the destination's loops (src side unused). */
typedef struct hr_k_fill {
    hr_k_scatter where; /* where.src = device copy of the item */
} hr_k_fill;

/* n / divisor for any n: (((n − t) >> shift1) + t) >> shift2, t = n·factor / 2^32. */
typedef struct hr_k_divisor {
    uint32_t divisor, factor, shift1, shift2;
} hr_k_divisor;

/* What the kernels take: device/geometry.c makes it from either block above. Items are
 * `width` bytes, aligned. A tile is what a block of threads moves at a time: threads lie
 * along x (fastest in the destination) and y, a thread's items along one of the two, and
 * the remaining loops number the tiles. */
#define HR_K_LOG_THREADS 8
#define HR_K_THREADS (1 << HR_K_LOG_THREADS)

/* Items per thread: enough loads in flight, few enough registers. */
#define HR_K_LOG_ITEMS(width) ((width) >= 16 ? 2 : (width) >= 4 ? 3 : 4)

typedef struct hr_k_axis {
    uint64_t n;
    uint64_t src_step, dst_step; /* two's complement: sums wrap as addresses do */
    uint64_t src_list, dst_list;
} hr_k_axis;

typedef struct hr_k_tiles {
    uint64_t src, dst;
    uint32_t width;                        /* 1, 2, 4, 8 or 16 */
    uint32_t ntiles;                       /* 0: nothing to do */
    hr_k_divisor tiles_x, tiles_y;         /* x counts fastest, then y */
    uint32_t log_tile_x, log_tile_y;       /* 2^n elements of the loop in a tile */
    uint32_t log_threads_x;                /* 2^n of the block's threads lie along x */
    uint32_t items_along_y;                /* or else along x */
    uint32_t log_item_step;                /* a thread's items are 2^n elements apart */
    uint32_t has_lists;                    /* in along or across */
    uint64_t src_item_step, dst_item_step; /* the same in bytes */
    hr_k_axis along, across; /* x and y: the one with the items, the other */
    uint32_t nouter;
    hr_k_axis outer[HR_K_MAX_DIMS - 1]; /* the last is fastest */
} hr_k_tiles;

#endif
