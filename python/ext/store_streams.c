/* Encoded streams as a store: what others hold in memory, without a copy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

typedef struct stream {
    Py_buffer bytes;
    const void *device_bytes; /* the same on a device, or NULL */
    hr_device device;
} stream;

typedef struct streams {
    ext_state *state;
    PyObject *owner; /* of what lies on devices */
    Py_ssize_t n;
    stream items[];
} streams;

/* "a/b" is stream a + b: chunk b of the array at a. */
static hr_status open_stream(void *user, const char *key, const hr_read_context *reading,
                             hr_custom_value *out, hr_error *err) {
    (void)reading;
    (void)err;
    const streams *s = user;
    char *end;
    const uint64_t first = strtoull(key, &end, 10);
    if (end == key || *end != '/' || end[1] < '0' || end[1] > '9') {
        return HR_ERR_NOT_FOUND;
    }
    const uint64_t i = first + strtoull(end + 1, &end, 10);
    if (*end != '\0' || i < first || i >= (uint64_t)s->n) {
        return HR_ERR_NOT_FOUND;
    }
    const stream *item = &s->items[i];
    *out = (hr_custom_value){.handle = (void *)(uintptr_t)item,
                             .nbytes = (uint64_t)item->bytes.len,
                             .device_bytes = item->device_bytes,
                             .device = item->device};
    return HR_OK;
}

static hr_status read_stream(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                             void *dst, const hr_read_context *reading, uint64_t *nread,
                             hr_error *err) {
    (void)user;
    (void)reading;
    (void)err;
    memcpy(dst, (const uint8_t *)((const stream *)handle)->bytes.buf + offset, nbytes);
    *nread = nbytes;
    return HR_OK;
}

static void release(streams *s) {
    for (Py_ssize_t i = 0; i < s->n; i++) {
        PyBuffer_Release(&s->items[i].bytes);
    }
    Py_DECREF(s->owner);
}

/* Once the interpreter is ending its objects are left to it. */
static void destroy_streams(void *user) {
    streams *s = user;
    PyGILState_STATE gil;
    if (ext_enter(s->state, &gil)) {
        release(s);
        ext_leave(s->state, gil);
    }
    free(s);
}

/* Of each three int64: type and number of a device, and the address there (0: none). */
static bool take_places(streams *s, PyObject *object) {
    Py_buffer view;
    if (object == Py_None) {
        return true;
    }
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) {
        return false;
    }
    const int64_t *at = view.buf;
    const bool fits = view.len == s->n * 3 * (Py_ssize_t)sizeof *at;
    for (Py_ssize_t i = 0; fits && i < s->n; i++, at += 3) {
        s->items[i].device = (hr_device){.type = (int32_t)at[0], .index = (int32_t)at[1]};
        s->items[i].device_bytes = (const void *)(uintptr_t)at[2];
    }
    PyBuffer_Release(&view);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "places of another number of streams");
    }
    return fits;
}

static streams *take_streams(ext_state *state, PyObject *list, PyObject *places,
                             PyObject *owner) {
    const Py_ssize_t n = PyList_Size(list);
    streams *s = calloc(1, sizeof *s + (size_t)n * sizeof *s->items);
    if (s == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    s->state = state;
    s->owner = Py_NewRef(owner);
    while (s->n < n && PyObject_GetBuffer(PyList_GetItem(list, s->n),
                                          &s->items[s->n].bytes, PyBUF_SIMPLE) == 0) {
        s->n++;
    }
    if (s->n < n || !take_places(s, places)) {
        release(s);
        free(s);
        return NULL;
    }
    return s;
}

/* streams_store(context, streams, places, owner) */
PyObject *ext_streams_store(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context, *list, *places, *owner;
    if (!PyArg_ParseTuple(args, "OO!OO", &context, &PyList_Type, &list, &places,
                          &owner) ||
        !ext_is(context, state->context, "Context")) {
        return NULL;
    }
    streams *s = take_streams(state, list, places, owner);
    if (s == NULL) {
        return NULL;
    }
    const hr_custom_store functions = {.abi_version = HR_CUSTOM_STORE_VERSION,
                                       .url = "streams:",
                                       .user = s,
                                       .gap_nbytes = 4096,
                                       .open = open_stream,
                                       .read = read_stream,
                                       .destroy = destroy_streams};
    return ext_custom_store(state, context, &functions);
}
