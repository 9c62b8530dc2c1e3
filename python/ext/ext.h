/* What the files of the extension share. SPDX-License-Identifier: Apache-2.0
 *
 * The extension is a thin layer over <headrace/…>: handles with their lifetimes, errors
 * as exceptions, memory that speaks the exchange protocols. What is convenient for people
 * is written in Python above it. Only the limited API is used, so one build serves every
 * CPython from 3.11 on. The GIL is released wherever the library may take time. */
#ifndef HEADRACE_EXT_H
#define HEADRACE_EXT_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <headrace/headrace.h>

/* One per module object. Every object of the extension points to it: its type holds the
 * module. */
typedef struct ext_state {
    PyObject *make_error; /* headrace._errors.make */
    PyTypeObject *context, *store, *node, *selection, *tensor, *batch;
    /* The library's threads that run Python, and whether no more may, since the
     * interpreter ends. */
    atomic_int ncallers;
    atomic_bool is_ending;
} ext_state;

#define EXT_HEAD PyObject_HEAD ext_state *state

/* Any of the objects below, for what they have in common. */
typedef struct ext_object {
    EXT_HEAD;
} ext_object;

typedef struct ext_context {
    EXT_HEAD;
    hr_context *context;
} ext_context;

typedef struct ext_store {
    EXT_HEAD;
    hr_store *store;
} ext_store;

typedef struct ext_node {
    EXT_HEAD;
    hr_node *node;
    hr_node_info info;
    PyObject *dtype_text; /* str; NULL for a group */
} ext_node;

/* One selection, and the shape of what it gives. */
typedef struct ext_part {
    hr_selection selection;
    int32_t ndim;
    int64_t *shape;
} ext_part;

/* Selections of one array, often thousands, with everything that they borrow. */
typedef struct ext_selection {
    EXT_HEAD;
    Py_ssize_t n;
    ext_part *parts; /* with their shapes and axes behind them */
    hr_axis *axes;   /* ndim of the array for each */
    int nviews;
    Py_buffer *views; /* of index lists, which only single selections have */
} ext_selection;

/* A strided block of elements and who owns it. */
typedef struct ext_tensor {
    EXT_HEAD;
    void *data;
    hr_device device;
    int32_t ndim;
    bool is_readonly;
    PyObject *dtype_text; /* str, as hr_dtype_format writes it */
    uint64_t itemsize;
    int64_t nbytes; /* of all elements together */
    int64_t shape[HR_MAX_NDIM];
    int64_t strides[HR_MAX_NDIM];         /* in bytes */
    Py_ssize_t buffer_shape[HR_MAX_NDIM]; /* the same for the buffer protocol */
    Py_ssize_t buffer_strides[HR_MAX_NDIM];
    char format[16];
    PyObject *owner;     /* of borrowed memory; NULL when it is ours */
    hr_context *context; /* held, of device memory that is ours */
} ext_tensor;

typedef struct ext_batch {
    EXT_HEAD;
    hr_batch *batch;
    PyObject *keep; /* the requests: nodes, tensors */
    Py_ssize_t nrequests;
    bool is_small; /* waiting for it takes no time worth looking for signals */
} ext_batch;

/* convert.c: raise what an hr_error says. Always NULL. */
PyObject *ext_raise(ext_state *state, const hr_error *err);
/* The same without raising it: a new reference. */
PyObject *ext_exception(ext_state *state, const hr_error *err);

/* A new object of a heap type, zeroed, with its state. */
void *ext_new(ext_state *state, PyTypeObject *type);
/* Release the object's memory and its type. */
void ext_delete(void *self);
ext_state *ext_state_of(PyObject *module);
/* Check that an argument is of a type of ours, or of a subclass. */
bool ext_is(PyObject *object, PyTypeObject *type, const char *name);

/* convert.c */
bool ext_int64s(PyObject *sequence, int64_t *out, int32_t *n);
/* Of the library's text: names of files need not be UTF-8, and what is too long for the
 * field of an error is cut anywhere. */
PyObject *ext_text(const char *bytes);
PyObject *ext_tuple(const int64_t *values, int32_t n);

/* selection.c: module functions. */
PyObject *ext_selection_new(PyObject *module, PyObject *args);
PyObject *ext_selections_new(PyObject *module, PyObject *args);
PyObject *ext_boxes_new(PyObject *module, PyObject *args);
/* selection_type.c: what the objects offer. */
PyObject *ext_selection_alloc(ext_state *state, PyObject *node, Py_ssize_t n);

/* tensor.c: module functions. */
PyObject *ext_tensor_empty(PyObject *module, PyObject *args);
PyObject *ext_tensor_wrap(PyObject *module, PyObject *args);
/* A tensor whose sizes are set but which has no memory yet. */
ext_tensor *ext_tensor_new(ext_state *state, PyTypeObject *type, PyObject *dtype_text,
                           uint64_t itemsize, int32_t ndim, const int64_t *shape,
                           const int64_t *strides);

/* dlpack.c */
PyObject *ext_tensor_dlpack(PyObject *self, PyObject *versioned);
PyObject *ext_tensor_from_dlpack(PyObject *module, PyObject *args);

/* request.c: requests as Python hands them over: a tuple of (node, selections, memory,
 * allow_cast, packing or None), which they borrow from. The memory is a tensor, or a
 * tuple of one for each selection. A tensor for many selections has an axis more than
 * they have, along which the results lie; or it has one axis, and takes them all in a
 * row. False with an exception. */
typedef struct ext_requests {
    hr_request *requests;
    struct ext_request_extra *extras; /* what they point to */
    size_t n;
} ext_requests;
bool ext_requests_read(ext_state *state, PyObject *list, ext_requests *out);
void ext_requests_free(ext_requests *requests);

/* batch.c: module function, submit(context, requests, stream, strict, skip_checksums,
   host_share, on_error). */
PyObject *ext_submit(PyObject *module, PyObject *args);
/* stages.c: a new reference; None for what is not known. */
PyObject *ext_count(uint64_t n);
/* A new dictionary. */
PyObject *ext_stages(const hr_stage_times *times);
PyObject *ext_explain(PyObject *module, PyObject *args);

/* node.c: module functions. */
PyObject *ext_open(PyObject *module, PyObject *args);
PyObject *ext_open_store(PyObject *module, PyObject *args);

/* store.c: module functions. */
PyObject *ext_memory_store(PyObject *module, PyObject *args);
PyObject *ext_directory_store(PyObject *module, PyObject *args);
/* A handle; the reference is its own then, and gone on failure. */
PyObject *ext_store_wrap(ext_state *state, hr_store *store);
/* A handle for a store of these functions, with room in memory before it. Whatever
 * happens, they are called with their user until the last, which is destroy. */
PyObject *ext_custom_store(ext_state *state, PyObject *context,
                           const hr_custom_store *functions);
/* store_streams.c: module function. */
PyObject *ext_streams_store(PyObject *module, PyObject *args);
/* store_python.c: module functions. */
PyObject *ext_python_store(PyObject *module, PyObject *args);
PyObject *ext_is_given_up(PyObject *module, PyObject *args);

/* codec_python.c: module function. */
PyObject *ext_add_codec(PyObject *module, PyObject *args);

/* pool.c: hooks that ask a pool of Python's. Their user is what out->destroy, called with
 * it, gives back. False with an exception. */
bool ext_pool_hooks(ext_state *state, PyObject *pool, hr_device_allocator *out);

/* calls.c: take the GIL in a thread of the library's; false once the interpreter is
 * ending, when nobody may any more. */
bool ext_enter(ext_state *state, PyGILState_STATE *gil);
void ext_leave(ext_state *state, PyGILState_STATE gil);
/* Is this thread in such a call? For a batch it may wait then only by doing its work, and
 * not at all for the one that the call is for. */
bool ext_is_inside(void);
/* An object of Python's whose methods the library's functions call: their user. */
typedef struct ext_adapter {
    ext_state *state;
    PyObject *object;
} ext_adapter;
ext_adapter *ext_adapter_new(ext_state *state, PyObject *object); /* NULL: raised */
void ext_adapter_destroy(void *user);
/* Copy what a call gave, as far as there is room for it, and let go of it; nbytes is all
 * of it. NULL is a call that raised. False with an exception. */
bool ext_take_bytes(PyObject *given, void *dst, uint64_t room, uint64_t *nbytes);
hr_status ext_fail_ending(hr_error *err);
/* What was raised as the record of an error, of this status as a rule; nothing is raised
 * after it. Ctrl-C is heard where it comes, which is here if the main thread helps with
 * what it waits for: that it was one is told to whoever looks next. */
hr_status ext_fail_raised(hr_status usual, const hr_read_context *reading, hr_error *err);
/* Module functions. */
PyObject *ext_stay_inside(PyObject *module, PyObject *args);
PyObject *ext_end_calls(PyObject *module, PyObject *args);
PyObject *ext_calls_forked(PyObject *module, PyObject *args);

extern PyType_Spec ext_context_spec, ext_store_spec, ext_node_spec, ext_selection_spec,
    ext_tensor_spec, ext_batch_spec;

#endif
