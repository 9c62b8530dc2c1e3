/* Chunks read through the whole library into a device's memory and into the host's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_CHUNK_READS_H
#define HR_KERN_CHUNK_READS_H

#include <headrace/headrace.h>

#include "kern/device_run.h"

/* One context, one memory store, one array of uint8 whose chunks are chunk_nbytes. */
typedef struct chunk_reads {
    runner runner;
    hr_device device;
    hr_context *context;
    hr_store *store;
} chunk_reads;

/* What became of the n chunks of an array: a request for each. */
typedef struct chunk_results {
    uint8_t *bytes; /* n × chunk_nbytes, 0xA5 where nothing was written */
    hr_error *errors;
    hr_batch_stats stats;
} chunk_results;

void chunk_reads_open(chunk_reads *c, const char *device);
void chunk_reads_close(chunk_reads *c);

/* compressor: the JSON of Zarr v2. Replaces an array of that name. */
void chunk_reads_describe(chunk_reads *c, const char *name, const char *compressor,
                          uint64_t n, uint64_t chunk_nbytes);
void chunk_reads_put(chunk_reads *c, const char *name, uint64_t i, const void *bytes,
                     uint64_t nbytes);
/* Read every chunk by a request of its own, all in one batch. */
void chunk_reads_run(chunk_reads *c, const char *name, bool on_device, bool strict,
                     chunk_results *out);
void chunk_results_free(chunk_results *r);

#endif
