/* Device memory for staging by a pool of Python's. SPDX-License-Identifier: Apache-2.0
 *
 * A pool (headrace/_pools.py) has two methods:
 *
 *     alloc(index, nbytes, stream) -> the address; 0 without memory
 *     free(address)
 *
 * What they raise goes to sys.unraisablehook, and the read fails for want of memory. */
#include "ext.h"

/* A thread of Python's that helps the library may be on its way with an exception. */
static void *call(const ext_adapter *p, const char *method, const char *format,
                  unsigned long long a, unsigned long long b, unsigned long long c) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *given = PyObject_CallMethod(p->object, method, format, a, b, c);
    void *address = NULL;
    if (given != NULL && given != Py_None) {
        address = PyLong_AsVoidPtr(given);
    }
    if (PyErr_Occurred() != NULL) {
        PyErr_WriteUnraisable(p->object);
    }
    Py_XDECREF(given);
    PyErr_Restore(type, value, trace);
    return address;
}

static void *pool_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    const ext_adapter *p = user;
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
    const ext_adapter *p = user;
    PyGILState_STATE gil;
    if (ext_enter(p->state, &gil)) {
        (void)call(p, "free", "K", (unsigned long long)(uintptr_t)ptr, 0, 0);
        ext_leave(p->state, gil);
    }
}

bool ext_pool_hooks(ext_state *state, PyObject *pool, hr_device_allocator *out) {
    ext_adapter *p = ext_adapter_new(state, pool);
    if (p == NULL) {
        return false;
    }
    *out = (hr_device_allocator){.struct_size = sizeof *out,
                                 .user = p,
                                 .alloc = pool_alloc,
                                 .free = pool_free,
                                 .destroy = ext_adapter_destroy};
    return true;
}
