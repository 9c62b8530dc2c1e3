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

/* params: the kernel's block. Errors: HR_ERR_ARGUMENT for a block that contradicts
 * itself, HR_ERR_OVERFLOW for 2^32 tiles or more. */
hr_status hr__geometry_tiles(hr__kernel kernel, const void *params, hr_k_tiles *tiles,
                             hr_error *err);

/* 0 … 4 for a width of 1 … 16 bytes. */
uint32_t hr__geometry_log_width(const hr_k_tiles *tiles);

#endif
