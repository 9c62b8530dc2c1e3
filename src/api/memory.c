/* Device memory for callers. SPDX-License-Identifier: Apache-2.0 */
#include <headrace/memory.h>

#include "exec/context.h"

/* The device, entered. */
static hr_status enter(hr_context *context, hr_device device, hr__device **out,
                       void **saved, hr_error *err) {
    if (context == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context is NULL");
    }
    hr__ring *ring = NULL;
    HR__TRY(hr__ring_set_get(&context->rings, device, &ring, err));
    HR__TRY(ring->device->ops->enter(ring->device, saved, err));
    *out = ring->device;
    return HR_OK;
}

hr_status hr_memory_alloc(hr_context *context, hr_device device, uint64_t nbytes,
                          void **out, hr_error *err) {
    if (out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "out is NULL");
    }
    hr__device *d = NULL;
    void *saved = NULL;
    HR__TRY(enter(context, device, &d, &saved, err));
    hr__devptr ptr = 0;
    hr_status status = d->ops->alloc(d, nbytes, &ptr, err);
    d->ops->leave(d, saved);
    if (status == HR_OK) {
        *out = (void *)(uintptr_t)ptr;
    }
    return status;
}

void hr_memory_free(hr_context *context, hr_device device, void *ptr) {
    hr__device *d = NULL;
    void *saved = NULL;
    if (ptr != NULL && enter(context, device, &d, &saved, NULL) == HR_OK) {
        d->ops->free(d, (hr__devptr)(uintptr_t)ptr);
        d->ops->leave(d, saved);
    }
}

hr_status hr_memory_to_host(hr_context *context, hr_device device, void *dst,
                            const void *src, uint64_t nbytes, hr_error *err) {
    if ((dst == NULL || src == NULL) && nbytes > 0) {
        return hr__fail(err, HR_ERR_ARGUMENT, "dst or src is NULL");
    }
    hr__device *d = NULL;
    void *saved = NULL;
    HR__TRY(enter(context, device, &d, &saved, err));
    hr__stream stream = NULL;
    hr_status status = nbytes == 0 ? HR_OK : d->ops->stream_create(d, &stream, err);
    if (stream != NULL) {
        status =
            d->ops->copy_to_host(d, stream, dst, (hr__devptr)(uintptr_t)src, nbytes, err);
        hr_status synced = d->ops->stream_sync(d, stream, status == HR_OK ? err : NULL);
        status = status == HR_OK ? synced : status;
        d->ops->stream_destroy(d, stream);
    }
    d->ops->leave(d, saved);
    return status;
}
