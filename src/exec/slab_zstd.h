/* Zstandard in slabs. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SLAB_ZSTD_H
#define HR_EXEC_SLAB_ZSTD_H

#include "codec/leaves.h"
#include "codec/zstd_frame.h"
#include "cuda/kernel_abi.h"
#include "device/device.h"

/* A block as kernels take it; *scratch: where its sequences and literals have room, 16
 * bytes aligned; moves on behind them. */
hr_k_zstd_block hr__slab_zstd_block(const hr__zstd_block *b, hr__devptr *scratch);

#endif
