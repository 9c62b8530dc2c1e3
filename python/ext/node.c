/* Stores, groups and arrays. SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

static PyObject *node_wrap(ext_state *state, hr_node *node) {
    ext_node *self = ext_new(state, state->node);
    if (self == NULL) {
        hr_node_unref(node);
        return NULL;
    }
    self->node = node;
    self->info = HR_NODE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    if (hr_node_describe(node, &self->info, &err) != HR_OK) {
        Py_DECREF(self);
        return ext_raise(state, &err);
    }
    if (self->info.kind != HR_NODE_ARRAY) {
        return (PyObject *)self;
    }
    size_t length = hr_dtype_format(&self->info.dtype, NULL, 0);
    char *text = PyMem_Malloc(length + 1);
    if (text != NULL) {
        (void)hr_dtype_format(&self->info.dtype, text, length + 1);
        self->dtype_text = PyUnicode_FromString(text);
        PyMem_Free(text);
    } else {
        (void)PyErr_NoMemory();
    }
    if (self->dtype_text == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void node_dealloc(PyObject *object) {
    ext_node *self = (ext_node *)object;
    hr_node *node = self->node;
    Py_BEGIN_ALLOW_THREADS hr_node_unref(node);
    Py_END_ALLOW_THREADS Py_XDECREF(self->dtype_text);
    ext_delete(self);
}

static PyObject *node_open(PyObject *object, PyObject *args) {
    ext_node *self = (ext_node *)object;
    const char *path;
    if (!PyArg_ParseTuple(args, "s", &path)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_node *node = NULL;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status = hr_node_open(self->node, path, &node, &err);
    Py_END_ALLOW_THREADS return status == HR_OK ? node_wrap(self->state, node)
                                                : ext_raise(self->state, &err);
}

static PyObject *node_list(PyObject *object, PyObject *args) {
    ext_node *self = (ext_node *)object;
    int recursive;
    if (!PyArg_ParseTuple(args, "p", &recursive)) {
        return NULL;
    }
    hr_error err = HR_ERROR_INIT;
    hr_member_list *members = NULL;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status = hr_node_list(self->node, recursive, &members, &err);
    Py_END_ALLOW_THREADS if (status != HR_OK) {
        return ext_raise(self->state, &err);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < hr_member_list_size(members); i++) {
        hr_member m = hr_member_list_get(members, i);
        PyObject *item = Py_BuildValue("(Ns)", ext_text(m.path),
                                       m.kind == HR_NODE_ARRAY   ? "array"
                                       : m.kind == HR_NODE_GROUP ? "group"
                                                                 : "unreadable");
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    hr_member_list_free(members);
    return list;
}

static PyObject *dimension_names(const hr_node_info *info) {
    if (info->dimension_names == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *names = PyTuple_New(info->ndim);
    for (int32_t i = 0; names != NULL && i < info->ndim; i++) {
        PyObject *name = Py_BuildValue("z", info->dimension_names[i]);
        if (name == NULL || PyTuple_SetItem(names, i, name) != 0) {
            Py_CLEAR(names);
        }
    }
    return names;
}

static PyObject *optional_tuple(const int64_t *values, int32_t n) {
    return values != NULL ? ext_tuple(values, n) : Py_BuildValue("");
}

static PyObject *node_describe(PyObject *object, PyObject *args) {
    (void)args;
    const ext_node *self = (ext_node *)object;
    const hr_node_info *i = &self->info;
    if (i->kind != HR_NODE_ARRAY) {
        return Py_BuildValue("{sO ss sN ss}", "is_array", Py_False, "format", i->format,
                             "url", ext_text(i->url), "attributes", i->attributes_json);
    }
    const char *base = NULL;
    char text[64] = "";
    if (i->dtype.kind == HR_KIND_VLEN_ARRAY) {
        (void)hr_dtype_format(i->dtype.base, text, sizeof text);
        base = text;
    }
    return Py_BuildValue(
        "{sO ss sN ss sO sz si sK sN sN sN sN sO ss ss sy# sN}", "is_array", Py_True,
        "format", i->format, "url", ext_text(i->url), "attributes", i->attributes_json,
        "dtype", self->dtype_text, "vlen_base", base, "kind", (int)i->dtype.kind,
        "itemsize", (unsigned long long)i->dtype.itemsize, "shape",
        ext_tuple(i->shape, i->ndim), "chunks", ext_tuple(i->chunk_shape, i->ndim),
        "shards", optional_tuple(i->shard_shape, i->ndim), "grid",
        ext_tuple(i->grid_shape, i->ndim), "is_rectilinear",
        i->is_rectilinear ? Py_True : Py_False, "codecs", i->codecs_json,
        "fill_value_json", i->fill_value_json, "fill_value", (const char *)i->fill_value,
        (Py_ssize_t)i->dtype.itemsize, "dims", dimension_names(i));
}

static PyObject *node_chunk_extent(PyObject *object, PyObject *args) {
    ext_node *self = (ext_node *)object;
    int axis;
    long long i;
    int64_t start, count;
    hr_error err = HR_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "iL", &axis, &i)) {
        return NULL;
    }
    if (hr_node_chunk_extent(self->node, axis, i, &start, &count, &err) != HR_OK) {
        return ext_raise(self->state, &err);
    }
    return Py_BuildValue("(LL)", (long long)start, (long long)count);
}

static PyMethodDef node_methods[] = {
    {"describe", node_describe, METH_NOARGS, "Everything about the node, as a dict."},
    {"open", node_open, METH_VARARGS, "open(path) -> Node: a member of the group"},
    {"list", node_list, METH_VARARGS, "list(recursive) -> list of (path, kind)"},
    {"chunk_extent", node_chunk_extent, METH_VARARGS,
     "chunk_extent(axis, i) -> (start, count)"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot node_slots[] = {
    {Py_tp_dealloc, (void *)node_dealloc}, {Py_tp_methods, node_methods}, {0, NULL}};
PyType_Spec ext_node_spec = {
    .name = "headrace._ext.Node",
    .basicsize = sizeof(ext_node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = node_slots,
};

PyObject *ext_open(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *context;
    PyObject *url;
    hr_open_options o = HR_OPEN_OPTIONS_INIT;
    int consolidated, zarr_format;
    if (!PyArg_ParseTuple(args, "OO&ii", &context, PyUnicode_FSConverter, &url,
                          &consolidated, &zarr_format)) {
        return NULL;
    }
    o.consolidated = (hr_consolidated)consolidated;
    o.zarr_format = zarr_format;
    PyObject *result = NULL;
    const char *text = PyBytes_AsString(url);
    if (text != NULL && ext_is(context, state->context, "Context")) {
        hr_context *c = ((ext_context *)context)->context;
        hr_error err = HR_ERROR_INIT;
        hr_node *node = NULL;
        hr_status status;
        Py_BEGIN_ALLOW_THREADS status = hr_open(c, text, &o, &node, &err);
        Py_END_ALLOW_THREADS result =
            status == HR_OK ? node_wrap(state, node) : ext_raise(state, &err);
    }
    Py_DECREF(url);
    return result;
}

PyObject *ext_open_store(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of(module);
    PyObject *store;
    const char *path;
    hr_open_options o = HR_OPEN_OPTIONS_INIT;
    int consolidated, zarr_format;
    if (!PyArg_ParseTuple(args, "Osii", &store, &path, &consolidated, &zarr_format) ||
        !ext_is(store, state->store, "Store")) {
        return NULL;
    }
    o.consolidated = (hr_consolidated)consolidated;
    o.zarr_format = zarr_format;
    hr_store *s = ((ext_store *)store)->store;
    hr_error err = HR_ERROR_INIT;
    hr_node *node = NULL;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS status = hr_open_store(s, path, &o, &node, &err);
    Py_END_ALLOW_THREADS return status == HR_OK ? node_wrap(state, node)
                                                : ext_raise(state, &err);
}
