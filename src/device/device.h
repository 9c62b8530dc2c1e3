/* Devices: memory, streams, copies, kernels. SPDX-License-Identifier: Apache-2.0
 *
 * `cpu` needs none of this. `cuda` is the driver API by dlopen; `simt` runs the same
 * kernels on the CPU, so that everything above it is tested without a GPU. */
#ifndef HR_DEVICE_DEVICE_H
#define HR_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/context.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/numa.h"

typedef struct hr__device hr__device;
typedef uint64_t hr__devptr; /* device address */
typedef void *hr__stream;    /* CUstream; NULL = legacy default stream */
typedef void *hr__event;

typedef enum hr__kernel {
    HR__KERNEL_SCATTER,   /* hr_k_scatter */
    HR__KERNEL_FILL,      /* hr_k_fill */
    HR__KERNEL_STORE,     /* hr_k_store_batch */
    HR__KERNEL_SUM,       /* hr_k_filter */
    HR__KERNEL_UNPACK,    /* hr_k_filter */
    HR__KERNEL_LZ4,       /* hr_k_decode */
    HR__KERNEL_LZ4_WHOLE, /* hr_k_whole */
    HR__KERNEL_SNAPPY,    /* hr_k_decode */
    HR__KERNEL_BLOSCLZ,   /* hr_k_decode */
    HR__KERNEL_PACKBITS,  /* hr_k_decode */
    HR__KERNEL_DEFLATE,   /* hr_k_decode */
    HR__KERNEL_LZW,       /* hr_k_decode */
    HR__KERNEL_ZSTD,      /* hr_k_zstd */
    HR__KERNEL_NVCOMP,    /* hr__nvcomp_batch: nvCOMP's, not ours */
    HR__NKERNELS
} hr__kernel;

/* Any thread, also many at once on one device. A stream of NULL is the legacy default
 * stream. Releasing NULL (or 0) does nothing. */
typedef struct hr__device_ops {
    const char *name;
    /* info: a whole record, set on success. Creates no context. */
    hr_status (*describe)(int32_t index, hr_device_info *info, hr_error *err);
    hr_status (*open)(int32_t index, const hr_allocator *a, hr__device **out,
                      hr_error *err);
    /* Outside enter and leave. Memory, streams and events are released before. */
    void (*close)(hr__device *d);
    /* Make the device's context current on this thread, and put back what was there.
     * HR_ERR_FORKED in a child of the process that opened the device: there it can only
     * be closed. */
    hr_status (*enter)(hr__device *d, void **saved, hr_error *err);
    void (*leave)(hr__device *d, void *saved);
    /* The rest is called between enter and leave. 0 bytes give NULL. Memory is freed
     * after the work on it was waited for. */
    hr_status (*alloc)(hr__device *d, uint64_t nbytes, hr__devptr *out, hr_error *err);
    void (*free)(hr__device *d, hr__devptr ptr);
    hr_status (*alloc_pinned)(hr__device *d, uint64_t nbytes, void **out, hr_error *err);
    void (*free_pinned)(hr__device *d, void *ptr);
    hr_status (*stream_create)(hr__device *d, hr__stream *out, hr_error *err);
    void (*stream_destroy)(hr__device *d, hr__stream s);
    hr_status (*stream_sync)(hr__device *d, hr__stream s, hr_error *err);
    hr_status (*event_create)(hr__device *d, hr__event *out, hr_error *err);
    void (*event_destroy)(hr__device *d, hr__event e);
    hr_status (*event_record)(hr__device *d, hr__event e, hr__stream s, hr_error *err);
    hr_status (*event_sync)(hr__device *d, hr__event e, hr_error *err);
    hr_status (*stream_wait)(hr__device *d, hr__stream s, hr__event e, hr_error *err);
    /* Time between two events, recorded and past; 0 if they came the other way round. */
    hr_status (*event_elapsed)(hr__device *d, hr__event from, hr__event to, uint64_t *ns,
                               hr_error *err);
    /* Host memory is read or written when the stream comes to it. */
    hr_status (*copy_to_device)(hr__device *d, hr__stream s, hr__devptr dst,
                                const void *src, uint64_t nbytes, hr_error *err);
    hr_status (*copy_to_host)(hr__device *d, hr__stream s, void *dst, hr__devptr src,
                              uint64_t nbytes, hr_error *err);
    /* params: the kernel's block, copied before return. */
    hr_status (*launch)(hr__device *d, hr__stream s, hr__kernel kernel,
                        const void *params, hr_error *err);
} hr__device_ops;

struct hr__device {
    const hr__device_ops *ops;
    const hr_allocator *allocator;
    const hr_device_allocator *hooks; /* NULL: the driver's memory */
    hr_device id;
    /* What a launch may be fitted to. */
    uint32_t nmultiprocessors, block_shared_nbytes;
    hr__numa_node node; /* that it is near to */
};

static inline bool hr__device_equal(hr_device a, hr_device b) {
    return a.type == b.type && a.index == b.index;
}

/* Memory for work on one stream, by the hooks where the device has some. Between enter
 * and leave; nbytes of a free are those of its alloc. Pinned memory of the driver's lies
 * on the device's node. */
hr_status hr__device_alloc(hr__device *d, uint64_t nbytes, hr__stream stream,
                           hr__devptr *out, hr_error *err);
void hr__device_free(hr__device *d, hr__devptr ptr, uint64_t nbytes, hr__stream stream);
hr_status hr__device_alloc_pinned(hr__device *d, uint64_t nbytes, void **out,
                                  hr_error *err);
void hr__device_free_pinned(hr__device *d, void *ptr, uint64_t nbytes);

/* The ops for a device type: NULL for cpu, and for simt in builds without it. */
const hr__device_ops *hr__device_find(int32_t type);
/* The same, or HR_ERR_UNSUPPORTED. */
hr_status hr__device_require(int32_t type, const hr__device_ops **out, hr_error *err);

extern const hr__device_ops hr__cuda_ops;
#ifdef HR_WITH_SIMT
extern const hr__device_ops hr__simt_ops;
#endif

#endif
