/* Codecs that are functions of Python. SPDX-License-Identifier: Apache-2.0
 *
 * An adapter (headrace/_codecs.py) has two methods:
 *
 *     parse(configuration, shape, dtype) -> the number of a decoder; shape and dtype are
 *                                           None where bytes are decoded to bytes
 *     decode(number, data) -> what the bytes decode to, with the buffer protocol */
#include "ext.h"

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

static hr_status parse_held(const ext_adapter *c, const char *configuration,
                            const hr_codec_output *output, void *state, hr_error *err) {
    PyObject *shape, *dtype;
    if (!describe(output, &shape, &dtype)) {
        return ext_fail_raised(HR_ERR_UNSUPPORTED, NULL, err);
    }
    PyObject *number = PyObject_CallMethod(c->object, "parse", "NNN",
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
    const ext_adapter *c = user;
    PyGILState_STATE gil;
    if (!ext_enter(c->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = parse_held(c, configuration, output, state, err);
    ext_leave(c->state, gil);
    return status;
}

/* The bytes are copied for Python, whose objects may outlive the call. */
static hr_status decode_held(const ext_adapter *c, int64_t number, const void *src,
                             size_t src_nbytes, void *dst, size_t dst_nbytes,
                             const hr_read_context *reading, uint64_t *nbytes,
                             hr_error *err) {
    PyObject *given = PyObject_CallMethod(c->object, "decode", "Ly#", (long long)number,
                                          src, (Py_ssize_t)src_nbytes);
    return ext_take_bytes(given, dst, dst_nbytes, nbytes)
               ? HR_OK
               : ext_fail_raised(HR_ERR_DATA, reading, err);
}

static hr_status python_decode(void *user, const void *state, const void *src,
                               size_t src_nbytes, void *dst, size_t dst_nbytes,
                               const hr_read_context *reading, uint64_t *nbytes,
                               hr_error *err) {
    const ext_adapter *c = user;
    PyGILState_STATE gil;
    if (!ext_enter(c->state, &gil)) {
        return ext_fail_ending(err);
    }
    hr_status status = decode_held(c, *(const int64_t *)state, src, src_nbytes, dst,
                                   dst_nbytes, reading, nbytes, err);
    ext_leave(c->state, gil);
    return status;
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
    ext_adapter *c = ext_adapter_new(state, adapter);
    if (c == NULL) {
        return NULL;
    }
    const hr_custom_codec codec = {.abi_version = HR_CUSTOM_CODEC_VERSION,
                                   .kind = (hr_codec_kind)kind,
                                   .v3_name = name,
                                   .v2_id = name,
                                   .user = c,
                                   .state_nbytes = sizeof(int64_t),
                                   .parse = python_parse,
                                   .decode = python_decode,
                                   .destroy = ext_adapter_destroy};
    hr_error err = HR_ERROR_INIT;
    if (hr_context_add_codec(((ext_context *)context)->context, &codec, &err) != HR_OK) {
        ext_adapter_destroy(c);
        return ext_raise(state, &err);
    }
    return Py_BuildValue("");
}
