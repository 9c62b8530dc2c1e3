/* What a read would do, as dictionaries. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

typedef unsigned long long u64;

static PyObject *codecs_of(const hr_planned_chain *chain) {
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < chain->ncodecs; i++) {
        const hr_planned_codec *c = &chain->codecs[i];
        PyObject *item = Py_BuildValue("(ss(ii))", c->name, c->implementation,
                                       (int)c->device.type, (int)c->device.index);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *chain_dict(const hr_planned_chain *c) {
    return Py_BuildValue(
        "{s(ii) sO sO sz sK sN sN sN si}", "device", (int)c->device.type,
        (int)c->device.index, "is_on_device", c->is_on_device ? Py_True : Py_False,
        "is_refused", c->is_refused ? Py_True : Py_False, "reason", c->reason, "nchunks",
        (u64)c->nchunks, "read_nbytes", ext_count(c->read_nbytes), "decoded_nbytes",
        ext_count(c->decoded_nbytes), "codecs", codecs_of(c), "scratch", (int)c->scratch);
}

static PyObject *totals_dict(const hr_plan_totals *t) {
    return Py_BuildValue(
        "{sK sK sK sK sN sN sN sN sK sK sN sK}", "nrequests", (u64)t->nrequests,
        "nchunks", (u64)t->nchunks, "nuses", (u64)t->nuses, "nobjects", (u64)t->nobjects,
        "nreads", ext_count(t->nreads), "read_nbytes", ext_count(t->read_nbytes),
        "decoded_nbytes", ext_count(t->decoded_nbytes), "output_nbytes",
        ext_count(t->output_nbytes), "nchunks_device", (u64)t->nchunks_device,
        "nchunks_strict", (u64)t->nchunks_strict, "nwaves", ext_count(t->nwaves),
        "nchunks_host_share", (u64)t->nchunks_host_share);
}

static PyObject *both(ext_state *state, const hr_explanation *explanation) {
    hr_error err = HR_ERROR_INIT;
    hr_plan_totals totals = HR_PLAN_TOTALS_INIT;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    if (hr_explanation_totals(explanation, &totals, &err) != HR_OK ||
        hr_explanation_stages(explanation, &times, &err) != HR_OK) {
        return ext_raise(state, &err);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < totals.nchains; i++) {
        hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
        PyObject *item = hr_explanation_chain(explanation, i, &chain, &err) == HR_OK
                             ? chain_dict(&chain)
                             : ext_raise(state, &err);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list == NULL
               ? NULL
               : Py_BuildValue("(NNN)", totals_dict(&totals), list, ext_stages(&times));
}

PyObject *ext_explain(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context, *list;
    ext_requests requests;
    if (!PyArg_ParseTuple(args, "OO!", &context, &PyTuple_Type, &list) ||
        !ext_is(context, state->context, "Context") ||
        !ext_requests_read(state, list, &requests)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_explanation *explanation = NULL;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hr_plan_explain(((ext_context *)context)->context, requests.requests, requests.n,
                        &explanation, &err);
    Py_END_ALLOW_THREADS ext_requests_free(&requests);
    PyObject *result =
        status == HR_OK ? both(state, explanation) : ext_raise(state, &err);
    hr_explanation_free(explanation);
    return result;
}
