/* SPDX-License-Identifier: Apache-2.0 */
#include "device/teams.h"

#define LZ4_TEAM(name, threads, shared)                                                  \
    {HR__KERNEL_LZ4, HR_K_LZ_##name, "hr_k_lz4_" #name "_kernel", threads, shared},
#define ZSTD_TEAM(name, threads, shared)                                                 \
    {HR__KERNEL_ZSTD, HR_K_ZSTD_##name, "hr_k_zstd_" #name "_kernel", threads, shared},

#define BLOSCLZ_TEAM(name, threads, shared)                                              \
    {HR__KERNEL_BLOSCLZ, HR_K_LZ_##name, "hr_k_blosclz_" #name "_kernel", threads,       \
     shared},
#define SNAPPY_TEAM(name, threads, shared)                                               \
    {HR__KERNEL_SNAPPY, HR_K_LZ_##name, "hr_k_snappy_" #name "_kernel", threads, shared},

#define DEFLATE_TEAM(name, threads, shared)                                              \
    {HR__KERNEL_DEFLATE, HR_K_DEFLATE_##name, "hr_k_deflate_" #name "_kernel", threads,  \
     shared},

#define PACKBITS_TEAM(name, threads, shared)                                             \
    {HR__KERNEL_PACKBITS, HR_K_LZ_##name, "hr_k_packbits_" #name "_kernel", threads,     \
     shared},
#define LZW_TEAM(name, threads, shared)                                                  \
    {HR__KERNEL_LZW, HR_K_LZW_##name, "hr_k_lzw_" #name "_kernel", threads, shared},

const hr__team hr__teams[HR__NTEAMS] = {
    HR_K_LZ_TEAMS(LZ4_TEAM) HR_K_LZ_TEAMS(SNAPPY_TEAM) HR_K_LZ_TEAMS(BLOSCLZ_TEAM)
        HR_K_LZ_TEAMS(PACKBITS_TEAM) HR_K_DEFLATE_TEAMS(DEFLATE_TEAM)
            HR_K_LZW_TEAMS(LZW_TEAM) HR_K_ZSTD_TEAMS(ZSTD_TEAM)};

bool hr__kernel_decodes(hr__kernel kernel) {
    return kernel == HR__KERNEL_LZ4 || kernel == HR__KERNEL_SNAPPY ||
           kernel == HR__KERNEL_BLOSCLZ || kernel == HR__KERNEL_PACKBITS ||
           kernel == HR__KERNEL_DEFLATE || kernel == HR__KERNEL_LZW;
}

hr_status hr__team_find(hr__kernel kernel, const hr_k_decode *params, uint32_t *out,
                        hr_error *err) {
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        if (hr__teams[i].kernel == kernel && hr__teams[i].team == params->team) {
            *out = i;
            return HR_OK;
        }
    }
    return hr__fail(err, HR_ERR_ARGUMENT, "kernel %d has no team %u", (int)kernel,
                    (unsigned)params->team);
}
