/* The few functions of CUDA's driver that the library has no need to offer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_ENGINE_DRIVER_H
#define HR_BENCH_ENGINE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct driver {
    int (*get_device)(int *device, int ordinal);
    int (*retain_context)(void **context, int device);
    int (*set_context)(void *context);
    int (*get_context)(void **context);
    int (*memory_info)(size_t *free, size_t *total);
    int (*alloc)(uint64_t *ptr, size_t nbytes);
    int (*release)(uint64_t ptr);
    int (*alloc_pinned)(void **ptr, size_t nbytes, unsigned flags);
    int (*release_pinned)(void *ptr);
    int (*create_stream)(void **stream, unsigned flags);
    int (*copy_up)(uint64_t dst, const void *src, size_t nbytes, void *stream);
    int (*sync_stream)(void *stream);
} driver;

/* Ends the program where there is no driver. */
void driver_open(driver *d);
/* The device's primary context becomes this thread's current one. */
void driver_use(const driver *d, int ordinal);
/* Ends the program unless a call returned 0. */
void driver_must(int result, const char *what);

#endif
