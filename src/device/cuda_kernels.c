/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda_kernels.h"

#include <stddef.h>

#include "cuda/kernel_abi.h"
#include "device/geometry.h"

/* Blocks per multiprocessor of a launch. */
#define BLOCKS_PER_MULTIPROCESSOR 32

#ifdef HR_HAVE_KERNELS

extern const unsigned char hr__fatbin_scatter[], hr__fatbin_store[];

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
        [HR__MODULE_SCATTER] = hr__fatbin_scatter, [HR__MODULE_STORE] = hr__fatbin_store};
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

hr_status hr__cuda_kernels_load(hr__cuda_kernels *k, const hr__cuda_driver *driver,
                                uint32_t nmultiprocessors, hr_error *err) {
    *k = (hr__cuda_kernels){.driver = driver,
                            .max_blocks = nmultiprocessors * BLOCKS_PER_MULTIPROCESSOR};
    hr_status status = load_modules(k, err);
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

hr_status hr__cuda_kernels_launch(hr__cuda_kernels *k, hr__stream s, hr__kernel kernel,
                                  const void *params, hr_error *err) {
    if (kernel == HR__KERNEL_STORE) {
        hr_k_store_batch b = *(const hr_k_store_batch *)params;
        HR__TRY(launch_tiles(k, s, HR__ENTRY_STORE_MOVE, b.nmoving, &b, err));
        return launch_tiles(k, s, HR__ENTRY_STORE_CONVERT, b.nconverting, &b, err);
    }
    hr_k_tiles tiles;
    HR__TRY(hr__geometry_tiles(kernel, params, &tiles, err));
    int entry = HR__ENTRY_SCATTER + (int)hr__geometry_log_width(&tiles);
    return launch_tiles(k, s, entry, tiles.ntiles, &tiles, err);
}
