/* Scatters made ready for the kernels. SPDX-License-Identifier: Apache-2.0
 *
 * Loops that continue each other become one, contiguous bytes become wide items, and two
 * loops are chosen that a block of threads shares out. Pure. */
#ifndef HR_DEVICE_GEOMETRY_H
#define HR_DEVICE_GEOMETRY_H

#include <stdint.h>

#include "core/error.h"
#include "cuda/kernel_abi.h"
#include "device/device.h"
#include "device/loops.h"

/* params: the block of HR__KERNEL_SCATTER or HR__KERNEL_FILL. Errors: HR_ERR_ARGUMENT for
 * a block that contradicts itself, HR_ERR_OVERFLOW for 2^32 tiles or more. */
hr_status hr__geometry_tiles(hr__kernel kernel, const void *params, hr_k_tiles *tiles,
                             hr_error *err);

/* Share loops (one or more) of whatever items out among tiles, 2^log_items items to a
 * thread; sets all of *tiles but its width. Errors: HR_ERR_OVERFLOW. */
hr_status hr__geometry_lay_out(const hr__loops *loops, uint32_t log_items,
                               hr_k_tiles *tiles, hr_error *err);

/* d ≥ 1. */
hr_k_divisor hr__divisor_of(uint32_t d);

/* 0 … 4 for a width of 1 … 16 bytes. */
uint32_t hr__geometry_log_width(const hr_k_tiles *tiles);

#endif
