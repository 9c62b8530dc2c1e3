/* Reading: many selections of many arrays in one call.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_READ_H
#define HEADRACE_READ_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr_axis_kind {
    HR_AXIS_SLICE = 0,   /* start:stop:step in NumPy's sense */
    HR_AXIS_INTEGER = 1, /* one index; the axis is dropped from the result */
    HR_AXIS_INDICES = 2  /* a list, any order, repeats allowed; negative from the end */
} hr_axis_kind;

/* What cannot be known before something is read. */
#define HR_UNKNOWN UINT64_MAX

/* "Not given", for start and stop of a slice. */
#define HR_NONE INT64_MIN

/* Selection along one axis. A slice clips to the array like NumPy's; integers and
 * lists must be in [−n, n). */
typedef struct hr_axis {
    hr_axis_kind kind;
    int64_t start;          /* slice; or the integer */
    int64_t stop;           /* slice */
    int64_t step;           /* slice; 0 and HR_NONE are taken as 1; may be negative */
    const int64_t *indices; /* list; borrowed until submit returns */
    uint64_t nindices;
} hr_axis;

typedef enum hr_selection_kind {
    HR_SELECT_ALL = 0,
    HR_SELECT_AXES = 1,   /* outer product of `axes`; missing trailing axes are whole */
    HR_SELECT_POINTS = 2, /* npoints coordinate tuples -> result of shape (npoints,) */
    HR_SELECT_MASK = 3,   /* a bool per element, C order -> result (count of trues,) */
    HR_SELECT_BLOCKS = 4  /* like AXES, in units of innermost chunks: slices of step 1,
                             and integers, which keep their axis; no lists */
} hr_selection_kind;

typedef struct hr_selection {
    hr_selection_kind kind;
    int32_t naxes;
    const hr_axis *axes;
    uint64_t npoints;
    const int64_t *points; /* npoints × ndim, C order; negative counts from the end */
    const uint8_t *mask;   /* product of the array's shape bytes; nonzero = selected */
} hr_selection;

/* Shape of what a selection of `array` gives. `shape` has room for HR_MAX_NDIM. Errors:
 * HR_ERR_SELECTION naming axis and bounds, HR_ERR_OVERFLOW. Any thread. */
HR_API HR_NODISCARD hr_status hr_selection_shape(const hr_node *array,
                                                 const hr_selection *selection,
                                                 int32_t *ndim, int64_t *shape,
                                                 hr_error *err);

/* Packed numbers, as the CF conventions have them: an element that equals a fill becomes
 * NaN, every other one element · scale + offset. Absent chunks, which give the array's
 * fill value, are treated alike.
 *
 * Computed as xarray does: the elements become floats (rounded to nearest, even), then
 * are multiplied, then added to, each step rounded; on a device to the same bits as on
 * the host. The type is float64 for destinations of float64 or with `in_double`, else
 * float32; scale and offset are rounded to it. What is too large becomes infinite. */
typedef struct hr_packing {
    uint32_t struct_size;
    double scale;        /* 1: none; not NaN */
    double offset;       /* −0.0: none (0.0 would turn −0.0 into 0.0); not NaN */
    uint32_t nfills;     /* at most HR_MAX_FILLS */
    int32_t is_unsigned; /* 1: signed integers stand for the unsigned ones with the same
                            bits ("_Unsigned") */
    const void *fills;   /* items of the array's type, little-endian, as stored; NaN
                            equals NaN */
    int32_t in_double;   /* 1: compute in float64, and round once more at the end */
} hr_packing;

#define HR_MAX_FILLS 2 /* CF's _FillValue and missing_value */
#ifdef __cplusplus
extern "C++" inline hr_packing hr_init_packing() {
    hr_packing packing = HR_INIT(hr_packing);
    packing.scale = 1.0;
    packing.offset = -0.0;
    return packing;
}
#define HR_PACKING_INIT hr_init_packing()
#else
#define HR_PACKING_INIT                                                                  \
    ((hr_packing){.struct_size = sizeof(hr_packing), .scale = 1.0, .offset = -0.0})
#endif

/* One array, one selection, one destination. */
typedef struct hr_request {
    uint32_t struct_size;
    hr_node *array;         /* borrowed; the batch takes its own reference */
    hr_selection selection; /* borrowed until submit returns */
    hr_tensor dst; /* of the selection's shape; memory borrowed until the batch is done */
    int32_t allow_cast; /* 1: convert to dst.dtype as NumPy's astype does (numbers, bool;
                           floats that an integer does not hold, which NumPy leaves open,
                           become the nearest that it holds, and NaN 0);
                           0: HR_ERR_DTYPE where it differs in more than byte order */
    void *user;         /* yours: custom stores and codecs find it in hr_read_use */
    const hr_packing *packing; /* borrowed until submit returns. NULL: elements as they
                                  are. Else the array must be of integers or real floats
                                  and dst.dtype a float16, bfloat16, float32 or float64
                                  (HR_ERR_DTYPE), whatever allow_cast says */
} hr_request;

#define HR_REQUEST_INIT HR_INIT(hr_request)

/* What follows from a chunk that fails. In each case its requests report the first error
 * of theirs. */
typedef enum hr_on_error {
    HR_ON_ERROR_DELIVER = 0, /* the other chunks are delivered; its own elements have no
                                defined value */
    HR_ON_ERROR_FILL = 1, /* likewise, but its elements get the array's fill value; on a
                             device by the time that the batch is done, if the device
                             itself has not failed */
    HR_ON_ERROR_STOP = 2  /* the batch is cancelled; hr_batch_wait gives this error */
} hr_on_error;

typedef struct hr_read_options {
    uint32_t struct_size;
    int32_t strict; /* 1: an absent chunk is HR_ERR_MISSING_CHUNK, not fill; a chunk for a
                       device that only the host can decode is HR_ERR_STRICT */
    int32_t skip_checksums; /* 1: do not verify crc32c, fletcher32, adler32, … */
    hr_on_error on_error;
    int32_t host_share; /* of the chunks that kernels could decode, those that the host
                           decodes, so that both are at work: 0 none, 1 … 100 so many per
                           cent, or HR_HOST_SHARE_MEASURED. strict: none */
} hr_read_options;

/* As many as earlier batches of the context let expect the batch to be done soonest: of
 * such chunks on that device (none before there was one), and on the host (a batch
 * without sends one chunk there, to learn). However few chunks kernels get, the model has
 * them take as long as the shortest of those batches, since a GPU works on many chunks at
 * once; so what gains are few chunks that are large or decode slowly, and mostly by
 * leaving all of them to the host. Where the chunks of a batch are not all alike, none.
 */
#define HR_HOST_SHARE_MEASURED (-1)

#define HR_READ_OPTIONS_INIT HR_INIT(hr_read_options)

typedef struct hr_batch hr_batch;

/* Start reading n requests. Each chunk (inner chunk of a shard) that any of them needs
 * is read and decoded once; of uncompressed chunks only the bytes are read that are
 * needed, and of Blosc's only those blocks decoded, so that damage elsewhere in such a
 * chunk may go unnoticed. Returns when the plan is made; an ill-formed request fails
 * the call as a whole (the message names its number) and nothing is started. Errors:
 * HR_ERR_SELECTION, HR_ERR_SHAPE, HR_ERR_DTYPE, HR_ERR_OVERFLOW, HR_ERR_UNSUPPORTED, and
 * for destinations on a device HR_ERR_DEVICE and HR_ERR_FORKED. `options` may be NULL.
 *
 * `stream` is a CUstream for CUDA destinations: the reads are ordered after what it
 * holds now. NULL is the legacy default stream. It is ignored for host destinations. A
 * stream is of one GPU: a batch for several has NULL.
 *
 * A chunk that fails does not disturb the others, but for what options->on_error says:
 * its request reports the first such error. Caller owns *out. Any thread, also many at
 * once on one context: batches that are under way together have equal shares of its
 * threads, or take turns where they are more than these. */
HR_API HR_NODISCARD hr_status hr_read_submit(hr_context *context,
                                             const hr_request *requests, size_t n,
                                             void *stream, const hr_read_options *options,
                                             hr_batch **out, hr_error *err);

/* Wait until all is delivered. timeout_ns < 0 = for ever, and the caller's thread helps
 * meanwhile. Returns HR_OK, HR_ERR_TIMEOUT, HR_ERR_FORKED, or the status (with its error)
 * of the first request, by number, that failed. Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_wait(hr_batch *batch, int64_t timeout_ns,
                                            hr_error *err);
/* Have a stream wait for the batch: what is queued on it after this call comes after the
 * batch's last write to a device. The call itself lasts as long as the host's part does:
 * reading, decoding there, queueing; for the devices it does not wait, and destinations
 * in host memory are complete when it returns. Whether the chunks were right is not known
 * yet: elements of one that fails have no defined value, and hr_batch_error tells once
 * the batch is done. `stream` is a CUstream; NULL: the legacy default one, of each device
 * of the batch. Errors: HR_ERR_DEVICE, HR_ERR_FORKED. Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_wait_on_stream(hr_batch *batch, void *stream,
                                                      hr_error *err);
/* 1 when done, 0 when not. In a forked child: 1. */
HR_API int hr_batch_poll(hr_batch *batch);
/* Have fn(user) called once, when the batch is done (by then hr_batch_poll says so), from
 * whichever thread finishes it; at once, from this one, if it is done. The last
 * hr_batch_unref returns after the call. fn may not release the batch, and should only
 * pass the news on: a thread of the pool waits for it. HR_ERR_ARGUMENT for a second
 * callback, HR_ERR_FORKED in a forked child. Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_on_done(hr_batch *batch, void (*fn)(void *user),
                                               void *user, hr_error *err);
/* A descriptor that becomes readable when the batch is done, for poll, epoll and event
 * loops, and stays so. It is the batch's: it lives until the last hr_batch_unref, and may
 * be neither read nor closed. The same at every call. Errors: HR_ERR_IO (no descriptors
 * left), HR_ERR_FORKED. Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_get_fd(hr_batch *batch, int *out, hr_error *err);
/* How many of its nchunks chunks the batch has done with: delivered, filled, failed or
 * dropped; a chunk for a device counts once it is collected for it. As many as there are
 * when the batch is done. Costs two loads. NULL, which is done, has none; an output may
 * be NULL. Any thread, also in a forked child. */
HR_API void hr_batch_get_progress(const hr_batch *batch, uint64_t *ndone,
                                  uint64_t *nchunks);
/* Stop early: chunks not yet begun are dropped; those requests get HR_ERR_CANCELLED.
 * Returns at once; once a wait says that the batch is done, nothing is written any more.
 *
 * What has begun is not torn off: a read of a file ends within 8 MiB and a chunk of
 * Blosc, zstd, bz2 or lzma within a block or a few MiB, other codecs finish their chunk
 * (zlib of 64 MiB: some 0.1 s), another store its read unless it asks
 * (hr_read_context_is_cancelled), and a device the slabs that it has. */
HR_API void hr_batch_cancel(hr_batch *batch);
/* Status (and error) of request i once the batch is done; HR_ERR_TIMEOUT before,
 * HR_ERR_FORKED in a forked child. */
HR_API HR_NODISCARD hr_status hr_batch_error(hr_batch *batch, size_t i, hr_error *err);

typedef struct hr_batch_stats {
    uint32_t struct_size;
    uint64_t nchunks;         /* distinct innermost chunks needed */
    uint64_t nchunks_missing; /* of these, absent and filled */
    uint64_t nreads;          /* byte ranges read from the store */
    uint64_t read_nbytes;
    uint64_t decoded_nbytes;  /* out of the last codec, before cropping; blocks that were
                                 left out do not count */
    uint64_t copied_nbytes;   /* sent to devices */
    uint64_t ndecoded_cpu;    /* chunks decoded by the host; one that several devices, or
                                 one and the host, want is decoded on each, and counts so */
    uint64_t ndecoded_device; /* chunks decoded by kernels */
    uint64_t nslabs;          /* copies to devices, of many chunks each */
    uint64_t read_ns;         /* in reads from the store, all threads together */
    uint64_t wait_ns; /* waiting for a device to give staging memory back, likewise: where
                         it is large, the copies or the kernels are what takes the time */
    uint64_t ndecoded_nvcomp; /* of ndecoded_device, those with streams for nvCOMP */
    uint64_t nkept_encoded;   /* chunks whose encoded bytes the context had kept, … */
    uint64_t nkept_decoded;   /* … and those that it had decoded */
    uint64_t direct_nbytes;   /* of read_nbytes, past the page cache (HR_IO_DIRECT); those
                                 of an object count once it is closed */
    uint64_t nchunks_host_share; /* for the host, by hr_read_options.host_share */
    uint64_t ndecoded_whole; /* of ndecoded_device, those with streams that were so few
                                and so large that the whole device shared them */
} hr_batch_stats;

#define HR_BATCH_STATS_INIT HR_INIT(hr_batch_stats)

/* Counts so far; final once the batch is done. `stats` must have its struct_size set
 * (HR_BATCH_STATS_INIT). Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_get_stats(hr_batch *batch, hr_batch_stats *stats,
                                                 hr_error *err);

/* What a read spends its time in. */
typedef enum hr_stage {
    HR_STAGE_PLAN = 0, /* from requests to chunks, while they are submitted */
    HR_STAGE_OPEN,     /* threads: finding chunks: store keys, indexes of shards */
    HR_STAGE_READ,     /* threads: reading chunks */
    HR_STAGE_DECODE,   /* threads: decoding those that the host decodes */
    HR_STAGE_SCATTER,  /* threads: from decoded chunks, and fills, to destinations */
    HR_STAGE_QUEUE,    /* threads: headers, tables and launches for devices */
    HR_STAGE_COPY,     /* devices: copies to them */
    HR_STAGE_KERNELS,  /* devices: decoding, filters */
    HR_STAGE_STORE,    /* devices: from decoded chunks to destinations */
    HR_NSTAGES
} hr_stage;

/* Times of stages. Those of threads are of all threads together, waiting left out; those
 * of devices are while at least one piece of work was in the stage, so they count what
 * other batches do to it. Measuring takes a look at the clock per stage of a chunk, and a
 * few events per copy to a device. */
typedef struct hr_stage_times {
    uint32_t struct_size;
    uint32_t nthreads; /* that could work at it at once */
    uint32_t ndevices;
    int32_t bound; /* the hr_stage that sets the time; −1: none is known. Where threads
                      are busier than any device, that in which they spend most */
    uint64_t wall_ns; /* from submit until done */
    uint64_t ns[HR_NSTAGES];
} hr_stage_times;

#define HR_STAGE_TIMES_INIT HR_INIT(hr_stage_times)

/* Times so far; final once the batch is done. Any thread. */
HR_API HR_NODISCARD hr_status hr_batch_get_stages(hr_batch *batch, hr_stage_times *times,
                                                  hr_error *err);
/* "read"; "" for what is none. */
HR_API const char *hr_stage_name(hr_stage stage);
/* How much of the wall time the stage kept busy what it works on (threads, devices): near
 * 1 where it sets the time. 0 where a time is not known. `times` is a whole record. */
HR_API double hr_stage_share(const hr_stage_times *times, hr_stage stage);

/* Release; NULL is accepted. If the batch is not done, it is cancelled and waited for,
 * since its destinations are the caller's. Strings read by it (hr_vlen) end with it. */
HR_API hr_batch *hr_batch_ref(hr_batch *batch);
HR_API void hr_batch_unref(hr_batch *batch);

/* Submit, wait, release: one selection (NULL = all) into one destination of the array's
 * type; on a device, ordered after the legacy default stream. Not for VLEN kinds, whose
 * bytes end with the batch. Errors: those of hr_read_submit and hr_batch_wait. */
HR_API HR_NODISCARD hr_status hr_read(hr_node *array, const hr_selection *selection,
                                      const hr_tensor *dst, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
