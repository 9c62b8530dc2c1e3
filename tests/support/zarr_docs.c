/* Zarr metadata from a table of strings. SPDX-License-Identifier: Apache-2.0 */
#include "support/zarr_docs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static hr_status get(void *user, const char *key, hr__arena *arena, char **text,
                     size_t *nbytes, hr_error *err) {
    zarr_opened *o = user;
    o->ngets++;
    for (const zarr_doc *d = o->docs; d->key != NULL; d++) {
        if (strcmp(d->key, key) == 0) {
            *nbytes = strlen(d->text);
            *text = hr__arena_strdup(arena, d->text);
            return *text == NULL ? hr__fail_memory(err, *nbytes) : HR_OK;
        }
    }
    return hr__fail(err, HR_ERR_NOT_FOUND, "no %s", key);
}

hr__doc_source zarr_source(zarr_opened *o) {
    return (hr__doc_source){.user = o, .get = get};
}

void zarr_open_at(zarr_opened *o, const zarr_doc *docs, const char *path,
                  const hr_open_options *options, const hr__consolidated *parent) {
    *o = (zarr_opened){.err = HR_ERROR_INIT, .docs = docs};
    hr__arena_init(&o->arena, &hr__malloc_allocator);
    hr__doc_source source = zarr_source(o);
    o->status =
        hr__zarr_open(&source, path, options, parent, &o->arena, &o->node, &o->err);
    assert_int_equal(o->err.status, o->status);
}

void zarr_open_text(zarr_opened *o, const char *name, const char *text) {
    const zarr_doc docs[] = {{name, text}, {NULL, NULL}};
    zarr_open_at(o, docs, "", NULL, NULL);
    o->docs = NULL; /* they end here */
}

void zarr_close(zarr_opened *o) {
    if (o->status == HR_OK) {
        hr__zarr_close(&o->node);
    }
    hr__arena_free(&o->arena);
}

void zarr_assert_ok(const zarr_opened *o) {
    if (o->status != HR_OK) {
        fail_msg("%s: %s", hr_status_name(o->status), o->err.message);
    }
}

void zarr_assert_fails(zarr_opened *o, hr_status status, const char *part) {
    if (o->status != status || strstr(o->err.message, part) == NULL) {
        fail_msg("expected %s with \"%s\", got %s: %s", hr_status_name(status), part,
                 hr_status_name(o->status), o->err.message);
    }
    zarr_close(o);
}

typedef struct member {
    const char *name, *json;
} member;

static void replace(member *members, const char *name, const char *json) {
    while (members->name != NULL && strcmp(members->name, name) != 0) {
        members++;
    }
    *members = (member){name, json};
}

#define MAX_MEMBERS 32

static const char *join(const member *defaults, const char *name, va_list args) {
    static char text[1 << 16];
    member members[MAX_MEMBERS] = {{NULL, NULL}};
    for (const member *d = defaults; d->name != NULL; d++) {
        replace(members, d->name, d->json);
    }
    for (; name != NULL; name = va_arg(args, const char *)) {
        replace(members, name, va_arg(args, const char *));
    }
    size_t n = 0;
    for (const member *m = members; m->name != NULL; m++) {
        if (m->json != NULL) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s\":%s",
                                  n == 0 ? "{" : ",", m->name, m->json);
            assert_true(n < sizeof text);
        }
    }
    (void)snprintf(text + n, sizeof text - n, "}");
    return text;
}

const char *zarr_v3_doc(const char *name, ...) {
    static const member defaults[] = {
        {"zarr_format", "3"},
        {"node_type", "\"array\""},
        {"shape", "[10]"},
        {"data_type", "\"int32\""},
        {"chunk_grid", "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4]}}"},
        {"chunk_key_encoding", "{\"name\":\"default\"}"},
        {"fill_value", "0"},
        {"codecs", "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]"},
        {NULL, NULL}};
    va_list args;
    va_start(args, name);
    const char *text = join(defaults, name, args);
    va_end(args);
    return text;
}

const char *zarr_v2_doc(const char *name, ...) {
    static const member defaults[] = {
        {"zarr_format", "2"},   {"shape", "[10]"},   {"chunks", "[4]"},
        {"dtype", "\"<i4\""},   {"fill_value", "0"}, {"order", "\"C\""},
        {"compressor", "null"}, {"filters", "null"}, {NULL, NULL}};
    va_list args;
    va_start(args, name);
    const char *text = join(defaults, name, args);
    va_end(args);
    return text;
}
