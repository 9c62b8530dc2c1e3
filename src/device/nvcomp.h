/* NVIDIA's nvCOMP as a decoder: opened at run time, where the user asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_DEVICE_NVCOMP_H
#define HR_DEVICE_NVCOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "device/device.h"

typedef enum hr__nvcomp_format {
    HR__NVCOMP_LZ4 = 0, /* blocks without a size in front */
    HR__NVCOMP_SNAPPY,  /* with it */
    HR__NVCOMP_NFORMATS
} hr__nvcomp_format;

/* As nvCOMP has them, but for pointers to device memory. Of 64 bytes in all versions. */
typedef struct hr__nvcomp_options {
    int backend;
    int others[15];
} hr__nvcomp_options;

typedef struct hr__nvcomp_entry {
    /* Of version 5; from 6 on the other. */
    int (*temp_nbytes_5)(size_t n, size_t most_nbytes, hr__nvcomp_options o,
                         size_t *temp_nbytes, size_t total_nbytes);
    int (*temp_nbytes)(size_t n, size_t most_nbytes, hr__nvcomp_options o,
                       size_t *temp_nbytes, size_t total_nbytes, void *stream);
    int (*decompress)(hr__devptr srcs, hr__devptr src_nbytes, hr__devptr dst_nbytes,
                      hr__devptr made_nbytes, size_t n, hr__devptr temp,
                      size_t temp_nbytes, hr__devptr dsts, hr__nvcomp_options o,
                      hr__devptr statuses, void *stream);
} hr__nvcomp_entry;

typedef struct hr__nvcomp {
    uint32_t version; /* 1000·major + 100·minor + patch; 0: not open */
    bool on_host;     /* a stand-in that works in host memory, for tests */
    hr__nvcomp_entry entries[HR__NVCOMP_NFORMATS];
} hr__nvcomp;

/* `library`: a name or a path; "" = libnvcomp.so.6, else libnvcomp.so.5. It stays loaded.
 * HR_ERR_UNSUPPORTED where there is none, or one of another version. */
hr_status hr__nvcomp_open(const char *library, hr__nvcomp *out, hr_error *err);

/* Is it open, and for this device? */
bool hr__nvcomp_serves(const hr__nvcomp *n, int32_t device_type);

/* A batch of streams: arrays of n in device memory, filled but for the last two. The
 * parameters of HR__KERNEL_NVCOMP. */
typedef struct hr__nvcomp_batch {
    const hr__nvcomp *library;
    hr__nvcomp_format format;
    uint32_t most_nbytes; /* that a stream makes */
    uint64_t n, total_nbytes, temp_nbytes;
    hr__devptr temp;
    hr__devptr srcs, dsts;             /* addresses */
    hr__devptr src_nbytes, dst_nbytes; /* uint64_t */
    hr__devptr made_nbytes;            /* uint64_t */
    hr__devptr statuses;               /* int32_t: 0 for success */
} hr__nvcomp_batch;

/* Memory for it to work in, of which batch->temp_nbytes are then needed. Uses n and the
 * sizes. HR_ERR_DEVICE. */
hr_status hr__nvcomp_temp(const hr__nvcomp_batch *batch, uint64_t *temp_nbytes,
                          hr_error *err);
/* Queue it on a stream of the current context. HR_ERR_DEVICE. */
hr_status hr__nvcomp_decode(const hr__nvcomp_batch *batch, hr__stream s, hr_error *err);

#endif
