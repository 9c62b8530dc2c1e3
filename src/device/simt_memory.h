/* What the simt device has allocated, and who steps outside.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is not from here (a caller's destination) is let pass: the sanitizers know
 * it better. Not thread-safe. */
#ifndef HR_DEVICE_SIMT_MEMORY_H
#define HR_DEVICE_SIMT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/error.h"
#include "cuda/kernel_abi.h"
#include "device/device.h"

/* New memory holds this byte, so that reading what was never written shows. */
#define HR__SIMT_POISON 0xCD

typedef struct hr__simt_memory {
    const hr_allocator *allocator;
    struct hr__simt_block *blocks;
} hr__simt_memory;

void *hr__simt_memory_alloc(hr__simt_memory *m, uint64_t nbytes); /* NULL: no memory */
/* HR_ERR_DEVICE if ptr is not the start of an allocation. */
hr_status hr__simt_memory_free(hr__simt_memory *m, void *ptr, hr_error *err);
void hr__simt_memory_free_all(hr__simt_memory *m);

/* HR_ERR_DEVICE if [address, address + nbytes) lies partly inside an allocation. */
hr_status hr__simt_memory_check(const hr__simt_memory *m, uint64_t address,
                                uint64_t nbytes, const char *what, hr_error *err);
/* The same for everything that a scatter or a fill will read or write. Reads the lists.
 */
hr_status hr__simt_memory_check_kernel(const hr__simt_memory *m, hr__kernel kernel,
                                       const void *params, hr_error *err);

/* Offsets of the first and the last item that loops reach on one side. */
typedef struct hr__simt_extent {
    int64_t first, last;
} hr__simt_extent;

/* No loop is empty. Checks the lists and reads them. */
hr_status hr__simt_memory_extent(const hr__simt_memory *m, const hr_k_dim *dims,
                                 int32_t ndim, bool is_dst, hr__simt_extent *out,
                                 hr_error *err);

hr_status hr__simt_memory_check_decode(const hr__simt_memory *m,
                                       const hr_k_decode *params, hr_error *err);
hr_status hr__simt_memory_check_whole(const hr__simt_memory *m, const hr_k_whole *params,
                                      hr_error *err);
hr_status hr__simt_memory_check_zstd(const hr__simt_memory *m, const hr_k_zstd *params,
                                     hr_error *err);

hr_status hr__simt_memory_check_filter(const hr__simt_memory *m, hr__kernel kernel,
                                       const hr_k_filter *params, hr_error *err);

#endif
