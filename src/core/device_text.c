/* Devices by name. SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include <headrace/types.h>

#include "core/error.h"

/* Digits of a device number, of which machines have few. */
static bool parse_index(const char *p, int32_t *index) {
    size_t n = strspn(p, "0123456789");
    if (n == 0 || n > 4 || p[n] != '\0') {
        return false;
    }
    int32_t v = 0;
    for (; *p != '\0'; p++) {
        v = v * 10 + (*p - '0');
    }
    *index = v;
    return true;
}

hr_status hr_device_parse(const char *text, hr_device *device, hr_error *err) {
    if (text == NULL || device == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "device");
    }
    hr_device d = {0};
    if (strcmp(text, "cpu") == 0) {
        d.type = HR_DEVICE_CPU;
    } else if (strcmp(text, "simt") == 0) {
        d.type = HR_DEVICE_SIMT;
    } else if (strcmp(text, "cuda") == 0 ||
               (strncmp(text, "cuda:", 5) == 0 && parse_index(text + 5, &d.index))) {
        d.type = HR_DEVICE_CUDA;
    } else {
        return hr__fail(
            err, HR_ERR_ARGUMENT,
            "no device is called \"%.64s\", expected cpu, cuda, cuda:N or simt", text);
    }
    *device = d;
    return HR_OK;
}
