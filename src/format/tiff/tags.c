/* The values of tags. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

enum {
    BYTE = 1,
    ASCII,
    SHORT,
    LONG,
    RATIONAL,
    SBYTE,
    UNDEFINED,
    SSHORT,
    SLONG,
    SRATIONAL,
    FLOAT,
    DOUBLE,
    IFD,
    LONG8 = 16,
    SLONG8,
    IFD8,
    NTYPES
};

uint32_t hr__tiff_type_nbytes(uint16_t type) {
    static const uint8_t sizes[NTYPES] = {
        [BYTE] = 1,     [ASCII] = 1,     [SHORT] = 2,     [LONG] = 4,
        [RATIONAL] = 8, [SBYTE] = 1,     [UNDEFINED] = 1, [SSHORT] = 2,
        [SLONG] = 4,    [SRATIONAL] = 8, [FLOAT] = 4,     [DOUBLE] = 8,
        [IFD] = 4,      [LONG8] = 8,     [SLONG8] = 8,    [IFD8] = 8};
    return type < NTYPES ? sizes[type] : 0;
}

bool hr__tiff_type_is_unsigned(uint16_t type) {
    const uint32_t types = 1U << BYTE | 1U << SHORT | 1U << LONG | 1U << SSHORT |
                           1U << SLONG | 1U << IFD | 1U << LONG8 | 1U << SLONG8 |
                           1U << IFD8;
    return type < NTYPES && (types >> type & 1) != 0;
}

const hr__tiff_entry *hr__tiff_find(const hr__tiff_ifd *ifd, hr__tiff_tag tag) {
    for (uint32_t i = 0; i < ifd->n; i++) {
        if (ifd->entries[i].tag == (uint16_t)tag) {
            return &ifd->entries[i];
        }
    }
    return NULL;
}

/* The bytes of the first n values, in the arena: they are in the file, and few enough. */
static hr_status load(hr__tiff_file *file, const hr__tiff_entry *e, uint64_t n,
                      uint8_t **bytes, hr_error *err) {
    char what[32];
    uint64_t nbytes;
    (void)snprintf(what, sizeof what, "tag %u", e->tag);
    if (!hr__mul_u64(n, hr__tiff_type_nbytes(e->type), &nbytes) ||
        nbytes > file->max_nbytes) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "%s has %" PRIu64 " values of type %u, more than %" PRIu64
                        " bytes",
                        what, n, e->type, file->max_nbytes);
    }
    if (nbytes > file->source->nbytes) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%s: %" PRIu64 " bytes of a file of %" PRIu64, what, nbytes,
                        file->source->nbytes);
    }
    *bytes = hr__arena_alloc(file->arena, nbytes + 1); /* NUL behind texts */
    if (*bytes == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    return hr__tiff_read(file, e->at, nbytes, *bytes, what, err);
}

hr_status hr__tiff_uints(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                         uint64_t max_n, uint64_t **values, uint64_t *n, hr_error *err) {
    const hr__tiff_entry *e = hr__tiff_find(ifd, tag);
    *values = NULL;
    *n = 0;
    if (e == NULL || e->count == 0) {
        return HR_OK;
    }
    if (!hr__tiff_type_is_unsigned(e->type)) {
        return hr__fail(err, HR_ERR_METADATA, "tag %u is of type %u, expected integers",
                        e->tag, e->type);
    }
    uint64_t count = e->count < max_n ? e->count : max_n;
    uint32_t size = hr__tiff_type_nbytes(e->type);
    uint8_t *bytes;
    HR__TRY(load(file, e, count, &bytes, err));
    uint64_t *made = hr__arena_array(file->arena, count, sizeof *made);
    if (made == NULL) {
        return hr__fail_memory(err, count * sizeof *made);
    }
    for (uint64_t i = 0; i < count; i++) {
        made[i] = hr__tiff_number(file, bytes + i * size, size);
    }
    *values = made;
    *n = count;
    return HR_OK;
}

hr_status hr__tiff_uint(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                        uint64_t absent, uint64_t *value, hr_error *err) {
    uint64_t *values;
    uint64_t n;
    HR__TRY(hr__tiff_uints(file, ifd, tag, 1, &values, &n, err));
    *value = n > 0 ? values[0] : absent;
    return HR_OK;
}

static int64_t extend(uint64_t value, uint32_t nbytes) {
    unsigned shift = 64 - 8 * nbytes;
    return (int64_t)(value << shift) >> shift;
}

static double as_double(const hr__tiff_file *file, uint16_t type, const uint8_t *p) {
    uint32_t nbytes = hr__tiff_type_nbytes(type);
    uint64_t bits = hr__tiff_number(file, p, nbytes);
    double d;
    float f;
    uint32_t word = (uint32_t)bits;
    switch (type) {
    case FLOAT:
        memcpy(&f, &word, sizeof f);
        return f;
    case DOUBLE:
        memcpy(&d, &bits, sizeof d);
        return d;
    case RATIONAL:
        return (double)hr__tiff_number(file, p, 4) /
               (double)hr__tiff_number(file, p + 4, 4);
    case SRATIONAL:
        return (double)extend(hr__tiff_number(file, p, 4), 4) /
               (double)extend(hr__tiff_number(file, p + 4, 4), 4);
    case SBYTE:
    case SSHORT:
    case SLONG:
    case SLONG8:
        return (double)extend(bits, nbytes);
    default:
        return (double)bits;
    }
}

hr_status hr__tiff_doubles(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                           double **values, uint64_t *n, hr_error *err) {
    const hr__tiff_entry *e = hr__tiff_find(ifd, tag);
    *values = NULL;
    *n = 0;
    uint32_t size = e == NULL ? 0 : hr__tiff_type_nbytes(e->type);
    if (size == 0) {
        return HR_OK;
    }
    uint8_t *bytes;
    HR__TRY(load(file, e, e->count, &bytes, err));
    double *made = hr__arena_array(file->arena, e->count, sizeof *made);
    if (made == NULL) {
        return hr__fail_memory(err, e->count * sizeof *made);
    }
    for (uint64_t i = 0; i < e->count; i++) {
        made[i] = as_double(file, e->type, bytes + i * size);
    }
    *values = made;
    *n = e->count;
    return HR_OK;
}

hr_status hr__tiff_bytes(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                         char **text, uint64_t *nbytes, hr_error *err) {
    const hr__tiff_entry *e = hr__tiff_find(ifd, tag);
    *text = NULL;
    *nbytes = 0;
    if (e == NULL || hr__tiff_type_nbytes(e->type) != 1) {
        return HR_OK;
    }
    uint8_t *bytes;
    HR__TRY(load(file, e, e->count, &bytes, err));
    *text = (char *)bytes;
    *nbytes = e->count;
    return HR_OK;
}
