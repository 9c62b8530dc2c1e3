/* Device memory for staging by a pool of Python's. SPDX-License-Identifier: Apache-2.0
 *
 * A pool (headrace/_pools.py) has two methods:
 *
 *     alloc(index, nbytes, stream) -> the address; 0 without memory
 *     free(address)
 *
 * What they raise goes to sys.unraisablehook, and the read fails for want of memory. */
#include "ext.h"

#include <stdlib.h>

typedef struct python_pool {
    ext_state *state;
    PyObject *pool;
} python_pool;

/* A thread of Python's that helps the library may be on its way with an exception. */
static void *call(const python_pool *p, const char *method, const char *format,
                  unsigned long long a, unsigned long long b, unsigned long long c) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *given = PyObject_CallMethod(p->pool, method, format, a, b, c);
    void *address = NULL;
    if (given != NULL && given != Py_None) {
        address = PyLong_AsVoidPtr(given);
    }
    if (PyErr_Occurred() != NULL) {
        PyErr_WriteUnraisable(p->pool);
    }
    Py_XDECREF(given);
    PyErr_Restore(type, value, trace);
    return address;
}

static void *pool_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    const python_pool *p = user;
    PyGILState_STATE gil;
    if (!ext_enter(p->state, &gil)) {
        return NULL;
    }
    void *address = call(p, "alloc", "KKK", (unsigned long long)device.index, nbytes,
                         (unsigned long long)(uintptr_t)stream);
    ext_leave(p->state, gil);
    return address;
}

/* Once the interpreter is ending its objects are left to it. */
static void pool_free(void *user, hr_device device, void *ptr, size_t nbytes,
                      void *stream) {
    (void)device;
    (void)nbytes;
    (void)stream;
    const python_pool *p = user;
    PyGILState_STATE gil;
    if (ext_enter(p->state, &gil)) {
        (void)call(p, "free", "K", (unsigned long long)(uintptr_t)ptr, 0, 0);
        ext_leave(p->state, gil);
    }
}

static void pool_destroy(void *user) {
    python_pool *p = user;
    PyGILState_STATE gil;
    if (ext_enter(p->state, &gil)) {
        Py_DECREF(p->pool);
        ext_leave(p->state, gil);
    }
    free(p);
}

bool ext_pool_hooks(ext_state *state, PyObject *pool, hr_device_allocator *out) {
    python_pool *p = malloc(sizeof *p);
    if (p == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    *p = (python_pool){.state = state, .pool = Py_NewRef(pool)};
    *out = (hr_device_allocator){.struct_size = sizeof *out,
                                 .user = p,
                                 .alloc = pool_alloc,
                                 .free = pool_free,
                                 .destroy = pool_destroy};
    return true;
}
