/* A device for the kernel tests, with failures that end the program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kern/device_run.h"

#include <stdio.h>
#include <stdlib.h>

void runner_must(hr_status status, const hr_error *err) {
    if (status != HR_OK) {
        printf("%s: %s\n", hr_status_name(status), err->message);
        exit(EXIT_FAILURE);
    }
}

void runner_open(runner *r, const char *name) {
    hr_error err = HR_ERROR_INIT;
    hr_device id;
    runner_must(hr_device_parse(name, &id, &err), &err);
    r->ops = hr__device_find(id.type);
    if (r->ops == NULL) {
        printf("skipped: this build has no device %s\n", name);
        exit(EXIT_SKIPPED);
    }
    if (r->ops->describe(id.index, &r->info, &err) != HR_OK ||
        r->ops->open(id.index, &hr__malloc_allocator, &r->device, &err) != HR_OK) {
        printf("skipped: %s\n", err.message);
        exit(EXIT_SKIPPED);
    }
    printf("device: %s, %s\n", r->info.name, r->info.driver);
    runner_must(r->ops->enter(r->device, &r->saved, &err), &err);
    runner_must(r->ops->stream_create(r->device, &r->stream, &err), &err);
}

void runner_close(runner *r) {
    r->ops->stream_destroy(r->device, r->stream);
    r->ops->leave(r->device, r->saved);
    r->ops->close(r->device);
}

hr__devptr runner_alloc(runner *r, uint64_t nbytes) {
    hr_error err = HR_ERROR_INIT;
    hr__devptr ptr = 0;
    runner_must(r->ops->alloc(r->device, nbytes, &ptr, &err), &err);
    return ptr;
}

void runner_upload(runner *r, hr__devptr dst, const void *src, uint64_t nbytes) {
    hr_error err = HR_ERROR_INIT;
    runner_must(r->ops->copy_to_device(r->device, r->stream, dst, src, nbytes, &err),
                &err);
}

void runner_download(runner *r, void *dst, hr__devptr src, uint64_t nbytes) {
    hr_error err = HR_ERROR_INIT;
    runner_must(r->ops->copy_to_host(r->device, r->stream, dst, src, nbytes, &err), &err);
    runner_sync(r);
}

hr__devptr runner_upload_new(runner *r, const void *src, uint64_t nbytes) {
    hr__devptr p = runner_alloc(r, nbytes);
    runner_upload(r, p, src, nbytes);
    return p;
}

void runner_launch(runner *r, hr__kernel kernel, const void *params) {
    hr_error err = HR_ERROR_INIT;
    runner_must(r->ops->launch(r->device, r->stream, kernel, params, &err), &err);
}

void runner_sync(runner *r) {
    hr_error err = HR_ERROR_INIT;
    runner_must(r->ops->stream_sync(r->device, r->stream, &err), &err);
}
