/* The module headrace._ext. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

ext_state *ext_state_of(PyObject *module) {
    return PyModule_GetState(module);
}

void *ext_new(ext_state *state, PyTypeObject *type) {
    ext_object *self = (ext_object *)PyType_GenericAlloc(type, 0);
    if (self != NULL) {
        self->state = state;
    }
    return self;
}

void ext_delete(void *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

bool ext_is(PyObject *object, PyTypeObject *type, const char *name) {
    if (PyObject_TypeCheck(object, type)) {
        return true;
    }
    PyErr_Format(PyExc_TypeError, "expected a %s, not %R", name, Py_TYPE(object));
    return false;
}

static PyObject *context_new(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    unsigned long long nthreads, scratch, device_scratch, index_cache, metadata_max,
        chunks, encoded_chunks;
    int io;
    PyObject *pool;
    if (!PyArg_ParseTuple(args, "OKKKKKKKi", &pool, &nthreads, &scratch, &device_scratch,
                          &index_cache, &metadata_max, &chunks, &encoded_chunks, &io)) {
        return NULL;
    }
    o.nthreads = nthreads < UINT32_MAX ? (uint32_t)nthreads : UINT32_MAX;
    o.scratch_nbytes = scratch;
    o.device_scratch_nbytes = device_scratch;
    o.index_cache_nbytes = index_cache;
    o.metadata_max_nbytes = metadata_max;
    o.chunk_cache_nbytes = chunks;
    o.encoded_cache_nbytes = encoded_chunks;
    o.io = (hr_io_mode)io;
    hr_device_allocator hooks = {.struct_size = sizeof hooks};
    if (pool != Py_None && !ext_pool_hooks(state, pool, &hooks)) {
        return NULL;
    }
    o.device_allocator = &hooks;
    hr_error err = HR_ERROR_INIT;
    hr_context *context = NULL;
    if (hr_context_create(&o, &context, &err) != HR_OK) {
        if (hooks.destroy != NULL) {
            hooks.destroy(hooks.user);
        }
        return ext_raise(state, &err);
    }
    ext_context *self = ext_new(state, state->context);
    if (self == NULL) {
        hr_context_unref(context);
        return NULL;
    }
    self->context = context;
    return (PyObject *)self;
}

static void context_dealloc(PyObject *self) {
    hr_context *context = ((ext_context *)self)->context;
    Py_BEGIN_ALLOW_THREADS hr_context_unref(context);
    Py_END_ALLOW_THREADS ext_delete(self);
}

static PyObject *cache_dict(const hr_cache_stats *s) {
    typedef unsigned long long u64;
    return Py_BuildValue("{sK sK sK sK sK sK}", "nhits", (u64)s->nhits, "nmisses",
                         (u64)s->nmisses, "nevicted", (u64)s->nevicted, "nblocks",
                         (u64)s->nblocks, "nbytes", (u64)s->nbytes, "max_nbytes",
                         (u64)s->max_nbytes);
}

static PyObject *context_caches(PyObject *object, PyObject *args) {
    (void)args;
    ext_context *self = (ext_context *)object;
    hr_error err = HR_ERROR_INIT;
    hr_context_stats s = HR_CONTEXT_STATS_INIT;
    if (hr_context_get_stats(self->context, &s, &err) != HR_OK) {
        return ext_raise(self->state, &err);
    }
    return Py_BuildValue("{sN sN sN}", "indexes", cache_dict(&s.indexes),
                         "encoded_chunks", cache_dict(&s.encoded_chunks), "chunks",
                         cache_dict(&s.decoded_chunks));
}

static PyObject *context_clear_caches(PyObject *object, PyObject *args) {
    (void)args;
    hr_context *context = ((ext_context *)object)->context;
    Py_BEGIN_ALLOW_THREADS hr_context_clear_caches(context);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyMethodDef context_methods[] = {
    {"caches", context_caches, METH_NOARGS, "caches() -> dict of dicts"},
    {"clear_caches", context_clear_caches, METH_NOARGS, "clear_caches()"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot context_slots[] = {{Py_tp_dealloc, (void *)context_dealloc},
                                      {Py_tp_methods, context_methods},
                                      {0, NULL}};
PyType_Spec ext_context_spec = {
    .name = "headrace._ext.Context",
    .basicsize = sizeof(ext_context),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = context_slots,
};

static PyObject *version(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    return PyUnicode_FromString(hr_version());
}

static PyObject *list_codecs(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    PyObject *list = PyList_New(0);
    hr_codec_support c;
    for (size_t i = 0; list != NULL && hr_codec_list(i, &c) != 0; i++) {
        PyObject *item =
            Py_BuildValue("(ssOO)", c.name, c.library, c.on_cpu ? Py_True : Py_False,
                          c.on_cuda ? Py_True : Py_False);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *parse_device(PyObject *module, PyObject *args) {
    const char *text;
    hr_error err = HR_ERROR_INIT;
    hr_device device;
    if (!PyArg_ParseTuple(args, "s", &text)) {
        return NULL;
    }
    if (hr_device_parse(text, &device, &err) != HR_OK) {
        return ext_raise(ext_state_of(module), &err);
    }
    return Py_BuildValue("(ii)", device.type, device.index);
}

static PyObject *describe_device(PyObject *module, PyObject *args) {
    hr_device device;
    hr_error err = HR_ERROR_INIT;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_status status;
    if (!PyArg_ParseTuple(args, "ii", &device.type, &device.index)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = hr_device_describe(device, &info, &err);
    Py_END_ALLOW_THREADS if (status != HR_OK) {
        return ext_raise(ext_state_of(module), &err);
    }
    return Py_BuildValue("{ss ss sK s(ii) sO ss}", "name", info.name, "driver",
                         info.driver, "memory_nbytes",
                         (unsigned long long)info.memory_nbytes, "compute_capability",
                         info.compute_major, info.compute_minor, "has_kernels",
                         info.has_kernels ? Py_True : Py_False, "numa", info.numa);
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str"},
    {"codecs", list_codecs, METH_NOARGS,
     "codecs() -> list of (name, library, on_cpu, on_cuda)"},
    {"parse_device", parse_device, METH_VARARGS, "parse_device(text) -> (type, index)"},
    {"describe_device", describe_device, METH_VARARGS,
     "describe_device(type, index) -> dict"},
    {"context", context_new, METH_VARARGS,
     "context(pool, nthreads, scratch, device_scratch, index_cache, metadata_max, "
     "chunk_cache, encoded_cache, io) -> Context: pool is None, or see _pools.py"},
    {"open", ext_open, METH_VARARGS,
     "open(context, url, consolidated, zarr_format) -> Node"},
    {"open_store", ext_open_store, METH_VARARGS,
     "open_store(store, path, consolidated, zarr_format) -> Node"},
    {"memory_store", ext_memory_store, METH_VARARGS, "memory_store(context) -> Store"},
    {"directory_store", ext_directory_store, METH_VARARGS,
     "directory_store(context, path) -> Store: what is set in it goes before the files"},
    {"streams_store", ext_streams_store, METH_VARARGS,
     "streams_store(context, streams, places, owner) -> Store: of buffers, \"a/b\" being "
     "number "
     "a + b; places has device type, index and address of each as int64, or is None"},
    {"python_store", ext_python_store, METH_VARARGS,
     "python_store(context, adapter, url, can_list) -> Store: see _stores.py; what is "
     "set "
     "in it goes before what the adapter has"},
    {"add_codec", ext_add_codec, METH_VARARGS,
     "add_codec(context, adapter, kind, name): see _codecs.py"},
    {"is_given_up", ext_is_given_up, METH_VARARGS,
     "is_given_up(reading) -> bool: does nobody want what a store is in a call for?"},
    {"stay_inside", ext_stay_inside, METH_NOARGS,
     "stay_inside(): this thread only does what the library's threads wait for"},
    {"end_calls", ext_end_calls, METH_NOARGS,
     "end_calls(): from now on stores, codecs and pools that are Python's fail; none is "
     "in a call after it"},
    {"calls_forked", ext_calls_forked, METH_NOARGS,
     "calls_forked(): in a child, where no thread of the parent's is in a call"},
    {"selection", ext_selection_new, METH_VARARGS,
     "selection(node, kind, key) -> Selection"},
    {"selections", ext_selections_new, METH_VARARGS,
     "selections(node, keys) -> Selection of many, or None where a key is not plain"},
    {"boxes", ext_boxes_new, METH_VARARGS, "boxes(node, starts, lengths) -> Selection"},
    {"empty", ext_tensor_empty, METH_VARARGS,
     "empty(type, context, device, shape, dtype_text, itemsize) -> Tensor"},
    {"wrap", ext_tensor_wrap, METH_VARARGS,
     "wrap(type, data, device, shape, strides, dtype_text, itemsize, readonly, owner) -> "
     "Tensor"},
    {"from_dlpack", ext_tensor_from_dlpack, METH_VARARGS,
     "from_dlpack(type, capsule) -> Tensor"},
    {"submit", ext_submit, METH_VARARGS,
     "submit(context, requests, stream, strict, skip_checksums, host_share, on_error) -> "
     "Batch"},
    {"explain", ext_explain, METH_VARARGS,
     "explain(context, requests) -> (dict, list of dicts)"},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out == NULL ? -1 : PyModule_AddType(module, *out);
}

static int module_exec(PyObject *module) {
    ext_state *state = ext_state_of(module);
    PyObject *errors = PyImport_ImportModule("headrace._errors");
    if (errors == NULL) {
        return -1;
    }
    state->make_error = PyObject_GetAttrString(errors, "make");
    Py_DECREF(errors);
    bool ok = state->make_error != NULL &&
              add_type(module, &ext_context_spec, &state->context) == 0 &&
              add_type(module, &ext_store_spec, &state->store) == 0 &&
              add_type(module, &ext_node_spec, &state->node) == 0 &&
              add_type(module, &ext_selection_spec, &state->selection) == 0 &&
              add_type(module, &ext_tensor_spec, &state->tensor) == 0 &&
              add_type(module, &ext_batch_spec, &state->batch) == 0;
    return ok ? 0 : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    ext_state *s = ext_state_of(module);
    Py_VISIT(s->make_error);
    Py_VISIT(s->context);
    Py_VISIT(s->store);
    Py_VISIT(s->node);
    Py_VISIT(s->selection);
    Py_VISIT(s->tensor);
    Py_VISIT(s->batch);
    return 0;
}

static int module_clear(PyObject *module) {
    ext_state *s = ext_state_of(module);
    Py_CLEAR(s->make_error);
    Py_CLEAR(s->context);
    Py_CLEAR(s->store);
    Py_CLEAR(s->node);
    Py_CLEAR(s->selection);
    Py_CLEAR(s->tensor);
    Py_CLEAR(s->batch);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)module_exec}, {0, NULL}};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "headrace._ext",
    .m_doc = "The library as handles; headrace is what to import.",
    .m_size = sizeof(ext_state),
    .m_methods = functions,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__ext(void); /* no header declares it */
PyMODINIT_FUNC PyInit__ext(void) {
    return PyModuleDef_Init(&module_def);
}
