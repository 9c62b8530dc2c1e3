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

/* Append a field to those before it. */
static hr_status add_field(hr_dtype *t, hr_field *fields, const hr_field *field,
                           hr_error *err) {
    for (uint64_t i = 0; i < t->nfields; i++) {
        /* unnamed fields are padding, of which there may be many */
        if (field->name[0] != '\0' && strcmp(fields[i].name, field->name) == 0) {
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
        !hr__add_u64(t->itemsize, nbytes, &nbytes)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "field \"%.60s\" has more than 2^63-1 bytes", field->name);
    }
    HR__TRY(hr__zarr_check_itemsize(nbytes, "the data type", err));
    fields[t->nfields] = *field;
    fields[t->nfields++].offset_nbytes = t->itemsize;
    t->itemsize = nbytes;
    if (field->dtype.byte_order == HR_BIG) {
        t->byte_order = HR_BIG; /* by convention, where a field is */
    }
    return HR_OK;
}

hr_status hr__zarr_dtype_struct(json_object *list, hr__zarr_field_reader *read,
                                hr__arena *arena, hr_dtype *dtype, hr_error *err) {
    size_t n = json_object_array_length(list);
    if (n == 0) {
        return hr__fail(err, HR_ERR_METADATA, "the data type is a list without fields");
    }
    if (n > HR__ZARR_MAX_FIELDS) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "the data type has %zu fields, at most %d are supported", n,
                        HR__ZARR_MAX_FIELDS);
    }
    hr_field *fields = hr__arena_array(arena, n, sizeof *fields);
    if (fields == NULL) {
        return hr__fail_memory(err, n * sizeof *fields);
    }
    hr_dtype t = hr__dtype(HR_KIND_STRUCT, 0);
    t.fields = fields;
    for (size_t i = 0; i < n; i++) {
        hr_field field;
        HR__TRY(read(json_object_array_get_idx(list, i), arena, &field, err));
        HR__TRY(add_field(&t, fields, &field, err));
    }
    *dtype = t;
    return HR_OK;
}
