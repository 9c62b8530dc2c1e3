/* Stores that are objects of Python. SPDX-License-Identifier: Apache-2.0
 *
 * An adapter (headrace/_stores.py) has three methods:
 *
 *     open(key, in_parts, reading) -> None where it is absent, else (value, version)
 *     read(key, offset, nbytes, reading) -> bytes, of a value whose size was given
 *     list(prefix) -> pairs of a name and whether it is a prefix
 *
 * The value is its bytes, or its size; a version of 0 is not known.
 * in_parts says whether parts of the value will be read (None: it is metadata). reading
 * is for is_given_up(). The GIL is held while they run, and not while bytes are copied.
 */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

#define READING "headrace.reading"
#define GAP_NBYTES (256 << 10) /* quicker read than asked for twice, also from afar */

/* An open value: all of its bytes, or the key to ask for some. */
typedef struct python_value {
    PyObject *key; /* NULL: all bytes are here */
    Py_buffer bytes;
} python_value;

/* What is_given_up() takes, for one call: a new reference, None for NULL. */
static PyObject *lend(const hr_read_context *reading) {
    return reading == NULL ? Py_NewRef(Py_None)
                           : PyCapsule_New((void *)(uintptr_t)reading, READING, NULL);
}

/* After the call it says nothing any more, whoever has kept it. */
static void take_back(PyObject *lent) {
    if (lent != NULL && PyCapsule_CheckExact(lent)) {
        (void)PyCapsule_SetName(lent, NULL);
    }
    Py_XDECREF(lent);
}

PyObject *ext_is_given_up(PyObject *module, PyObject *args) {
    PyObject *lent;
    if (!PyArg_ParseTuple(args, "O", &lent)) {
        return NULL;
    }
    const hr_read_context *reading = NULL;
    if (lent != Py_None && (reading = PyCapsule_GetPointer(lent, READING)) == NULL) {
        return NULL;
    }
    return PyBool_FromLong(atomic_load(&ext_state_of(module)->is_ending) ||
                           hr_read_context_is_cancelled(reading));
}

/* A new reference. */
static PyObject *in_parts(const hr_read_context *reading) {
    hr_read_info info = HR_READ_INFO_INIT;
    if (reading == NULL || hr_read_context_describe(reading, &info, NULL) != HR_OK) {
        return Py_BuildValue("");
    }
    return PyBool_FromLong(info.array->shard_shape != NULL ||
                           strstr(info.array->format, "tiff") != NULL);
}

static bool take_value(PyObject *pair, const char *key, python_value *v, uint64_t *nbytes,
                       uint64_t *version) {
    PyObject *given;
    unsigned long long number;
    if (!PyArg_ParseTuple(pair, "OK", &given, &number)) {
        return false;
    }
    *version = number;
    if (PyLong_Check(given)) {
        *nbytes = PyLong_AsUnsignedLongLong(given);
        v->key = PyErr_Occurred() == NULL ? ext_text(key) : NULL;
        return v->key != NULL;
    }
    if (PyObject_GetBuffer(given, &v->bytes, PyBUF_SIMPLE) != 0) {
        return false;
    }
    *nbytes = (uint64_t)v->bytes.len;
    return true;
}

static hr_status open_held(const ext_adapter *s, const char *key,
                           const hr_read_context *reading, hr_custom_value *out,
                           hr_error *err) {
    PyObject *lent = lend(reading);
    PyObject *given = PyObject_CallMethod(s->object, "open", "NNO", ext_text(key),
                                          in_parts(reading), lent);
    take_back(lent);
    if (given == NULL) {
        return ext_fail_raised(HR_ERR_IO, reading, err);
    }
    hr_status status = HR_OK;
    python_value *v = calloc(1, sizeof *v);
    if (given == Py_None) {
        status = HR_ERR_NOT_FOUND;
    } else if (v == NULL) {
        status = HR_ERR_MEMORY;
    } else if (!take_value(given, key, v, &out->nbytes, &out->version)) {
        status = ext_fail_raised(HR_ERR_IO, reading, err);
    }
    Py_DECREF(given);
    if (status != HR_OK) {
        free(v);
        return status;
    }
    out->handle = v;
    return HR_OK;
}

static hr_status python_open(void *user, const char *key, const hr_read_context *reading,
                             hr_custom_value *out, hr_error *err) {
    const ext_adapter *s = user;
    PyGILState_STATE gil;
    if (!ext_enter(s->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = open_held(s, key, reading, out, err);
    ext_leave(s->state, gil);
    return status;
}

static hr_status read_held(const ext_adapter *s, const python_value *v, uint64_t offset,
                           uint64_t nbytes, void *dst, const hr_read_context *reading,
                           uint64_t *nread, hr_error *err) {
    PyObject *lent = lend(reading);
    PyObject *given =
        PyObject_CallMethod(s->object, "read", "OKKO", v->key, (unsigned long long)offset,
                            (unsigned long long)nbytes, lent);
    take_back(lent);
    return ext_take_bytes(given, dst, nbytes, nread)
               ? HR_OK
               : ext_fail_raised(HR_ERR_IO, reading, err);
}

static hr_status python_read(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                             void *dst, const hr_read_context *reading, uint64_t *nread,
                             hr_error *err) {
    const ext_adapter *s = user;
    const python_value *v = handle;
    if (v->key == NULL) {
        memcpy(dst, (const uint8_t *)v->bytes.buf + offset, nbytes);
        *nread = nbytes;
        return HR_OK;
    }
    PyGILState_STATE gil;
    if (!ext_enter(s->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = read_held(s, v, offset, nbytes, dst, reading, nread, err);
    ext_leave(s->state, gil);
    return status;
}

/* Once the interpreter is ending its objects are left to it. */
static void python_close(void *user, void *handle) {
    const ext_adapter *s = user;
    python_value *v = handle;
    PyGILState_STATE gil;
    if (ext_enter(s->state, &gil)) {
        if (v->key == NULL) {
            PyBuffer_Release(&v->bytes);
        }
        Py_XDECREF(v->key);
        ext_leave(s->state, gil);
    }
    free(v);
}

static bool is_pair(PyObject *entry) {
    if (!PyTuple_Check(entry)) {
        PyErr_Format(PyExc_TypeError, "listed %R, expected (name, is_prefix)", entry);
        return false;
    }
    return true;
}

static hr_status list_held(const ext_adapter *s, const char *prefix,
                           int (*entry)(void *sink, const char *name, int is_prefix),
                           void *sink, hr_error *err) {
    PyObject *given = PyObject_CallMethod(s->object, "list", "N", ext_text(prefix));
    PyObject *pairs = given != NULL ? PySequence_List(given) : NULL;
    Py_XDECREF(given);
    bool ok = pairs != NULL;
    Py_ssize_t n = ok ? PyList_Size(pairs) : 0;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        const char *name;
        int is_prefix;
        ok = is_pair(PyList_GetItem(pairs, i)) &&
             PyArg_ParseTuple(PyList_GetItem(pairs, i), "sp", &name, &is_prefix) != 0;
        if (ok && entry(sink, name, is_prefix) == 0) {
            break;
        }
    }
    Py_XDECREF(pairs);
    return ok ? HR_OK : ext_fail_raised(HR_ERR_IO, NULL, err);
}

static hr_status python_list(void *user, const char *prefix,
                             int (*entry)(void *sink, const char *name, int is_prefix),
                             void *sink, hr_error *err) {
    const ext_adapter *s = user;
    PyGILState_STATE gil;
    if (!ext_enter(s->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = list_held(s, prefix, entry, sink, err);
    ext_leave(s->state, gil);
    return status;
}

PyObject *ext_python_store(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context, *adapter;
    const char *url;
    int can_list;
    if (!PyArg_ParseTuple(args, "OOsp", &context, &adapter, &url, &can_list) ||
        !ext_is(context, state->context, "Context")) {
        return NULL;
    }
    ext_adapter *s = ext_adapter_new(state, adapter);
    if (s == NULL) {
        return NULL;
    }
    const hr_custom_store functions = {.abi_version = HR_CUSTOM_STORE_VERSION,
                                       .url = url,
                                       .user = s,
                                       .gap_nbytes = GAP_NBYTES,
                                       .open = python_open,
                                       .read = python_read,
                                       .close = python_close,
                                       .list = can_list ? python_list : NULL,
                                       .destroy = ext_adapter_destroy};
    return ext_custom_store(state, context, &functions);
}
