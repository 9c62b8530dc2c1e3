/* Random strided copies and what they should give. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_SCATTER_CASE_H
#define HR_KERN_SCATTER_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/kernel_abi.h"
#include "kern/random.h"

#define MOST_LIST_ENTRIES (64 * 1024)

/* A copy or a fill between two buffers. Addresses in `copy` are offsets into them until
 * they are bound: src and dst into the buffers, lists into `lists`, plus 1 (0 = none). */
typedef struct scatter_case {
    bool is_fill;
    hr_k_scatter copy;
    uint32_t dst_itemsize; /* copy.itemsize, but for stores that convert */
    uint64_t src_nbytes, dst_nbytes;
    int64_t *lists;
    uint64_t nlists;
} scatter_case;

/* `lists` has room for MOST_LIST_ENTRIES. No two items of a copy have the same place. */
void scatter_case_make(scatter_case *c, int64_t *lists, uint64_t *random);
/* The same for items of given sizes; never a fill. Dense: without lists, mostly without
 * gaps, often long runs. */
void scatter_case_make_sized(scatter_case *c, int64_t *lists, uint32_t src_itemsize,
                             uint32_t dst_itemsize, bool dense, uint64_t *random);
/* The copy with real addresses. */
hr_k_scatter scatter_case_bind(const scatter_case *c, uint64_t src, uint64_t dst,
                               uint64_t lists);
/* Where the item-th item is read and written. */
void scatter_case_at(const scatter_case *c, uint64_t item, int64_t *from, int64_t *to);
/* Item after item, the plain way. */
void scatter_case_reference(const scatter_case *c, const uint8_t *src, uint8_t *dst);
void scatter_case_print(const scatter_case *c);

#endif
