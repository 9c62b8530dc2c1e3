/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda_kernels.h"

#include <stddef.h>

#include "cuda/kernel_abi.h"
#include "device/geometry.h"

/* Blocks per multiprocessor of a launch. */
#define BLOCKS_PER_MULTIPROCESSOR 32

#ifdef HR_HAVE_KERNELS

extern const unsigned char hr__fatbin_scatter[], hr__fatbin_store[], hr__fatbin_filters[],
    hr__fatbin_lz4[], hr__fatbin_snappy[], hr__fatbin_blosclz[], hr__fatbin_packbits[],
    hr__fatbin_deflate[], hr__fatbin_lzw[], hr__fatbin_zstd[];

/* What the fatbin has machine code for, ascending; of the last also PTX. */
static const int32_t architectures[] = {HR_KERNEL_ARCHS};
#define NARCHITECTURES (sizeof architectures / sizeof *architectures)

/* Machine code runs on its major version from its minor version on, PTX on all later. */
bool hr__cuda_kernels_serve(int32_t major, int32_t minor) {
    int32_t device = major * 10 + minor;
    for (size_t i = 0; i < NARCHITECTURES; i++) {
        if (architectures[i] / 10 == major && architectures[i] <= device) {
            return true;
        }
    }
    return architectures[NARCHITECTURES - 1] <= device;
}

static hr_status load_modules(hr__cuda_kernels *k, hr_error *err) {
    static const unsigned char *const images[HR__NMODULES] = {
        [HR__MODULE_SCATTER] = hr__fatbin_scatter,
        [HR__MODULE_STORE] = hr__fatbin_store,
        [HR__MODULE_FILTERS] = hr__fatbin_filters,
        [HR__MODULE_LZ4] = hr__fatbin_lz4,
        [HR__MODULE_SNAPPY] = hr__fatbin_snappy,
        [HR__MODULE_BLOSCLZ] = hr__fatbin_blosclz,
        [HR__MODULE_PACKBITS] = hr__fatbin_packbits,
        [HR__MODULE_DEFLATE] = hr__fatbin_deflate,
        [HR__MODULE_LZW] = hr__fatbin_lzw,
        [HR__MODULE_ZSTD] = hr__fatbin_zstd};
    static const struct {
        int module;
        const char *name;
    } entries[HR__NENTRIES] = {
        {HR__MODULE_SCATTER, "hr_k_scatter_1_kernel"},
        {HR__MODULE_SCATTER, "hr_k_scatter_2_kernel"},
        {HR__MODULE_SCATTER, "hr_k_scatter_4_kernel"},
        {HR__MODULE_SCATTER, "hr_k_scatter_8_kernel"},
        {HR__MODULE_SCATTER, "hr_k_scatter_16_kernel"},
        {HR__MODULE_STORE, "hr_k_store_move_kernel"},
        {HR__MODULE_STORE, "hr_k_store_convert_kernel"},
        {HR__MODULE_FILTERS, "hr_k_sum_kernel"},
        {HR__MODULE_FILTERS, "hr_k_sum_floats_kernel"},
        {HR__MODULE_FILTERS, "hr_k_sum_rows_kernel"},
        {HR__MODULE_FILTERS, "hr_k_unpack_kernel"},
        {HR__MODULE_FILTERS, "hr_k_exact_kernel"},
        {HR__MODULE_LZ4, "hr_k_lz4_whole_links_kernel"},
        {HR__MODULE_LZ4, "hr_k_lz4_whole_chain_kernel"},
        {HR__MODULE_LZ4, "hr_k_lz4_whole_point_kernel"},
        {HR__MODULE_LZ4, "hr_k_lz4_whole_resolve_kernel"},
        {HR__MODULE_LZ4, "hr_k_lz4_whole_settle_kernel"},
        {HR__MODULE_ZSTD, "hr_k_zstd_literals_kernel"},
        {HR__MODULE_ZSTD, "hr_k_zstd_sequences_kernel"},
        {HR__MODULE_ZSTD, "hr_k_zstd_offsets_kernel"},
        {HR__MODULE_ZSTD, "hr_k_zstd_checksums_kernel"},
    };
    const hr__cuda_driver *cu = k->driver;
    for (size_t i = 0; i < HR__NMODULES; i++) {
        HR__TRY(hr__cuda_check(cu, cu->module_load(&k->modules[i], images[i]),
                               "loading the kernels", err));
    }
    for (size_t i = 0; i < HR__NENTRIES; i++) {
        hr__cu_module module = k->modules[entries[i].module];
        HR__TRY(hr__cuda_check(
            cu, cu->module_function(&k->entries[i], module, entries[i].name),
            entries[i].name, err));
    }
    return HR_OK;
}

hr_status hr__cuda_kernels_check(int32_t index, int32_t major, int32_t minor,
                                 hr_error *err) {
    if (hr__cuda_kernels_serve(major, minor)) {
        return HR_OK;
    }
    return hr__fail(err, HR_ERR_DEVICE,
                    "cuda:%d has compute capability %d.%d; the kernels of this build are "
                    "for " HR_KERNEL_ARCHS_TEXT,
                    index, major, minor);
}

#else

bool hr__cuda_kernels_serve(int32_t major, int32_t minor) {
    (void)major;
    (void)minor;
    return false;
}

static hr_status load_modules(hr__cuda_kernels *k, hr_error *err) {
    (void)k;
    return hr__fail(err, HR_ERR_UNSUPPORTED, "built without kernels");
}

hr_status hr__cuda_kernels_check(int32_t index, int32_t major, int32_t minor,
                                 hr_error *err) {
    (void)major;
    (void)minor;
    return hr__fail(
        err, HR_ERR_UNSUPPORTED,
        "cuda:%d cannot be used: headrace was built without kernels (no nvcc)", index);
}

#endif

static int module_of(hr__kernel decoder) {
    return decoder == HR__KERNEL_LZ4        ? HR__MODULE_LZ4
           : decoder == HR__KERNEL_SNAPPY   ? HR__MODULE_SNAPPY
           : decoder == HR__KERNEL_BLOSCLZ  ? HR__MODULE_BLOSCLZ
           : decoder == HR__KERNEL_PACKBITS ? HR__MODULE_PACKBITS
           : decoder == HR__KERNEL_DEFLATE  ? HR__MODULE_DEFLATE
           : decoder == HR__KERNEL_LZW      ? HR__MODULE_LZW
                                            : HR__MODULE_ZSTD;
}

/* As much of a multiprocessor's memory as can be shall be shared memory: these kernels
 * keep there what they would otherwise cache. */
static hr_status load_team(hr__cuda_kernels *k, uint32_t i, uint32_t nmultiprocessors,
                           hr_error *err) {
    const hr__cuda_driver *cu = k->driver;
    const hr__team *team = &hr__teams[i];
    int nblocks = 0;
    hr__cu_module module = k->modules[module_of(team->kernel)];
    HR__TRY(hr__cuda_check(cu, cu->module_function(&k->teams[i], module, team->symbol),
                           team->symbol, err));
    if (cu->function_set(k->teams[i], HR__CU_FUNC_MAX_DYNAMIC_SHARED_NBYTES,
                         (int)team->shared_nbytes) != HR__CU_SUCCESS) {
        return HR_OK; /* more than the device has: not a team for it */
    }
    HR__TRY(hr__cuda_check(
        cu, cu->function_set(k->teams[i], HR__CU_FUNC_PREFERRED_SHARED_PERCENT, 100),
        team->symbol, err));
    HR__TRY(hr__cuda_check(cu,
                           cu->function_blocks(&nblocks, k->teams[i], (int)team->nthreads,
                                               team->shared_nbytes),
                           team->symbol, err));
    k->team_nblocks[i] = (uint32_t)nblocks * nmultiprocessors;
    return HR_OK;
}

/* Blocks of an entry may have so much shared memory. */
static hr_status allow_shared(const hr__cuda_kernels *k, int entry, int nbytes,
                              hr_error *err) {
    const hr__cuda_driver *cu = k->driver;
    HR__TRY(
        hr__cuda_check(cu,
                       cu->function_set(k->entries[entry],
                                        HR__CU_FUNC_MAX_DYNAMIC_SHARED_NBYTES, nbytes),
                       "asking for shared memory", err));
    return hr__cuda_check(
        cu,
        cu->function_set(k->entries[entry], HR__CU_FUNC_PREFERRED_SHARED_PERCENT, 100),
        "asking for shared memory", err);
}

static hr_status load_teams(hr__cuda_kernels *k, uint32_t nmultiprocessors,
                            hr_error *err) {
    /* Where there is not so much, they are never launched. */
    (void)allow_shared(k, HR__ENTRY_WHOLE_LINKS, HR_K_WHOLE_SHARED_NBYTES, NULL);
    (void)allow_shared(k, HR__ENTRY_WHOLE_POINT, HR_K_WHOLE_SHARED_NBYTES, NULL);
    HR__TRY(
        allow_shared(k, HR__ENTRY_ZSTD_LITERALS, HR_K_ZSTD_LITERALS_SHARED_NBYTES, err));
    HR__TRY(allow_shared(k, HR__ENTRY_ZSTD_SEQUENCES, HR_K_ZSTD_SEQUENCES_SHARED_NBYTES,
                         err));
    for (uint32_t i = 0; i < HR__NTEAMS; i++) {
        HR__TRY(load_team(k, i, nmultiprocessors, err));
    }
    return HR_OK;
}

hr_status hr__cuda_kernels_load(hr__cuda_kernels *k, const hr__cuda_driver *driver,
                                uint32_t nmultiprocessors, hr_error *err) {
    *k = (hr__cuda_kernels){.driver = driver,
                            .max_blocks = nmultiprocessors * BLOCKS_PER_MULTIPROCESSOR};
    hr_status status = load_modules(k, err);
    if (status == HR_OK) {
        status = load_teams(k, nmultiprocessors, err);
    }
    if (status != HR_OK) {
        hr__cuda_kernels_unload(k);
    }
    return status;
}

void hr__cuda_kernels_unload(hr__cuda_kernels *k) {
    for (size_t i = 0; i < HR__NMODULES; i++) {
        if (k->modules[i] != NULL) {
            (void)k->driver->module_unload(k->modules[i]);
        }
    }
}

/* ntiles tiles for at most max_blocks blocks. */
static hr_status launch_tiles(hr__cuda_kernels *k, hr__stream s, int entry,
                              uint32_t ntiles, void *params, hr_error *err) {
    if (ntiles == 0) {
        return HR_OK;
    }
    uint32_t nblocks = ntiles < k->max_blocks ? ntiles : k->max_blocks;
    void *arguments[] = {params};
    return hr__cuda_check(k->driver,
                          k->driver->launch(k->entries[entry], nblocks, 1, 1,
                                            HR_K_THREADS, 1, 1, 0, s, arguments, NULL),
                          "launching a kernel", err);
}

static hr_status launch_filter_entry(hr__cuda_kernels *k, hr__stream s, int entry,
                                     hr_k_filter *filter, hr_error *err) {
    bool is_sum = entry <= HR__ENTRY_SUM_ROWS;
    bool has_tiles = entry >= HR__ENTRY_SUM_ROWS;
    uint32_t most = has_tiles ? filter->ntiles : filter->ntasks;
    uint32_t nblocks = most < k->max_blocks ? most : k->max_blocks;
    void *arguments[] = {filter};
    return hr__cuda_check(k->driver,
                          k->driver->launch(k->entries[entry], nblocks, 1, 1,
                                            is_sum ? HR_K_SUM_THREADS : HR_K_THREADS, 1,
                                            1, is_sum ? HR_K_SUM_SHARED_NBYTES : 0, s,
                                            arguments, NULL),
                          "launching a filter", err);
}

/* Each kind has an entry, up to the last one, which takes all others. */
static hr_status launch_filter(hr__cuda_kernels *k, hr__stream s, hr__kernel kernel,
                               const void *params, hr_error *err) {
    hr_k_filter filter = *(const hr_k_filter *)params;
    const int first = kernel == HR__KERNEL_SUM ? HR__ENTRY_SUM : HR__ENTRY_UNPACK;
    const int last = kernel == HR__KERNEL_SUM ? HR__ENTRY_SUM_ROWS : HR__ENTRY_EXACT;
    for (int entry = first; entry <= last && filter.ntasks > 0; entry++) {
        uint32_t kinds = filter.kinds >> (entry - first);
        if (entry == last ? kinds != 0 : (kinds & 1) != 0) {
            HR__TRY(launch_filter_entry(k, s, entry, &filter, err));
        }
    }
    return HR_OK;
}

/* params: the kernel's whole block. */
static hr_status launch_team(const hr__cuda_kernels *k, hr__stream s, hr__kernel kernel,
                             const hr_k_decode *decode, void *params, hr_error *err) {
    uint32_t i;
    HR__TRY(hr__team_find(kernel, decode, &i, err));
    const hr__team *team = &hr__teams[i];
    if (k->team_nblocks[i] == 0) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "%s needs %u bytes of shared memory: more than the device has",
                        team->symbol, (unsigned)team->shared_nbytes);
    }
    if (decode->ntasks == 0) {
        return HR_OK;
    }
    uint32_t nblocks =
        decode->ntasks < k->team_nblocks[i] ? decode->ntasks : k->team_nblocks[i];
    void *arguments[] = {params};
    return hr__cuda_check(k->driver,
                          k->driver->launch(k->teams[i], nblocks, 1, 1, team->nthreads, 1,
                                            1, team->shared_nbytes, s, arguments, NULL),
                          "launching a decoder", err);
}

/* How many of n things a block of threads takes. */
typedef struct share {
    uint32_t n, per_block, nthreads, shared_nbytes;
} share;

static hr_status launch_shares(const hr__cuda_kernels *k, hr__stream s, int entry,
                               share of, void *params, hr_error *err) {
    if (of.n == 0) {
        return HR_OK;
    }
    uint32_t nblocks = of.n / of.per_block + (of.n % of.per_block != 0);
    void *arguments[] = {params};
    return hr__cuda_check(k->driver,
                          k->driver->launch(k->entries[entry], nblocks, 1, 1, of.nthreads,
                                            1, 1, of.shared_nbytes, s, arguments, NULL),
                          "launching a decoder", err);
}

/* The same beside the kernel before it on the stream, which allows that. */
static hr_status launch_beside(const hr__cuda_kernels *k, hr__stream s, int entry,
                               share of, void *params, hr_error *err) {
    if (of.n == 0 || k->driver->launch_with == NULL) {
        return launch_shares(k, s, entry, of, params, err);
    }
    uint32_t nblocks = of.n / of.per_block + (of.n % of.per_block != 0);
    hr__cu_attribute attribute = {.id = HR__CU_NEED_NOT_WAIT, .value.number = 1};
    const hr__cu_launch launch = {.grid = {nblocks, 1, 1},
                                  .block = {of.nthreads, 1, 1},
                                  .shared_nbytes = of.shared_nbytes,
                                  .stream = s,
                                  .attributes = &attribute,
                                  .nattributes = 1};
    void *arguments[] = {params};
    return hr__cuda_check(
        k->driver, k->driver->launch_with(&launch, k->entries[entry], arguments, NULL),
        "launching a decoder", err);
}

static hr_status launch_whole(const hr__cuda_kernels *k, hr__stream s, hr_k_whole whole,
                              hr_error *err) {
    const uint32_t nregions = whole.nregions, ntasks = whole.streams.ntasks;
    const share regions = {nregions, 1, HR_K_WHOLE_THREADS, HR_K_WHOLE_SHARED_NBYTES};
    const share tasks = {ntasks, 1, HR_K_WHOLE_THREADS, HR_K_WHOLE_NEAR_NBYTES};
    const share one = {ntasks, ntasks, 1, 0};
    const share tiles = {whole.ntiles, 1, HR_K_WHOLE_TILE / 4, 0};
    HR__TRY(launch_shares(k, s, HR__ENTRY_WHOLE_LINKS, regions, &whole.streams, err));
    HR__TRY(launch_shares(k, s, HR__ENTRY_WHOLE_CHAIN, tasks, &whole.streams, err));
    HR__TRY(launch_shares(k, s, HR__ENTRY_WHOLE_POINT, regions, &whole.streams, err));
    HR__TRY(launch_shares(k, s, HR__ENTRY_WHOLE_RESOLVE, tiles, &whole.streams, err));
    return launch_shares(k, s, HR__ENTRY_WHOLE_SETTLE, one, &whole.streams, err);
}

static hr_status launch_zstd(const hr__cuda_kernels *k, hr__stream s, hr_k_zstd params,
                             hr_error *err) {
    const share literals = {params.nwith_literals, HR_K_ZSTD_TREES,
                            HR_K_ZSTD_LITERALS_THREADS, HR_K_ZSTD_LITERALS_SHARED_NBYTES};
    const share sequences = {params.nwith_sequences, params.nchains,
                             HR_K_ZSTD_SEQUENCES_THREADS,
                             HR_K_ZSTD_SEQUENCES_SHARED_NBYTES};
    const share offsets = {params.streams.ntasks, 32, 32, 0};
    const share checksums = {params.nwith_checksums, HR_K_ZSTD_SUMS, 32, 0};
    HR__TRY(launch_shares(k, s, HR__ENTRY_ZSTD_SEQUENCES, sequences, &params, err));
    HR__TRY(sequences.n > 0
                ? launch_beside(k, s, HR__ENTRY_ZSTD_LITERALS, literals, &params, err)
                : launch_shares(k, s, HR__ENTRY_ZSTD_LITERALS, literals, &params, err));
    HR__TRY(launch_shares(k, s, HR__ENTRY_ZSTD_OFFSETS, offsets, &params, err));
    HR__TRY(launch_team(k, s, HR__KERNEL_ZSTD, &params.streams, &params, err));
    return launch_shares(k, s, HR__ENTRY_ZSTD_CHECKSUMS, checksums, &params, err);
}

hr_status hr__cuda_kernels_launch(hr__cuda_kernels *k, hr__stream s, hr__kernel kernel,
                                  const void *params, hr_error *err) {
    if (kernel == HR__KERNEL_STORE) {
        hr_k_store_batch b = *(const hr_k_store_batch *)params;
        HR__TRY(launch_tiles(k, s, HR__ENTRY_STORE_MOVE, b.nmoving, &b, err));
        return launch_tiles(k, s, HR__ENTRY_STORE_CONVERT, b.nconverting, &b, err);
    }
    if (kernel == HR__KERNEL_SUM || kernel == HR__KERNEL_UNPACK) {
        return launch_filter(k, s, kernel, params, err);
    }
    if (hr__kernel_decodes(kernel)) {
        hr_k_decode decode = *(const hr_k_decode *)params;
        return launch_team(k, s, kernel, &decode, &decode, err);
    }
    if (kernel == HR__KERNEL_LZ4_WHOLE) {
        return launch_whole(k, s, *(const hr_k_whole *)params, err);
    }
    if (kernel == HR__KERNEL_ZSTD) {
        return launch_zstd(k, s, *(const hr_k_zstd *)params, err);
    }
    hr_k_tiles tiles;
    HR__TRY(hr__geometry_tiles(kernel, params, &tiles, err));
    int entry = HR__ENTRY_SCATTER + (int)hr__geometry_log_width(&tiles);
    return launch_tiles(k, s, entry, tiles.ntiles, &tiles, err);
}
