/* bench_deflate: streams that zlib writes, level 5. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "codec.h"

static uint32_t bound(uint32_t nbytes) {
    return (uint32_t)compressBound(nbytes) + 64;
}

static uint32_t compress_raw(const uint8_t *src, uint32_t nbytes, uint8_t *dst,
                             uint32_t most) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)src,
                  .avail_in = nbytes,
                  .next_out = dst,
                  .avail_out = most};
    if (deflateInit2(&z, 5, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END) {
        printf("zlib fails\n");
        exit(EXIT_FAILURE);
    }
    (void)deflateEnd(&z);
    return (uint32_t)z.total_out;
}

const bench_codec codec = {.kernel = HR__KERNEL_DEFLATE,
                           .nvcomp = "Deflate",
                           .bound = bound,
                           .compress = compress_raw,
                           .choose_team = hr__deflate_choose_team};
