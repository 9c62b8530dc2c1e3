/* Deflate. SPDX-License-Identifier: Apache-2.0 */
#include "deflate_parser.cuh"
#include "kernel_abi.h"
#include "simt.h"

/* Teams: warps to parse and make, segment, lead, log, room, times, window, ring, singles,
 * even, blocks. */
typedef deflate_team<4, 0, 224, 256, 10, 11, 4, 512, 0, false, false, 9> deflate_team_w4;
typedef deflate_team<4, 0, 160, 192, 10, 15, 8, 512, 0, true, false, 9> deflate_team_w4s;
typedef deflate_team<8, 0, 288, 320, 11, 11, 4, 1024, 0, false, false, 4> deflate_team_w8;
typedef deflate_team<8, 0, 224, 256, 10, 11, 8, 1024, 0, true, true, 4> deflate_team_w8s;
typedef deflate_team<16, 16, 416, 384, 11, 9, 3, 2048, 8192, false, true, 1>
    deflate_team_p16;
typedef deflate_team<24, 8, 160, 256, 10, 15, 8, 1024, 8192, true, false, 1>
    deflate_team_p24s;

#define DEFLATE_KERNEL(name, threads, shared_nbytes)                                     \
    static_assert(deflate_team_##name::THREADS == threads, "kernel_abi.h disagrees");    \
    static_assert(lz_layout<deflate_team_##name>::SCRATCH +                              \
                          deflate_parser<deflate_team_##name>::SCRATCH ==                \
                      shared_nbytes,                                                     \
                  "kernel_abi.h disagrees");                                             \
    extern "C" __global__ void __launch_bounds__(threads, deflate_team_##name::BLOCKS)   \
        hr_k_deflate_##name##_kernel(const __grid_constant__ hr_k_decode p) {            \
        lz_run<deflate_team_##name, deflate_parser<deflate_team_##name>>(p);             \
    }

HR_K_DEFLATE_TEAMS(DEFLATE_KERNEL)
