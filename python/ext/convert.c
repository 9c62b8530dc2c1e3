/* Errors, and small conversions between Python and C. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

PyObject *ext_text(const char *bytes) {
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "backslashreplace");
}

PyObject *ext_exception(ext_state *state, const hr_error *err) {
    return PyObject_CallFunction(
        state->make_error, "iNNNKiiN", (int)err->status, ext_text(err->message),
        ext_text(err->url), ext_text(err->key), (unsigned long long)err->offset,
        (int)err->device_code, (int)err->os_errno, ext_text(err->codec));
}

PyObject *ext_raise(ext_state *state, const hr_error *err) {
    PyObject *exception = ext_exception(state, err);
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

bool ext_int64s(PyObject *sequence, int64_t *out, int32_t *n) {
    Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0) {
        return false;
    }
    if (count > HR_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%zd dimensions, at most %d", count, HR_MAX_NDIM);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (item == NULL) {
            return false;
        }
        out[i] = PyLong_AsLongLong(item);
        Py_DECREF(item);
        if (out[i] == -1 && PyErr_Occurred() != NULL) {
            return false;
        }
    }
    *n = (int32_t)count;
    return true;
}

PyObject *ext_tuple(const int64_t *values, int32_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}
