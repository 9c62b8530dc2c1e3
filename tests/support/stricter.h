/* What kernels refuse and the host's libraries let pass. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_SUPPORT_STRICTER_H
#define HR_TESTS_SUPPORT_STRICTER_H

#include <stdbool.h>
#include <string.h>

#include <headrace/status.h>

/* liblz4 takes matches of offset 0, which repeat bytes that nobody wrote; libzstd does
 * not always look whether a block's bits are used up, or whether it makes more than the
 * frame allows; libdeflate takes codes that are not complete. The formats forbid all
 * that. */
static inline bool is_stricter(const hr_error *device) {
    static const char *const reasons[] = {"refers to bytes before its output",
                                          "has malformed entropy-coded bits",
                                          "makes more bytes than expected"};
    bool found = false;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        found = found || strstr(device->message, reasons[i]) != NULL;
    }
    return found;
}

#endif
