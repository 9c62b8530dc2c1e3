/* Selections: what Python says of them, as the library takes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

/* A contiguous buffer of items of so many bytes, held until the selection goes. */
static const void *borrow(ext_selection *self, PyObject *object, Py_ssize_t itemsize,
                          Py_ssize_t *nitems) {
    if (self->nviews == HR_MAX_NDIM) {
        PyErr_SetString(PyExc_IndexError, "too many indices");
        return NULL;
    }
    Py_buffer *view = &self->views[self->nviews];
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
        return NULL;
    }
    self->nviews++;
    const char *format = view->format != NULL ? view->format : "B";
    bool is_int64 = strcmp(format, "l") == 0 || strcmp(format, "q") == 0;
    if (itemsize == 1 ? view->itemsize != 1 : !is_int64) {
        PyErr_Format(PyExc_TypeError, "indices are integers, not %R", object);
        return NULL;
    }
    *nitems = view->len / itemsize;
    return view->buf;
}

/* HR_NONE means "not given"; a bound that clips to it is one more than it. */
static int64_t clip(Py_ssize_t bound, bool is_none) {
    return is_none ? HR_NONE : bound == PY_SSIZE_T_MIN ? PY_SSIZE_T_MIN + 1 : bound;
}

static bool read_slice(PyObject *key, hr_axis *axis) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) != 0) {
        return false;
    }
    axis->kind = HR_AXIS_SLICE;
    axis->start = clip(start, false);
    axis->stop = clip(stop, step < 0 && stop == PY_SSIZE_T_MIN);
    axis->step = step;
    return true;
}

static bool read_axis(ext_selection *self, PyObject *key, hr_axis *axis) {
    if (PySlice_Check(key)) {
        return read_slice(key, axis);
    }
    if (PyIndex_Check(key) && !PyBool_Check(key)) {
        axis->kind = HR_AXIS_INTEGER;
        axis->start = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (axis->start != -1 || PyErr_Occurred() == NULL) {
            return true;
        }
        if (!PyErr_ExceptionMatches(PyExc_TypeError) || !PyObject_CheckBuffer(key)) {
            return false;
        }
        PyErr_Clear(); /* an array, of which some are integers too */
    }
    if (!PyObject_CheckBuffer(key) || PyBytes_Check(key)) {
        PyErr_Format(PyExc_IndexError,
                     "an index is a slice, an integer or ..., not %R; lists and masks "
                     "belong in oindex or vindex",
                     key);
        return false;
    }
    Py_ssize_t n = 0;
    axis->kind = HR_AXIS_INDICES;
    axis->indices = borrow(self, key, (Py_ssize_t)sizeof(int64_t), &n);
    axis->nindices = (uint64_t)n;
    return PyErr_Occurred() == NULL;
}

static Py_ssize_t count_ellipses(PyObject *key, Py_ssize_t n) {
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        count += PyTuple_GetItem(key, i) == Py_Ellipsis;
    }
    return count;
}

/* `...` stands for as many whole axes as are missing; those at the end need no saying. */
static bool read_axes(ext_selection *self, PyObject *key, int32_t ndim) {
    Py_ssize_t n = PyTuple_Size(key);
    if (n < 0) {
        return false;
    }
    Py_ssize_t ellipses = count_ellipses(key, n);
    if (n - ellipses > ndim || ellipses > 1) {
        PyErr_Format(PyExc_IndexError, "%zd indices (and %zd ellipses) for %d dimensions",
                     n - ellipses, ellipses, ndim);
        return false;
    }
    int32_t axis = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = PyTuple_GetItem(key, i);
        if (part != Py_Ellipsis) {
            if (!read_axis(self, part, &self->axes[axis++])) {
                return false;
            }
            continue;
        }
        for (Py_ssize_t k = ndim - (n - 1); k > 0; k--) {
            self->axes[axis++] = (hr_axis){.stop = HR_NONE, .start = HR_NONE, .step = 1};
        }
    }
    self->selection.axes = self->axes;
    self->selection.naxes = axis;
    return true;
}

static bool read_key(ext_selection *self, PyObject *key, const hr_node_info *info) {
    Py_ssize_t n = 0;
    switch (self->selection.kind) {
    case HR_SELECT_ALL:
        return true;
    case HR_SELECT_AXES:
    case HR_SELECT_BLOCKS:
        return read_axes(self, key, info->ndim);
    case HR_SELECT_POINTS:
        self->selection.points = borrow(self, key, (Py_ssize_t)sizeof(int64_t), &n);
        if (PyErr_Occurred() != NULL) {
            return false;
        }
        self->selection.npoints = (uint64_t)(info->ndim > 0 ? n / info->ndim : 0);
        return true;
    case HR_SELECT_MASK:
        self->selection.mask = borrow(self, key, 1, &n);
        if (PyErr_Occurred() != NULL) {
            return false;
        }
        for (int32_t i = 0; i < info->ndim; i++) { /* exact: n is what is left */
            int64_t side = info->shape[i];
            n = side == 0 || n % side != 0 ? -1 : n / (Py_ssize_t)side;
            if (n < 0) {
                break;
            }
        }
        break;
    default:
        PyErr_SetString(PyExc_ValueError, "no such kind of selection");
        return false;
    }
    bool is_empty = false;
    for (int32_t i = 0; i < info->ndim; i++) {
        is_empty = is_empty || info->shape[i] == 0;
    }
    if (n != 1 && !is_empty) {
        PyErr_SetString(PyExc_IndexError, "the mask does not have the array's shape");
        return false;
    }
    return true;
}

PyObject *ext_selection_new(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *node;
    PyObject *key;
    int kind;
    if (!PyArg_ParseTuple(args, "OiO", &node, &kind, &key) ||
        !ext_is(node, state->node, "Node")) {
        return NULL;
    }
    ext_selection *self = ext_new(state, state->selection);
    if (self == NULL) {
        return NULL;
    }
    ext_node *array = (ext_node *)node;
    self->selection.kind = (hr_selection_kind)kind;
    if (!read_key(self, key, &array->info)) {
        Py_DECREF(self);
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    if (kind == HR_SELECT_MASK) { /* counts the whole mask */
        Py_BEGIN_ALLOW_THREADS status = hr_selection_shape(
            array->node, &self->selection, &self->ndim, self->shape, &err);
        Py_END_ALLOW_THREADS
    } else {
        status = hr_selection_shape(array->node, &self->selection, &self->ndim,
                                    self->shape, &err);
    }
    if (status != HR_OK) {
        Py_DECREF(self);
        return ext_raise(state, &err);
    }
    return (PyObject *)self;
}

static void selection_dealloc(PyObject *object) {
    ext_selection *self = (ext_selection *)object;
    for (int i = 0; i < self->nviews; i++) {
        PyBuffer_Release(&self->views[i]);
    }
    ext_delete(self);
}

static PyObject *selection_shape(PyObject *object, void *closure) {
    (void)closure;
    const ext_selection *self = (ext_selection *)object;
    return ext_tuple(self->shape, self->ndim);
}

static PyObject *selection_ndim(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromLong(((ext_selection *)object)->ndim);
}

static PyGetSetDef selection_getset[] = {
    {"ndim", selection_ndim, NULL, "Number of axes of the result.", NULL},
    {"shape", selection_shape, NULL, "Shape of the result.", NULL},
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
