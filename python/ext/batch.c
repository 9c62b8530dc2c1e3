/* Batches: submitted reads. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_NBYTES (INT64_C(8) << 20)
#define SLICE_NS (INT64_C(50) * 1000000) /* between looks for signals */

static int64_t total_nbytes(const hr_request *requests, Py_ssize_t n) {
    int64_t total = 0;
    for (Py_ssize_t i = 0; i < n && total <= SMALL_NBYTES; i++) {
        int64_t nbytes = (int64_t)requests[i].dst.dtype.itemsize;
        for (int32_t k = 0; k < requests[i].dst.ndim; k++) {
            nbytes = nbytes > SMALL_NBYTES ? nbytes : nbytes * requests[i].dst.shape[k];
        }
        total += nbytes;
    }
    return total;
}

/* Is an array in a store that is an object of Python, whose time nobody knows? */
static bool asks_python(PyObject *list) {
    bool asks = false;
    for (Py_ssize_t i = 0; !asks && i < PyTuple_Size(list); i++) {
        const ext_node *node = (ext_node *)PyTuple_GetItem(PyTuple_GetItem(list, i), 0);
        asks = strncmp(node->info.url, "python:", 7) == 0;
    }
    return asks;
}

typedef struct submit_options {
    unsigned long long stream;
    int strict, skip_checksums, host_share, on_error;
} submit_options;

static ext_batch *submit(ext_state *state, hr_context *context, PyObject *list,
                         const hr_request *requests, Py_ssize_t n,
                         const submit_options *given) {
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.strict = given->strict;
    o.skip_checksums = given->skip_checksums;
    o.host_share = given->host_share;
    o.on_error = (hr_on_error)given->on_error;
    ext_batch *self = ext_new(state, state->batch);
    if (self == NULL) {
        return NULL;
    }
    self->nrequests = n;
    self->is_small = total_nbytes(requests, n) <= SMALL_NBYTES && !asks_python(list);
    self->keep = Py_NewRef(list);
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hr_read_submit(context, requests, (size_t)n, (void *)(uintptr_t)given->stream, &o,
                       &self->batch, &err);
    Py_END_ALLOW_THREADS if (status != HR_OK) {
        Py_DECREF(self);
        (void)ext_raise(state, &err);
        return NULL;
    }
    return self;
}

PyObject *ext_submit(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context, *list;
    submit_options o;
    if (!PyArg_ParseTuple(args, "OO!Kppii", &context, &PyTuple_Type, &list, &o.stream,
                          &o.strict, &o.skip_checksums, &o.host_share, &o.on_error) ||
        !ext_is(context, state->context, "Context")) {
        return NULL;
    }
    ext_requests requests;
    if (!ext_requests_read(state, list, &requests)) {
        return NULL;
    }
    ext_batch *batch = submit(state, ((ext_context *)context)->context, list,
                              requests.requests, (Py_ssize_t)requests.n, &o);
    ext_requests_free(&requests);
    return (PyObject *)batch;
}

/* A batch that nobody wants any more, and what it writes to. */
typedef struct leftover {
    ext_state *state;
    hr_batch *batch;
    PyObject *keep;
} leftover;

static void release(void *user) {
    leftover *l = user;
    PyGILState_STATE gil;
    hr_batch_unref(l->batch);
    if (ext_enter(l->state, &gil)) {
        Py_XDECREF(l->keep);
        ext_leave(l->state, gil);
    }
    (void)atomic_fetch_sub(&l->state->ncallers, 1);
    free(l);
}

/* In a thread of its own, which end_calls() waits for, too. Without one its memory is not
 * let go. */
static void release_elsewhere(const ext_batch *self) {
    hr_batch_cancel(self->batch);
    leftover *l = malloc(sizeof *l);
    if (l != NULL) {
        *l = (leftover){.state = self->state, .batch = self->batch, .keep = self->keep};
        (void)atomic_fetch_add(&l->state->ncallers, 1);
        if (PyThread_start_new_thread(release, l) == (unsigned long)-1) {
            (void)atomic_fetch_sub(&l->state->ncallers, 1);
            free(l);
        }
    }
}

/* The garbage collector may come here from within a store or a codec. */
static void batch_dealloc(PyObject *object) {
    ext_batch *self = (ext_batch *)object;
    if (self->batch != NULL && ext_is_inside()) {
        release_elsewhere(self);
    } else {
        Py_BEGIN_ALLOW_THREADS hr_batch_unref(
            self->batch); /* cancels and waits: the memory is let go after */
        Py_END_ALLOW_THREADS Py_XDECREF(self->keep);
    }
    ext_delete(self);
}

/* Wait in slices, so that Ctrl-C is heard. A small batch is helped with instead, and any
 * from within a store or a codec, for which the library's threads may all be waiting. */
static PyObject *batch_wait(PyObject *object, PyObject *args) {
    ext_batch *self = (ext_batch *)object;
    long long timeout;
    if (!PyArg_ParseTuple(args, "L", &timeout)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    bool is_sliced = timeout >= 0 || !(self->is_small || ext_is_inside());
    do {
        int64_t slice = !is_sliced                           ? -1
                        : timeout >= 0 && timeout < SLICE_NS ? timeout
                                                             : SLICE_NS;
        Py_BEGIN_ALLOW_THREADS status = hr_batch_wait(self->batch, slice, &err);
        Py_END_ALLOW_THREADS timeout -= timeout >= 0 ? slice : 0;
        if (PyErr_CheckSignals() != 0) {
            return NULL;
        }
    } while (status == HR_ERR_TIMEOUT && timeout != 0);
    return status == HR_OK ? Py_BuildValue("") : ext_raise(self->state, &err);
}

static PyObject *batch_wait_on_stream(PyObject *object, PyObject *args) {
    ext_batch *self = (ext_batch *)object;
    unsigned long long stream;
    if (!PyArg_ParseTuple(args, "K", &stream)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hr_batch_wait_on_stream(self->batch, (void *)(uintptr_t)stream, &err);
    Py_END_ALLOW_THREADS return status == HR_OK ? Py_BuildValue("")
                                                : ext_raise(self->state, &err);
}

static PyObject *batch_poll(PyObject *object, PyObject *args) {
    (void)args;
    return PyBool_FromLong(hr_batch_poll(((ext_batch *)object)->batch));
}

static PyObject *batch_cancel(PyObject *object, PyObject *args) {
    (void)args;
    hr_batch_cancel(((ext_batch *)object)->batch);
    return Py_BuildValue("");
}

static PyObject *batch_error(PyObject *object, PyObject *args) {
    ext_batch *self = (ext_batch *)object;
    Py_ssize_t i;
    if (!PyArg_ParseTuple(args, "n", &i)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr_batch_error(self->batch, (size_t)i, &err);
    return status == HR_OK ? Py_BuildValue("") : ext_exception(self->state, &err);
}

static PyObject *batch_stats(PyObject *object, PyObject *args) {
    (void)args;
    ext_batch *self = (ext_batch *)object;
    hr_error err = HR_ERROR_INIT;
    hr_batch_stats s = HR_BATCH_STATS_INIT;
    if (hr_batch_get_stats(self->batch, &s, &err) != HR_OK) {
        return ext_raise(self->state, &err);
    }
    typedef unsigned long long u64;
    return Py_BuildValue(
        "{sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK sK}", "nchunks", (u64)s.nchunks,
        "nchunks_missing", (u64)s.nchunks_missing, "nreads", (u64)s.nreads, "read_nbytes",
        (u64)s.read_nbytes, "decoded_nbytes", (u64)s.decoded_nbytes, "copied_nbytes",
        (u64)s.copied_nbytes, "ndecoded_cpu", (u64)s.ndecoded_cpu, "ndecoded_device",
        (u64)s.ndecoded_device, "nslabs", (u64)s.nslabs, "read_ns", (u64)s.read_ns,
        "wait_ns", (u64)s.wait_ns, "nkept_encoded", (u64)s.nkept_encoded, "nkept_decoded",
        (u64)s.nkept_decoded, "direct_nbytes", (u64)s.direct_nbytes, "nchunks_host_share",
        (u64)s.nchunks_host_share, "ndecoded_whole", (u64)s.ndecoded_whole);
}

static PyObject *batch_stages(PyObject *object, PyObject *args) {
    (void)args;
    ext_batch *self = (ext_batch *)object;
    hr_error err = HR_ERROR_INIT;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    return hr_batch_get_stages(self->batch, &times, &err) == HR_OK
               ? ext_stages(&times)
               : ext_raise(self->state, &err);
}

static PyObject *batch_progress(PyObject *object, PyObject *args) {
    (void)args;
    uint64_t ndone, nchunks;
    hr_batch_get_progress(((ext_batch *)object)->batch, &ndone, &nchunks);
    return Py_BuildValue("KK", (unsigned long long)ndone, (unsigned long long)nchunks);
}

static PyObject *batch_fileno(PyObject *object, PyObject *args) {
    (void)args;
    ext_batch *self = (ext_batch *)object;
    hr_error err = HR_ERROR_INIT;
    int fd;
    return hr_batch_get_fd(self->batch, &fd, &err) == HR_OK
               ? PyLong_FromLong(fd)
               : ext_raise(self->state, &err);
}

/* The elements of a tensor of variable-length ones, copied out of the batch. */
static PyObject *batch_items(PyObject *object, PyObject *args) {
    ext_batch *self = (ext_batch *)object;
    PyObject *tensor;
    int is_text;
    if (!PyArg_ParseTuple(args, "Op", &tensor, &is_text) ||
        !ext_is(tensor, self->state->tensor, "Tensor")) {
        return NULL;
    }
    const ext_tensor *t = (ext_tensor *)tensor;
    if (t->itemsize != sizeof(hr_vlen) || t->owner != NULL ||
        t->device.type != HR_DEVICE_CPU) {
        PyErr_SetString(PyExc_ValueError, "not elements of variable length");
        return NULL;
    }
    Py_ssize_t n = (Py_ssize_t)(t->nbytes / (int64_t)sizeof(hr_vlen));
    const hr_vlen *items = t->data;
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        const char *data = items[i].nbytes > 0 ? items[i].data : "";
        Py_ssize_t nbytes = (Py_ssize_t)items[i].nbytes;
        PyObject *item = is_text ? PyUnicode_DecodeUTF8(data, nbytes, NULL)
                                 : PyBytes_FromStringAndSize(data, nbytes);
        if (item == NULL || PyList_SetItem(list, i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyMethodDef batch_methods[] = {
    {"wait", batch_wait, METH_VARARGS, "wait(timeout_ns): negative is for ever"},
    {"wait_on_stream", batch_wait_on_stream, METH_VARARGS,
     "wait_on_stream(stream): what is queued on it from now on comes after the batch"},
    {"poll", batch_poll, METH_NOARGS, "poll() -> bool: done?"},
    {"cancel", batch_cancel, METH_NOARGS, "cancel(): drop what has not begun"},
    {"error", batch_error, METH_VARARGS, "error(i) -> exception of request i, or None"},
    {"progress", batch_progress, METH_NOARGS, "progress() -> (chunks done with, of all)"},
    {"stats", batch_stats, METH_NOARGS, "stats() -> dict"},
    {"stages", batch_stages, METH_NOARGS, "stages() -> dict"},
    {"fileno", batch_fileno, METH_NOARGS, "fileno() -> int: readable once it is done"},
    {"items", batch_items, METH_VARARGS, "items(tensor, is_text) -> list"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot batch_slots[] = {
    {Py_tp_dealloc, (void *)batch_dealloc}, {Py_tp_methods, batch_methods}, {0, NULL}};
PyType_Spec ext_batch_spec = {
    .name = "headrace._ext.Batch",
    .basicsize = sizeof(ext_batch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = batch_slots,
};
