/* LZW. SPDX-License-Identifier: Apache-2.0 */
#include "kernel_abi.h"
#include "lzw_parser.cuh"
#include "simt.h"

/* Teams: warps to parse and make, codes of a lane, window, ring, output, blocks. */
typedef lzw_team<4, 0, 8, 1024, 0, 12288, 8> lzw_team_w4;
typedef lzw_team<8, 0, 8, 2048, 8192, 24576, 4> lzw_team_w8;
typedef lzw_team<8, 8, 8, 2048, 16384, 24576, 2> lzw_team_p8;

#define LZW_KERNEL(name, threads, shared_nbytes)                                         \
    static_assert(lzw_team_##name::THREADS == threads, "kernel_abi.h disagrees");        \
    static_assert(lz_layout<lzw_team_##name>::SCRATCH +                                  \
                          lzw_parser<lzw_team_##name>::SCRATCH ==                        \
                      shared_nbytes,                                                     \
                  "kernel_abi.h disagrees");                                             \
    extern "C" __global__ void __launch_bounds__(threads, lzw_team_##name::BLOCKS)       \
        hr_k_lzw_##name##_kernel(const __grid_constant__ hr_k_decode p) {                \
        lz_run<lzw_team_##name, lzw_parser<lzw_team_##name>>(p);                         \
    }

HR_K_LZW_TEAMS(LZW_KERNEL)
