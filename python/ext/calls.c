/* Calls of the library's threads into Python. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local int depth; /* calls that this thread is in */

bool ext_enter(ext_state *state, PyGILState_STATE *gil) {
    (void)atomic_fetch_add(&state->ncallers, 1);
    if (atomic_load(&state->is_ending)) {
        (void)atomic_fetch_sub(&state->ncallers, 1);
        return false;
    }
    *gil = PyGILState_Ensure();
    depth++;
    return true;
}

void ext_leave(ext_state *state, PyGILState_STATE gil) {
    depth--;
    PyGILState_Release(gil);
    (void)atomic_fetch_sub(&state->ncallers, 1);
}

bool ext_is_inside(void) {
    return depth > 0;
}

PyObject *ext_stay_inside(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    depth++;
    return Py_BuildValue("");
}

ext_adapter *ext_adapter_new(ext_state *state, PyObject *object) {
    ext_adapter *a = malloc(sizeof *a);
    if (a == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    *a = (ext_adapter){.state = state, .object = Py_NewRef(object)};
    return a;
}

/* Once the interpreter is ending its objects are left to it. */
void ext_adapter_destroy(void *user) {
    ext_adapter *a = user;
    PyGILState_STATE gil;
    if (ext_enter(a->state, &gil)) {
        Py_DECREF(a->object);
        ext_leave(a->state, gil);
    }
    free(a);
}

bool ext_take_bytes(PyObject *given, void *dst, uint64_t room, uint64_t *nbytes) {
    Py_buffer bytes;
    if (given == NULL || PyObject_GetBuffer(given, &bytes, PyBUF_SIMPLE) != 0) {
        Py_XDECREF(given);
        return false;
    }
    *nbytes = (uint64_t)bytes.len;
    if (bytes.len > 0) {
        memcpy(dst, bytes.buf, *nbytes < room ? *nbytes : room);
    }
    PyBuffer_Release(&bytes);
    Py_DECREF(given);
    return true;
}

hr_status ext_fail_ending(hr_error *err) {
    (void)snprintf(err->message, sizeof err->message, "the interpreter is ending");
    return HR_ERR_IO;
}

hr_status ext_fail_raised(hr_status usual, const hr_read_context *reading,
                          hr_error *err) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *name = type != NULL ? PyObject_GetAttrString(type, "__name__") : NULL;
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    PyObject *number = value != NULL ? PyObject_GetAttrString(value, "errno") : NULL;
    const char *name_text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *value_text = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    (void)snprintf(err->message, sizeof err->message, "%s: %s",
                   name_text != NULL ? name_text : "an exception",
                   value_text != NULL ? value_text : "");
    if (number != NULL && PyLong_Check(number)) {
        err->os_errno = (int32_t)PyLong_AsLong(number);
    }
    hr_status status = usual;
    if (hr_read_context_is_cancelled(reading)) {
        status = HR_ERR_CANCELLED;
    } else if (type != NULL && PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) {
        status = HR_ERR_MEMORY;
    }
    if (type != NULL && PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) {
        PyErr_SetInterrupt();
    }
    Py_XDECREF(number);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(trace);
    Py_XDECREF(value);
    Py_XDECREF(type);
    PyErr_Clear();
    return status;
}

PyObject *ext_end_calls(PyObject *module, PyObject *args) {
    (void)args;
    ext_state *state = ext_state_of(module);
    const struct timespec moment = {.tv_nsec = 1000000};
    atomic_store(&state->is_ending, true);
    Py_BEGIN_ALLOW_THREADS while (atomic_load(&state->ncallers) > 0) {
        (void)nanosleep(&moment, NULL);
    }
    Py_END_ALLOW_THREADS return Py_BuildValue("");
}

PyObject *ext_calls_forked(PyObject *module, PyObject *args) {
    (void)args;
    atomic_store(&ext_state_of(module)->ncallers, 0); /* they are the parent's */
    return Py_BuildValue("");
}
