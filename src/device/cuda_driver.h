/* The CUDA driver, opened at run time. SPDX-License-Identifier: Apache-2.0
 *
 * Own declarations of the few entry points that are used, under the versioned names that
 * the driver exports: neither building nor loading the library needs CUDA. */
#ifndef HR_DEVICE_CUDA_DRIVER_H
#define HR_DEVICE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef int hr__cu_result;
typedef int hr__cu_device;
typedef uint64_t hr__cu_devptr;
typedef struct CUctx_st *hr__cu_context;
typedef struct CUmod_st *hr__cu_module;
typedef struct CUfunc_st *hr__cu_function;
typedef struct CUstream_st *hr__cu_stream;
typedef struct CUevent_st *hr__cu_event;

enum {
    HR__CU_SUCCESS = 0,
    HR__CU_OUT_OF_MEMORY = 2,
    HR__CU_NOT_INITIALIZED = 3,
    HR__CU_NOT_FOUND = 500,
    HR__CU_NOT_READY = 600,

    HR__CU_STREAM_NON_BLOCKING = 1,
    HR__CU_EVENT_BLOCKING_SYNC = 1,
    HR__CU_MEMHOSTALLOC_PORTABLE = 1,

    HR__CU_FUNC_MAX_DYNAMIC_SHARED_NBYTES = 8,
    HR__CU_FUNC_PREFERRED_SHARED_PERCENT = 9,

    HR__CU_MULTIPROCESSOR_COUNT = 16,
    HR__CU_COMPUTE_MAJOR = 75,
    HR__CU_COMPUTE_MINOR = 76,
    HR__CU_MAX_BLOCK_SHARED_NBYTES = 97,
    HR__CU_HOST_NUMA_ID = 134,
};

/* A launch with attributes, as the driver lays it out. */
typedef struct hr__cu_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int number;
    } value;
} hr__cu_attribute;

typedef struct hr__cu_launch {
    unsigned grid[3], block[3], shared_nbytes;
    hr__cu_stream stream;
    hr__cu_attribute *attributes;
    unsigned nattributes;
} hr__cu_launch;

#define HR__CU_NEED_NOT_WAIT 6 /* for the kernel before it, once that allows it */

typedef struct hr__cuda_driver {
    hr__cu_result (*init)(unsigned flags);
    hr__cu_result (*error_name)(hr__cu_result result, const char **name);
    hr__cu_result (*error_string)(hr__cu_result result, const char **text);
    hr__cu_result (*driver_version)(int *version);
    hr__cu_result (*device_count)(int *count);
    hr__cu_result (*device_get)(hr__cu_device *device, int ordinal);
    hr__cu_result (*device_name)(char *name, int capacity, hr__cu_device device);
    hr__cu_result (*device_memory)(size_t *nbytes, hr__cu_device device);
    hr__cu_result (*device_attribute)(int *value, int attribute, hr__cu_device device);
    hr__cu_result (*primary_retain)(hr__cu_context *context, hr__cu_device device);
    hr__cu_result (*primary_release)(hr__cu_device device);
    hr__cu_result (*context_push)(hr__cu_context context);
    hr__cu_result (*context_pop)(hr__cu_context *context);
    hr__cu_result (*module_load)(hr__cu_module *module, const void *image);
    hr__cu_result (*module_unload)(hr__cu_module module);
    hr__cu_result (*module_function)(hr__cu_function *function, hr__cu_module module,
                                     const char *name);
    hr__cu_result (*function_set)(hr__cu_function function, int attribute, int value);
    hr__cu_result (*function_blocks)(int *nblocks, hr__cu_function function, int nthreads,
                                     size_t shared_nbytes);
    hr__cu_result (*mem_alloc)(hr__cu_devptr *ptr, size_t nbytes);
    hr__cu_result (*mem_free)(hr__cu_devptr ptr);
    hr__cu_result (*host_alloc)(void **ptr, size_t nbytes, unsigned flags);
    hr__cu_result (*host_free)(void *ptr);
    hr__cu_result (*copy_to_device)(hr__cu_devptr dst, const void *src, size_t nbytes,
                                    hr__cu_stream stream);
    hr__cu_result (*copy_to_host)(void *dst, hr__cu_devptr src, size_t nbytes,
                                  hr__cu_stream stream);
    hr__cu_result (*stream_create)(hr__cu_stream *stream, unsigned flags);
    hr__cu_result (*stream_destroy)(hr__cu_stream stream);
    hr__cu_result (*stream_synchronize)(hr__cu_stream stream);
    hr__cu_result (*stream_wait_event)(hr__cu_stream stream, hr__cu_event event,
                                       unsigned flags);
    hr__cu_result (*event_create)(hr__cu_event *event, unsigned flags);
    hr__cu_result (*event_destroy)(hr__cu_event event);
    hr__cu_result (*event_record)(hr__cu_event event, hr__cu_stream stream);
    hr__cu_result (*event_query)(hr__cu_event event);
    hr__cu_result (*event_synchronize)(hr__cu_event event);
    hr__cu_result (*event_elapsed)(float *milliseconds, hr__cu_event from,
                                   hr__cu_event to);
    hr__cu_result (*launch)(hr__cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y,
                            unsigned block_z, unsigned shared_nbytes,
                            hr__cu_stream stream, void **params, void **extra);
    /* NULL where the driver is older than it (CUDA 11.8). */
    hr__cu_result (*launch_with)(const hr__cu_launch *launch, hr__cu_function function,
                                 void **params, void **extra);
} hr__cuda_driver;

/* Open and initialise the driver, once per process. Errors: HR_ERR_DEVICE without a
 * driver or a device it likes; HR_ERR_FORKED, before any call into the driver, in a child
 * of a process that had used it. Any thread. */
hr_status hr__cuda_driver_open(const hr__cuda_driver **out, hr_error *err);

/* What the driver says about a result: "what: CUDA_ERROR_NAME (text)" as HR_ERR_DEVICE,
 * HR_ERR_MEMORY or HR_ERR_FORKED with device_code set; HR_OK for success. Results that
 * every later call on the context repeats are pointed out as such. */
hr_status hr__cuda_check(const hr__cuda_driver *driver, hr__cu_result result,
                         const char *what, hr_error *err);

/* HR_ERR_FORKED, with the advice to use the spawn start method. */
hr_status hr__cuda_fail_forked(hr_error *err);

#endif
