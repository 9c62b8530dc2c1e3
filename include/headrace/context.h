/* The context: threads, budgets, allocators, log. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_CONTEXT_H
#define HEADRACE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_context hr_context;

/* Host memory hooks. Called from any thread, also concurrently. `alloc` returns memory
 * aligned to 64 bytes or NULL; `free` gets what `alloc` gave and the same size. What the
 * libraries of the codecs and of JSON allocate for themselves does not go through them.
 */
typedef struct hr_allocator {
    uint32_t struct_size;
    void *user;
    void *(*alloc)(void *user, size_t nbytes);
    void (*free)(void *user, void *ptr, size_t nbytes);
} hr_allocator;

/* Hooks for what staging and decoding on devices take, so that a program can give them of
 * the pools that its framework has (of CuPy, RMM, torch). Called from any thread, also
 * concurrently, with the device's context current; what they give counts towards the
 * context's budgets. A pair may be NULL: then the driver is asked. hr_memory_alloc asks
 * the driver, too. No lock is held meanwhile but one among threads that do a batch's
 * work, so a hook may wait for one that callers of the library hold (Python's, say); it
 * may not call the library itself.
 */
typedef struct hr_device_allocator {
    uint32_t struct_size;
    void *user;
    /* nbytes > 0 of device memory, aligned to 256 bytes, that will be used on `stream` (a
     * CUstream) alone; NULL without memory. `free` gets what `alloc` gave with the same
     * size and stream, which lives still, once all work on it was waited for. */
    void *(*alloc)(void *user, hr_device device, size_t nbytes, void *stream);
    void (*free)(void *user, hr_device device, void *ptr, size_t nbytes, void *stream);
    /* The same for pinned host memory, which that device can read and write by the same
     * address; aligned to 64 bytes. */
    void *(*alloc_pinned)(void *user, hr_device device, size_t nbytes);
    void (*free_pinned)(void *user, hr_device device, void *ptr, size_t nbytes);
    /* The context is gone: the last call. NULL: nothing to do. Where hr_context_create
     * fails it is not called. */
    void (*destroy)(void *user);
} hr_device_allocator;

typedef enum hr_log_level {
    HR_LOG_ERROR = 0,
    HR_LOG_WARNING = 1,
    HR_LOG_INFO = 2,
    HR_LOG_DEBUG = 3
} hr_log_level;

/* One finished line without newline; borrowed for the call. Called from any thread. */
typedef void (*hr_log_fn)(void *user, hr_log_level level, const char *line);

/* How files of directories are read. */
typedef enum hr_io_mode {
    HR_IO_BUFFERED = 0, /* through the kernel's page cache, where the bytes stay for the
                           next read */
    HR_IO_DIRECT = 1    /* past it (O_DIRECT), unless at least half of what is to be read
                           is there already; metadata, indexes of shards and tables of
                           files stay in it. Faster for files that are read once or are
                           more than memory holds; a second read is as slow as the first.
                           Where the file system or the kernel (before Linux 6.5) refuses,
                           files are read through the cache and a warning goes to the log;
                           hr_batch_stats counts what was read directly. Where the kernel
                           does not tell what is cached (since 6.14 it tells only who may
                           write the file) nothing counts as cached. Up to 4 MiB of host
                           memory per thread */
} hr_io_mode;

typedef struct hr_context_options {
    uint32_t struct_size;
    uint32_t nthreads;            /* at most 1024; 0 = one per available core, and at
                                     least 16 with HR_IO_DIRECT */
    uint64_t scratch_nbytes;      /* pinned memory for staging, per device; 0 = 256 MiB */
    uint64_t index_cache_nbytes;  /* shard indexes kept between calls; 0 = 64 MiB */
    uint64_t metadata_max_nbytes; /* largest metadata document read; 0 = 64 MiB */
    const hr_allocator *allocator; /* copied; NULL = malloc */
    hr_log_fn log;                 /* NULL = silent */
    void *log_user;
    hr_log_level log_level;         /* most verbose level passed to `log` */
    uint64_t device_scratch_nbytes; /* staging and decoding, per device; 0 = 1 GiB */
    const char *nvcomp; /* NULL: not used. Else NVIDIA's nvCOMP (5 or 6) decodes LZ4 and
                           Snappy streams, in Blosc or not, for CUDA destinations instead
                           of headrace's kernels: a library's name or path, or "" for
                           libnvcomp.so.6 or else .5 where the loader finds it. Read by
                           hr_context_create only, which gives HR_ERR_UNSUPPORTED
                           without such a library */
    uint64_t chunk_cache_nbytes;   /* decoded chunks kept between calls; 0 = none */
    uint64_t encoded_cache_nbytes; /* the same for chunks as they are stored; 0 = none */
    hr_io_mode io;
    const hr_device_allocator *device_allocator; /* copied; NULL = the driver */
} hr_context_options;

#ifdef __cplusplus
extern "C++" inline hr_context_options hr_init_context_options() {
    hr_context_options options = HR_INIT(hr_context_options);
    options.log_level = HR_LOG_WARNING;
    return options;
}
#define HR_CONTEXT_OPTIONS_INIT hr_init_context_options()
#else
#define HR_CONTEXT_OPTIONS_INIT                                                          \
    ((hr_context_options){.struct_size = sizeof(hr_context_options),                     \
                          .log_level = HR_LOG_WARNING})
#endif

/* scratch_nbytes and device_scratch_nbytes are kept to, however large a read is: it runs
 * in waves. (Only where many threads at once have chunks of less than a KiB or so, what
 * describes these to the device may go beyond.) Where a device or the system gives less
 * than they allow, waves are as small as the chunks permit; only when that is refused,
 * too, reads fail, with HR_ERR_MEMORY. */

/* On machines with several NUMA nodes the pinned memory for a GPU lies on the GPU's node
 * (that of the driver's, for threads whose memory policy is the usual one), and the
 * context's threads stay on the node's cores while they work for a batch whose
 * destinations are all on GPUs of it, whose chunks kernels decode, and whose stores are
 * headrace's own; hooks for memory, and the log, are called there, on_done is not. They
 * never leave the cores that they were started with; if none of the node's is among
 * those, they stay on all of them. The caller's threads are left alone. */

/* nvCOMP is never chosen unasked, here or by strict reads: the kernels check every access
 * to memory on any input, whereas what nvCOMP does with malformed streams is what its
 * version does (its CUDA code is meant to give a status; headrace never lets it use a
 * GPU's decompression engine, of which NVIDIA says that malformed input has undefined
 * results). Read what you trust with it. hr_batch_stats counts its chunks, its errors
 * begin with "nvCOMP:", and once loaded it stays in the process. */

/* What a context keeps between calls, in host memory: indexes of shards and files, and
 * chunks if it is asked to. Least recently used goes first; a budget is never exceeded,
 * what a read is using of it counts, and what does not fit is not kept, which is no
 * error.
 *
 * A chunk belongs to an opened array, so one that is opened again starts anew, and to a
 * version of the store's object: each read opens the object (a file; fstat) and finds out
 * whether it is another. A file counts as another when its size, its times or its place
 * changed, and is not kept within 50 ms of such a change, nor is what was read without
 * checksums, or from a store that tells no version. Caches are for data that do not
 * change while they are read all the same: of a file that is written to while it is being
 * read, no reader can tell what it gets.
 *
 * Decoded chunks serve reads into host memory, and those for devices that the host
 * decodes. Raw chunks are never kept decoded, elements of variable length neither.
 * Encoded ones serve all, in particular chunks that a GPU decodes: worth it where the
 * store is slow (files of a local disk are kept by the system already). What failed to
 * decode is let go. */

/* Create a context; no thread starts and no driver is opened before they are needed.
 * `options` may be NULL. Caller owns *out. Errors: HR_ERR_ARGUMENT, HR_ERR_MEMORY.
 * A context may be used from any number of threads at once. After fork() the child may
 * go on using it for host memory: threads are started anew; batches of the parent give
 * HR_ERR_FORKED, and so does a CUDA destination if the parent had used CUDA. */
HR_API HR_NODISCARD hr_status hr_context_create(const hr_context_options *options,
                                                hr_context **out, hr_error *err);
/* One reference more; returns its argument. NULL is accepted. Any thread; the same holds
 * for the other hr_…_ref. */
HR_API hr_context *hr_context_ref(hr_context *context);
/* NULL is accepted. The last unref joins the threads. Nodes and batches hold their
 * context, so the order of unrefs does not matter. */
HR_API void hr_context_unref(hr_context *context);

/* Of one cache of a context. */
typedef struct hr_cache_stats {
    uint64_t nhits, nmisses; /* look-ups that found what they sought, and others */
    uint64_t nevicted;       /* blocks that had to make room */
    uint64_t nblocks;        /* kept now */
    uint64_t nbytes;         /* held now; never more than max_nbytes */
    uint64_t max_nbytes;     /* 0: there is no such cache */
} hr_cache_stats;

typedef struct hr_context_stats {
    uint32_t struct_size;
    hr_cache_stats indexes, encoded_chunks, decoded_chunks;
} hr_context_stats;

#define HR_CONTEXT_STATS_INIT HR_INIT(hr_context_stats)

/* Counts so far. `stats` must have its struct_size set (HR_CONTEXT_STATS_INIT). Any
 * thread. */
HR_API HR_NODISCARD hr_status hr_context_get_stats(hr_context *context,
                                                   hr_context_stats *stats,
                                                   hr_error *err);
/* Let go of all that the context keeps between calls, but for what reads are using now.
 * NULL is accepted. Any thread. */
HR_API void hr_context_clear_caches(hr_context *context);

/* What this build and this machine have, for people and for tests. */
typedef struct hr_codec_support {
    const char *name;    /* "zstd" */
    const char *library; /* "libzstd", or "built in" */
    int32_t on_cpu;      /* 1 = decodes on the host */
    int32_t on_cuda;     /* 1 = chunks with it are decoded on the GPU (checksums of zstd,
                            zlib and gzip verified there, others by the host); a chunk's
                            own header may exclude it */
} hr_codec_support;

/* i-th codec this build decodes; 0 past the end, else 1. Static text. Any thread. */
HR_API int hr_codec_list(size_t i, hr_codec_support *out);

typedef struct hr_device_info {
    uint32_t struct_size;
    char name[128];
    char driver[64]; /* version of the driver, e.g. "CUDA 13.0" */
    uint64_t memory_nbytes;
    int32_t compute_major, compute_minor; /* 0 for cpu and simt */
    int32_t has_kernels; /* 1 = this build has kernels the device can run */
    char numa[64]; /* of machines with several NUMA nodes, the one that the device is near
                      to, with how many of the caller's cores; "": there is nothing to
                      choose from, or the driver (before CUDA 12.2) does not tell */
} hr_device_info;

#define HR_DEVICE_INFO_INIT HR_INIT(hr_device_info)

/* Describe a device. Opens the driver, but creates no CUDA context. `out` must have its
 * struct_size set (HR_DEVICE_INFO_INIT). Errors: HR_ERR_DEVICE with the reason why it
 * cannot be used, HR_ERR_UNSUPPORTED for a kind of device that this build lacks,
 * HR_ERR_FORKED. Any thread. */
HR_API HR_NODISCARD hr_status hr_device_describe(hr_device device, hr_device_info *out,
                                                 hr_error *err);

/* Version of nvCOMP (1000·major + 100·minor + patch) that a context with this option
 * `nvcomp` would use. Loads it. Errors: HR_ERR_UNSUPPORTED saying why there is none. Any
 * thread. */
HR_API HR_NODISCARD hr_status hr_nvcomp_version(const char *library, uint32_t *out,
                                                hr_error *err);

/* "0.1.0". */
HR_API const char *hr_version(void);

#ifdef __cplusplus
}
#endif
#endif
