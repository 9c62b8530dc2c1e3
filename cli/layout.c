/* Element types as the command writes them. SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>

bool cli_is_vlen(const hr_dtype *dtype) {
    return dtype->kind == HR_KIND_VLEN_UTF8 || dtype->kind == HR_KIND_VLEN_BYTES ||
           dtype->kind == HR_KIND_VLEN_ARRAY;
}

void cli_layout_free(hr_dtype *dtype) {
    if (dtype->kind == HR_KIND_STRUCT) {
        hr_field *fields = (hr_field *)dtype->fields;
        for (uint64_t i = 0; fields != NULL && i < dtype->nfields; i++) {
            cli_layout_free(&fields[i].dtype);
        }
        free(fields);
    } else if (dtype->kind == HR_KIND_VLEN_ARRAY && dtype->base != NULL) {
        cli_layout_free((hr_dtype *)dtype->base);
        free((hr_dtype *)dtype->base);
    }
    *dtype = (hr_dtype){.kind = 0};
}

static bool copy_fields(const hr_dtype *dtype, hr_dtype *out) {
    hr_field *fields = calloc(dtype->nfields + 1, sizeof *fields);
    out->fields = fields;
    if (fields == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        fields[i] = dtype->fields[i];
        if (!cli_layout_little(&dtype->fields[i].dtype, &fields[i].dtype)) {
            return false;
        }
    }
    return true;
}

static bool copy_base(const hr_dtype *dtype, hr_dtype *out) {
    hr_dtype *base = calloc(1, sizeof *base);
    out->base = base;
    return base != NULL && cli_layout_little(dtype->base, base);
}

bool cli_layout_little(const hr_dtype *dtype, hr_dtype *out) {
    bool done = true;
    *out = *dtype;
    out->byte_order = HR_LITTLE;
    if (dtype->kind == HR_KIND_STRUCT) {
        done = copy_fields(dtype, out);
    } else if (dtype->kind == HR_KIND_VLEN_ARRAY) {
        done = copy_base(dtype, out);
    }
    if (!done) {
        cli_layout_free(out);
    }
    return done;
}

uint64_t cli_field_count(const hr_field *field) {
    uint64_t n = 1;
    for (int32_t k = 0; k < field->ndim; k++) {
        n *= (uint64_t)field->shape[k];
    }
    return n;
}

/* Bytes of an element without gaps; itemsize when there are none. */
static uint64_t packed_nbytes(const hr_dtype *dtype) {
    if (dtype->kind != HR_KIND_STRUCT) {
        return dtype->itemsize;
    }
    uint64_t nbytes = 0;
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        nbytes +=
            cli_field_count(&dtype->fields[i]) * packed_nbytes(&dtype->fields[i].dtype);
    }
    return nbytes;
}

static bool write_bytes(FILE *file, const void *data, size_t nbytes) {
    return nbytes == 0 || fwrite(data, 1, nbytes, file) == nbytes;
}

static bool write_vlen(FILE *file, const hr_vlen *vlen) {
    if (vlen->nbytes > UINT32_MAX) {
        errno = EOVERFLOW;
        return false;
    }
    uint8_t size[4];
    for (unsigned i = 0; i < 4; i++) {
        size[i] = (uint8_t)(vlen->nbytes >> 8 * i);
    }
    return write_bytes(file, size, sizeof size) &&
           write_bytes(file, vlen->data, (size_t)vlen->nbytes);
}

static bool write_struct(FILE *file, const hr_dtype *dtype, const char *data) {
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        const hr_field *field = &dtype->fields[i];
        if (!cli_layout_write(file, &field->dtype, data + field->offset_nbytes,
                              cli_field_count(field))) {
            return false;
        }
    }
    return true;
}

bool cli_layout_write(FILE *file, const hr_dtype *dtype, const void *data, uint64_t n) {
    bool is_vlen = cli_is_vlen(dtype);
    if (!is_vlen && packed_nbytes(dtype) == dtype->itemsize) {
        return write_bytes(file, data, (size_t)(n * dtype->itemsize));
    }
    for (uint64_t i = 0; i < n; i++) {
        const char *element = (const char *)data + i * dtype->itemsize;
        if (is_vlen ? !write_vlen(file, (const hr_vlen *)(const void *)element)
                    : !write_struct(file, dtype, element)) {
            return false;
        }
    }
    return true;
}
