/* Running a plan. SPDX-License-Identifier: Apache-2.0
 *
 * A run is a job of the pool. Its pieces of work are, first, its objects (open, read the
 * indexes that lie on the way, work out the byte ranges), then the ranges of objects
 * that have more than one (read, decode, deliver). run.c hands the pieces out, wait.c has
 * who waits for them, object.c does the first kind, deliver.c the second, kept.c stands
 * before reading and decoding with what earlier calls left, pieces.c decodes large chunks
 * plane by plane, to_device.c, decoded.c and the slabs bring chunks to devices. */
#ifndef HR_EXEC_RUN_H
#define HR_EXEC_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include <headrace/read.h>

#include "codec/leaves.h"
#include "core/pool.h"
#include "core/vec.h"
#include "exec/context.h"
#include "exec/source.h"
#include "exec/stages.h"
#include "plan/plan.h"

/* One request as the run sees it. The API has checked that it makes sense. */
typedef struct hr__target {
    const hr__source *source;
    hr_dtype dtype;         /* of the destination */
    const hr__steps *steps; /* that elements go through before; NULL: none */
    uint8_t *data;
    void *user;     /* hr_request.user */
    hr__ring *ring; /* of the destination's device; NULL = host memory */
    atomic_int status;
    const hr_error *error; /* the first failure, in the arena; NULL: its status is all */
} hr__target;

/* Where its destination lies. */
static inline hr_device hr__target_device(const hr__target *t) {
    return t->ring != NULL ? t->ring->device->id : (hr_device){.type = HR_DEVICE_CPU};
}

/* What became of it, once the run is done. */
hr_status hr__target_error(const hr__target *t, hr_error *err);

/* What a store or a codec may ask about (api/read_context.c): the chunks that a call is
 * about. Made on the stack of the call; everything else is worked out when asked. */
struct hr_read_context {
    const struct hr__run *run;
    const hr__chunk *chunks; /* and those linked to it, … */
    bool is_one;             /* … unless this */
};

/* An object whose ranges are being handed out. */
typedef struct hr__opened {
    struct hr__opened *next;
    const hr__object_plan *plan;
    hr__object *object;
    atomic_uint_fast64_t pending; /* ranges not yet finished */
    uint64_t next_range, nranges;
    hr__range *ranges;
    size_t nbytes; /* of this allocation */
} hr__opened;

/* A caller's stream on one device, as it was at submit. */
typedef struct hr__start {
    hr__ring *ring;
    hr__event event;
    uint64_t counted_ns[HR__NDEVICE_STAGES]; /* how far from `event` on; by the lock */
} hr__start;

typedef struct hr__run {
    hr__job job; /* first: the pool gives it back */
    hr_context *context;
    bool strict, skip_checksums;
    hr_on_error on_error;
    hr__arena arena; /* plan and targets; by the lock, once it runs */
    hr__plan plan;
    hr__target *targets;
    size_t ntargets;
    uint64_t nhost_share; /* chunks that are for the host by the share asked for */
    hr__heap *heap; /* bytes of variable-length elements; NULL without such requests */
    uint32_t nstarts;
    hr__start starts[HR__MAX_RINGS];

    pthread_mutex_t lock;
    pthread_cond_t changed; /* done, or new ranges for a helping caller */
    uint64_t generation;
    hr__object_plan *next_object;
    hr__opened *ready;
    uint64_t nactive;                    /* threads that do a piece, … */
    uint64_t nwaiting;                   /* … and those of them that wait for a slot */
    struct hr__slab *slabs;              /* open ones */
    struct hr__slab *gathered;           /* copied up, to be decoded with others */
    uint64_t slab_nbytes;                /* full from here on */
    uint32_t nsharers;                   /* threads that may fill one at a time */
    pthread_mutex_t opening;             /* held while threads that share look for one */
    atomic_bool cancelled, queued, done; /* queued: only devices have still to work */
    void (*on_done)(void *user);         /* guarded by the lock, like what follows */
    void *on_done_user;
    int done_fd;                  /* eventfd; −1: nobody has asked for it */
    const hr__target *stopped_by; /* whose failure cancelled it; NULL: the caller */
    hr__vec failed;               /* chunks that shall get the fill value, as pointers */

    atomic_uint_fast64_t ndone; /* chunks that the host has done with */
    atomic_uint_fast64_t direct_nbytes;
    atomic_uint_fast64_t nmissing, nreads, read_nbytes, decoded_nbytes, copied_nbytes;
    atomic_uint_fast64_t decoded_cpu_nbytes, ndecoded_cpu, ndecoded_device,
        ndecoded_nvcomp, ndecoded_whole;
    atomic_uint_fast64_t nkept_encoded, nkept_decoded;
    atomic_uint_fast64_t nslabs, wait_ns; /* time of all threads together */
    hr__stages stages;
} hr__run;

/* run.c: per-thread state, for the pool's hooks; `user` is the context's allocator. */
void *hr__run_worker_create(void *user);
void hr__run_worker_destroy(void *user, void *worker);
/* Starts a run whose plan and targets are filled in. */
hr_status hr__run_start(hr__run *run, void *stream, hr_error *err);
/* Hand out the ranges of an object. */
void hr__run_push(hr__run *run, hr__opened *opened);
/* Record a failure for all requests that use the chunk. */
void hr__run_fail_chunk(hr__run *run, const hr__chunk *chunk, const hr_error *err);
/* The same, after adding to the error where the chunk is. */
void hr__run_report(hr__run *run, const hr__chunk *chunk, hr_error *err);
/* Why a cancelled run does not go on: HR_ERR_CANCELLED. */
hr_status hr__run_fail_cancelled(hr__run *run, hr_error *err);
/* The chunk and those behind it are not looked at, since the run is cancelled. */
void hr__run_drop(hr__run *run, const hr__chunk *chunk);
/* Record a failure for all requests with a destination on this device. */
void hr__run_fail_ring(hr__run *run, const hr__ring *ring, const hr_error *err);
/* Once nobody is inside the run, and for one that did not start. */
void hr__run_destroy_starts(hr__run *run);

/* wait.c */
hr_status hr__run_wait(hr__run *run, int64_t timeout_ns, hr_error *err);
/* Call fn once the run is done, or now. HR_ERR_ARGUMENT for a second one. */
hr_status hr__run_on_done(hr__run *run, void (*fn)(void *user), void *user,
                          hr_error *err);
/* A descriptor that becomes readable when the run is done. The run's. */
hr_status hr__run_fd(hr__run *run, int *out, hr_error *err);
/* Wait for the host's part, then have a stream wait for the devices'. */
hr_status hr__run_wait_on_stream(hr__run *run, void *stream, hr_error *err);
void hr__run_cancel(hr__run *run);
/* Cancel, wait, take the run out of the pool. The arena and the heap are the caller's. */
void hr__run_finish(hr__run *run);

/* object.c */
void hr__run_object(hr__run *run, hr__worker *w, hr__object_plan *plan);
void hr__opened_free(hr__run *run, hr__opened *opened);
/* Store key of an object, for the store and for messages. */
hr_status hr__run_key(const hr__source *source, const hr__object_plan *plan, char *key,
                      hr_error *err);

/* deliver.c */
/* Chain of one chunk, and whether that many bytes could be it: before anything is read
 * or allocated for it. */
hr_status hr__run_check_chunk(const hr__array *a, const hr__chunk *chunk,
                              const hr__chain **chain, hr_error *err);
/* Copy decoded bytes to the uses of a chunk, wherever they are. */
hr_status hr__run_put(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes,
                      uint64_t nbytes, hr_error *err);
/* Read a range of an object, with the time it takes counted. HR_ERR_CANCELLED amid a long
 * one. */
hr_status hr__run_read(hr__run *run, hr__object *object, const hr__range *range,
                       void *dst, hr_error *err);
/* Fail a range's chunks from this one on. */
void hr__run_fail_from(hr__run *run, const hr__chunk *chunk, const hr_error *err);
/* Decode on the host for all uses of a chunk. HR_ERR_STRICT: that is not wanted. */
hr_status hr__run_deliver(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                          const hr__chain *chain, const uint8_t *src, hr_error *err);
/* The same for the uses in host memory alone. */
hr_status hr__run_deliver_here(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                               const hr__chain *chain, const uint8_t *src, hr_error *err);
/* Can kernels decode the array's chunks? Sets *kernels where they can. */
bool hr__run_has_kernels(const hr__array *a, hr__kernel_chain *kernels);
/* The host has decoded a chunk to so many bytes. */
void hr__run_count_decoded(hr__run *run, uint64_t nbytes);
void hr__run_range(hr__run *run, hr__worker *w, const hr__object_plan *plan,
                   hr__object *object, const hr__range *range);
void hr__run_missing(hr__run *run, const hr__chunk *chunk);
/* Give all uses of a chunk the array's fill value. */
hr_status hr__run_fill(hr__run *run, const hr__chunk *chunk, hr_error *err);

/* to_device.c: the same where every use of the range's chunks lies on one device. */
void hr__run_range_to_device(hr__run *run, hr__worker *w, hr__object *object,
                             const hr__kernel_chain *kernels, const hr__range *range,
                             hr__ring *ring);
/* A chunk with uses in several places, decoded where each is. */
hr_status hr__run_deliver_each(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                               const hr__kernel_chain *kernels, const uint8_t *src,
                               hr_error *err);

/* decoded.c */
/* The device of all uses of a chunk; NULL if some lie in host memory or on another. */
hr__ring *hr__run_only_ring(const hr__run *run, const hr__chunk *chunk);
/* Is some use of it on a device? */
bool hr__run_has_ring(const hr__run *run, const hr__chunk *chunk);
/* Was this use's device served with an earlier one of the chunk's? */
bool hr__run_is_served(const hr__run *run, const hr__chunk *chunk, const hr__use *use);
/* Decode on the host into a slab. */
hr_status hr__run_decode_to_ring(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                                 const hr__chain *chain, const uint8_t *src,
                                 hr__ring *ring, hr_error *err);
/* Bring decoded bytes (or, with bytes NULL, the fill value) to the uses on all devices.
 */
hr_status hr__run_to_devices(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes,
                             uint64_t nbytes, hr_error *err);

#endif
