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

hr_status hr__device_require(int32_t type, const hr__device_ops **out, hr_error *err) {
    const hr__device_ops *ops = hr__device_find(type);
    if (ops == NULL && type == HR_DEVICE_SIMT) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "this build is without simt, the kernels on the CPU for tests");
    }
    if (ops == NULL) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "this build has no device of type %d",
                        type);
    }
    *out = ops;
    return HR_OK;
}
