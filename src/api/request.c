/* One request of a batch, read and checked. SPDX-License-Identifier: Apache-2.0 */
#include "api/request.h"

#include <string.h>

#include "api/node.h"
#include "api/options.h"
#include "core/checked.h"

hr_status hr__request_read(const hr_request *requests, size_t i, hr_request *r,
                           hr_error *err) {
    const uint8_t *at = (const uint8_t *)requests + i * (size_t)requests->struct_size;
    uint32_t size;
    memcpy(&size, at, sizeof size);
    if (size != requests->struct_size) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "request %zu: struct_size is %u, that of request 0 is %u", i,
                        size, requests->struct_size);
    }
    *r = HR_REQUEST_INIT;
    return hr__options_read(r, sizeof *r, at, "hr_request", err);
}

/* Can it be looked into? What it says is compared with the array's type later. */
static bool is_complete(const hr_dtype *t) {
    if (t->byte_order > HR_BIG) {
        return false;
    }
    if (t->kind == HR_KIND_VLEN_ARRAY) {
        return t->base != NULL && is_complete(t->base);
    }
    if (t->kind != HR_KIND_STRUCT) {
        return true;
    }
    for (uint64_t i = 0; t->fields != NULL && i < t->nfields; i++) {
        const hr_field *f = &t->fields[i];
        if (f->name == NULL || (f->ndim > 0 && f->shape == NULL) ||
            !is_complete(&f->dtype)) {
            return false;
        }
    }
    return t->fields != NULL;
}

static hr_status check_dtype(const hr_request *r, const hr__array *a, size_t i,
                             hr_error *err) {
    const hr_dtype *to = &r->dst.dtype;
    if (!is_complete(to)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "request %zu: the destination's dtype (kind %u, byte order %u) "
                        "is not complete",
                        i, to->kind, to->byte_order);
    }
    /* the items inside elements of variable length stay as they are stored */
    if (to->kind == HR_KIND_VLEN_ARRAY ? hr__dtype_equal(to, &a->dtype)
                                       : hr__dtype_same_kind(to, &a->dtype)) {
        return HR_OK;
    }
    bool can_cast = hr__dtype_is_number(to) && hr__dtype_is_number(&a->dtype);
    if ((r->allow_cast || r->packing != NULL) && can_cast) {
        return HR_OK;
    }
    char have[64];
    char want[64];
    (void)hr_dtype_format(&a->dtype, have, sizeof have);
    (void)hr_dtype_format(to, want, sizeof want);
    return hr__fail(err, HR_ERR_DTYPE, "request %zu: array is %s, destination is %s%s", i,
                    have, want,
                    can_cast ? " (set allow_cast to convert)" : ": no conversion");
}

hr_status hr__request_check(const hr_request *r, size_t i, hr_error *err) {
    hr_status status = hr__node_check(r->array, HR_NODE_ARRAY, err);
    if (status != HR_OK) {
        return hr__fail(err, status, "request %zu: not an array", i);
    }
    const hr_tensor *t = &r->dst;
    HR__TRY(check_dtype(r, r->array->source.array, i, err));
    if (t->ndim < 0 || t->ndim > HR_MAX_NDIM || (t->ndim > 0 && t->shape == NULL)) {
        return hr__fail(err, HR_ERR_ARGUMENT, "request %zu: destination has ndim %d", i,
                        t->ndim);
    }
    uint64_t nbytes;
    if (!hr__shape_nbytes(t->ndim, t->shape, t->dtype.itemsize, &nbytes)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "request %zu: destination is too large", i);
    }
    if (t->data == NULL && nbytes > 0) {
        return hr__fail(err, HR_ERR_ARGUMENT, "request %zu: destination is NULL", i);
    }
    bool on_host = t->device.type == 0 || t->device.type == HR_DEVICE_CPU;
    if (!on_host && hr__dtype_is_vlen(&t->dtype)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "request %zu: variable-length elements go to host memory only",
                        i);
    }
    return HR_OK;
}

static bool with_orders(const hr_dtype *own, const hr_dtype *asked, hr__arena *arena,
                        hr_dtype *out) {
    *out = *own;
    out->byte_order = asked->byte_order;
    if (own->kind != HR_KIND_STRUCT || hr__dtype_equal(own, asked)) {
        return true;
    }
    hr_field *fields = hr__arena_array(arena, own->nfields, sizeof *fields);
    bool ok = fields != NULL;
    for (uint64_t i = 0; ok && i < own->nfields; i++) {
        fields[i] = own->fields[i];
        ok = with_orders(&own->fields[i].dtype, &asked->fields[i].dtype, arena,
                         &fields[i].dtype);
    }
    out->fields = fields;
    return ok;
}

hr_status hr__request_dtype(const hr_request *r, hr__arena *arena, hr_dtype *out,
                            hr_error *err) {
    const hr_dtype *own = &r->array->source.array->dtype;
    if (!hr__dtype_same_kind(&r->dst.dtype, own)) { /* a cast: numbers have no fields */
        *out = r->dst.dtype;
        out->fields = NULL;
        out->base = NULL;
        return HR_OK;
    }
    return with_orders(own, &r->dst.dtype, arena, out)
               ? HR_OK
               : hr__fail_memory(err, own->nfields * sizeof(hr_field));
}

hr_status hr__request_plan(const hr_request *r, hr__arena *arena, hr__plan_request *out,
                           hr_error *err) {
    hr_selection *selection = hr__arena_copy(arena, &r->selection, sizeof r->selection);
    if (selection == NULL) {
        return hr__fail_memory(err, sizeof r->selection);
    }
    const hr_node_info *info = &r->array->info;
    *out =
        (hr__plan_request){.array = r->array->source.array,
                           .selection = selection,
                           .block_shape = info->is_rectilinear ? NULL : info->chunk_shape,
                           .dst_itemsize = r->dst.dtype.itemsize,
                           .dst_ndim = r->dst.ndim,
                           .dst_shape = r->dst.shape,
                           .dst_strides = r->dst.strides_nbytes};
    return HR_OK;
}
