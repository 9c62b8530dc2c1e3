/* Stores: bytes by key and range. SPDX-License-Identifier: Apache-2.0
 *
 * Keys are relative, '/'-separated, without empty, "." or ".." segments; "" names the
 * root (only for listing). Only store.c calls the vtable. */
#ifndef HR_STORE_STORE_H
#define HR_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/store.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"

#define HR__KEY_MAX 4095 /* bytes of a key */

/* An open value of a store: a snapshot that can be read by range from any thread. */
typedef struct hr__object {
    const struct hr__store_ops *ops;
    uint64_t nbytes;
    uint64_t version;      /* another value when the bytes may be others; 0 = not known */
    uint64_t piece_nbytes; /* longer reads may be done in pieces of this, so that they can
                              be stopped; 0: better not */
    _Atomic uint64_t direct_nbytes; /* of what was read, past the page cache */
    const void
        *device_bytes; /* all of it in memory of a device, until the batch is done */
    hr_device device;  /* of device_bytes */
} hr__object;

typedef struct hr__list_sink {
    void *user;
    /* name = last path segment; one that is both a value and a prefix comes twice. Return
     * false to stop (no memory). */
    bool (*entry)(void *user, const char *name, bool is_prefix);
} hr__list_sink;

typedef struct hr__store_ops {
    uint32_t abi_version; /* 1; grows at the end */
    /* HR_ERR_NOT_FOUND only for a definite absence (ENOENT). Anything else that fails
     * (EACCES, EISDIR, ENOTDIR, EIO, …) is HR_ERR_IO. */
    hr_status (*open)(hr_store *self, const char *key, const hr_read_context *reading,
                      hr__object **out, hr_error *err);
    /* Read exactly nbytes at offset; the range has been checked against object->nbytes.
     * A shorter file (truncated meanwhile) is HR_ERR_IO naming both sizes. */
    hr_status (*read)(hr__object *object, uint64_t offset, uint64_t nbytes,
                      const hr_read_context *reading, void *dst, hr_error *err);
    void (*close)(hr__object *object);
    /* Direct children of a prefix ("" = root), any order. A prefix that does not exist
     * lists nothing. NULL: this store cannot list. */
    hr_status (*list)(hr_store *self, const char *prefix, const hr__list_sink *sink,
                      hr_error *err);
    hr_status (*set)(hr_store *self, const char *key, const void *data, size_t nbytes,
                     hr_error *err); /* NULL: read-only */
    void (*destroy)(hr_store *self);
    /* As read, of bytes that later calls will want again. NULL: read does. */
    hr_status (*read_index)(hr__object *object, uint64_t offset, uint64_t nbytes,
                            const hr_read_context *reading, void *dst, hr_error *err);
} hr__store_ops;

/* First member of every store. */
struct hr_store {
    const hr__store_ops *ops;
    hr_context *context; /* held */
    const hr_allocator *allocator;
    const char *url; /* for messages; "file:///data/x" or "memory://" */
    _Atomic uint32_t refs;
    uint64_t gap_nbytes; /* reads closer than this are worth merging */
    bool runs_foreign_code;
};

/* `log` is borrowed as long as the store is. */
hr_status hr__store_open_directory(hr_context *context, const hr_allocator *a,
                                   const char *path, hr_io_mode io, const hr__log *log,
                                   hr_store **out, hr_error *err);
hr_status hr__store_create_memory(hr_context *context, const hr_allocator *a,
                                  hr_store **out, hr_error *err);
/* On failure functions->user stays the caller's. */
hr_status hr__store_create_custom(hr_context *context, const hr_allocator *a,
                                  const hr_custom_store *functions, hr_store **out,
                                  hr_error *err);
/* What is set in it goes before what `below` has, which it holds. */
hr_status hr__store_create_overlay(hr_store *below, hr_store **out, hr_error *err);

/* Checks the key (HR_ERR_ARGUMENT; also for a backslash), calls the vtable, adds url and
 * key to errors. The same for get, set and list below. `reading`: what for; NULL: for
 * itself, as in hr__store_open. */
hr_status hr__store_open_for(hr_store *store, const char *key,
                             const hr_read_context *reading, hr__object **out,
                             hr_error *err);
hr_status hr__store_open(hr_store *store, const char *key, hr__object **out,
                         hr_error *err);
/* Checks offset + nbytes against the object's size: HR_ERR_DATA naming both. */
hr_status hr__object_read_for(hr__object *object, uint64_t offset, uint64_t nbytes,
                              const hr_read_context *reading, void *dst, hr_error *err);
/* The same for the index of a shard and the tables of a file. */
hr_status hr__object_read_index(hr__object *object, uint64_t offset, uint64_t nbytes,
                                const hr_read_context *reading, void *dst, hr_error *err);
hr_status hr__object_read(hr__object *object, uint64_t offset, uint64_t nbytes, void *dst,
                          hr_error *err);
void hr__object_close(hr__object *object); /* NULL is accepted */

/* Read a whole value of at most max_nbytes into memory of the arena, with a NUL after
 * it. HR_ERR_OVERFLOW where it is larger. */
hr_status hr__store_get(hr_store *store, const char *key, uint64_t max_nbytes,
                        hr__arena *arena, char **text, size_t *nbytes, hr_error *err);
/* HR_ERR_UNSUPPORTED where the store is read-only. */
hr_status hr__store_set(hr_store *store, const char *key, const void *data, size_t nbytes,
                        hr_error *err);
/* The last reference is gone: close and free it. The context is the caller's matter. */
void hr__store_destroy(hr_store *store);
/* Passes over names that cannot be part of a key, such as "." or "a\b". */
hr_status hr__store_list(hr_store *store, const char *prefix, const hr__list_sink *sink,
                         hr_error *err);

#endif
