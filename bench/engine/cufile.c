/* NVIDIA's cuFile, beside the pinned path. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <headrace/memory.h>

#include "driver.h"
#include "engine.h"

#define MIB (UINT64_C(1) << 20)
enum { NTHREADS = 16, NROUNDS = 5, OPAQUE_FD = 1 };

/* As cufile.h has them. */
typedef struct cufile_error {
    int code, cuda;
} cufile_error;
typedef struct cufile_descr {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} cufile_descr;

typedef struct library {
    cufile_error (*open_driver)(void);
    cufile_error (*add_handle)(void **handle, cufile_descr *descr);
    void (*remove_handle)(void *handle);
    ssize_t (*read)(void *handle, void *device, size_t nbytes, off_t offset,
                    off_t device_offset);
} library;

typedef struct work {
    const engine *e;
    const driver *driver;
    const library *lib;
    uint8_t *dst;
    int flags; /* of open */
    atomic_uint_fast64_t next;
    atomic_int status; /* what went wrong, if something did */
} work;

static bool library_open(library *lib) {
    static const char *const names[] = {"cuFileDriverOpen", "cuFileHandleRegister",
                                        "cuFileHandleDeregister", "cuFileRead"};
    void *found = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; found != NULL && i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(found, names[i]);
        if (symbol == NULL) {
            return false;
        }
        memcpy((char *)lib + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return found != NULL;
}

static int read_file(const work *w, uint64_t i) {
    const uint64_t nbytes = w->e->array.chunk_nbytes;
    char path[600];
    void *handle = NULL;
    (void)snprintf(path, sizeof path, "%s/%llu.0", w->e->array.path,
                   (unsigned long long)i);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | w->flags);
    cufile_descr descr = {.type = OPAQUE_FD, .handle = {.fd = fd}};
    int status = fd < 0 ? -1 : w->lib->add_handle(&handle, &descr).code;
    if (status == 0) {
        const ssize_t n = w->lib->read(handle, w->dst, nbytes, 0, (off_t)(i * nbytes));
        status = n == (ssize_t)nbytes ? 0 : n < 0 ? (int)n : -1;
        w->lib->remove_handle(handle);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static void *read_some(void *user) {
    work *w = user;
    driver_use(w->driver, w->e->device.index);
    for (uint64_t i = atomic_fetch_add(&w->next, 1); i < w->e->array.nchunks;
         i = atomic_fetch_add(&w->next, 1)) {
        const int status = read_file(w, i);
        if (status != 0) {
            atomic_store(&w->status, status);
        }
    }
    return NULL;
}

static double read_all(work *w) {
    pthread_t threads[NTHREADS];
    atomic_store(&w->next, 0);
    const double start = now_s();
    for (int i = 0; i < NTHREADS; i++) {
        driver_must(pthread_create(&threads[i], NULL, read_some, w), "pthread_create");
    }
    for (int i = 0; i < NTHREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return now_s() - start;
}

static void measure(work *w, const part *all, const char *how) {
    double seconds[NROUNDS];
    (void)read_all(w);
    for (int i = 0; i < NROUNDS && atomic_load(&w->status) == 0; i++) {
        seconds[i] = read_all(w);
    }
    if (atomic_load(&w->status) != 0) {
        printf("cufile   %s: error %d\n", how, atomic_load(&w->status));
        return;
    }
    engine_check(w->e, all);
    printf("cufile   %s: %.1f GB/s\n", how,
           (double)array_nbytes(&w->e->array) / median_of(seconds, NROUNDS) * 1e-9);
}

void run_cufile(engine *e) {
    driver d;
    library lib = {0};
    double seconds[NROUNDS];
    if (strcmp(e->codec, "raw") != 0) { /* it brings bytes to the device, and no more */
        return;
    }
    driver_open(&d);
    driver_use(&d, e->device.index);
    engine_open(e, 4 * MIB, NULL);
    if (!library_open(&lib)) {
        engine_fail("no libcufile.so.0", NULL);
    }
    const cufile_error opened = lib.open_driver();
    const part all = engine_whole(e, engine_alloc(e, e->device, array_nbytes(&e->array)));
    work w = {.e = e, .driver = &d, .lib = &lib, .dst = all.data};
    printf("cufile   its driver opened with %d\n", opened.code);
    measure(&w, &all, "files of 4 MiB, page cache");
    w.flags = O_DIRECT;
    measure(&w, &all, "files of 4 MiB, O_DIRECT");
    (void)engine_read(e, &all, 1);
    for (int i = 0; i < NROUNDS; i++) {
        seconds[i] = engine_read(e, &all, 1);
    }
    printf("cufile   headrace, the same files: %.1f GB/s\n",
           (double)array_nbytes(&e->array) / median_of(seconds, NROUNDS) * 1e-9);
    hr_memory_free(e->context, e->device, all.data);
    engine_close(e);
}
