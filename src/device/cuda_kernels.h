/* The kernels of this build on a CUDA device. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_CUDA_KERNELS_H
#define HR_DEVICE_CUDA_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "device/cuda_driver.h"
#include "device/device.h"
#include "device/teams.h"

/* Files of kernels, and their entries. */
enum {
    HR__MODULE_SCATTER,
    HR__MODULE_STORE,
    HR__MODULE_FILTERS,
    HR__MODULE_LZ4,
    HR__MODULE_SNAPPY,
    HR__MODULE_BLOSCLZ,
    HR__MODULE_PACKBITS,
    HR__MODULE_DEFLATE,
    HR__MODULE_LZW,
    HR__MODULE_ZSTD,
    HR__NMODULES
};

enum {
    HR__ENTRY_SCATTER, /* of the narrowest items; wider ones follow */
    HR__ENTRY_STORE_MOVE = HR__ENTRY_SCATTER + 5,
    HR__ENTRY_STORE_CONVERT,
    HR__ENTRY_SUM,
    HR__ENTRY_SUM_FLOATS,
    HR__ENTRY_SUM_ROWS,
    HR__ENTRY_UNPACK,
    HR__ENTRY_EXACT,
    HR__ENTRY_WHOLE_LINKS,
    HR__ENTRY_WHOLE_CHAIN,
    HR__ENTRY_WHOLE_POINT,
    HR__ENTRY_WHOLE_RESOLVE,
    HR__ENTRY_WHOLE_SETTLE,
    HR__ENTRY_ZSTD_LITERALS,
    HR__ENTRY_ZSTD_SEQUENCES,
    HR__ENTRY_ZSTD_OFFSETS,
    HR__ENTRY_ZSTD_CHECKSUMS,
    HR__NENTRIES
};

typedef struct hr__cuda_kernels {
    const hr__cuda_driver *driver;
    hr__cu_module modules[HR__NMODULES];
    hr__cu_function entries[HR__NENTRIES];
    uint32_t max_blocks; /* of a launch; further tiles are for the same blocks */
    hr__cu_function teams[HR__NTEAMS];
    uint32_t team_nblocks[HR__NTEAMS]; /* that run at once; 0: too big for the device */
} hr__cuda_kernels;

/* Is there code for such a device? */
bool hr__cuda_kernels_serve(int32_t major, int32_t minor);
hr_status hr__cuda_kernels_check(int32_t index, int32_t major, int32_t minor,
                                 hr_error *err);

/* The device's context is current. */
hr_status hr__cuda_kernels_load(hr__cuda_kernels *k, const hr__cuda_driver *driver,
                                uint32_t nmultiprocessors, hr_error *err);
void hr__cuda_kernels_unload(hr__cuda_kernels *k);
hr_status hr__cuda_kernels_launch(hr__cuda_kernels *k, hr__stream s, hr__kernel kernel,
                                  const void *params, hr_error *err);

#endif
