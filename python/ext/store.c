/* Stores as handles. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

PyObject *ext_store_wrap(ext_state *state, hr_store *store) {
    ext_store *self = ext_new(state, state->store);
    if (self == NULL) {
        hr_store_unref(store);
        return NULL;
    }
    self->store = store;
    return (PyObject *)self;
}

PyObject *ext_memory_store(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context;
    if (!PyArg_ParseTuple(args, "O", &context) ||
        !ext_is(context, state->context, "Context")) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_store *store = NULL;
    hr_status status =
        hr_store_create_memory(((ext_context *)context)->context, &store, &err);
    return status == HR_OK ? ext_store_wrap(state, store) : ext_raise(state, &err);
}

/* A directory, with room in memory before it. */
PyObject *ext_directory_store(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "OO&", &context, PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    const char *text = PyBytes_AsString(path);
    PyObject *result = NULL;
    if (text != NULL && ext_is(context, state->context, "Context")) {
        hr_context *c = ((ext_context *)context)->context;
        hr_error err = HR_ERROR_INIT;
        hr_store *below = NULL;
        hr_store *store = NULL;
        hr_status status;
        Py_BEGIN_ALLOW_THREADS status = hr_store_open_directory(c, text, &below, &err);
        if (status == HR_OK) {
            status = hr_store_create_overlay(below, &store, &err);
        }
        hr_store_unref(below);
        Py_END_ALLOW_THREADS result =
            status == HR_OK ? ext_store_wrap(state, store) : ext_raise(state, &err);
    }
    Py_DECREF(path);
    return result;
}

PyObject *ext_custom_store(ext_state *state, PyObject *context,
                           const hr_custom_store *functions) {
    hr_error err = HR_ERROR_INIT;
    hr_store *below = NULL;
    hr_store *store = NULL;
    hr_status status = hr_store_create_custom(((ext_context *)context)->context,
                                              functions, &below, &err);
    if (status != HR_OK) {
        functions->destroy(functions->user);
        return ext_raise(state, &err);
    }
    status = hr_store_create_overlay(below, &store, &err);
    hr_store_unref(below);
    return status == HR_OK ? ext_store_wrap(state, store) : ext_raise(state, &err);
}

static PyObject *store_set(PyObject *object, PyObject *args) {
    ext_store *self = (ext_store *)object;
    const char *key;
    Py_buffer value;
    if (!PyArg_ParseTuple(args, "sy*", &key, &value)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hr_store_set(self->store, key, value.buf, (size_t)value.len, &err);
    Py_END_ALLOW_THREADS PyBuffer_Release(&value);
    return status == HR_OK ? Py_BuildValue("") : ext_raise(self->state, &err);
}

static void store_dealloc(PyObject *object) {
    hr_store *store = ((ext_store *)object)->store;
    Py_BEGIN_ALLOW_THREADS hr_store_unref(store);
    Py_END_ALLOW_THREADS ext_delete(object);
}

static PyMethodDef store_methods[] = {
    {"set", store_set, METH_VARARGS, "set(key, bytes)"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot store_slots[] = {
    {Py_tp_dealloc, (void *)store_dealloc}, {Py_tp_methods, store_methods}, {0, NULL}};
PyType_Spec ext_store_spec = {
    .name = "headrace._ext.Store",
    .basicsize = sizeof(ext_store),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = store_slots,
};
