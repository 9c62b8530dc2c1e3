/* Memory of a device, by the caller's hooks or the driver's. SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>

#include "device/device.h"

static bool has_hooks(const hr__device *d) {
    return d->hooks != NULL && d->hooks->alloc != NULL;
}

static bool has_pinned_hooks(const hr__device *d) {
    return d->hooks != NULL && d->hooks->alloc_pinned != NULL;
}

static hr_status fail_hook(const hr__device *d, const char *what, uint64_t nbytes,
                           hr_error *err) {
    return hr__fail(err, HR_ERR_MEMORY,
                    "the allocator given has no %" PRIu64 " bytes of %s for %s:%d",
                    nbytes, what, d->ops->name, d->id.index);
}

hr_status hr__device_alloc(hr__device *d, uint64_t nbytes, hr__stream stream,
                           hr__devptr *out, hr_error *err) {
    if (!has_hooks(d)) {
        return d->ops->alloc(d, nbytes, out, err);
    }
    void *ptr = NULL;
    if (nbytes > 0) {
        ptr = d->hooks->alloc(d->hooks->user, d->id, nbytes, stream);
        if (ptr == NULL) {
            return fail_hook(d, "device memory", nbytes, err);
        }
    }
    *out = (hr__devptr)(uintptr_t)ptr;
    return HR_OK;
}

void hr__device_free(hr__device *d, hr__devptr ptr, uint64_t nbytes, hr__stream stream) {
    if (!has_hooks(d)) {
        d->ops->free(d, ptr);
    } else if (ptr != 0) {
        d->hooks->free(d->hooks->user, d->id, (void *)(uintptr_t)ptr, nbytes, stream);
    }
}

static hr_status alloc_near(hr__device *d, uint64_t nbytes, void **out, hr_error *err) {
    const bool prefers = d->node.is_known && hr__numa_prefer(&d->node);
    const hr_status status = d->ops->alloc_pinned(d, nbytes, out, err);
    if (prefers) {
        hr__numa_prefer_usual();
    }
    return status;
}

hr_status hr__device_alloc_pinned(hr__device *d, uint64_t nbytes, void **out,
                                  hr_error *err) {
    if (!has_pinned_hooks(d)) {
        return alloc_near(d, nbytes, out, err);
    }
    void *ptr = NULL;
    if (nbytes > 0) {
        ptr = d->hooks->alloc_pinned(d->hooks->user, d->id, nbytes);
        if (ptr == NULL) {
            return fail_hook(d, "pinned memory", nbytes, err);
        }
    }
    *out = ptr;
    return HR_OK;
}

void hr__device_free_pinned(hr__device *d, void *ptr, uint64_t nbytes) {
    if (!has_pinned_hooks(d)) {
        d->ops->free_pinned(d, ptr);
    } else if (ptr != NULL) {
        d->hooks->free_pinned(d->hooks->user, d->id, ptr, nbytes);
    }
}
