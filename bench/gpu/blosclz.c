/* bench_blosclz: streams that c-blosc writes at level 9. SPDX-License-Identifier: Apache-2.0
 */
#include "codec.h"
#include "kern/encode.h"

const bench_codec codec = {.kernel = HR__KERNEL_BLOSCLZ,
                           .nvcomp = NULL,
                           .bound = encode_bound,
                           .compress = encode_blosclz,
                           .choose_team = hr__lz_choose_team};
