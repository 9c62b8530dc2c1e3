/* Stores: bytes by key. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_STORE_H
#define HEADRACE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_store hr_store;

/* A directory as a store, read-only; keys are paths below it. The directory must exist.
 * Symbolic links are followed, also out of it: open no store of a stranger whose links
 * you would not follow. Errors: HR_ERR_NOT_FOUND, HR_ERR_IO. Caller owns *out. Any
 * thread. */
HR_API HR_NODISCARD hr_status hr_store_open_directory(hr_context *context,
                                                      const char *path, hr_store **out,
                                                      hr_error *err);
/* An empty store in memory. Caller owns *out. Any thread. */
HR_API HR_NODISCARD hr_status hr_store_create_memory(hr_context *context, hr_store **out,
                                                     hr_error *err);
/* A store in memory before another one, which it holds: a key that was set is found
 * there, any other one below. A list shows the members below only. So that an array can
 * be opened by metadata of the caller's. Caller owns *out. Any thread. */
HR_API HR_NODISCARD hr_status hr_store_create_overlay(hr_store *below, hr_store **out,
                                                      hr_error *err);
/* Put a value (copied) into a store in memory or an overlay, replacing an older one. The
 * key is relative, '/'-separated, without backslashes and without empty, "." or ".."
 * parts. Safe against concurrent reads, which see the old or the new value whole. Errors:
 * HR_ERR_UNSUPPORTED for a read-only store. Any thread. */
HR_API HR_NODISCARD hr_status hr_store_set(hr_store *store, const char *key,
                                           const void *data, size_t nbytes,
                                           hr_error *err);
/* A store holds its context. NULL is accepted. */
HR_API hr_store *hr_store_ref(hr_store *store);
HR_API void hr_store_unref(hr_store *store);

/* --- a store of your own --- */

/* What is being read, for a store or a codec that wants to know: see read_context.h. */
typedef struct hr_read_context hr_read_context;

/* An open value: a snapshot of the bytes under a key. Given zeroed. */
typedef struct hr_custom_value {
    void *handle;     /* yours; passed to read and close */
    uint64_t nbytes;  /* of the whole value */
    uint64_t version; /* another number when the bytes may be others, so that what was
                         read before (indexes of shards, chunks that the context keeps) is
                         used again; 0: not known */
    /* Memory of a device in which all of the bytes lie, too, until the batch is done;
     * they are there once `stream` of hr_read_submit comes to it. That device's kernels
     * decode them there, and nothing of them is copied up; `read` is asked all the same,
     * since the host walks headers. NULL: there is none. */
    const void *device_bytes;
    hr_device device; /* of device_bytes */
} hr_custom_value;

#define HR_CUSTOM_STORE_VERSION 1

/* A store as functions. All of them may be called from any thread, many at once, also for
 * one value; each may take its time, but may not wait for a batch of the same context,
 * whose threads may all be waiting for it.
 *
 * Keys are NUL-terminated, relative, '/'-separated, without backslashes and without
 * empty, "." or ".." parts. A function that fails returns another status than HR_OK and
 * may say why in *err (never NULL), in err->message and err->os_errno; what else an error
 * says is filled in for it. A value that is no hr_status counts as HR_ERR_IO, and so do
 * HR_ERR_TIMEOUT and HR_ERR_FORKED, by which hr_batch_wait means something else. */
typedef struct hr_custom_store {
    uint32_t abi_version; /* HR_CUSTOM_STORE_VERSION */
    const char *url;     /* for messages ("tar:///data/x.tar"); copied; NULL: "custom:" */
    void *user;          /* yours; passed to all */
    uint64_t gap_nbytes; /* of two ranges of one value that lie closer than this, one is
                            made: what lies between costs less than another read. Of an
                            uncompressed chunk, parts that are at least this and 4 KiB
                            apart are read one by one, up to 512 of them: set what a read
                            is worth (for a network some 1 MiB) */
    /* Find a value. HR_ERR_NOT_FOUND says that the key is absent for certain (then chunks
     * are filled); whatever is less certain is another error. `reading` (borrowed for the
     * call, as in read) is NULL for metadata. */
    hr_status (*open)(void *user, const char *key, const hr_read_context *reading,
                      hr_custom_value *out, hr_error *err);
    /* Copy nbytes > 0 at offset, within the value as open told it, to dst, and set *nread
     * to how many these were. Any other number than nbytes is an error of the read, and
     * so is HR_ERR_NOT_FOUND: a value that is open is there. `reading` is NULL for
     * metadata. */
    hr_status (*read)(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                      void *dst, const hr_read_context *reading, uint64_t *nread,
                      hr_error *err);
    /* Called once for every open that returned HR_OK. NULL: nothing to do. */
    void (*close)(void *user, void *handle);
    /* Call entry(sink, name, is_prefix) for each direct child of a prefix ("" is the
     * root), in any order: name is one part of a key, is_prefix whether there are keys
     * below it (what is both a value and a prefix comes twice). Return when it gives 0.
     * A prefix that does not exist has no children. NULL: the store cannot be listed, so
     * groups need consolidated metadata to tell their members. */
    hr_status (*list)(void *user, const char *prefix,
                      int (*entry)(void *sink, const char *name, int is_prefix),
                      void *sink, hr_error *err);
    /* The store is gone: the last call. NULL: nothing to do. */
    void (*destroy)(void *user);
} hr_custom_store;

/* Make a store of these functions, which are copied; read-only. `user` is the store's on
 * success and stays the caller's on failure (destroy is not called then). A forked child
 * goes on calling them. Errors: HR_ERR_ARGUMENT without open or read, HR_ERR_UNSUPPORTED
 * for another abi_version. Caller owns *out. Any thread. */
HR_API HR_NODISCARD hr_status hr_store_create_custom(hr_context *context,
                                                     const hr_custom_store *functions,
                                                     hr_store **out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
