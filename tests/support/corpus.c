/* Reading the corpus. SPDX-License-Identifier: Apache-2.0 */
#include "support/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const column_names[] = {
    "path",           "inner",           "class",       "format",      "dtype",
    "shape",          "block",           "compression", "photometric", "subsampling",
    "nodata_or_fill", "expected_sha256", "verdict",     "note"};
#define NCOLUMNS (sizeof column_names / sizeof *column_names)

static uint8_t *read_all(const char *path, size_t *nbytes) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    (void)fseek(f, 0, SEEK_END);
    long size = ftell(f);
    (void)fseek(f, 0, SEEK_SET);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    assert_non_null(data);
    *nbytes = fread(data, 1, (size_t)size, f);
    assert_int_equal(*nbytes, size);
    (void)fclose(f);
    return data;
}

/* Cut the line at *next into fields; returns how many. */
static size_t split(char **next, const char **fields, size_t max) {
    char *line = *next;
    *next = line + strcspn(line, "\n");
    if (**next != '\0') {
        *(*next)++ = '\0';
    }
    size_t n = 0;
    for (char *field; n < max && (field = strsep(&line, "\t")) != NULL;) {
        fields[n++] = field;
    }
    return n;
}

enum { MAX_FIELDS = 64 };

/* Number of the column with this name; MAX_FIELDS without one. */
static size_t find_column(const char *name, const char *const *fields, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i], name) == 0) {
            return i;
        }
    }
    return MAX_FIELDS;
}

/* `inner` is the name that this table has for that column. */
static bool open_table(corpus *c, const char *path, const char *inner, const char *what) {
    size_t nbytes;
    uint8_t *data = read_all(path, &nbytes);
    if (data == NULL) {
        print_message("skipped: %s (there is no %s)\n", what, path);
        return false;
    }
    c->text = realloc(data, nbytes + 1);
    assert_non_null(c->text);
    c->text[nbytes] = '\0';
    c->next = c->text;
    const char *fields[MAX_FIELDS];
    size_t n = split(&c->next, fields, MAX_FIELDS);
    for (size_t i = 0; i < NCOLUMNS; i++) {
        bool is_inner = strcmp(column_names[i], "inner") == 0;
        c->columns[i] = find_column(is_inner ? inner : column_names[i], fields, n);
    }
    return true;
}

bool corpus_open(corpus *c, const char *what) {
    if (!open_table(c, HR_CORPUS "/MANIFEST.tsv", "inner", what)) {
        return false;
    }
    for (size_t i = 0; i < NCOLUMNS; i++) {
        assert_int_not_equal(c->columns[i], MAX_FIELDS);
    }
    return true;
}

bool corpus_open_ifds(corpus *c, const char *what) {
    return open_table(c, HR_CORPUS "/tiff_ifds.tsv", "ifd", what);
}

bool corpus_next(corpus *c, corpus_row *row) {
    if (*c->next == '\0') {
        return false;
    }
    const char *fields[MAX_FIELDS];
    const char **members[NCOLUMNS] = {
        &row->path,        &row->inner,       &row->klass, &row->format,
        &row->dtype,       &row->shape,       &row->block, &row->compression,
        &row->photometric, &row->subsampling, &row->fill,  &row->expected_sha256,
        &row->verdict,     &row->note};
    size_t n = split(&c->next, fields, MAX_FIELDS);
    for (size_t i = 0; i < NCOLUMNS; i++) {
        *members[i] = c->columns[i] < n ? fields[c->columns[i]] : "";
    }
    return true;
}

void corpus_close(corpus *c) {
    free(c->text);
}

uint8_t *corpus_read(const char *path, size_t *nbytes) {
    char full[1024];
    (void)snprintf(full, sizeof full, "%s/%s", HR_CORPUS, path);
    uint8_t *data = read_all(full, nbytes);
    if (data == NULL) {
        fail_msg("cannot read %s", full);
    }
    return data;
}
