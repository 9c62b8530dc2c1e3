/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/lock.h"

#define LIBRARY "libcuda.so.1"

typedef struct entry {
    const char *symbol;
    size_t offset;
} entry;

#define ENTRY(symbol, member)                                                            \
    { symbol, offsetof(hr__cuda_driver, member) }

static const entry entries[] = {
    ENTRY("cuInit", init),
    ENTRY("cuGetErrorName", error_name),
    ENTRY("cuGetErrorString", error_string),
    ENTRY("cuDriverGetVersion", driver_version),
    ENTRY("cuDeviceGetCount", device_count),
    ENTRY("cuDeviceGet", device_get),
    ENTRY("cuDeviceGetName", device_name),
    ENTRY("cuDeviceTotalMem_v2", device_memory),
    ENTRY("cuDeviceGetAttribute", device_attribute),
    ENTRY("cuDevicePrimaryCtxRetain", primary_retain),
    ENTRY("cuDevicePrimaryCtxRelease_v2", primary_release),
    ENTRY("cuCtxPushCurrent_v2", context_push),
    ENTRY("cuCtxPopCurrent_v2", context_pop),
    ENTRY("cuModuleLoadData", module_load),
    ENTRY("cuModuleUnload", module_unload),
    ENTRY("cuModuleGetFunction", module_function),
    ENTRY("cuFuncSetAttribute", function_set),
    ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessor", function_blocks),
    ENTRY("cuMemAlloc_v2", mem_alloc),
    ENTRY("cuMemFree_v2", mem_free),
    ENTRY("cuMemHostAlloc", host_alloc),
    ENTRY("cuMemFreeHost", host_free),
    ENTRY("cuMemcpyHtoDAsync_v2", copy_to_device),
    ENTRY("cuMemcpyDtoHAsync_v2", copy_to_host),
    ENTRY("cuStreamCreate", stream_create),
    ENTRY("cuStreamDestroy_v2", stream_destroy),
    ENTRY("cuStreamSynchronize", stream_synchronize),
    ENTRY("cuStreamWaitEvent", stream_wait_event),
    ENTRY("cuEventCreate", event_create),
    ENTRY("cuEventDestroy_v2", event_destroy),
    ENTRY("cuEventRecord", event_record),
    ENTRY("cuEventQuery", event_query),
    ENTRY("cuEventSynchronize", event_synchronize),
    ENTRY("cuEventElapsedTime", event_elapsed),
    ENTRY("cuLaunchKernel", launch),
};

/* The process has one driver, and cuInit marks the process: so does this. */
static struct {
    pthread_once_t once;
    bool is_open;        /* the library and all entries are there */
    const char *missing; /* the entry that is not */
    hr__cu_result init;
    uint64_t fork_generation; /* of the process that called cuInit */
    hr__cuda_driver driver;
} process = {.once = PTHREAD_ONCE_INIT};

static void open_once(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *symbol = dlsym(library, entries[i].symbol);
        if (symbol == NULL) {
            process.missing = entries[i].symbol;
            return;
        }
        memcpy((char *)&process.driver + entries[i].offset, &symbol, sizeof symbol);
    }
    void *symbol = dlsym(library, "cuLaunchKernelEx");
    memcpy(&process.driver.launch_with, &symbol, sizeof symbol);
    process.is_open = true;
    process.fork_generation = hr__fork_generation();
    process.init = process.driver.init(0);
}

hr_status hr__cuda_fail_forked(hr_error *err) {
    return hr__fail(err, HR_ERR_FORKED,
                    "CUDA was in use before this process was forked and cannot be used "
                    "here: start processes by spawn (or forkserver) instead of fork");
}

static hr_status fail_result(const hr__cuda_driver *driver, hr__cu_result result,
                             const char *what, const char *consequence, hr_error *err) {
    const char *name = NULL, *text = NULL;
    if (driver->error_name(result, &name) != HR__CU_SUCCESS || name == NULL) {
        name = "unknown CUDA error";
    }
    if (driver->error_string(result, &text) != HR__CU_SUCCESS || text == NULL) {
        text = "no description";
    }
    hr_status status = result == HR__CU_OUT_OF_MEMORY ? HR_ERR_MEMORY : HR_ERR_DEVICE;
    (void)hr__fail(err, status, "%s: %s (%s)%s", what, name, text, consequence);
    hr__error_add_device_code(err, result);
    return status;
}

hr_status hr__cuda_driver_open(const hr__cuda_driver **out, hr_error *err) {
    (void)pthread_once(&process.once, open_once);
    if (process.missing != NULL) {
        return hr__fail(err, HR_ERR_DEVICE, "CUDA driver too old: %s has no %s", LIBRARY,
                        process.missing);
    }
    if (!process.is_open) {
        return hr__fail(err, HR_ERR_DEVICE, "no CUDA driver: %s not found", LIBRARY);
    }
    /* The driver does not work in a child of a process that had initialised it, here (so
     * it is not called at all) or through another library (so cuInit says this). */
    bool is_forked = process.init == HR__CU_SUCCESS
                         ? process.fork_generation != hr__fork_generation()
                         : process.init == HR__CU_NOT_INITIALIZED;
    if (is_forked) {
        return hr__cuda_fail_forked(err);
    }
    if (process.init != HR__CU_SUCCESS) {
        return fail_result(&process.driver, process.init, "cuInit", "", err);
    }
    *out = &process.driver;
    return HR_OK;
}

/* Results after which the context is lost: every later call on it gives the same. */
static bool is_sticky(hr__cu_result result) {
    static const hr__cu_result sticky[] = {
        214, /* ECC_UNCORRECTABLE */
        220, /* NVLINK_UNCORRECTABLE */
        700, /* ILLEGAL_ADDRESS */
        702, /* LAUNCH_TIMEOUT */
        709, /* CONTEXT_IS_DESTROYED */
        710, /* ASSERT */
        714, /* HARDWARE_STACK_ERROR */
        715, /* ILLEGAL_INSTRUCTION */
        716, /* MISALIGNED_ADDRESS */
        717, /* INVALID_ADDRESS_SPACE */
        718, /* INVALID_PC */
        719, /* LAUNCH_FAILED */
        721, /* TENSOR_MEMORY_LEAK */
        999, /* UNKNOWN */
    };
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++) {
        if (result == sticky[i]) {
            return true;
        }
    }
    return false;
}

hr_status hr__cuda_check(const hr__cuda_driver *driver, hr__cu_result result,
                         const char *what, hr_error *err) {
    if (result == HR__CU_SUCCESS) {
        return HR_OK;
    }
    return fail_result(
        driver, result, what,
        is_sticky(result) ? "; an error of this or earlier work, perhaps not headrace's, "
                            "has broken the process's CUDA context"
                          : "",
        err);
}
