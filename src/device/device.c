/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include <stddef.h>

const hr__device_ops *hr__device_find(int32_t type) {
    switch (type) {
    case HR_DEVICE_CUDA:
        return &hr__cuda_ops;
#ifdef HR_WITH_SIMT
    case HR_DEVICE_SIMT:
        return &hr__simt_ops;
#endif
    default:
        return NULL;
    }
}
