/* What the process holds. SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long counted_nbytes;

static void *pinned_alloc(void *user, hr_device device, size_t nbytes) {
    (void)user;
    (void)device;
    void *p = NULL;
    if (posix_memalign(&p, 256, nbytes) != 0) {
        return NULL;
    }
    atomic_fetch_add(&counted_nbytes, (long)nbytes);
    return p;
}

static void pinned_free(void *user, hr_device device, void *ptr, size_t nbytes) {
    (void)user;
    (void)device;
    atomic_fetch_sub(&counted_nbytes, (long)nbytes);
    free(ptr);
}

static void *device_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)stream;
    return pinned_alloc(user, device, nbytes);
}

static void device_free(void *user, hr_device device, void *ptr, size_t nbytes,
                        void *stream) {
    (void)stream;
    pinned_free(user, device, ptr, nbytes);
}

const hr_device_allocator usage_counting = {.struct_size = sizeof(hr_device_allocator),
                                            .alloc = device_alloc,
                                            .free = device_free,
                                            .alloc_pinned = pinned_alloc,
                                            .free_pinned = pinned_free};

static long count_entries(const char *path) {
    DIR *d = opendir(path);
    long n = d != NULL ? -3 : 0; /* ".", "..", and this one's own */
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        (void)closedir(d);
    }
    return n;
}

static long resident_kib(void) {
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return kib;
}

/* By the driver's own numbers; its context is the one that the library uses. */
static long gpu_kib(int index) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == NULL) {
        return 0;
    }
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*release)(int);
    int (*info)(size_t *, size_t *);
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&push = dlsym(cuda, "cuCtxPushCurrent_v2");
    *(void **)&pop = dlsym(cuda, "cuCtxPopCurrent_v2");
    *(void **)&release = dlsym(cuda, "cuDevicePrimaryCtxRelease_v2");
    *(void **)&info = dlsym(cuda, "cuMemGetInfo_v2");
    size_t unused = 0, total = 0;
    void *context = NULL;
    if (retain != NULL && push != NULL && pop != NULL && release != NULL &&
        info != NULL && retain(&context, index) == 0) {
        if (push(context) == 0) {
            (void)info(&unused, &total);
            (void)pop(&context);
        }
        (void)release(index);
    }
    (void)dlclose(cuda);
    return (long)((total - unused) / 1024);
}

usage usage_now(hr_device device) {
    return (usage){.rss_kib = resident_kib(),
                   .device_kib = device.type == HR_DEVICE_CUDA
                                     ? gpu_kib(device.index)
                                     : atomic_load(&counted_nbytes) / 1024,
                   .nfds = count_entries("/proc/self/fd"),
                   .nthreads = count_entries("/proc/self/task") + 1};
}
