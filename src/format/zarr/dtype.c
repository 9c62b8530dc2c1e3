/* Element types of both formats. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/checked.h"
#include "core/dtype.h"
#include "format/zarr/internal.h"

hr_status hr__zarr_check_itemsize(uint64_t itemsize, const char *what, hr_error *err) {
    if (itemsize == 0) {
        return hr__fail(err, HR_ERR_METADATA, "%s has items of 0 bytes", what);
    }
    if (itemsize > HR__ZARR_MAX_ITEMSIZE) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "%s has items of %llu bytes, at most %d are supported", what,
                        (unsigned long long)itemsize, HR__ZARR_MAX_ITEMSIZE);
    }
    return HR_OK;
}

hr_status hr__zarr_fields_start(size_t n, hr__arena *arena, hr__zarr_fields *list,
                                hr_error *err) {
    if (n == 0) {
        return hr__fail(err, HR_ERR_METADATA, "the data type is a list without fields");
    }
    if (n > HR__ZARR_MAX_FIELDS) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "the data type has %zu fields, at most %d are supported", n,
                        HR__ZARR_MAX_FIELDS);
    }
    *list = (hr__zarr_fields){.fields = hr__arena_array(arena, n, sizeof(hr_field))};
    return list->fields == NULL ? hr__fail_memory(err, n * sizeof(hr_field)) : HR_OK;
}

hr_dtype hr__zarr_fields_end(const hr__zarr_fields *list) {
    hr_dtype t = hr__dtype(HR_KIND_STRUCT, list->itemsize);
    t.fields = list->fields;
    t.nfields = list->n;
    for (uint64_t i = 0; i < list->n; i++) {
        if (list->fields[i].dtype.byte_order == HR_BIG) {
            t.byte_order = HR_BIG;
        }
    }
    return t;
}

hr_status hr__zarr_fields_add(hr__zarr_fields *list, const hr_field *field,
                              hr_error *err) {
    for (uint64_t i = 0; i < list->n; i++) {
        /* unnamed fields are padding, of which there may be many */
        if (field->name[0] != '\0' && strcmp(list->fields[i].name, field->name) == 0) {
            return hr__fail(err, HR_ERR_METADATA,
                            "two fields of the data type are named \"%.60s\"",
                            field->name);
        }
    }
    if (hr__dtype_is_vlen(&field->dtype)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "field \"%.60s\" is of variable length",
                        field->name);
    }
    uint64_t nbytes;
    if (!hr__shape_nbytes(field->ndim, field->shape, field->dtype.itemsize, &nbytes) ||
        !hr__add_u64(list->itemsize, nbytes, &nbytes)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "field \"%.60s\" has more than 2^63-1 bytes", field->name);
    }
    HR__TRY(hr__zarr_check_itemsize(nbytes, "the data type", err));
    hr_field *f = &list->fields[list->n++];
    *f = *field;
    f->offset_nbytes = list->itemsize;
    list->itemsize = nbytes;
    return HR_OK;
}

hr_status hr__zarr_dtype_little(const hr_dtype *t, hr__arena *arena, hr_dtype *out,
                                hr_error *err) {
    hr_dtype result = *t;
    result.byte_order = HR_LITTLE;
    if (t->kind == HR_KIND_STRUCT) {
        hr_field *fields = hr__arena_array(arena, t->nfields, sizeof *fields);
        if (fields == NULL) {
            return hr__fail_memory(err, t->nfields * sizeof *fields);
        }
        for (uint64_t i = 0; i < t->nfields; i++) {
            fields[i] = t->fields[i];
            HR__TRY(
                hr__zarr_dtype_little(&t->fields[i].dtype, arena, &fields[i].dtype, err));
        }
        result.fields = fields;
    }
    *out = result;
    return HR_OK;
}
