/* Elements and arrays as text. SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "num.h"
#include "text.h"

enum { TEXT_MAX = 60, SUMMARY_ABOVE = 18 };

static void print_escaped(FILE *file, uint32_t c, bool is_bytes) {
    if (c == '\'' || c == '\\') {
        fprintf(file, "\\%c", (int)c);
    } else if (c == '\n') {
        fputs("\\n", file);
    } else if (c < 0x20 || c == 0x7f || (is_bytes && c > 0x7f)) {
        fprintf(file, "\\x%02" PRIx32, c);
    } else {
        fputc((int)c, file);
    }
}

/* Bytes, or UTF-8 text which is passed through. */
static void print_bytes(FILE *file, const uint8_t *data, uint64_t nbytes, bool is_text) {
    fputs(is_text ? "'" : "b'", file);
    uint64_t n = nbytes < TEXT_MAX ? nbytes : TEXT_MAX;
    while (is_text && n < nbytes && n > 0 && (data[n] & 0xC0) == 0x80) {
        n--; /* not in the middle of a character */
    }
    for (uint64_t i = 0; i < n; i++) {
        bool is_control = is_text && data[i] == 0xC2 && i + 1 < n && data[i + 1] < 0xA0;
        i += is_control;
        print_escaped(file, data[i], !is_text || is_control);
    }
    fputs(n < nbytes ? "...'" : "'", file);
}

static void print_utf32(FILE *file, const uint8_t *data, uint64_t nchars) {
    fputc('\'', file);
    for (uint64_t i = 0; i < nchars && i < TEXT_MAX; i++) {
        uint32_t c = 0;
        memcpy(&c, data + 4 * i, sizeof c);
        if (c < 0xA0) {
            print_escaped(file, c, c >= 0x80);
        } else if (c < 0x800) {
            fprintf(file, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 63)));
        } else if (c >= 0xD800 && c < 0xE000) { /* half of a character */
            fprintf(file, "\\u%04" PRIx32, c);
        } else if (c < 0x10000) {
            fprintf(file, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
                    (int)(0x80 | (c & 63)));
        } else if (c < 0x110000) {
            fprintf(file, "%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 63)),
                    (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
        } else {
            fprintf(file, "\\U%08" PRIx32, c);
        }
    }
    fputs(nchars > TEXT_MAX ? "...'" : "'", file);
}

static void print_fixed_text(FILE *file, const hr_dtype *dtype, const uint8_t *data) {
    uint64_t nbytes = dtype->itemsize;
    uint64_t unit = dtype->kind == HR_KIND_UNICODE ? 4 : 1;
    static const uint8_t zero[4];
    while (nbytes >= unit && memcmp(data + nbytes - unit, zero, unit) == 0) {
        nbytes -= unit;
    }
    if (dtype->kind == HR_KIND_UNICODE) {
        print_utf32(file, data, nbytes / 4);
    } else {
        print_bytes(file, data, nbytes, false);
    }
}

static void print_floats(FILE *file, const hr_dtype *dtype, const uint8_t *data) {
    char text[40];
    float value = 0;
    double wide = 0;
    uint16_t half = 0;
    if (dtype->itemsize == 2) {
        memcpy(&half, data, sizeof half);
        value = dtype->kind == HR_KIND_BFLOAT ? cli_bfloat_to_float(half)
                                              : cli_half_to_float(half);
        fputs(cli_float_text(value, text), file);
    } else if (dtype->itemsize == 4) {
        memcpy(&value, data, sizeof value);
        fputs(cli_float_text(value, text), file);
    } else {
        memcpy(&wide, data, sizeof wide);
        fputs(cli_double_text(wide, text), file);
    }
}

static void print_complex(FILE *file, const hr_dtype *dtype, const uint8_t *data) {
    hr_dtype part = {.kind = HR_KIND_FLOAT, .itemsize = dtype->itemsize / 2};
    bool has_sign = (data[dtype->itemsize - 1] & 0x80) != 0;
    print_floats(file, &part, data);
    fputs(has_sign ? "" : "+", file);
    print_floats(file, &part, data + part.itemsize);
    fputc('j', file);
}

static void print_integer(FILE *file, const hr_dtype *dtype, const uint8_t *data) {
    uint64_t bits = 0;
    memcpy(&bits, data, dtype->itemsize <= 8 ? dtype->itemsize : 8);
    if (dtype->kind == HR_KIND_UINT) {
        fprintf(file, "%" PRIu64, bits);
        return;
    }
    unsigned shift = 64 - 8 * (unsigned)dtype->itemsize;
    int64_t value = (int64_t)(bits << shift) >> shift;
    if (dtype->kind == HR_KIND_DATETIME) {
        cli_datetime_print(file, dtype, value);
    } else if (dtype->kind == HR_KIND_TIMEDELTA) {
        cli_timedelta_print(file, dtype, value);
    } else {
        fprintf(file, "%" PRId64, value);
    }
}

static void print_items(FILE *file, const hr_dtype *dtype, const uint8_t *data,
                        uint64_t n) {
    enum { SHOWN = 6 };
    fputc('[', file);
    for (uint64_t i = 0; i < n && i < SHOWN; i++) {
        fputs(i == 0 ? "" : ", ", file);
        cli_element_print(file, dtype, data + i * dtype->itemsize);
    }
    fputs(n > SHOWN ? ", ...]" : "]", file);
}

static void print_struct(FILE *file, const hr_dtype *dtype, const uint8_t *data) {
    fputc('(', file);
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        const hr_field *field = &dtype->fields[i];
        fputs(i == 0 ? "" : ", ", file);
        if (field->ndim == 0) {
            cli_element_print(file, &field->dtype, data + field->offset_nbytes);
        } else {
            print_items(file, &field->dtype, data + field->offset_nbytes,
                        cli_field_count(field));
        }
    }
    fputc(')', file);
}

void cli_element_print(FILE *file, const hr_dtype *dtype, const void *element) {
    const uint8_t *data = element;
    hr_vlen vlen = {.data = NULL};
    switch (dtype->kind) {
    case HR_KIND_BOOL:
        fputs(data[0] != 0 ? "True" : "False", file);
        break;
    case HR_KIND_INT:
    case HR_KIND_UINT:
    case HR_KIND_DATETIME:
    case HR_KIND_TIMEDELTA:
        print_integer(file, dtype, data);
        break;
    case HR_KIND_FLOAT:
    case HR_KIND_BFLOAT:
        print_floats(file, dtype, data);
        break;
    case HR_KIND_COMPLEX:
        print_complex(file, dtype, data);
        break;
    case HR_KIND_STRING:
    case HR_KIND_UNICODE:
        print_fixed_text(file, dtype, data);
        break;
    case HR_KIND_STRUCT:
        print_struct(file, dtype, data);
        break;
    case HR_KIND_VLEN_UTF8:
    case HR_KIND_VLEN_BYTES:
        memcpy(&vlen, data, sizeof vlen);
        print_bytes(file, vlen.data, vlen.nbytes, dtype->kind == HR_KIND_VLEN_UTF8);
        break;
    case HR_KIND_VLEN_ARRAY:
        memcpy(&vlen, data, sizeof vlen);
        print_items(file, dtype->base, vlen.data, vlen.nbytes / dtype->base->itemsize);
        break;
    default:
        print_bytes(file, data, dtype->itemsize, false);
    }
}

typedef struct shower {
    FILE *file;
    const hr_dtype *dtype;
    int32_t ndim;
    const int64_t *shape;
    int64_t edge;   /* elements shown at either end of an axis */
    int width;      /* of the widest element shown */
    bool measuring; /* find the width, print nothing */
} shower;

static void show_element(shower *s, const uint8_t *element) {
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) {
        return;
    }
    cli_element_print(memory, s->dtype, element);
    if (fclose(memory) != 0) {
        return;
    }
    if (!s->measuring) {
        fprintf(s->file, "%*s", s->width, text);
    } else if ((int)length > s->width) {
        s->width = (int)length;
    }
    free(text);
}

static void emit(shower *s, const char *text) {
    if (!s->measuring) {
        fputs(text, s->file);
    }
}

static void emit_separator(shower *s, int32_t axis) {
    if (axis == s->ndim - 1) {
        emit(s, " ");
        return;
    }
    emit(s, "\n");
    for (int32_t k = 0; k <= axis; k++) {
        emit(s, " ");
    }
}

static void show_axis(shower *s, int32_t axis, const uint8_t *data, uint64_t nbytes) {
    if (axis == s->ndim) {
        show_element(s, data);
        return;
    }
    int64_t n = s->shape[axis];
    uint64_t step = nbytes / (uint64_t)n;
    emit(s, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) {
            emit_separator(s, axis);
        }
        if (i == s->edge && n > 2 * s->edge) {
            emit(s, "...");
            i = n - s->edge - 1;
        } else {
            show_axis(s, axis + 1, data + (uint64_t)i * step, step);
        }
    }
    emit(s, "]");
}

void cli_array_print(FILE *file, const hr_dtype *dtype, int32_t ndim,
                     const int64_t *shape, const void *data) {
    uint64_t nelems = 1;
    for (int32_t k = 0; k < ndim; k++) {
        nelems *= (uint64_t)shape[k];
    }
    if (nelems == 0) {
        fputs("[]", file);
        return;
    }
    shower s = {.file = file, .dtype = dtype, .ndim = ndim, .shape = shape};
    s.edge = nelems <= SUMMARY_ABOVE ? INT64_MAX / 2 : ndim <= 2 ? 3 : 1;
    s.measuring = true;
    show_axis(&s, 0, data, nelems * dtype->itemsize);
    s.measuring = false;
    show_axis(&s, 0, data, nelems * dtype->itemsize);
}
