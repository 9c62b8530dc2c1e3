/* The few functions of CUDA's driver that the bench calls itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

void driver_must(int result, const char *what) {
    if (result != 0) {
        (void)fprintf(stderr, "bench_engine: %s gave %d\n", what, result);
        exit(EXIT_FAILURE);
    }
}

void driver_open(driver *d) {
    static const char *const names[] = {
        "cuDeviceGet",     "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
        "cuCtxGetCurrent", "cuMemGetInfo_v2",          "cuMemAlloc_v2",
        "cuMemFree_v2",    "cuMemHostAlloc",           "cuMemFreeHost",
        "cuStreamCreate",  "cuMemcpyHtoDAsync_v2",     "cuStreamSynchronize"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        engine_fail("this task needs CUDA's driver", NULL);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(library, names[i]);
        if (symbol == NULL) {
            engine_fail(names[i], NULL);
        }
        memcpy((char *)d + i * sizeof symbol, &symbol, sizeof symbol);
    }
}

void driver_use(const driver *d, int ordinal) {
    int device;
    void *context;
    driver_must(d->get_device(&device, ordinal), "cuDeviceGet");
    driver_must(d->retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    driver_must(d->set_context(context), "cuCtxSetCurrent");
}
