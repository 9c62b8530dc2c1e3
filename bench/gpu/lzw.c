/* bench_lzw: streams as libtiff writes them. SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"
#include "kern/encode.h"

static uint32_t bound(uint32_t nbytes) {
    return nbytes + nbytes / 2 + 64;
}

const bench_codec codec = {.kernel = HR__KERNEL_LZW,
                           .nvcomp = NULL,
                           .bound = bound,
                           .compress = encode_lzw,
                           .choose_team = hr__lzw_choose_team};
