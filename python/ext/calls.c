/* Calls of the library's threads into Python. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <time.h>

bool ext_enter(ext_state *state, PyGILState_STATE *gil) {
    (void)atomic_fetch_add(&state->ncallers, 1);
    if (atomic_load(&state->is_ending)) {
        (void)atomic_fetch_sub(&state->ncallers, 1);
        return false;
    }
    *gil = PyGILState_Ensure();
    return true;
}

void ext_leave(ext_state *state, PyGILState_STATE gil) {
    PyGILState_Release(gil);
    (void)atomic_fetch_sub(&state->ncallers, 1);
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
