/* Codecs that are functions of Python. SPDX-License-Identifier: Apache-2.0
 *
 * An adapter (headrace/_codecs.py) has two methods:
 *
 *     parse(configuration, shape, dtype) -> the number of a decoder; shape and dtype are
 *                                           None where bytes are decoded to bytes
 *     decode(number, data) -> what the bytes decode to, with the buffer protocol */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

typedef struct python_codec {
    ext_state *state;
    PyObject *adapter;
} python_codec;

/* References of shape and dtype; false with an exception. */
static bool describe(const hr_codec_output *output, PyObject **shape, PyObject **dtype) {
    if (output->is_bytes != 0) {
        *shape = Py_NewRef(Py_None);
        *dtype = Py_NewRef(Py_None);
        return true;
    }
    char text[256];
    if (hr_dtype_format(&output->dtype, text, sizeof text) >= sizeof text) {
        PyErr_SetString(PyExc_ValueError, "the type is too long to be written down");
        return false;
    }
    *dtype = ext_text(text);
    *shape = ext_tuple(output->shape, output->ndim);
    return true;
}

static hr_status parse_held(const python_codec *c, const char *configuration,
                            const hr_codec_output *output, void *state, hr_error *err) {
    PyObject *shape, *dtype;
    if (!describe(output, &shape, &dtype)) {
        return ext_fail_raised(HR_ERR_UNSUPPORTED, NULL, err);
    }
    PyObject *number = PyObject_CallMethod(c->adapter, "parse", "NNN",
                                           ext_text(configuration), shape, dtype);
    if (number == NULL) {
        return ext_fail_raised(HR_ERR_METADATA, NULL, err);
    }
    *(int64_t *)state = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return PyErr_Occurred() == NULL ? HR_OK : ext_fail_raised(HR_ERR_METADATA, NULL, err);
}

static hr_status python_parse(void *user, const char *configuration,
                              const hr_codec_output *output, void *state,
                              uint64_t *encoded_nbytes, hr_error *err) {
    (void)encoded_nbytes; /* not known */
    const python_codec *c = user;
    PyGILState_STATE gil;
    if (!ext_enter(c->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = parse_held(c, configuration, output, state, err);
    ext_leave(c->state, gil);
    return status;
}

/* The bytes are copied for Python, whose objects may outlive the call. */
static hr_status decode_held(const python_codec *c, int64_t number, const void *src,
                             size_t src_nbytes, void *dst, size_t dst_nbytes,
                             const hr_read_context *reading, uint64_t *nbytes,
                             hr_error *err) {
    Py_buffer bytes;
    PyObject *given = PyObject_CallMethod(c->adapter, "decode", "Ly#", (long long)number,
                                          src, (Py_ssize_t)src_nbytes);
    if (given == NULL || PyObject_GetBuffer(given, &bytes, PyBUF_SIMPLE) != 0) {
        Py_XDECREF(given);
        return ext_fail_raised(HR_ERR_DATA, reading, err);
    }
    *nbytes = (uint64_t)bytes.len;
    if (*nbytes <= dst_nbytes && bytes.len > 0) {
        memcpy(dst, bytes.buf, *nbytes);
    }
    PyBuffer_Release(&bytes);
    Py_DECREF(given);
    return HR_OK;
}

static hr_status python_decode(void *user, const void *state, const void *src,
                               size_t src_nbytes, void *dst, size_t dst_nbytes,
                               const hr_read_context *reading, uint64_t *nbytes,
                               hr_error *err) {
    const python_codec *c = user;
    PyGILState_STATE gil;
    if (!ext_enter(c->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = decode_held(c, *(const int64_t *)state, src, src_nbytes, dst,
                                   dst_nbytes, reading, nbytes, err);
    ext_leave(c->state, gil);
    return status;
}

/* Once the interpreter is ending its objects are left to it. */
static void python_destroy(void *user) {
    python_codec *c = user;
    PyGILState_STATE gil;
    if (ext_enter(c->state, &gil)) {
        Py_DECREF(c->adapter);
        ext_leave(c->state, gil);
    }
    free(c);
}

PyObject *ext_add_codec(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context, *adapter;
    int kind;
    const char *name;
    if (!PyArg_ParseTuple(args, "OOis", &context, &adapter, &kind, &name) ||
        !ext_is(context, state->context, "Context")) {
        return NULL;
    }
    python_codec *c = malloc(sizeof *c);
    if (c == NULL) {
        return PyErr_NoMemory();
    }
    *c = (python_codec){.state = state, .adapter = Py_NewRef(adapter)};
    const hr_custom_codec codec = {.abi_version = HR_CUSTOM_CODEC_VERSION,
                                   .kind = (hr_codec_kind)kind,
                                   .v3_name = name,
                                   .v2_id = name,
                                   .user = c,
                                   .state_nbytes = sizeof(int64_t),
                                   .parse = python_parse,
                                   .decode = python_decode,
                                   .destroy = python_destroy};
    hr_error err = HR_ERROR_INIT;
    if (hr_context_add_codec(((ext_context *)context)->context, &codec, &err) != HR_OK) {
        python_destroy(c);
        return ext_raise(state, &err);
    }
    return Py_BuildValue("");
}
