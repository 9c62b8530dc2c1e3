/* Which threads decode: the variants of the decoding kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_TEAMS_H
#define HR_DEVICE_TEAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "cuda/kernel_abi.h"
#include "device/device.h"

#define HR__NTEAMS                                                                       \
    (4 * HR_K_LZ_NTEAMS + HR_K_DEFLATE_NTEAMS + HR_K_LZW_NTEAMS + HR_K_ZSTD_NTEAMS)

typedef struct hr__team {
    hr__kernel kernel;
    uint32_t team; /* number among the kernel's */
    const char *symbol;
    uint32_t nthreads, shared_nbytes; /* of a block */
} hr__team;

extern const hr__team hr__teams[HR__NTEAMS];

/* Does it take a hr_k_decode? */
bool hr__kernel_decodes(hr__kernel kernel);

/* The number in hr__teams of what a block asks for. Errors: HR_ERR_ARGUMENT if the kernel
 * has no such team. */
hr_status hr__team_find(hr__kernel kernel, const hr_k_decode *params, uint32_t *out,
                        hr_error *err);

#endif
