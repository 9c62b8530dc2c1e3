/* What a store will read and write, for the simt device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_SIMT_KSTORE_H
#define HR_DEVICE_SIMT_KSTORE_H

#include "core/error.h"
#include "cuda/kernel_abi.h"
#include "device/simt_memory.h"

/* HR_ERR_DEVICE if a task of the batch leaves its chunk or an allocation. */
hr_status hr__simt_kstore_check(const hr__simt_memory *m, const hr_k_store_batch *b,
                                hr_error *err);

#endif
