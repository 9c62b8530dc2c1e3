/* CUDA devices by the driver API. SPDX-License-Identifier: Apache-2.0
 *
 * The device's primary context is the only one used: it is what CUDA's runtime and every
 * framework on it use, so their memory and streams are valid here. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/lock.h"
#include "device/cuda_driver.h"
#include "device/cuda_kernels.h"
#include "device/device.h"
#include "device/nvcomp.h"

typedef struct cuda_device {
    hr__device base;
    const hr__cuda_driver *driver;
    uint64_t fork_generation;
    hr__cu_device device;
    hr__cu_context context;
    hr__cuda_kernels kernels;
} cuda_device;

/* The driver's numbers for a device; creates no context. */
typedef struct facts {
    hr__cu_device device;
    int major, minor, multiprocessors, block_shared_nbytes;
    hr__numa_node node;
} facts;

/* No reason to do without the device: drivers before CUDA 12.2 do not tell. */
static hr__numa_node find_node(const hr__cuda_driver *cu, hr__cu_device device) {
    int id = -1;
    if (cu->device_attribute(&id, HR__CU_HOST_NUMA_ID, device) != HR__CU_SUCCESS) {
        id = -1;
    }
    return hr__numa_find(HR__NUMA_ROOT, id);
}

static hr_status find_device(const hr__cuda_driver *cu, int32_t index, facts *out,
                             hr_error *err) {
    int count = 0;
    HR__TRY(hr__cuda_check(cu, cu->device_count(&count), "counting devices", err));
    if (index < 0 || index >= count) {
        return hr__fail(err, HR_ERR_DEVICE, "no device cuda:%d: this process sees %d",
                        index, count);
    }
    facts f = {0};
    HR__TRY(hr__cuda_check(cu, cu->device_get(&f.device, index), "cuDeviceGet", err));
    const struct {
        int attribute;
        int *value;
    } wanted[] = {{HR__CU_COMPUTE_MAJOR, &f.major},
                  {HR__CU_COMPUTE_MINOR, &f.minor},
                  {HR__CU_MULTIPROCESSOR_COUNT, &f.multiprocessors},
                  {HR__CU_MAX_BLOCK_SHARED_NBYTES, &f.block_shared_nbytes}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        HR__TRY(hr__cuda_check(
            cu, cu->device_attribute(wanted[i].value, wanted[i].attribute, f.device),
            "cuDeviceGetAttribute", err));
    }
    f.node = find_node(cu, f.device);
    *out = f;
    return HR_OK;
}

static hr_status cuda_describe(int32_t index, hr_device_info *info, hr_error *err) {
    const hr__cuda_driver *cu;
    facts f = {0};
    hr_device_info found = HR_DEVICE_INFO_INIT;
    int version = 0;
    size_t nbytes = 0;
    HR__TRY(hr__cuda_driver_open(&cu, err));
    HR__TRY(find_device(cu, index, &f, err));
    HR__TRY(hr__cuda_check(cu, cu->driver_version(&version), "cuDriverGetVersion", err));
    HR__TRY(hr__cuda_check(cu,
                           cu->device_name(found.name, (int)sizeof found.name, f.device),
                           "cuDeviceGetName", err));
    HR__TRY(hr__cuda_check(cu, cu->device_memory(&nbytes, f.device), "cuDeviceTotalMem",
                           err));
    (void)snprintf(found.driver, sizeof found.driver, "CUDA %d.%d", version / 1000,
                   version % 1000 / 10);
    found.memory_nbytes = nbytes;
    found.compute_major = f.major;
    found.compute_minor = f.minor;
    found.has_kernels = hr__cuda_kernels_serve(f.major, f.minor);
    hr__numa_describe(&f.node, found.numa, sizeof found.numa);
    *info = found;
    return HR_OK;
}

static hr_status cuda_enter(hr__device *base, void **saved, hr_error *err) {
    cuda_device *d = (cuda_device *)base;
    if (d->fork_generation != hr__fork_generation()) {
        return hr__cuda_fail_forked(err);
    }
    *saved = NULL; /* the driver keeps a stack: what was current is below ours */
    return hr__cuda_check(d->driver, d->driver->context_push(d->context),
                          "cuCtxPushCurrent", err);
}

static void cuda_leave(hr__device *base, void *saved) {
    cuda_device *d = (cuda_device *)base;
    hr__cu_context popped;
    (void)saved;
    (void)d->driver->context_pop(&popped);
}

static hr_status cuda_open(int32_t index, const hr_allocator *a, hr__device **out,
                           hr_error *err) {
    const hr__cuda_driver *cu;
    facts f = {0};
    HR__TRY(hr__cuda_driver_open(&cu, err));
    HR__TRY(find_device(cu, index, &f, err));
    HR__TRY(hr__cuda_kernels_check(index, f.major, f.minor, err));
    cuda_device *d = hr__calloc(a, sizeof *d);
    if (d == NULL) {
        return hr__fail_memory(err, sizeof *d);
    }
    d->base = (hr__device){.ops = &hr__cuda_ops,
                           .allocator = a,
                           .id = {.type = HR_DEVICE_CUDA, .index = index},
                           .nmultiprocessors = (uint32_t)f.multiprocessors,
                           .block_shared_nbytes = (uint32_t)f.block_shared_nbytes,
                           .node = f.node};
    d->driver = cu;
    d->fork_generation = hr__fork_generation();
    d->device = f.device;

    void *saved = NULL;
    hr_status status = hr__cuda_check(cu, cu->primary_retain(&d->context, f.device),
                                      "opening the device's primary context", err);
    if (status != HR_OK) {
        goto free_device;
    }
    status = cuda_enter(&d->base, &saved, err);
    if (status != HR_OK) {
        goto release_context;
    }
    status = hr__cuda_kernels_load(&d->kernels, cu, (uint32_t)f.multiprocessors, err);
    cuda_leave(&d->base, saved);
    if (status != HR_OK) {
        goto release_context;
    }
    *out = &d->base;
    return HR_OK;

release_context:
    (void)cu->primary_release(f.device);
free_device:
    hr__free(a, d, sizeof *d);
    return status;
}

static void cuda_close(hr__device *base) {
    cuda_device *d = (cuda_device *)base;
    void *saved = NULL;
    if (cuda_enter(base, &saved, NULL) == HR_OK) {
        hr__cuda_kernels_unload(&d->kernels);
        cuda_leave(base, saved);
    }
    if (d->fork_generation == hr__fork_generation()) {
        (void)d->driver->primary_release(d->device);
    }
    hr__free(d->base.allocator, d, sizeof *d);
}

static hr_status cuda_alloc(hr__device *base, uint64_t nbytes, hr__devptr *out,
                            hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    char what[64];
    hr__cu_devptr ptr = 0;
    if (nbytes > 0) {
        (void)snprintf(what, sizeof what, "allocating %llu bytes on cuda:%d",
                       (unsigned long long)nbytes, base->id.index);
        HR__TRY(hr__cuda_check(cu, cu->mem_alloc(&ptr, nbytes), what, err));
    }
    *out = ptr;
    return HR_OK;
}

static void cuda_free(hr__device *base, hr__devptr ptr) {
    if (ptr != 0) {
        (void)((cuda_device *)base)->driver->mem_free(ptr);
    }
}

static hr_status cuda_alloc_pinned(hr__device *base, uint64_t nbytes, void **out,
                                   hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    char what[64];
    void *ptr = NULL;
    if (nbytes > 0) {
        (void)snprintf(what, sizeof what, "allocating %llu bytes of pinned host memory",
                       (unsigned long long)nbytes);
        HR__TRY(hr__cuda_check(
            cu, cu->host_alloc(&ptr, nbytes, HR__CU_MEMHOSTALLOC_PORTABLE), what, err));
    }
    *out = ptr;
    return HR_OK;
}

static void cuda_free_pinned(hr__device *base, void *ptr) {
    if (ptr != NULL) {
        (void)((cuda_device *)base)->driver->host_free(ptr);
    }
}

static hr_status cuda_stream_create(hr__device *base, hr__stream *out, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    hr__cu_stream stream;
    HR__TRY(hr__cuda_check(cu, cu->stream_create(&stream, HR__CU_STREAM_NON_BLOCKING),
                           "cuStreamCreate", err));
    *out = stream;
    return HR_OK;
}

static void cuda_stream_destroy(hr__device *base, hr__stream s) {
    if (s != NULL) {
        (void)((cuda_device *)base)->driver->stream_destroy(s);
    }
}

static hr_status cuda_stream_sync(hr__device *base, hr__stream s, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    return hr__cuda_check(cu, cu->stream_synchronize(s), "cuStreamSynchronize", err);
}

static hr_status cuda_event_create(hr__device *base, hr__event *out, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    hr__cu_event event;
    HR__TRY(hr__cuda_check(cu, cu->event_create(&event, HR__CU_EVENT_BLOCKING_SYNC),
                           "cuEventCreate", err));
    *out = event;
    return HR_OK;
}

static void cuda_event_destroy(hr__device *base, hr__event e) {
    if (e != NULL) {
        (void)((cuda_device *)base)->driver->event_destroy(e);
    }
}

static hr_status cuda_event_record(hr__device *base, hr__event e, hr__stream s,
                                   hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    return hr__cuda_check(cu, cu->event_record(e, s), "cuEventRecord", err);
}

/* Who sleeps is woken late, by about as much as a small read takes: so long it is looked
 * at again and again instead. */
#define LOOKING_NS 100000

static hr_status cuda_event_sync(hr__device *base, hr__event e, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    const uint64_t end = hr__clock_ns() + LOOKING_NS;
    hr__cu_result result;
    do {
        result = cu->event_query(e);
    } while (result == HR__CU_NOT_READY && hr__clock_ns() < end);
    if (result == HR__CU_NOT_READY) {
        result = cu->event_synchronize(e);
    }
    return hr__cuda_check(cu, result, "cuEventSynchronize", err);
}

static hr_status cuda_stream_wait(hr__device *base, hr__stream s, hr__event e,
                                  hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    return hr__cuda_check(cu, cu->stream_wait_event(s, e, 0), "cuStreamWaitEvent", err);
}

static hr_status cuda_event_elapsed(hr__device *base, hr__event from, hr__event to,
                                    uint64_t *ns, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    float milliseconds = 0;
    HR__TRY(hr__cuda_check(cu, cu->event_elapsed(&milliseconds, from, to),
                           "cuEventElapsedTime", err));
    *ns = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    return HR_OK;
}

static hr_status cuda_copy_to_device(hr__device *base, hr__stream s, hr__devptr dst,
                                     const void *src, uint64_t nbytes, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    return nbytes == 0 ? HR_OK
                       : hr__cuda_check(cu, cu->copy_to_device(dst, src, nbytes, s),
                                        "copying to the device", err);
}

static hr_status cuda_copy_to_host(hr__device *base, hr__stream s, void *dst,
                                   hr__devptr src, uint64_t nbytes, hr_error *err) {
    const hr__cuda_driver *cu = ((cuda_device *)base)->driver;
    return nbytes == 0 ? HR_OK
                       : hr__cuda_check(cu, cu->copy_to_host(dst, src, nbytes, s),
                                        "copying from the device", err);
}

static hr_status cuda_launch(hr__device *base, hr__stream s, hr__kernel kernel,
                             const void *params, hr_error *err) {
    if (kernel == HR__KERNEL_NVCOMP) {
        return hr__nvcomp_decode(params, s, err);
    }
    return hr__cuda_kernels_launch(&((cuda_device *)base)->kernels, s, kernel, params,
                                   err);
}

const hr__device_ops hr__cuda_ops = {
    .name = "cuda",
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .alloc_pinned = cuda_alloc_pinned,
    .free_pinned = cuda_free_pinned,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_sync = cuda_stream_sync,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_sync = cuda_event_sync,
    .stream_wait = cuda_stream_wait,
    .event_elapsed = cuda_event_elapsed,
    .copy_to_device = cuda_copy_to_device,
    .copy_to_host = cuda_copy_to_host,
    .launch = cuda_launch,
};
