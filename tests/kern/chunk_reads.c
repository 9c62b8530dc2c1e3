/* Chunks read through the whole library. SPDX-License-Identifier: Apache-2.0 */
#include "kern/chunk_reads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_calloc(uint64_t n, uint64_t size) {
    void *p = calloc(n == 0 ? 1 : n, size);
    if (p == NULL) {
        printf("no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

void chunk_reads_open(chunk_reads *c, const char *device) {
    hr_error err = HR_ERROR_INIT;
    runner_open(&c->runner, device);
    runner_must(hr_device_parse(device, &c->device, &err), &err);
    runner_must(hr_context_create(NULL, &c->context, &err), &err);
    runner_must(hr_store_create_memory(c->context, &c->store, &err), &err);
}

void chunk_reads_close(chunk_reads *c) {
    hr_store_unref(c->store);
    hr_context_unref(c->context);
    runner_close(&c->runner);
}

void chunk_reads_describe(chunk_reads *c, const char *name, const char *compressor,
                          uint64_t n, uint64_t chunk_nbytes) {
    hr_error err = HR_ERROR_INIT;
    char key[64], text[512];
    int nbytes =
        snprintf(text, sizeof text,
                 "{\"zarr_format\":2,\"shape\":[%" PRIu64 "],\"chunks\":[%" PRIu64
                 "],\"dtype\":\"|u1\",\"compressor\":%s,"
                 "\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
                 n * chunk_nbytes, chunk_nbytes, compressor);
    (void)snprintf(key, sizeof key, "%s/.zarray", name);
    runner_must(hr_store_set(c->store, key, text, (size_t)nbytes, &err), &err);
}

void chunk_reads_put(chunk_reads *c, const char *name, uint64_t i, const void *bytes,
                     uint64_t nbytes) {
    hr_error err = HR_ERROR_INIT;
    char key[64];
    (void)snprintf(key, sizeof key, "%s/%" PRIu64, name, i);
    runner_must(hr_store_set(c->store, key, bytes, nbytes, &err), &err);
}

static void submit(chunk_reads *c, hr_node *array, uint64_t n, int64_t chunk_nbytes,
                   hr_device device, uint8_t *dst, bool strict, chunk_results *out) {
    hr_error err = HR_ERROR_INIT;
    hr_request *requests = must_calloc(n, sizeof *requests);
    hr_axis *axes = must_calloc(n, sizeof *axes);
    for (uint64_t i = 0; i < n; i++) {
        axes[i] = (hr_axis){.kind = HR_AXIS_SLICE,
                            .start = (int64_t)i * chunk_nbytes,
                            .stop = (int64_t)(i + 1) * chunk_nbytes,
                            .step = 1};
        requests[i] = HR_REQUEST_INIT;
        requests[i].array = array;
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axes[i]};
        requests[i].dst = (hr_tensor){.data = dst + (int64_t)i * chunk_nbytes,
                                      .device = device,
                                      .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                                      .ndim = 1,
                                      .shape = &chunk_nbytes};
    }
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = strict;
    hr_batch *batch = NULL;
    runner_must(hr_read_submit(c->context, requests, n, NULL, &options, &batch, &err),
                &err);
    (void)!hr_batch_wait(batch, -1, NULL);
    for (uint64_t i = 0; i < n; i++) {
        out->errors[i] = HR_ERROR_INIT;
        (void)!hr_batch_error(batch, i, &out->errors[i]);
    }
    out->stats = HR_BATCH_STATS_INIT;
    runner_must(hr_batch_get_stats(batch, &out->stats, &err), &err);
    hr_batch_unref(batch);
    free(requests);
    free(axes);
}

void chunk_reads_run(chunk_reads *c, const char *name, bool on_device, bool strict,
                     chunk_results *out) {
    hr_error err = HR_ERROR_INIT;
    hr_node *array = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    runner_must(hr_open_store(c->store, name, NULL, &array, &err), &err);
    runner_must(hr_node_describe(array, &info, &err), &err);
    int64_t chunk_nbytes = info.chunk_shape[0];
    uint64_t nbytes = (uint64_t)info.shape[0], n = nbytes / (uint64_t)chunk_nbytes;
    out->bytes = must_calloc(nbytes, 1);
    out->errors = must_calloc(n, sizeof *out->errors);
    memset(out->bytes, 0xA5, nbytes);
    if (on_device) {
        hr__devptr dst = runner_alloc(&c->runner, nbytes);
        runner_upload(&c->runner, dst, out->bytes, nbytes);
        runner_sync(&c->runner);
        submit(c, array, n, chunk_nbytes, c->device, (uint8_t *)(uintptr_t)dst, strict,
               out);
        runner_download(&c->runner, out->bytes, dst, nbytes);
        c->runner.ops->free(c->runner.device, dst);
    } else {
        hr_device cpu = {.type = HR_DEVICE_CPU};
        submit(c, array, n, chunk_nbytes, cpu, out->bytes, strict, out);
    }
    hr_node_unref(array);
}

void chunk_results_free(chunk_results *r) {
    free(r->bytes);
    free(r->errors);
}
