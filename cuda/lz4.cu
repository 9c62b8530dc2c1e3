/* LZ4 blocks. SPDX-License-Identifier: Apache-2.0 */
#include "kernel_abi.h"
#include "lz4_parse.cuh"
#include "lz4_whole.cuh"
#include "lz_teams.cuh"
#include "simt.h"

#define LZ4_KERNEL(name, threads, shared_nbytes)                                         \
    LZ_KERNEL(lz4, name, threads, shared_nbytes)

HR_K_LZ_TEAMS(LZ4_KERNEL)
