/* Times of stages, as dictionaries. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

PyObject *ext_count(uint64_t n) {
    return n == HR_UNKNOWN ? Py_NewRef(Py_None)
                           : PyLong_FromUnsignedLongLong((unsigned long long)n);
}

static PyObject *stages_list(const hr_stage_times *t) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < HR_NSTAGES; i++) {
        PyObject *item =
            Py_BuildValue("(sNd)", hr_stage_name((hr_stage)i), ext_count(t->ns[i]),
                          hr_stage_share(t, (hr_stage)i));
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

PyObject *ext_stages(const hr_stage_times *t) {
    return Py_BuildValue("{sI sI sN sz sN}", "nthreads", t->nthreads, "ndevices",
                         t->ndevices, "wall_ns", ext_count(t->wall_ns), "bound",
                         t->bound < 0 ? NULL : hr_stage_name((hr_stage)t->bound),
                         "stages", stages_list(t));
}
