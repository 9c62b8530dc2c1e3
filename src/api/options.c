/* Size-tagged option structs. SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"

#include <string.h>

#include "core/error.h"

/* No version's struct comes near it: such a size was never set. */
#define STRUCT_MAX_NBYTES 4096

hr_status hr__options_read(void *known, size_t known_nbytes, const void *given,
                           const char *what, hr_error *err) {
    if (given == NULL) {
        return HR_OK;
    }
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > STRUCT_MAX_NBYTES) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s: struct_size is %u", what, size);
    }
    const uint8_t *bytes = given;
    for (size_t i = known_nbytes; i < size; i++) {
        if (bytes[i] != 0) {
            return hr__fail(err, HR_ERR_ARGUMENT,
                            "%s: struct_size is %u, this version knows %zu bytes and the "
                            "rest is not zero",
                            what, size, known_nbytes);
        }
    }
    memcpy(known, given, size < known_nbytes ? size : known_nbytes);
    return HR_OK;
}

hr_status hr__options_write(void *out, const void *known, size_t known_nbytes,
                            const char *what, hr_error *err) {
    uint32_t size = 0;
    if (out != NULL) {
        memcpy(&size, out, sizeof size);
    }
    if (size < sizeof size) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s: no record, or struct_size is %u", what,
                        size);
    }
    size_t n = size < known_nbytes ? size : known_nbytes;
    memcpy((uint8_t *)out + sizeof size, (const uint8_t *)known + sizeof size,
           n - sizeof size);
    return HR_OK;
}
