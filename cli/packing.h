/* Casting and unpacking, as options and CF attributes ask for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PACKING_H
#define CLI_PACKING_H

#include <headrace/read.h>

#include "args.h"

typedef struct cli_packing {
    bool is_cast;   /* `dtype` differs from the array's */
    bool is_packed; /* `packing` is to be used */
    hr_dtype dtype; /* of what is read, where either is set */
    hr_packing packing;
    uint8_t fills[HR_MAX_FILLS][8];
} cli_packing;

/* What --dtype, --mask-and-scale, --scale, --offset and --fill mean for an array. Returns
 * an exit code, having said what is wrong. `out` may not be moved afterwards. */
int cli_packing_read(const cli_args *args, const hr_node_info *info, cli_packing *out);

#endif
