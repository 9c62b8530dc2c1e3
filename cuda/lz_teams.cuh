/* The teams that LZ decoders have. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_LZ_TEAMS_CUH
#define HR_CUDA_LZ_TEAMS_CUH

#include "lz_parser.cuh"
#include "lz_runner.cuh"

/* Teams: warps to parse and make, segment, window, ring, parts, output, singles, blocks.
 * Those with an s are for data with long ways to follow, as byte-shuffled data is; that
 * with an r for long sequences. */
typedef lz_team<1, 0, 36, 128, 0, 512, 6144, true, 32> lz_team_w1s;
typedef lz_team<2, 0, 36, 256, 0, 1024, 12288, false, 16> lz_team_w2;
typedef lz_team<2, 0, 36, 256, 0, 1024, 12288, true, 16> lz_team_w2s;
typedef lz_team<4, 0, 36, 1024, 0, 2048, 24576, false, 9> lz_team_w4;
typedef lz_team<4, 0, 36, 512, 0, 2048, 24576, true, 9> lz_team_w4s;
typedef lz_team<8, 0, 36, 2048, 8192, 4096, 49152, false, 4> lz_team_w8;
typedef lz_team<4, 4, 36, 512, 8192, 2048, 24576, true, 4> lz_team_p4s;
typedef lz_team<16, 16, 36, 4096, 65536, 8192, 65536, false, 1> lz_team_p16;
typedef lz_team<16, 16, 36, 2048, 65536, 8192, 65536, true, 1> lz_team_p16s;
typedef lz_team<1, 0, 32, 0, 0, 0, 0, true, 32> lz_team_r1;

template <class C, class F> struct lz_parser_of { typedef lz_parser<C, F> type; };
template <class F> struct lz_parser_of<lz_team_r1, F> {
    typedef lz_runner<lz_team_r1, F> type;
};

#define LZ_KERNEL(codec, name, threads, shared_nbytes)                                   \
    static_assert(lz_team_##name::THREADS == threads, "kernel_abi.h disagrees");         \
    static_assert(lz_layout<lz_team_##name>::SCRATCH +                                   \
                          lz_parser<lz_team_##name, codec##_format>::SCRATCH ==          \
                      shared_nbytes,                                                     \
                  "kernel_abi.h disagrees");                                             \
    extern "C" __global__ void __launch_bounds__(threads, lz_team_##name::BLOCKS)        \
        hr_k_##codec##_##name##_kernel(const __grid_constant__ hr_k_decode p) {          \
        lz_run<lz_team_##name, lz_parser_of<lz_team_##name, codec##_format>::type>(p);   \
    }

#endif
