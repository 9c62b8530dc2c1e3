/* The tables of a launch of the zstd decoder. SPDX-License-Identifier: Apache-2.0
 *
 * Pure: they are laid out and filled in host memory, from where the caller brings them to
 * the device. */
#ifndef HR_DEVICE_KZSTD_H
#define HR_DEVICE_KZSTD_H

#include "cuda/kernel_abi.h"
#include "device/device.h"

typedef struct hr__kzstd_stream {
    hr_k_task task;
    uint32_t first_block, nblocks; /* among the batch's */
} hr__kzstd_stream;

/* Streams and their blocks, whose `stream` and order the tables settle. */
typedef struct hr__kzstd_batch {
    hr__kzstd_stream *streams; /* sorted by hr__kzstd_fill */
    const hr_k_zstd_block *blocks;
    uint32_t nstreams, nblocks;
} hr__kzstd_batch;

/* Places in nbytes of memory, 16 bytes aligned. Zeros lie elsewhere: they need not come
 * from the host. */
typedef struct hr__kzstd_tables {
    uint64_t tasks, firsts, blocks, literals, sequences, checksums, nbytes;
    uint64_t zeros_nbytes;
} hr__kzstd_tables;

void hr__kzstd_lay_out(const hr__kzstd_batch *batch, hr__kzstd_tables *t);

/* Fill host[0 … nbytes), which will be at `device`; zeros: zeros_nbytes of zeros there,
 * 16 bytes aligned. `out` is whole but for status and team. */
void hr__kzstd_fill(const hr__kzstd_batch *batch, const hr__kzstd_tables *t,
                    uint8_t *host, hr__devptr device, hr__devptr zeros, hr_k_zstd *out);

#endif
