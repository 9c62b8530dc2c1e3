/* A device for the kernel tests, with failures that end the program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_DEVICE_RUN_H
#define HR_KERN_DEVICE_RUN_H

#include <stdint.h>

#include "device/device.h"
#include "kern/memory.h"

#define EXIT_SKIPPED 77

typedef struct runner {
    hr__device *device;
    const hr__device_ops *ops;
    void *saved;
    hr__stream stream;
    hr_device_info info;
} runner;

/* "simt" or "cuda": opened and entered. Exits with EXIT_SKIPPED where there is none. */
void runner_open(runner *r, const char *name);
void runner_close(runner *r);
/* Ends the program unless all is right. */
void runner_must(hr_status status, const hr_error *err);

hr__devptr runner_alloc(runner *r, uint64_t nbytes);
void runner_upload(runner *r, hr__devptr dst, const void *src, uint64_t nbytes);
hr__devptr runner_upload_new(runner *r, const void *src, uint64_t nbytes);
void runner_download(runner *r, void *dst, hr__devptr src, uint64_t nbytes); /* waits */
void runner_launch(runner *r, hr__kernel kernel, const void *params);
void runner_sync(runner *r);

#endif
