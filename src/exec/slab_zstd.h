/* Zstandard in slabs. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SLAB_ZSTD_H
#define HR_EXEC_SLAB_ZSTD_H

#include "codec/leaves.h"
#include "codec/zstd_frame.h"
#include "cuda/kernel_abi.h"
#include "device/device.h"

/* The blocks of a stream as kernels take them; scratch: room for their sequences, 16
 * bytes aligned. */
void hr__slab_zstd_blocks(const hr__zstd_block *blocks, uint32_t n, const hr_k_task *task,
                          hr__devptr scratch, hr_k_zstd_block *out);

#endif
