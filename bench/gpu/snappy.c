/* bench_snappy: streams that libsnappy writes, without their sizes. SPDX-License-Identifier: Apache-2.0
 */
#include "codec.h"
#include "kern/encode.h"

const bench_codec codec = {.kernel = HR__KERNEL_SNAPPY,
                           .nvcomp = NULL, /* wants the size in front */
                           .bound = encode_bound,
                           .compress = encode_snappy,
                           .choose_team = hr__snappy_choose_team};
