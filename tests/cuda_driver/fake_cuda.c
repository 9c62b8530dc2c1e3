/* A stand-in for the CUDA driver, for test_api_cuda_driver. SPDX-License-Identifier: Apache-2.0
 *
 * One device, whose memory is the host's: copies are made at once, kernels do nothing. It
 * counts what is in the device's primary context and demands that this one be current. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_driver.h"

#define EXPORT __attribute__((visibility("default")))
#define CALL EXPORT hr__cu_result

enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, MAX_DEPTH = 16 };

typedef enum thing_kind { MEMORY = 1, PINNED, STREAM, EVENT, MODULE } thing_kind;

/* Before the bytes of memory; of other things there is no more than this. */
typedef struct thing {
    struct thing *next;
    size_t nbytes;
    thing_kind kind;
    char pad[256 - sizeof(void *) - sizeof(size_t) - sizeof(thing_kind)];
} thing;

static void push(void *context);
static void *pop(void);
EXPORT fake_cuda hr_fake_cuda = {.push = push, .pop = pop};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static thing *things;
static char primary; /* its address is the context */
static _Thread_local void *stack[MAX_DEPTH];
static _Thread_local int depth;

static void push(void *context) {
    if (depth == MAX_DEPTH) {
        abort();
    }
    stack[depth++] = context;
    atomic_fetch_add(&hr_fake_cuda.depth, 1);
}

static void *pop(void) {
    if (depth == 0) {
        atomic_fetch_add(&hr_fake_cuda.nwrong, 1);
        return NULL;
    }
    atomic_fetch_sub(&hr_fake_cuda.depth, 1);
    return stack[--depth];
}

/* Whether this call is one of those that fail. */
static hr__cu_result begin(const char *name) {
    fake_cuda *f = &hr_fake_cuda;
    long i = atomic_fetch_add(&f->ncalls, 1);
    if (i < atomic_load(&f->fail_from) || i >= atomic_load(&f->fail_to)) {
        return HR__CU_SUCCESS;
    }
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&f->failed, &none, name);
    return atomic_load(&f->error);
}

static hr__cu_result wrong(hr__cu_result result) {
    atomic_fetch_add(&hr_fake_cuda.nwrong, 1);
    return result;
}

/* The same for a call into the context. */
static hr__cu_result begin_inside(const char *name) {
    bool is_inside = depth > 0 && stack[depth - 1] == &primary && hr_fake_cuda.nretained;
    return is_inside ? begin(name) : wrong(INVALID_CONTEXT);
}

static hr__cu_result make(const char *name, thing_kind kind, size_t nbytes, thing **out) {
    hr__cu_result result = begin_inside(name);
    if (result != HR__CU_SUCCESS) {
        return result;
    }
    thing *t = calloc(1, sizeof *t + nbytes);
    if (t == NULL) {
        return HR__CU_OUT_OF_MEMORY;
    }
    t->kind = kind;
    t->nbytes = nbytes;
    (void)pthread_mutex_lock(&lock);
    t->next = things;
    things = t;
    (void)pthread_mutex_unlock(&lock);
    atomic_fetch_add(&hr_fake_cuda.nlive, 1);
    *out = t;
    return HR__CU_SUCCESS;
}

static hr__cu_result drop(const char *name, thing_kind kind, const void *dropped) {
    hr__cu_result result = begin_inside(name);
    (void)pthread_mutex_lock(&lock);
    thing **at = &things;
    while (*at != NULL && *at != dropped) {
        at = &(*at)->next;
    }
    thing *t = *at;
    bool is_known = t != NULL && t->kind == kind;
    if (is_known) {
        *at = t->next;
        atomic_fetch_sub(&hr_fake_cuda.nlive, 1);
        free(t);
    }
    (void)pthread_mutex_unlock(&lock);
    return is_known ? result : wrong(INVALID_HANDLE);
}

static void sweep(void) {
    while (things != NULL) {
        thing *t = things;
        things = t->next;
        free(t);
        atomic_fetch_sub(&hr_fake_cuda.nlive, 1);
        atomic_fetch_add(&hr_fake_cuda.nswept, 1);
    }
}

CALL cuInit(unsigned flags) {
    return atomic_load(&hr_fake_cuda.init);
}

static const struct {
    hr__cu_result result;
    const char *name, *text;
} errors[] = {{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
              {35, "CUDA_ERROR_INSUFFICIENT_DRIVER", "insufficient driver"},
              {100, "CUDA_ERROR_NO_DEVICE", "no device"},
              {304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system"},
              {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal address"},
              {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

static hr__cu_result describe(hr__cu_result result, bool is_name, const char **out) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].result == result) {
            *out = is_name ? errors[i].name : errors[i].text;
            return HR__CU_SUCCESS;
        }
    }
    return 1;
}

CALL cuGetErrorName(hr__cu_result result, const char **name) {
    return describe(result, true, name);
}

CALL cuGetErrorString(hr__cu_result result, const char **text) {
    return describe(result, false, text);
}

CALL cuDriverGetVersion(int *version) {
    *version = 13000;
    return begin("cuDriverGetVersion");
}

CALL cuDeviceGetCount(int *count) {
    *count = 1;
    return begin("cuDeviceGetCount");
}

CALL cuDeviceGet(hr__cu_device *device, int ordinal) {
    *device = ordinal;
    return begin("cuDeviceGet");
}

CALL cuDeviceGetName(char *name, int capacity, hr__cu_device device) {
    (void)snprintf(name, (size_t)capacity, "stand-in");
    return begin("cuDeviceGetName");
}

CALL cuDeviceTotalMem_v2(size_t *nbytes, hr__cu_device device) {
    *nbytes = (size_t)1 << 30;
    return begin("cuDeviceTotalMem");
}

CALL cuDeviceGetAttribute(int *value, int attribute, hr__cu_device device) {
    if (attribute == HR__CU_HOST_NUMA_ID) {
        return INVALID_VALUE; /* as of drivers before CUDA 12.2 */
    }
    *value = attribute == HR__CU_COMPUTE_MAJOR             ? 12
             : attribute == HR__CU_COMPUTE_MINOR           ? 0
             : attribute == HR__CU_MAX_BLOCK_SHARED_NBYTES ? 227 * 1024
                                                           : 4;
    return begin("cuDeviceGetAttribute");
}

CALL cuDevicePrimaryCtxRetain(hr__cu_context *context, hr__cu_device device) {
    hr__cu_result result = begin("cuDevicePrimaryCtxRetain");
    if (result == HR__CU_SUCCESS) {
        *context = (hr__cu_context)(void *)&primary;
        atomic_fetch_add(&hr_fake_cuda.nretained, 1);
    }
    return result;
}

CALL cuDevicePrimaryCtxRelease_v2(hr__cu_device device) {
    if (atomic_fetch_sub(&hr_fake_cuda.nretained, 1) == 1) {
        sweep();
    }
    return begin("cuDevicePrimaryCtxRelease");
}

CALL cuCtxPushCurrent_v2(hr__cu_context context) {
    hr__cu_result result =
        hr_fake_cuda.stack_is_spared ? HR__CU_SUCCESS : begin("cuCtxPushCurrent");
    if (result == HR__CU_SUCCESS) {
        push(context);
    }
    return result;
}

CALL cuCtxPopCurrent_v2(hr__cu_context *context) {
    *context = pop();
    return hr_fake_cuda.stack_is_spared ? HR__CU_SUCCESS : begin("cuCtxPopCurrent");
}

CALL cuModuleLoadData(hr__cu_module *module, const void *image) {
    return make("cuModuleLoadData", MODULE, 0, (thing **)(void *)module);
}

CALL cuModuleUnload(hr__cu_module module) {
    return drop("cuModuleUnload", MODULE, module);
}

CALL cuModuleGetFunction(hr__cu_function *function, hr__cu_module module,
                         const char *name) {
    *function = (hr__cu_function)(void *)module;
    return begin_inside("cuModuleGetFunction");
}

CALL cuFuncSetAttribute(hr__cu_function function, int attribute, int value) {
    return begin_inside("cuFuncSetAttribute");
}

CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks, hr__cu_function function,
                                                 int nthreads, size_t shared_nbytes) {
    *nblocks = 2;
    return begin_inside("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

CALL cuMemAlloc_v2(hr__cu_devptr *ptr, size_t nbytes) {
    thing *t = NULL;
    hr__cu_result result = make("cuMemAlloc", MEMORY, nbytes, &t);
    *ptr = t == NULL ? 0 : (hr__cu_devptr)(uintptr_t)(t + 1);
    return result;
}

CALL cuMemFree_v2(hr__cu_devptr ptr) {
    return drop("cuMemFree", MEMORY, (thing *)(uintptr_t)ptr - 1);
}

CALL cuMemHostAlloc(void **ptr, size_t nbytes, unsigned flags) {
    thing *t = NULL;
    hr__cu_result result = make("cuMemHostAlloc", PINNED, nbytes, &t);
    *ptr = t == NULL ? NULL : t + 1;
    return result;
}

CALL cuMemFreeHost(void *ptr) {
    return drop("cuMemFreeHost", PINNED, (thing *)ptr - 1);
}

/* The same for work that is queued: never on the default stream. */
static hr__cu_result begin_queued(const char *name, hr__cu_stream stream) {
    return stream != NULL ? begin_inside(name) : wrong(INVALID_HANDLE);
}

/* Does pinned memory hold all of it? */
static bool is_pinned(const void *start, size_t nbytes) {
    const uintptr_t at = (uintptr_t)start;
    (void)pthread_mutex_lock(&lock);
    const thing *t = things;
    while (t != NULL && (t->kind != PINNED || at < (uintptr_t)(t + 1) ||
                         at + nbytes > (uintptr_t)(t + 1) + t->nbytes)) {
        t = t->next;
    }
    (void)pthread_mutex_unlock(&lock);
    return t != NULL;
}

static hr__cu_result copy(const char *name, void *dst, const void *src, size_t nbytes,
                          hr__cu_stream stream) {
    hr__cu_result result = begin_queued(name, stream);
    if (result == HR__CU_SUCCESS) {
        memcpy(dst, src, nbytes);
    }
    return result;
}

CALL cuMemcpyHtoDAsync_v2(hr__cu_devptr dst, const void *src, size_t nbytes,
                          hr__cu_stream stream) {
    return is_pinned(src, nbytes)
               ? copy("cuMemcpyHtoDAsync", (void *)(uintptr_t)dst, src, nbytes, stream)
               : wrong(INVALID_VALUE);
}

CALL cuMemcpyDtoHAsync_v2(void *dst, hr__cu_devptr src, size_t nbytes,
                          hr__cu_stream stream) {
    return copy("cuMemcpyDtoHAsync", dst, (const void *)(uintptr_t)src, nbytes, stream);
}

CALL cuStreamCreate(hr__cu_stream *stream, unsigned flags) {
    return make("cuStreamCreate", STREAM, 0, (thing **)(void *)stream);
}

CALL cuStreamDestroy_v2(hr__cu_stream stream) {
    return drop("cuStreamDestroy", STREAM, stream);
}

CALL cuStreamSynchronize(hr__cu_stream stream) {
    return begin_inside("cuStreamSynchronize");
}

CALL cuStreamWaitEvent(hr__cu_stream stream, hr__cu_event event, unsigned flags) {
    return begin_inside("cuStreamWaitEvent");
}

CALL cuEventCreate(hr__cu_event *event, unsigned flags) {
    return make("cuEventCreate", EVENT, 0, (thing **)(void *)event);
}

CALL cuEventDestroy_v2(hr__cu_event event) {
    return drop("cuEventDestroy", EVENT, event);
}

CALL cuEventRecord(hr__cu_event event, hr__cu_stream stream) {
    return begin_inside("cuEventRecord");
}

CALL cuEventQuery(hr__cu_event event) {
    hr__cu_result r = begin_inside("cuEventQuery");
    (void)event;
    return r == HR__CU_SUCCESS ? HR__CU_NOT_READY : r;
}

CALL cuEventSynchronize(hr__cu_event event) {
    return begin_inside("cuEventSynchronize");
}

#ifndef FAKE_OLD
CALL cuEventElapsedTime(float *milliseconds, hr__cu_event from, hr__cu_event to) {
    *milliseconds = 1;
    return begin_inside("cuEventElapsedTime");
}
#endif

CALL cuLaunchKernel(hr__cu_function function, unsigned grid_x, unsigned grid_y,
                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                    unsigned shared_nbytes, hr__cu_stream stream, void **params,
                    void **extra) {
    bool is_empty =
        grid_x == 0 || block_x == 0 || grid_y * grid_z * block_y * block_z != 1;
    return is_empty ? wrong(INVALID_VALUE) : begin_queued("cuLaunchKernel", stream);
}
