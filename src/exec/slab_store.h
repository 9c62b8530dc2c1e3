/* From a use of a chunk to a store of the kernels. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SLAB_STORE_H
#define HR_EXEC_SLAB_STORE_H

#include "cuda/kernel_abi.h"
#include "exec/slab.h"

/* Decoded bytes in device memory. */
typedef struct hr__decoded {
    hr__devptr chunk;
    uint64_t nbytes;
    hr__shuffle_mode mode;
    uint32_t typesize;
    uint64_t block_nbytes;
    const hr_dtype *from;
    const hr__steps *steps; /* from these items to the chunk's; NULL for none */
} hr__decoded;

/* The block of one use; its index lists go into the payload. HR_ERR_UNSUPPORTED where the
 * selection has more loops than a kernel takes. */
hr_status hr__slab_store(hr__slab *slab, const hr__use *use, const hr__decoded *decoded,
                         hr_k_store *store, hr_error *err);

/* Bring all decoded items to items of `to`, one after the other from dst on. */
hr_status hr__slab_store_items(const hr__decoded *decoded, const hr_dtype *to,
                               hr__devptr dst, hr_k_store *store, hr_error *err);

/* Copy nbytes of device memory as they are. */
hr_k_store hr__slab_store_bytes(hr__devptr dst, hr__devptr src, uint64_t nbytes);

#endif
