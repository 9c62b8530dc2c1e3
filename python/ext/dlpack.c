/* DLPack, both ways: versioned capsules and those of before.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The structures are DLPack's binary interface, version 1. */
#include "ext.h"

#include <stdlib.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_EXTENSION = 12, DL_MANAGED = 13 };
enum {
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_COMPLEX = 5,
    DL_BOOL = 6
};
enum { DL_READ_ONLY = 1 };
#define DL_MAJOR 1

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements; no strides: C order */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_legacy {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_legacy *self);
} dl_legacy;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* What a capsule of ours points into. The manager is the allocation itself. */
typedef struct exported {
    union {
        dl_legacy legacy;
        dl_versioned versioned;
    } managed;
    PyObject *tensor; /* held */
    int64_t shape[HR_MAX_NDIM], strides[HR_MAX_NDIM];
} exported;

static void release(exported *e) {
    if (Py_IsInitialized()) { /* else the interpreter's memory is gone anyway */
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(e->tensor);
        free(e);
        PyGILState_Release(gil);
    }
}

static void delete_legacy(dl_legacy *self) {
    release(self->manager);
}

static void delete_versioned(dl_versioned *self) {
    release(self->manager);
}

/* A capsule that nobody consumed is released with its contents. */
static void drop_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_legacy *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

static bool dl_type(const ext_tensor *t, dl_tensor *out) {
    static const struct {
        hr_kind kind;
        uint8_t code;
    } codes[] = {{HR_KIND_BOOL, DL_BOOL},     {HR_KIND_INT, DL_INT},
                 {HR_KIND_UINT, DL_UINT},     {HR_KIND_FLOAT, DL_FLOAT},
                 {HR_KIND_BFLOAT, DL_BFLOAT}, {HR_KIND_COMPLEX, DL_COMPLEX}};
    const char *text = PyUnicode_AsUTF8AndSize(t->dtype_text, NULL);
    hr_dtype dtype;
    if (text != NULL && hr_dtype_parse(text, &dtype, NULL) == HR_OK &&
        dtype.byte_order == HR_LITTLE) {
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            if (codes[i].kind == dtype.kind) {
                out->code = codes[i].code;
                out->bits = (uint8_t)(8 * dtype.itemsize);
                out->lanes = 1;
                return true;
            }
        }
    }
    PyErr_Format(PyExc_BufferError, "DLPack has no element type %U", t->dtype_text);
    return false;
}

static bool fill_tensor(const ext_tensor *t, exported *e, dl_tensor *out) {
    if (!dl_type(t, out)) {
        return false;
    }
    for (int32_t i = 0; i < t->ndim; i++) {
        int64_t itemsize = (int64_t)t->itemsize;
        e->shape[i] = t->shape[i];
        e->strides[i] = t->strides[i] / itemsize;
        if (t->strides[i] % itemsize != 0) {
            PyErr_SetString(PyExc_BufferError, "strides are not whole elements");
            return false;
        }
    }
    out->data = t->nbytes > 0 ? t->data : NULL;
    out->device_type = t->device.type == HR_DEVICE_CPU    ? DL_CPU
                       : t->device.type == HR_DEVICE_CUDA ? DL_CUDA
                                                          : DL_EXTENSION;
    out->device_id = t->device.index;
    out->ndim = t->ndim;
    out->shape = e->shape;
    out->strides = e->strides;
    return true;
}

PyObject *ext_tensor_dlpack(PyObject *self, PyObject *versioned) {
    ext_tensor *t = (ext_tensor *)self;
    int is_versioned = PyObject_IsTrue(versioned);
    if (is_versioned < 0) {
        return NULL;
    }
    if (t->is_readonly && !is_versioned) {
        PyErr_SetString(PyExc_BufferError,
                        "read-only memory needs a consumer of DLPack 1 or later");
        return NULL;
    }
    exported *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return PyErr_NoMemory();
    }
    dl_tensor *out =
        is_versioned ? &e->managed.versioned.tensor : &e->managed.legacy.tensor;
    if (!fill_tensor(t, e, out)) {
        free(e);
        return NULL;
    }
    if (is_versioned) {
        e->managed.versioned.major = DL_MAJOR;
        e->managed.versioned.manager = e;
        e->managed.versioned.deleter = delete_versioned;
        e->managed.versioned.flags = t->is_readonly ? DL_READ_ONLY : 0;
    } else {
        e->managed.legacy.manager = e;
        e->managed.legacy.deleter = delete_legacy;
    }
    e->tensor = Py_NewRef(self);
    PyObject *capsule = PyCapsule_New(
        &e->managed, is_versioned ? "dltensor_versioned" : "dltensor", drop_capsule);
    if (capsule == NULL) {
        release(e);
    }
    return capsule;
}

/* --- the other way --- */

static void drop_owner(PyObject *owner) {
    if (PyCapsule_IsValid(owner, "headrace.legacy")) {
        dl_legacy *m = PyCapsule_GetPointer(owner, "headrace.legacy");
        if (m->deleter != NULL) {
            m->deleter(m);
        }
    } else if (PyCapsule_IsValid(owner, "headrace.versioned")) {
        dl_versioned *m = PyCapsule_GetPointer(owner, "headrace.versioned");
        if (m->deleter != NULL) {
            m->deleter(m);
        }
    }
}

/* Element type as text; NULL (with an exception) where there is none. */
static PyObject *text_of(const dl_tensor *d) {
    static const char kinds[] = {[DL_INT] = 'i',
                                 [DL_UINT] = 'u',
                                 [DL_FLOAT] = 'f',
                                 [DL_COMPLEX] = 'c',
                                 [DL_BOOL] = 'b'};
    unsigned int nbytes = d->bits / 8U;
    if (d->code == DL_BFLOAT && d->bits == 16 && d->lanes == 1) {
        return PyUnicode_FromString("bfloat16");
    }
    if (d->code >= sizeof kinds || kinds[d->code] == '\0' || d->lanes != 1 ||
        d->bits % 8 != 0 || nbytes == 0) {
        PyErr_Format(PyExc_BufferError, "no element type for DLPack's (%u, %u, %u)",
                     (unsigned int)d->code, (unsigned int)d->bits,
                     (unsigned int)d->lanes);
        return NULL;
    }
    return PyUnicode_FromFormat("%c%c%u", nbytes == 1 ? '|' : '<', kinds[d->code],
                                nbytes);
}

static bool device_of(const dl_tensor *d, hr_device *out) {
    bool is_cuda = d->device_type == DL_CUDA || d->device_type == DL_MANAGED;
    if (!is_cuda && d->device_type != DL_CPU && d->device_type != DL_CUDA_HOST) {
        PyErr_Format(PyExc_BufferError, "DLPack device type %d is not supported",
                     (int)d->device_type);
        return false;
    }
    *out = (hr_device){.type = is_cuda ? HR_DEVICE_CUDA : HR_DEVICE_CPU,
                       .index = is_cuda ? d->device_id : 0};
    return true;
}

/* A tensor over consumed memory; takes its own reference to the owner. */
static PyObject *tensor_over(ext_state *state, PyTypeObject *type, const dl_tensor *d,
                             bool is_readonly, PyObject *owner) {
    hr_device device;
    int64_t strides[HR_MAX_NDIM];
    if (d->ndim < 0 || d->ndim > HR_MAX_NDIM) {
        PyErr_Format(PyExc_BufferError, "%d dimensions", (int)d->ndim);
        return NULL;
    }
    if (!device_of(d, &device)) {
        return NULL;
    }
    PyObject *text = text_of(d);
    if (text == NULL) {
        return NULL;
    }
    int64_t itemsize = d->bits / 8;
    for (int32_t i = 0; d->strides != NULL && i < d->ndim; i++) {
        if (__builtin_mul_overflow(d->strides[i], itemsize, &strides[i])) {
            strides[i] = 0; /* of an axis without a second element, or nonsense */
        }
    }
    ext_tensor *self = ext_tensor_new(state, type, text, (uint64_t)itemsize, d->ndim,
                                      d->shape, d->strides != NULL ? strides : NULL);
    Py_DECREF(text);
    if (self != NULL) {
        self->device = device;
        self->data = d->data != NULL ? (uint8_t *)d->data + d->byte_offset : NULL;
        self->is_readonly = is_readonly;
        self->owner = Py_NewRef(owner);
    }
    return (PyObject *)self;
}

PyObject *ext_tensor_from_dlpack(PyObject *module, PyObject *args) {
    PyObject *type, *capsule;
    if (!PyArg_ParseTuple(args, "OO", &type, &capsule)) {
        return NULL;
    }
    bool is_versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    if (!is_versioned && !PyCapsule_IsValid(capsule, "dltensor")) {
        PyErr_SetString(PyExc_BufferError, "not an unconsumed DLPack capsule");
        return NULL;
    }
    void *managed =
        PyCapsule_GetPointer(capsule, is_versioned ? "dltensor_versioned" : "dltensor");
    PyObject *owner = PyCapsule_New(
        managed, is_versioned ? "headrace.versioned" : "headrace.legacy", NULL);
    if (owner == NULL ||
        PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned"
                                                : "used_dltensor") != 0) {
        Py_XDECREF(owner);
        return NULL;
    }
    (void)PyCapsule_SetDestructor(owner, drop_owner); /* consumed: ours to delete */
    const dl_versioned *v = managed;
    PyObject *tensor = NULL;
    if (is_versioned && v->major != DL_MAJOR) {
        PyErr_Format(PyExc_BufferError, "DLPack %u.%u is not understood",
                     (unsigned int)v->major, (unsigned int)v->minor);
    } else {
        tensor =
            tensor_over(ext_state_of(module), (PyTypeObject *)type,
                        is_versioned ? &v->tensor : &((const dl_legacy *)managed)->tensor,
                        is_versioned && (v->flags & DL_READ_ONLY) != 0, owner);
    }
    Py_DECREF(owner);
    return tensor;
}
