/* Memory with a shape: the destinations and results of reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HOST_ALIGNMENT 64
#define HUGE_NBYTES (UINT64_C(4) << 20) /* from here on large pages save time */
#define PAGE_NBYTES 4096

static bool is_host(const ext_tensor *t) {
    return t->device.type == HR_DEVICE_CPU;
}

/* Format of the buffer protocol; "" where it has none for the type. */
static void set_format(ext_tensor *t) {
    static const struct {
        char dtype[4], format[3];
    } known[] = {{"b1", "?"}, {"i1", "b"}, {"u1", "B"},  {"i2", "h"},  {"u2", "H"},
                 {"i4", "i"}, {"u4", "I"}, {"i8", "q"},  {"u8", "Q"},  {"f2", "e"},
                 {"f4", "f"}, {"f8", "d"}, {"c8", "Zf"}, {"c16", "Zd"}};
    const char *text = PyUnicode_AsUTF8AndSize(t->dtype_text, NULL);
    if (text == NULL || text[0] == '\0') {
        return;
    }
    const char *order = text[0] == '>' ? ">" : "";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(text + 1, known[i].dtype) == 0) {
            (void)snprintf(t->format, sizeof t->format, "%s%s", order, known[i].format);
        }
    }
    if (strchr("<>|", text[0]) != NULL && text[1] == 'S') {
        (void)snprintf(t->format, sizeof t->format, "%llus",
                       (unsigned long long)t->itemsize);
    }
}

ext_tensor *ext_tensor_new(ext_state *state, PyTypeObject *type, PyObject *dtype_text,
                           uint64_t itemsize, int32_t ndim, const int64_t *shape,
                           const int64_t *strides) {
    int64_t nbytes = (int64_t)itemsize;
    int64_t extent = nbytes; /* of C order; zero sides count as one */
    ext_tensor *self = ext_new(state, type);
    if (self == NULL) {
        return NULL;
    }
    self->dtype_text = Py_NewRef(dtype_text);
    self->itemsize = itemsize;
    self->ndim = ndim;
    self->device.type = HR_DEVICE_CPU;
    bool fits = itemsize > 0 && itemsize <= INT64_MAX;
    for (int32_t i = ndim - 1; fits && i >= 0; i--) {
        self->shape[i] = shape[i];
        self->strides[i] = strides != NULL ? strides[i] : extent;
        self->buffer_shape[i] = (Py_ssize_t)shape[i];
        self->buffer_strides[i] = (Py_ssize_t)self->strides[i];
        fits = shape[i] >= 0 && !__builtin_mul_overflow(nbytes, shape[i], &nbytes) &&
               !__builtin_mul_overflow(extent, shape[i] > 0 ? shape[i] : 1, &extent);
    }
    if (!fits) {
        hr_error err = HR_ERROR_INIT;
        err.status = HR_ERR_OVERFLOW;
        (void)snprintf(err.message, sizeof err.message,
                       "a shape of no memory: 2^63 bytes or more, or a negative side");
        Py_DECREF(self);
        (void)ext_raise(state, &err);
        return NULL;
    }
    self->nbytes = nbytes;
    set_format(self);
    if (PyErr_Occurred() != NULL) {
        Py_CLEAR(self);
    }
    return self;
}

static bool allocate_host(ext_tensor *t) {
    uint64_t nbytes = (uint64_t)t->nbytes;
    bool is_huge = nbytes >= HUGE_NBYTES;
    if (nbytes == 0) {
        return true;
    }
    if (posix_memalign(&t->data, is_huge ? PAGE_NBYTES : HOST_ALIGNMENT, nbytes) != 0) {
        t->data = NULL;
        hr_error err = HR_ERROR_INIT;
        err.status = HR_ERR_MEMORY;
        (void)snprintf(err.message, sizeof err.message, "no memory for %llu bytes",
                       (unsigned long long)nbytes);
        (void)ext_raise(t->state, &err);
        return false;
    }
    if (is_huge) { /* advice only: a kernel may not have them */
        (void)madvise(t->data, nbytes, MADV_HUGEPAGE);
    }
    if (t->format[0] == '\0' && t->itemsize == sizeof(hr_vlen)) {
        memset(t->data, 0, nbytes); /* items of a chunk that fails are empty, not wild */
    }
    return true;
}

static bool allocate_device(ext_tensor *t, hr_context *context) {
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hr_memory_alloc(context, t->device, (uint64_t)t->nbytes, &t->data, &err);
    Py_END_ALLOW_THREADS if (status != HR_OK) {
        (void)ext_raise(t->state, &err);
        return false;
    }
    t->context = hr_context_ref(context);
    return true;
}

PyObject *ext_tensor_empty(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *type, *context, *shape, *text;
    hr_device device;
    unsigned long long itemsize;
    int64_t sides[HR_MAX_NDIM];
    int32_t ndim;
    if (!PyArg_ParseTuple(args, "OO(ii)OUK", &type, &context, &device.type, &device.index,
                          &shape, &text, &itemsize) ||
        !ext_is(context, state->context, "Context") || !ext_int64s(shape, sides, &ndim)) {
        return NULL;
    }
    ext_tensor *self =
        ext_tensor_new(state, (PyTypeObject *)type, text, itemsize, ndim, sides, NULL);
    if (self == NULL) {
        return NULL;
    }
    self->device = device;
    if (is_host(self) ? !allocate_host(self)
                      : !allocate_device(self, ((ext_context *)context)->context)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

PyObject *ext_tensor_wrap(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *type, *shape, *strides, *text, *owner;
    hr_device device;
    unsigned long long data, itemsize;
    int64_t sides[HR_MAX_NDIM], steps[HR_MAX_NDIM];
    int32_t ndim, nsteps;
    int is_readonly;
    if (!PyArg_ParseTuple(args, "OK(ii)OOUKpO", &type, &data, &device.type, &device.index,
                          &shape, &strides, &text, &itemsize, &is_readonly, &owner) ||
        !ext_int64s(shape, sides, &ndim)) {
        return NULL;
    }
    if (strides != Py_None && (!ext_int64s(strides, steps, &nsteps) || nsteps != ndim)) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "strides for another number of dimensions");
        }
        return NULL;
    }
    ext_tensor *self = ext_tensor_new(state, (PyTypeObject *)type, text, itemsize, ndim,
                                      sides, strides != Py_None ? steps : NULL);
    if (self != NULL) {
        self->device = device;
        self->data = (void *)(uintptr_t)data;
        self->is_readonly = is_readonly != 0;
        self->owner = Py_NewRef(owner);
    }
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *object) {
    ext_tensor *self = (ext_tensor *)object;
    if (self->context != NULL) {
        Py_BEGIN_ALLOW_THREADS hr_memory_free(self->context, self->device, self->data);
        hr_context_unref(self->context);
        Py_END_ALLOW_THREADS
    } else if (self->owner == NULL) {
        free(self->data);
    }
    Py_XDECREF(self->owner);
    Py_XDECREF(self->dtype_text);
    ext_delete(self);
}

static bool is_contiguous(const ext_tensor *t) {
    int64_t extent = (int64_t)t->itemsize;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != extent) {
            return t->nbytes == 0;
        }
        extent *= t->shape[i];
    }
    return true;
}

/* Without a format, as bytes, any contiguous host memory can be had. */
static int tensor_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    ext_tensor *self = (ext_tensor *)object;
    const char *problem = NULL;
    if (!is_host(self)) {
        problem = "the memory is on a device: use .to(\"numpy\"), or DLPack";
    } else if ((flags & PyBUF_WRITABLE) != 0 && self->is_readonly) {
        problem = "the memory is read-only";
    } else if ((flags & PyBUF_FORMAT) != 0 && self->format[0] == '\0') {
        problem = "the buffer protocol has no such type: use .to(\"numpy\")";
    } else if (!is_contiguous(self) && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        problem = "the memory is not contiguous";
    }
    if (problem != NULL) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, problem);
        return -1;
    }
    *view = (Py_buffer){.buf = self->data != NULL ? self->data : self->format,
                        .obj = Py_NewRef(object),
                        .len = (Py_ssize_t)self->nbytes,
                        .itemsize = (Py_ssize_t)self->itemsize,
                        .readonly = self->is_readonly,
                        .ndim = self->ndim};
    if ((flags & PyBUF_FORMAT) != 0) {
        view->format = self->format;
    }
    if ((flags & PyBUF_ND) != 0) {
        view->shape = self->buffer_shape;
    }
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) {
        view->strides = self->buffer_strides;
    }
    return 0;
}

/* Copy to host memory: another tensor of the same size. */
static PyObject *tensor_to_host(PyObject *object, PyObject *args) {
    const ext_tensor *self = (ext_tensor *)object;
    PyObject *to, *context;
    if (!PyArg_ParseTuple(args, "OO", &context, &to) ||
        !ext_is(context, self->state->context, "Context") ||
        !ext_is(to, self->state->tensor, "Tensor")) {
        return NULL;
    }
    const ext_tensor *host = (ext_tensor *)to;
    if (!is_host(host) || host->nbytes != self->nbytes || !is_contiguous(host) ||
        !is_contiguous(self)) {
        PyErr_SetString(PyExc_BufferError, "only whole contiguous memory is copied");
        return NULL;
    }
    hr_context *c =
        self->context != NULL ? self->context : ((ext_context *)context)->context;
    hr_error err = HR_ERROR_INIT;
    hr_status status = HR_OK;
    Py_BEGIN_ALLOW_THREADS if (is_host(self)) {
        if (self->nbytes > 0) {
            memcpy(host->data, self->data, (size_t)self->nbytes);
        }
    }
    else {
        status = hr_memory_to_host(c, self->device, host->data, self->data,
                                   (uint64_t)self->nbytes, &err);
    }
    Py_END_ALLOW_THREADS return status == HR_OK ? Py_BuildValue("")
                                                : ext_raise(self->state, &err);
}

static PyObject *get_shape(PyObject *object, void *closure) {
    (void)closure;
    return ext_tuple(((ext_tensor *)object)->shape, ((ext_tensor *)object)->ndim);
}

static PyObject *get_strides(PyObject *object, void *closure) {
    (void)closure;
    return ext_tuple(((ext_tensor *)object)->strides, ((ext_tensor *)object)->ndim);
}

static PyObject *get_dtype_text(PyObject *object, void *closure) {
    (void)closure;
    return Py_NewRef(((ext_tensor *)object)->dtype_text);
}

static PyObject *get_data(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromVoidPtr(((ext_tensor *)object)->data);
}

static PyObject *get_device_id(PyObject *object, void *closure) {
    (void)closure;
    const ext_tensor *self = (ext_tensor *)object;
    return Py_BuildValue("(ii)", self->device.type, self->device.index);
}

static PyObject *get_nbytes(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromLongLong(((ext_tensor *)object)->nbytes);
}

static PyObject *get_itemsize(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromUnsignedLongLong(((ext_tensor *)object)->itemsize);
}

static PyObject *get_ndim(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromLong(((ext_tensor *)object)->ndim);
}

static PyObject *get_readonly(PyObject *object, void *closure) {
    (void)closure;
    return PyBool_FromLong(((ext_tensor *)object)->is_readonly);
}

static PyObject *get_contiguous(PyObject *object, void *closure) {
    (void)closure;
    return PyBool_FromLong(is_contiguous((ext_tensor *)object));
}

static PyMethodDef tensor_methods[] = {
    {"_dlpack", ext_tensor_dlpack, METH_O, "_dlpack(versioned) -> capsule"},
    {"_copy_to_host", tensor_to_host, METH_VARARGS, "_copy_to_host(context, tensor)"},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, NULL, "Elements along each axis.", NULL},
    {"strides", get_strides, NULL, "Bytes from one element to the next, per axis.", NULL},
    {"dtype_text", get_dtype_text, NULL, "The element type as text, e.g. \"<f4\".", NULL},
    {"ptr", get_data, NULL, "Address of the first element.", NULL},
    {"device_id", get_device_id, NULL, "(type, index), with headrace's numbers.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements together.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"readonly", get_readonly, NULL, "Whether the memory may not be written.", NULL},
    {"contiguous", get_contiguous, NULL, "Whether it lies in C order, without gaps.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot tensor_slots[] = {{Py_tp_dealloc, (void *)tensor_dealloc},
                                     {Py_tp_methods, tensor_methods},
                                     {Py_tp_getset, tensor_getset},
                                     {Py_bf_getbuffer, (void *)tensor_getbuffer},
                                     {0, NULL}};
PyType_Spec ext_tensor_spec = {
    .name = "headrace._ext.Tensor",
    .basicsize = sizeof(ext_tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = tensor_slots,
};
