/* Times of stages, as dictionaries. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

static PyObject *stages_list(const hr_stage_times *t) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < HR_NSTAGES; i++) {
        PyObject *ns = t->ns[i] == HR_UNKNOWN ? Py_NewRef(Py_None)
                                              : PyLong_FromUnsignedLongLong(t->ns[i]);
        PyObject *item = Py_BuildValue("(sNd)", hr_stage_name((hr_stage)i), ns,
                                       hr_stage_share(t, (hr_stage)i));
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

PyObject *ext_stages(const hr_stage_times *t) {
    return Py_BuildValue("{sI sI sK sz sN}", "nthreads", t->nthreads, "ndevices",
                         t->ndevices, "wall_ns", (unsigned long long)t->wall_ns, "bound",
                         t->bound < 0 ? NULL : hr_stage_name((hr_stage)t->bound),
                         "stages", stages_list(t));
}
