/* bench_lz4: blocks that liblz4's fast compressor writes. SPDX-License-Identifier: Apache-2.0
 */
#include <lz4.h>

#include "codec.h"

static uint32_t bound(uint32_t nbytes) {
    return (uint32_t)LZ4_compressBound((int)nbytes);
}

static uint32_t compress(const uint8_t *src, uint32_t nbytes, uint8_t *dst,
                         uint32_t most) {
    return (uint32_t)LZ4_compress_default((const char *)src, (char *)dst, (int)nbytes,
                                          (int)most);
}

const bench_codec codec = {.kernel = HR__KERNEL_LZ4,
                           .nvcomp = "LZ4",
                           .bound = bound,
                           .compress = compress,
                           .choose_team = hr__lz_choose_team};
