/* Zarr metadata documents. SPDX-License-Identifier: Apache-2.0
 *
 * The first byte says which document the rest is. */
#include "support/zarr_exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static const char *const names[] = {"zarr.json", ".zarray", ".zmetadata", ".zgroup"};
    if (nbytes > 0) {
        (void)zarr_exercise(names[data[0] & 3], data + 1, nbytes - 1);
    }
    return 0;
}
