/* Opening by URL: a directory of Zarr, or a file. SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "api/node.h"
#include "api/options.h"

static int hex_digit(char c) {
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

#define SCHEME_CHARACTERS                                                                \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

/* Path of a file URL: %XX decoded. A URL without scheme is a path as it is. */
static hr_status path_from_url(const char *url, hr__arena *arena, const char **path,
                               hr_error *err) {
    const char *scheme_end = url + strspn(url, SCHEME_CHARACTERS);
    if (scheme_end == url || strncmp(scheme_end, "://", 3) != 0) {
        *path = url;
        return HR_OK;
    }
    if (strncmp(url, "file://", 7) != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "URL scheme \"%.*s\" is not supported: only paths and file://",
                        (int)(scheme_end - url), url);
    }
    const char *p = url + 7;
    char *text = hr__arena_alloc(arena, strlen(p) + 1);
    if (text == NULL) {
        return hr__fail_memory(err, strlen(p) + 1);
    }
    *path = text;
    for (; *p != '\0'; p++) {
        if (p[0] == '%' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
            *text = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
            if (*text++ == '\0') { /* the rest would go unread */
                return hr__fail(err, HR_ERR_ARGUMENT, "the URL has a %%00 at byte %zu",
                                (size_t)(p - url));
            }
            p += 2;
        } else {
            *text++ = *p;
        }
    }
    return HR_OK;
}

/* The directory that a file is in, with the file's name. */
static hr_status open_parent(hr_context *context, const char *path, hr__arena *arena,
                             hr_store **store, const char **file, hr_error *err) {
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path) + 1; /* "/" stays "/" */
    char *parent = hr__arena_alloc(arena, n + 2);
    char *name = hr__arena_strdup(arena, path + n);
    if (parent == NULL || name == NULL) {
        return hr__fail_memory(err, strlen(path));
    }
    size_t kept = n > 1 ? n - 1 : n; /* without the slash, but for the root */
    memcpy(parent, n == 0 ? "." : path, n == 0 ? 1 : kept);
    HR__TRY(hr_store_open_directory(context, parent, store, err));
    *file = name;
    return HR_OK;
}

/* A directory, or (with *file set) the one that a file is in. The name of the file may
 * have "#…" behind it. */
static hr_status open_place(hr_context *context, const char *path, hr__arena *arena,
                            hr_store **store, const char **file, hr_error *err) {
    hr_error own = HR_ERROR_INIT;
    hr_status status = hr_store_open_directory(context, path, store, &own);
    bool is_file = status == HR_ERR_IO && own.os_errno == ENOTDIR;
    bool has_mark = status == HR_ERR_NOT_FOUND && strchr(path, '#') != NULL;
    if (status != HR_OK && (is_file || has_mark) && path[strlen(path) - 1] != '/' &&
        open_parent(context, path, arena, store, file, NULL) == HR_OK) {
        return HR_OK;
    }
    hr__error_copy(err, &own);
    return status;
}

hr_status hr_open(hr_context *context, const char *url, const hr_open_options *options,
                  hr_node **out, hr_error *err) {
    if (context == NULL || url == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, url or out is NULL");
    }
    hr__arena arena;
    hr__arena_init(&arena, &context->allocator);
    const char *path = NULL;
    const char *file = NULL;
    hr_store *store = NULL;
    hr_open_options o = HR_OPEN_OPTIONS_INIT;
    hr_status status = path_from_url(url, &arena, &path, err);
    if (status == HR_OK) {
        status = hr__options_read(&o, sizeof o, options, "hr_open_options", err);
    }
    if (status == HR_OK) {
        status = open_place(context, path, &arena, &store, &file, err);
    }
    if (status == HR_OK) {
        status = hr__node_open(store, NULL, file != NULL ? file : "", file != NULL, &o,
                               out, err);
    }
    hr__error_add_place(status == HR_OK ? NULL : err, url, NULL, 0);
    hr_store_unref(store); /* the node holds it */
    hr__arena_free(&arena);
    return status;
}
