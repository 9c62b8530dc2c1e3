/* Streams and events of the simt device. SPDX-License-Identifier: Apache-2.0
 *
 * Work on a stream is put off until somebody waits for it. Not thread-safe. */
#ifndef HR_DEVICE_SIMT_QUEUE_H
#define HR_DEVICE_SIMT_QUEUE_H

#include <stdint.h>

#include "core/alloc.h"
#include "core/error.h"
#include "device/device.h"
#include "device/simt_memory.h"

typedef struct hr__simt_stream hr__simt_stream;
typedef struct hr__simt_event hr__simt_event;

typedef struct hr__simt_queue {
    const hr_allocator *allocator;
    hr__simt_memory memory;
    hr__simt_stream *streams;
    uint64_t seed;    /* of the next launch */
    hr_error failure; /* the first of put-off work: nothing runs after it */
} hr__simt_queue;

hr__simt_stream *hr__simt_stream_create(hr__simt_queue *q);          /* NULL: no memory */
void hr__simt_stream_destroy(hr__simt_queue *q, hr__simt_stream *s); /* runs its work */
hr__simt_event *hr__simt_event_create(hr__simt_queue *q);            /* NULL: no memory */
void hr__simt_event_destroy(hr__simt_queue *q, hr__simt_event *e);

/* In each of these, a stream of NULL means at once. */
hr_status hr__simt_copy(hr__simt_queue *q, hr__simt_stream *s, void *dst, const void *src,
                        uint64_t nbytes, hr_error *err);
hr_status hr__simt_launch(hr__simt_queue *q, hr__simt_stream *s, hr__kernel kernel,
                          const void *params, hr_error *err);
hr_status hr__simt_record(hr__simt_queue *q, hr__simt_event *e, hr__simt_stream *s,
                          hr_error *err);
hr_status hr__simt_wait(hr__simt_queue *q, hr__simt_stream *s, hr__simt_event *e,
                        hr_error *err);
/* When its last record was passed; 0 before. */
uint64_t hr__simt_event_time(const hr__simt_event *e);

/* Run everything, or all of one stream. */
void hr__simt_run_all(hr__simt_queue *q);
void hr__simt_run(hr__simt_queue *q, hr__simt_stream *s);

#endif
