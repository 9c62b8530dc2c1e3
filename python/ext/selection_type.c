/* What selections offer: their number, and the shapes of what they give.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

/* Of so many parts, all empty, in one piece of memory. */
PyObject *ext_selection_alloc(ext_state *state, PyObject *node, Py_ssize_t n) {
    if (!ext_is(node, state->node, "Node")) {
        return NULL;
    }
    const ext_node *array = (ext_node *)node;
    if (array->info.kind != HR_NODE_ARRAY) {
        PyErr_SetString(PyExc_TypeError, "a group cannot be read");
        return NULL;
    }
    ext_selection *self = ext_new(state, state->selection);
    if (self == NULL) {
        return NULL;
    }
    const size_t ndim = (size_t)array->info.ndim;
    const size_t nsides =
        ndim > 0 ? ndim : 1; /* a mask of a 0-dimensional array has one */
    const size_t nbytes =
        sizeof(ext_part) + ndim * sizeof(hr_axis) + nsides * sizeof(int64_t);
    self->parts = PyMem_Calloc((size_t)n + 1, nbytes);
    if (self->parts == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->n = n;
    self->axes = (hr_axis *)(void *)(self->parts + n);
    int64_t *shape = (int64_t *)(void *)(self->axes + (size_t)n * ndim);
    for (Py_ssize_t i = 0; i < n; i++, shape += nsides) {
        self->parts[i].shape = shape;
    }
    return (PyObject *)self;
}

static void selection_dealloc(PyObject *object) {
    ext_selection *self = (ext_selection *)object;
    for (int i = 0; i < self->nviews; i++) {
        PyBuffer_Release(&self->views[i]);
    }
    PyMem_Free(self->views);
    PyMem_Free(self->parts);
    ext_delete(self);
}

static PyObject *get_n(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromSsize_t(((ext_selection *)object)->n);
}

static PyObject *get_shapes(PyObject *object, void *closure) {
    (void)closure;
    const ext_selection *self = (ext_selection *)object;
    PyObject *shapes = PyTuple_New(self->n);
    for (Py_ssize_t i = 0; shapes != NULL && i < self->n; i++) {
        PyObject *shape = ext_tuple(self->parts[i].shape, self->parts[i].ndim);
        if (shape == NULL || PyTuple_SetItem(shapes, i, shape) != 0) {
            Py_CLEAR(shapes);
        }
    }
    return shapes;
}

static bool is_alike(const ext_part *x, const ext_part *y) {
    return x->ndim == y->ndim &&
           memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

static PyObject *get_shape(PyObject *object, void *closure) {
    (void)closure;
    const ext_selection *self = (ext_selection *)object;
    for (Py_ssize_t i = 1; i < self->n; i++) {
        if (!is_alike(&self->parts[i], &self->parts[0])) {
            return Py_BuildValue("");
        }
    }
    return self->n > 0 ? ext_tuple(self->parts->shape, self->parts->ndim)
                       : Py_BuildValue("");
}

/* The sizes fit 63 bits: hr_selection_shape checks them. */
static PyObject *get_sizes(PyObject *object, void *closure) {
    (void)closure;
    const ext_selection *self = (ext_selection *)object;
    const Py_ssize_t nbytes = self->n * (Py_ssize_t)sizeof(int64_t);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, nbytes);
    if (bytes == NULL) {
        return NULL;
    }
    char *at = PyBytes_AsString(bytes);
    for (Py_ssize_t i = 0; i < self->n; i++, at += sizeof(int64_t)) {
        int64_t size = 1;
        for (int32_t k = 0; k < self->parts[i].ndim; k++) {
            size *= self->parts[i].shape[k];
        }
        memcpy(at, &size, sizeof size);
    }
    return bytes;
}

static PyGetSetDef selection_getset[] = {
    {"n", get_n, NULL, "Number of selections.", NULL},
    {"shape", get_shape, NULL, "Shape of what each gives; None where they differ.", NULL},
    {"shapes", get_shapes, NULL, "Shapes of what they give.", NULL},
    {"sizes", get_sizes, NULL, "Elements of what they give, as bytes of int64.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot selection_slots[] = {{Py_tp_dealloc, (void *)selection_dealloc},
                                        {Py_tp_getset, selection_getset},
                                        {0, NULL}};
PyType_Spec ext_selection_spec = {
    .name = "headrace._ext.Selection",
    .basicsize = sizeof(ext_selection),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = selection_slots,
};
