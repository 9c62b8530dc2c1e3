/* Selections: what Python says of them, as the library takes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

/* A contiguous buffer of items of so many bytes, held until the selection goes. */
static const void *borrow(ext_selection *self, PyObject *object, Py_ssize_t itemsize,
                          Py_ssize_t *nitems) {
    Py_buffer *views =
        PyMem_Realloc(self->views, ((size_t)self->nviews + 1) * sizeof *views);
    if (views == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    self->views = views;
    Py_buffer *view = &views[self->nviews];
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

/* One part of an index: of a tuple, or the index itself. Borrowed. */
static PyObject *part_of(PyObject *key, Py_ssize_t i) {
    return PyTuple_Check(key) ? PyTuple_GetItem(key, i) : key;
}

static Py_ssize_t count_parts(PyObject *key) {
    return PyTuple_Check(key) ? PyTuple_Size(key) : 1;
}

static Py_ssize_t count_ellipses(PyObject *key, Py_ssize_t n) {
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        count += part_of(key, i) == Py_Ellipsis;
    }
    return count;
}

/* `...` stands for as many whole axes as are missing; those at the end need no saying. */
static bool read_axes(ext_selection *self, PyObject *key, int32_t ndim, hr_axis *axes,
                      hr_selection *out) {
    Py_ssize_t n = count_parts(key);
    Py_ssize_t ellipses = count_ellipses(key, n);
    if (n - ellipses > ndim || ellipses > 1) {
        PyErr_Format(PyExc_IndexError, "%zd indices (and %zd ellipses) for %d dimensions",
                     n - ellipses, ellipses, ndim);
        return false;
    }
    int32_t axis = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = part_of(key, i);
        if (part != Py_Ellipsis) {
            if (!read_axis(self, part, &axes[axis++])) {
                return false;
            }
            continue;
        }
        for (Py_ssize_t k = ndim - (n - 1); k > 0; k--) {
            axes[axis++] = (hr_axis){.stop = HR_NONE, .start = HR_NONE, .step = 1};
        }
    }
    out->axes = axes;
    out->naxes = axis;
    return true;
}

static bool read_key(ext_selection *self, PyObject *key, const hr_node_info *info) {
    Py_ssize_t n = 0;
    hr_selection *out = &self->parts->selection;
    switch (out->kind) {
    case HR_SELECT_ALL:
        return true;
    case HR_SELECT_AXES:
    case HR_SELECT_BLOCKS:
        return read_axes(self, key, info->ndim, self->axes, out);
    case HR_SELECT_POINTS:
        out->points = borrow(self, key, (Py_ssize_t)sizeof(int64_t), &n);
        if (PyErr_Occurred() != NULL) {
            return false;
        }
        out->npoints = (uint64_t)(info->ndim > 0 ? n / info->ndim : 0);
        return true;
    case HR_SELECT_MASK:
        out->mask = borrow(self, key, 1, &n);
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

/* Ask the library what the selections give. */
static PyObject *measured(ext_selection *self, const ext_node *array) {
    hr_error err = HR_ERROR_INIT;
    hr_status status = HR_OK;
    int64_t shape[HR_MAX_NDIM];
    for (Py_ssize_t i = 0; i < self->n && status == HR_OK; i++) {
        ext_part *part = &self->parts[i];
        if (part->selection.kind == HR_SELECT_MASK) { /* counts the whole mask */
            Py_BEGIN_ALLOW_THREADS status = hr_selection_shape(
                array->node, &part->selection, &part->ndim, shape, &err);
            Py_END_ALLOW_THREADS
        } else {
            status = hr_selection_shape(array->node, &part->selection, &part->ndim, shape,
                                        &err);
        }
        if (status == HR_OK) {
            memcpy(part->shape, shape, (size_t)part->ndim * sizeof *shape);
        }
    }
    if (status != HR_OK) {
        (void)ext_raise(self->state, &err);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* selection(node, kind, key) */
PyObject *ext_selection_new(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *node, *key;
    int kind;
    if (!PyArg_ParseTuple(args, "OiO", &node, &kind, &key)) {
        return NULL;
    }
    ext_selection *self = (ext_selection *)ext_selection_alloc(state, node, 1);
    if (self == NULL) {
        return NULL;
    }
    self->parts->selection.kind = (hr_selection_kind)kind;
    if (!read_key(self, key, &((ext_node *)node)->info)) {
        Py_DECREF(self);
        return NULL;
    }
    return measured(self, (ext_node *)node);
}

/* Slices and integers of Python's own, and ... */
static bool is_plain(PyObject *key) {
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *part = part_of(key, i);
        ok = PySlice_Check(part) || PyLong_CheckExact(part) || part == Py_Ellipsis;
    }
    return ok;
}

/* selections(node, keys): a list of plain indices; None where one of them is not plain.
 */
PyObject *ext_selections_new(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *node, *keys;
    if (!PyArg_ParseTuple(args, "OO!", &node, &PyList_Type, &keys)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Size(keys);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_plain(PyList_GetItem(keys, i))) {
            return Py_BuildValue("");
        }
    }
    ext_selection *self = (ext_selection *)ext_selection_alloc(state, node, n);
    if (self == NULL) {
        return NULL;
    }
    const int32_t ndim = ((ext_node *)node)->info.ndim;
    for (Py_ssize_t i = 0; i < n; i++) {
        hr_selection *out = &self->parts[i].selection;
        out->kind = HR_SELECT_AXES;
        if (!read_axes(self, PyList_GetItem(keys, i), ndim, self->axes + i * ndim, out)) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return measured(self, (ext_node *)node);
}

/* boxes(node, starts, lengths): of these lengths along the leading axes, at the places
 * that a buffer of int64 has one after the other. */
PyObject *ext_boxes_new(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *node, *starts, *lengths;
    int64_t sides[HR_MAX_NDIM];
    int32_t naxes;
    Py_ssize_t nstarts;
    if (!PyArg_ParseTuple(args, "OOO", &node, &starts, &lengths) ||
        !ext_int64s(lengths, sides, &naxes)) {
        return NULL;
    }
    Py_ssize_t n = PyObject_Size(starts);
    ext_selection *self =
        n < 0 ? NULL : (ext_selection *)ext_selection_alloc(state, node, n);
    if (self == NULL) {
        return NULL;
    }
    const int64_t *at = borrow(self, starts, (Py_ssize_t)sizeof *at, &nstarts);
    if (at == NULL || naxes > ((ext_node *)node)->info.ndim || nstarts != n * naxes) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_IndexError, "boxes for another number of dimensions");
        }
        Py_DECREF(self);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        hr_axis *axes = self->axes + i * ((ext_node *)node)->info.ndim;
        for (int32_t k = 0; k < naxes; k++) {
            const int64_t start = *at++;
            axes[k] = (hr_axis){.start = start, .stop = start + sides[k], .step = 1};
        }
        self->parts[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .axes = axes, .naxes = naxes};
    }
    return measured(self, (ext_node *)node);
}
