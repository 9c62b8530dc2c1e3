/* Header of NumPy's .npy files. SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "text.h"

const char *cli_npy_refusal(const hr_dtype *dtype) {
    if (cli_is_vlen(dtype)) {
        return "elements of variable length have no .npy form";
    }
    if (dtype->kind != HR_KIND_STRUCT) {
        return NULL;
    }
    uint64_t end = 0;
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        const hr_field *field = &dtype->fields[i];
        const char *refusal = cli_npy_refusal(&field->dtype);
        if (refusal != NULL) {
            return refusal;
        }
        if (field->offset_nbytes < end) {
            return "fields that overlap or are out of order have no .npy form";
        }
        end = field->offset_nbytes + cli_field_count(field) * field->dtype.itemsize;
    }
    return end <= dtype->itemsize ? NULL : "fields beyond the item have no .npy form";
}

/* A Python string literal. */
static void write_literal(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\'' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            fprintf(out, "\\x%02x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('\'', out);
}

static void write_padding(FILE *out, uint64_t nbytes) {
    if (nbytes > 0) {
        fprintf(out, "('', '|V%" PRIu64 "'), ", nbytes);
    }
}

static void write_descr(FILE *out, const hr_dtype *dtype);

static void write_fields(FILE *out, const hr_dtype *dtype) {
    uint64_t end = 0;
    fputc('[', out);
    for (uint64_t i = 0; i < dtype->nfields; i++) {
        const hr_field *field = &dtype->fields[i];
        write_padding(out, field->offset_nbytes - end);
        fputc('(', out);
        write_literal(out, field->name);
        fputs(", ", out);
        write_descr(out, &field->dtype);
        if (field->ndim > 0) {
            char shape[CLI_SHAPE_TEXT];
            fprintf(out, ", %s", cli_shape_text(field->ndim, field->shape, shape));
        }
        fputs("), ", out);
        end = field->offset_nbytes + cli_field_count(field) * field->dtype.itemsize;
    }
    write_padding(out, dtype->itemsize - end);
    fputc(']', out);
}

static void write_descr(FILE *out, const hr_dtype *dtype) {
    if (dtype->kind == HR_KIND_STRUCT) {
        write_fields(out, dtype);
    } else if (dtype->kind == HR_KIND_BFLOAT) {
        fputs("'<V2'", out); /* NumPy itself has no name for it */
    } else {
        char text[64];
        (void)hr_dtype_format(dtype, text, sizeof text);
        fprintf(out, "'%s'", text);
    }
}

/* The dictionary, on the heap. NULL when out of memory. */
static char *format_dictionary(const hr_dtype *dtype, int32_t ndim,
                               const int64_t *shape) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        return NULL;
    }
    fputs("{'descr': ", out);
    write_descr(out, dtype);
    char shape_text[CLI_SHAPE_TEXT];
    fprintf(out, ", 'fortran_order': False, 'shape': %s, }",
            cli_shape_text(ndim, shape, shape_text));
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool is_ascii(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text > 0x7f) {
            return false;
        }
    }
    return true;
}

bool cli_npy_write_header(FILE *file, const hr_dtype *dtype, int32_t ndim,
                          const int64_t *shape) {
    char *text = format_dictionary(dtype, ndim, shape);
    if (text == NULL) {
        errno = ENOMEM;
        return false;
    }
    size_t length = strlen(text);
    /* Version 1 has a 2-byte length; 2 has 4 bytes; 3 is 2 with UTF-8. */
    int version = !is_ascii(text) ? 3 : length < 65536 - 64 ? 1 : 2;
    size_t prefix = version == 1 ? 10 : 12;
    size_t total = (prefix + length + 1 + 63) / 64 * 64;
    size_t body = total - prefix;
    fprintf(file,
            "\x93"
            "NUMPY%c%c",
            version, 0);
    for (unsigned i = 0; i < prefix - 8; i++) {
        fputc((int)(body >> 8 * i & 0xff), file);
    }
    fprintf(file, "%s%*s\n", text, (int)(body - length - 1), "");
    free(text);
    return ferror(file) == 0;
}
