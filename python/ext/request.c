/* Requests: selections and where they go, as the library takes them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ext.h"

#include <string.h>

/* What a request brings: hr_request borrows the packing and its fills. */
typedef struct ext_request_extra {
    hr_packing packing;
    uint8_t fills[HR_MAX_FILLS * 16];
} request_extra;

/* (scale, offset, fills, nfills, is_unsigned, in_double) */
static bool read_packing(PyObject *object, request_extra *extra, hr_request *r) {
    Py_buffer fills;
    unsigned int nfills;
    hr_packing *p = &extra->packing;
    *p = HR_PACKING_INIT;
    if (!PyArg_ParseTuple(object, "ddy*Ipp", &p->scale, &p->offset, &fills, &nfills,
                          &p->is_unsigned, &p->in_double)) {
        return false;
    }
    bool ok = fills.len <= (Py_ssize_t)sizeof extra->fills && nfills <= HR_MAX_FILLS;
    if (ok) {
        memcpy(extra->fills, fills.buf, (size_t)fills.len);
    } else {
        PyErr_Format(PyExc_ValueError, "more than %d fill values", HR_MAX_FILLS);
    }
    PyBuffer_Release(&fills);
    p->fills = extra->fills;
    p->nfills = nfills;
    r->packing = p;
    return ok;
}

static bool set_dtype(ext_state *state, const ext_node *node, const ext_tensor *t,
                      hr_dtype *out) {
    hr_error err = HR_ERROR_INIT;
    int differs = PyUnicode_Compare(t->dtype_text, node->dtype_text);
    if (differs == 0 || PyErr_Occurred() != NULL) {
        *out = node->info.dtype;
        return differs == 0;
    }
    const char *text = PyUnicode_AsUTF8AndSize(t->dtype_text, NULL);
    if (text == NULL) {
        return false;
    }
    if (hr_dtype_parse(text, out, &err) != HR_OK) {
        (void)ext_raise(state, &err);
        return false;
    }
    return true;
}

/* Make the tensor the destination of a request. */
static bool set_tensor(ext_state *state, const ext_node *node, PyObject *tensor,
                       hr_request *r) {
    if (!ext_is(tensor, state->tensor, "Tensor")) {
        return false;
    }
    const ext_tensor *t = (ext_tensor *)tensor;
    if (t->is_readonly) {
        PyErr_SetString(PyExc_ValueError, "out is read-only");
        return false;
    }
    r->dst = (hr_tensor){.data = t->data,
                         .device = t->device,
                         .ndim = t->ndim,
                         .shape = t->shape,
                         .strides_nbytes = t->strides};
    return set_dtype(state, node, t, &r->dst.dtype);
}

static bool fail_place(void) {
    PyErr_SetString(PyExc_ValueError, "the memory is not of the selections' size");
    return false;
}

/* Each selection has its entry along the tensor's first axis. The library compares the
 * shapes. */
static bool place_stacked(const ext_selection *s, const ext_tensor *t, hr_request *r) {
    if (t->shape[0] != (int64_t)s->n) {
        return fail_place();
    }
    for (Py_ssize_t i = 0; i < s->n; i++) {
        if (t->data != NULL) {
            r[i].dst.data = (char *)t->data + i * t->strides[0];
        }
        r[i].dst.ndim = t->ndim - 1;
        r[i].dst.shape = t->shape + 1;
        r[i].dst.strides_nbytes = t->strides + 1;
    }
    return true;
}

/* One result behind the other. */
static bool place_row(const ext_selection *s, const ext_tensor *t, hr_request *r) {
    const int64_t itemsize = (int64_t)t->itemsize;
    int64_t at = 0;
    for (Py_ssize_t i = 0; i < s->n; i++) {
        const ext_part *part = &s->parts[i];
        int64_t nbytes = itemsize;
        bool fits = true;
        for (int32_t k = 0; fits && k < part->ndim; k++) {
            fits = !__builtin_mul_overflow(nbytes, part->shape[k], &nbytes);
        }
        if (!fits || nbytes > t->nbytes - at) {
            return fail_place();
        }
        if (t->data != NULL) {
            r[i].dst.data = (char *)t->data + at;
        }
        r[i].dst.ndim = part->ndim;
        r[i].dst.shape = part->shape;
        r[i].dst.strides_nbytes = NULL;
        at += nbytes;
    }
    return at == t->nbytes && (t->nbytes == 0 || t->strides[0] == itemsize)
               ? true
               : fail_place();
}

/* Has the tensor just one axis more than each of the selections? */
static bool is_stacked(const ext_selection *s, const ext_tensor *t) {
    Py_ssize_t i = 0;
    while (i < s->n && s->parts[i].ndim == t->ndim - 1) {
        i++;
    }
    return i == s->n;
}

static bool place(ext_state *state, const ext_node *node, const ext_selection *s,
                  PyObject *memory, hr_request *r) {
    if (PyTuple_Check(memory)) {
        bool ok = PyTuple_Size(memory) == s->n || fail_place();
        for (Py_ssize_t i = 0; ok && i < s->n; i++) {
            ok = set_tensor(state, node, PyTuple_GetItem(memory, i), &r[i]);
        }
        return ok;
    }
    if (s->n == 0 || !set_tensor(state, node, memory, &r[0])) {
        return s->n == 0;
    }
    for (Py_ssize_t i = 1; i < s->n; i++) {
        r[i].dst = r[0].dst;
    }
    const ext_tensor *t = (ext_tensor *)memory;
    if (s->n == 1 && t->ndim == s->parts->ndim) {
        return true;
    }
    return is_stacked(s, t) ? place_stacked(s, t, r)
           : t->ndim == 1   ? place_row(s, t, r)
                            : fail_place();
}

/* (node, selections, memory, allow_cast, packing or None) to so many requests. */
static bool read_item(ext_state *state, PyObject *item, hr_request *r, Py_ssize_t n,
                      request_extra *extra) {
    PyObject *node, *selection, *memory, *packing;
    hr_request like = HR_REQUEST_INIT;
    if (!PyArg_ParseTuple(item, "OOOpO", &node, &selection, &memory, &like.allow_cast,
                          &packing) ||
        !ext_is(node, state->node, "Node") ||
        (packing != Py_None && !read_packing(packing, extra, &like))) {
        return false;
    }
    if (((ext_node *)node)->info.kind != HR_NODE_ARRAY) {
        PyErr_SetString(PyExc_TypeError, "a group cannot be read");
        return false;
    }
    like.array = ((ext_node *)node)->node;
    for (Py_ssize_t i = 0; i < n; i++) {
        r[i] = like;
        r[i].selection = ((ext_selection *)selection)->parts[i].selection;
    }
    return place(state, (ext_node *)node, (ext_selection *)selection, memory, r);
}

/* The selections of an item; −1 with an exception. */
static Py_ssize_t count_item(ext_state *state, PyObject *item) {
    PyObject *selection = PyTuple_Check(item) ? PyTuple_GetItem(item, 1) : Py_None;
    return selection != NULL && ext_is(selection, state->selection, "Selection")
               ? ((ext_selection *)selection)->n
               : -1;
}

bool ext_requests_read(ext_state *state, PyObject *list, ext_requests *out) {
    const Py_ssize_t nitems = PyTuple_Size(list);
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < nitems; i++) {
        Py_ssize_t more = count_item(state, PyTuple_GetItem(list, i));
        if (more < 0) {
            return false;
        }
        n += more;
    }
    *out = (ext_requests){.n = (size_t)n};
    out->requests = PyMem_Malloc(((size_t)n + 1) * sizeof *out->requests);
    out->extras = PyMem_Calloc((size_t)nitems + 1, sizeof *out->extras);
    bool ok = out->requests != NULL && out->extras != NULL;
    if (!ok) {
        (void)PyErr_NoMemory();
    }
    hr_request *at = out->requests;
    for (Py_ssize_t i = 0; ok && i < nitems; i++) {
        PyObject *item = PyTuple_GetItem(list, i);
        n = count_item(state, item);
        ok = read_item(state, item, at, n, &out->extras[i]);
        at += n;
    }
    if (!ok) {
        ext_requests_free(out);
    }
    return ok;
}

void ext_requests_free(ext_requests *requests) {
    PyMem_Free(requests->requests);
    PyMem_Free(requests->extras);
}
