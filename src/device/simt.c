/* The kernels on the CPU, as a device. SPDX-License-Identifier: Apache-2.0
 *
 * For tests of everything above. Its memory is the host's. Work on a stream is put off
 * until somebody waits for it, so that a buffer used too early, or a wait that is
 * missing, shows as wrong data; the NULL stream, which no caller can wait for here, runs
 * at once. A failure of put-off work breaks the device for good, as it does with CUDA. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "core/lock.h"
#include "core/recycler.h"
#include "device/device.h"
#include "device/simt_queue.h"

enum { NDEVICES = 2 }; /* so that tests have batches for several */

typedef struct simt_device {
    hr__device base;
    uint64_t fork_generation;
    pthread_mutex_t lock; /* held while work runs */
    hr__recycler records; /* of the queue: no launch shall ask for memory once warm */
    hr__simt_queue queue;
} simt_device;

static hr__simt_queue *lock(hr__device *base) {
    simt_device *d = (simt_device *)base;
    pthread_mutex_lock(&d->lock);
    return &d->queue;
}

static void unlock(hr__device *base) {
    pthread_mutex_unlock(&((simt_device *)base)->lock);
}

/* Has put-off work failed? Called with the lock held. */
static hr_status check(const hr__simt_queue *q, hr_error *err) {
    if (q->failure.status != HR_OK) {
        hr__error_copy(err, &q->failure);
    }
    return q->failure.status;
}

static hr_status simt_describe(int32_t index, hr_device_info *info, hr_error *err) {
    if (index < 0 || index >= NDEVICES) {
        return hr__fail(err, HR_ERR_DEVICE, "no device simt:%d: there are %d", index,
                        NDEVICES);
    }
    long npages = sysconf(_SC_PHYS_PAGES), page_nbytes = sysconf(_SC_PAGESIZE);
    hr_device_info found = HR_DEVICE_INFO_INIT;
    (void)snprintf(found.name, sizeof found.name, "kernels on the CPU");
    found.memory_nbytes =
        npages > 0 && page_nbytes > 0 ? (uint64_t)npages * (uint64_t)page_nbytes : 0;
    found.has_kernels = 1;
    *info = found;
    return HR_OK;
}

static hr_status simt_open(int32_t index, const hr_allocator *a, hr__device **out,
                           hr_error *err) {
    hr_device_info info;
    HR__TRY(simt_describe(index, &info, err));
    simt_device *d = hr__calloc(a, sizeof *d);
    if (d == NULL) {
        return hr__fail_memory(err, sizeof *d);
    }
    d->base = (hr__device){.ops = &hr__simt_ops,
                           .allocator = a,
                           .id = {.type = HR_DEVICE_SIMT, .index = index},
                           .nmultiprocessors = 1,
                           .block_shared_nbytes = UINT32_MAX};
    d->fork_generation = hr__fork_generation();
    hr__recycler_init(&d->records, a);
    d->queue = (hr__simt_queue){.allocator = &d->records.allocator,
                                .memory.allocator = a,
                                .failure = HR_ERROR_INIT};
    if (pthread_mutex_init(&d->lock, NULL) != 0) {
        hr__free(a, d, sizeof *d);
        return hr__fail(err, HR_ERR_MEMORY, "cannot create a lock");
    }
    *out = &d->base;
    return HR_OK;
}

static bool is_forked(const simt_device *d) {
    return d->fork_generation != hr__fork_generation();
}

static void simt_close(hr__device *base) {
    simt_device *d = (simt_device *)base;
    if (!is_forked(d)) { /* else a thread of the parent may have been amid a change */
        hr__simt_run_all(&d->queue);
        while (d->queue.streams != NULL) {
            hr__simt_stream_destroy(&d->queue, d->queue.streams);
        }
        hr__simt_memory_free_all(&d->queue.memory);
        pthread_mutex_destroy(&d->lock);
    }
    hr__recycler_free(&d->records);
    hr__free(base->allocator, d, sizeof *d);
}

static hr_status simt_enter(hr__device *base, void **saved, hr_error *err) {
    if (is_forked((simt_device *)base)) {
        return hr__fail(err, HR_ERR_FORKED,
                        "the simt device belongs to the parent of this forked process");
    }
    *saved = NULL;
    return HR_OK;
}

static void simt_leave(hr__device *base, void *saved) {
    (void)base;
    (void)saved;
}

static hr_status alloc_memory(hr__device *base, uint64_t nbytes, void **out,
                              hr_error *err) {
    hr__simt_queue *q = lock(base);
    void *ptr = NULL;
    hr_status status = check(q, err);
    if (status == HR_OK && nbytes > 0) {
        ptr = hr__simt_memory_alloc(&q->memory, nbytes);
        status = ptr == NULL ? hr__fail_memory(err, nbytes) : HR_OK;
    }
    unlock(base);
    if (status == HR_OK) {
        *out = ptr;
    }
    return status;
}

/* Waits for all work, as it does with CUDA. */
static void free_memory(hr__device *base, void *ptr) {
    if (ptr != NULL) {
        hr__simt_queue *q = lock(base);
        hr__simt_run_all(q);
        bool is_broken = q->failure.status != HR_OK;
        (void)hr__simt_memory_free(&q->memory, ptr, is_broken ? NULL : &q->failure);
        unlock(base);
    }
}

static hr_status simt_alloc(hr__device *base, uint64_t nbytes, hr__devptr *out,
                            hr_error *err) {
    void *ptr;
    HR__TRY(alloc_memory(base, nbytes, &ptr, err));
    *out = (hr__devptr)(uintptr_t)ptr;
    return HR_OK;
}

static void simt_free(hr__device *base, hr__devptr ptr) {
    free_memory(base, (void *)(uintptr_t)ptr);
}

static hr_status simt_stream_create(hr__device *base, hr__stream *out, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr__simt_stream *s = NULL;
    hr_status status = check(q, err);
    if (status == HR_OK) {
        s = hr__simt_stream_create(q);
        status =
            s == NULL ? hr__fail(err, HR_ERR_MEMORY, "no memory for a stream") : HR_OK;
    }
    unlock(base);
    if (status == HR_OK) {
        *out = s;
    }
    return status;
}

static void simt_stream_destroy(hr__device *base, hr__stream s) {
    if (s != NULL) {
        hr__simt_stream_destroy(lock(base), s);
        unlock(base);
    }
}

static hr_status simt_stream_sync(hr__device *base, hr__stream s, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr__simt_run(q, s);
    hr_status status = check(q, err);
    unlock(base);
    return status;
}

static hr_status simt_event_create(hr__device *base, hr__event *out, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr__simt_event *e = NULL;
    hr_status status = check(q, err);
    if (status == HR_OK) {
        e = hr__simt_event_create(q);
        status =
            e == NULL ? hr__fail(err, HR_ERR_MEMORY, "no memory for an event") : HR_OK;
    }
    unlock(base);
    if (status == HR_OK) {
        *out = e;
    }
    return status;
}

static void simt_event_destroy(hr__device *base, hr__event e) {
    if (e != NULL) {
        hr__simt_event_destroy(lock(base), e);
        unlock(base);
    }
}

static hr_status simt_event_record(hr__device *base, hr__event e, hr__stream s,
                                   hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr_status status = check(q, err);
    status = status == HR_OK ? hr__simt_record(q, e, s, err) : status;
    unlock(base);
    return status;
}

static hr_status wait(hr__device *base, hr__stream s, hr__event e, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr_status status = hr__simt_wait(q, s, e, err);
    status = status == HR_OK ? check(q, err) : status;
    unlock(base);
    return status;
}

static hr_status simt_event_sync(hr__device *base, hr__event e, hr_error *err) {
    return wait(base, NULL, e, err);
}

static hr_status simt_stream_wait(hr__device *base, hr__stream s, hr__event e,
                                  hr_error *err) {
    return wait(base, s, e, err);
}

static hr_status simt_event_elapsed(hr__device *base, hr__event from, hr__event to,
                                    uint64_t *ns, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr_status status = check(q, err);
    const uint64_t first = hr__simt_event_time(from), last = hr__simt_event_time(to);
    unlock(base);
    if (status == HR_OK) {
        *ns = last > first ? last - first : 0;
    }
    return status;
}

static hr_status copy(hr__device *base, hr__stream s, void *dst, const void *src,
                      uint64_t nbytes, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr_status status = check(q, err);
    status = status == HR_OK ? hr__simt_copy(q, s, dst, src, nbytes, err) : status;
    unlock(base);
    return status;
}

static hr_status simt_copy_to_device(hr__device *base, hr__stream s, hr__devptr dst,
                                     const void *src, uint64_t nbytes, hr_error *err) {
    return copy(base, s, (void *)(uintptr_t)dst, src, nbytes, err);
}

static hr_status simt_copy_to_host(hr__device *base, hr__stream s, void *dst,
                                   hr__devptr src, uint64_t nbytes, hr_error *err) {
    return copy(base, s, dst, (const void *)(uintptr_t)src, nbytes, err);
}

static hr_status simt_launch(hr__device *base, hr__stream s, hr__kernel kernel,
                             const void *params, hr_error *err) {
    hr__simt_queue *q = lock(base);
    hr_status status = check(q, err);
    status = status == HR_OK ? hr__simt_launch(q, s, kernel, params, err) : status;
    unlock(base);
    return status;
}

const hr__device_ops hr__simt_ops = {
    .name = "simt",
    .describe = simt_describe,
    .open = simt_open,
    .close = simt_close,
    .enter = simt_enter,
    .leave = simt_leave,
    .alloc = simt_alloc,
    .free = simt_free,
    .alloc_pinned = alloc_memory,
    .free_pinned = free_memory,
    .stream_create = simt_stream_create,
    .stream_destroy = simt_stream_destroy,
    .stream_sync = simt_stream_sync,
    .event_create = simt_event_create,
    .event_destroy = simt_event_destroy,
    .event_record = simt_event_record,
    .event_sync = simt_event_sync,
    .stream_wait = simt_stream_wait,
    .event_elapsed = simt_event_elapsed,
    .copy_to_device = simt_copy_to_device,
    .copy_to_host = simt_copy_to_host,
    .launch = simt_launch,
};
