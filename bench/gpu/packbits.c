/* bench_packbits: runs of three bytes and more, and literals. SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"
#include "kern/encode.h"

static uint32_t bound(uint32_t nbytes) {
    return nbytes + nbytes / 64 + 200;
}

const bench_codec codec = {.kernel = HR__KERNEL_PACKBITS,
                           .nvcomp = NULL,
                           .bound = bound,
                           .compress = encode_packbits,
                           .choose_team = hr__packbits_choose_team};
