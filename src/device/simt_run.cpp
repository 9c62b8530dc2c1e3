/* The kernels compiled for the host. SPDX-License-Identifier: Apache-2.0
 *
 * Neither exceptions nor the C++ library: what this is linked into stays plain C. */
#include "device/simt_run.h"

#include "cuda/blosclz.cu"
#include "cuda/deflate.cu"
#include "cuda/filters.cu"
#include "cuda/lz4.cu"
#include "cuda/lzw.cu"
#include "cuda/packbits.cu"
#include "cuda/scatter.cu"
#include "cuda/snappy.cu"
#include "cuda/store.cu"
#include "cuda/zstd.cu"

void hr__simt_run_tiles(const hr_k_tiles *tiles, uint32_t nblocks, uint64_t seed) {
    void (*kernel)(const hr_k_tiles) = nullptr;
    switch (tiles->width) {
    case 1:
        kernel = hr_k_scatter_1_kernel;
        break;
    case 2:
        kernel = hr_k_scatter_2_kernel;
        break;
    case 4:
        kernel = hr_k_scatter_4_kernel;
        break;
    case 8:
        kernel = hr_k_scatter_8_kernel;
        break;
    default:
        kernel = hr_k_scatter_16_kernel;
        break;
    }
    hr_simt_run(kernel, *tiles, nblocks, HR_K_THREADS, seed);
}

void hr__simt_run_store(const hr_k_store_batch *batch, uint32_t max_blocks,
                        uint64_t seed) {
    const uint32_t nmoving = min(batch->nmoving, max_blocks);
    const uint32_t nconverting = min(batch->nconverting, max_blocks);
    if (nmoving > 0) {
        hr_simt_run(hr_k_store_move_kernel, *batch, nmoving, HR_K_THREADS, seed);
    }
    if (nconverting > 0) {
        hr_simt_run(hr_k_store_convert_kernel, *batch, nconverting, HR_K_THREADS, seed);
    }
}

void hr__simt_run_sum(const hr_k_filter *filter, uint32_t nblocks, uint64_t seed) {
    if ((filter->kinds & 1) != 0) {
        hr_simt_run_lanes(hr_k_sum_kernel, *filter, nblocks, HR_K_SUM_THREADS,
                          HR_K_SUM_SHARED_NBYTES, seed);
    }
    if ((filter->kinds & 1U << HR_K_FILTER_FLOATS) != 0) {
        hr_simt_run_lanes(hr_k_sum_floats_kernel, *filter, nblocks, HR_K_SUM_THREADS,
                          HR_K_SUM_SHARED_NBYTES, seed);
    }
    if ((filter->kinds & 1U << HR_K_FILTER_ROWS) != 0) {
        hr_simt_run_lanes(hr_k_sum_rows_kernel, *filter, nblocks, HR_K_SUM_THREADS, 0,
                          seed);
    }
}

void hr__simt_run_unpack(const hr_k_filter *filter, uint32_t nblocks, uint64_t seed) {
    if ((filter->kinds & 1) != 0) {
        hr_simt_run(hr_k_unpack_kernel, *filter, nblocks, HR_K_THREADS, seed);
    }
    if (filter->kinds > 1) {
        hr_simt_run(hr_k_exact_kernel, *filter, nblocks, HR_K_THREADS, seed);
    }
}

void hr__simt_run_team(uint32_t team, const hr_k_decode *params, uint32_t nblocks,
                       uint64_t seed) {
#define LZ4_TEAM(name, threads, shared) {hr_k_lz4_##name##_kernel, threads, shared},
#define BLOSCLZ_TEAM(name, threads, shared)                                              \
    {hr_k_blosclz_##name##_kernel, threads, shared},
#define SNAPPY_TEAM(name, threads, shared) {hr_k_snappy_##name##_kernel, threads, shared},
#define DEFLATE_TEAM(name, threads, shared)                                              \
    {hr_k_deflate_##name##_kernel, threads, shared},
#define PACKBITS_TEAM(name, threads, shared)                                             \
    {hr_k_packbits_##name##_kernel, threads, shared},
#define LZW_TEAM(name, threads, shared) {hr_k_lzw_##name##_kernel, threads, shared},
    static const struct {
        void (*kernel)(const hr_k_decode);
        uint32_t nthreads, shared_nbytes;
    } teams[] = {HR_K_LZ_TEAMS(LZ4_TEAM) HR_K_LZ_TEAMS(SNAPPY_TEAM)
                     HR_K_LZ_TEAMS(BLOSCLZ_TEAM) HR_K_LZ_TEAMS(PACKBITS_TEAM)
                         HR_K_DEFLATE_TEAMS(DEFLATE_TEAM)
                             HR_K_LZW_TEAMS(LZW_TEAM)}; /* in hr__teams' order */
    hr_simt_run_lanes(teams[team].kernel, *params, nblocks, teams[team].nthreads,
                      teams[team].shared_nbytes, seed);
}

void hr__simt_run_whole(const hr_k_whole *params, uint64_t seed) {
    const hr_k_decode &p = params->streams;
    hr_simt_run_lanes(hr_k_lz4_whole_links_kernel, p, params->nregions,
                      HR_K_WHOLE_THREADS, HR_K_WHOLE_SHARED_NBYTES, seed);
    hr_simt_run_lanes(hr_k_lz4_whole_chain_kernel, p, p.ntasks, HR_K_WHOLE_THREADS,
                      HR_K_WHOLE_NEAR_NBYTES, seed);
    hr_simt_run_lanes(hr_k_lz4_whole_point_kernel, p, params->nregions,
                      HR_K_WHOLE_THREADS, HR_K_WHOLE_SHARED_NBYTES, seed);
    hr_simt_run(hr_k_lz4_whole_resolve_kernel, p, params->ntiles, HR_K_WHOLE_TILE / 4,
                seed);
    hr_simt_run(hr_k_lz4_whole_settle_kernel, p, 1, 1, seed);
}

void hr__simt_run_zstd(const hr_k_zstd *params, uint32_t nblocks, uint64_t seed) {
#define ZSTD_TEAM(name, threads, shared) {hr_k_zstd_##name##_kernel, threads, shared},
    static const struct {
        void (*kernel)(const hr_k_zstd);
        uint32_t nthreads, shared_nbytes;
    } teams[] = {HR_K_ZSTD_TEAMS(ZSTD_TEAM)};
    const uint32_t team = params->streams.team;
    hr_simt_run_lanes(hr_k_zstd_literals_kernel, *params, nblocks,
                      HR_K_ZSTD_LITERALS_THREADS, HR_K_ZSTD_LITERALS_SHARED_NBYTES, seed);
    hr_simt_run_lanes(hr_k_zstd_sequences_kernel, *params, nblocks,
                      HR_K_ZSTD_SEQUENCES_THREADS, HR_K_ZSTD_SEQUENCES_SHARED_NBYTES,
                      seed);
    hr_simt_run(hr_k_zstd_offsets_kernel, *params, nblocks, 32, seed);
    hr_simt_run_lanes(teams[team].kernel, *params, nblocks, teams[team].nthreads,
                      teams[team].shared_nbytes, seed);
    if (params->nwith_checksums > 0) {
        hr_simt_run_lanes(hr_k_zstd_checksums_kernel, *params, nblocks, 32, 0, seed);
    }
}
