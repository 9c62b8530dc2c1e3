/* Filling hr_error. SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "HR_ERR_?"
#define STATUS_NAME(s)                                                                   \
    case s:                                                                              \
        return #s

const char *hr_status_name(hr_status status) {
    switch (status) {
        STATUS_NAME(HR_OK);
        STATUS_NAME(HR_ERR_ARGUMENT);
        STATUS_NAME(HR_ERR_MEMORY);
        STATUS_NAME(HR_ERR_OVERFLOW);
        STATUS_NAME(HR_ERR_UNSUPPORTED);
        STATUS_NAME(HR_ERR_NOT_FOUND);
        STATUS_NAME(HR_ERR_IO);
        STATUS_NAME(HR_ERR_METADATA);
        STATUS_NAME(HR_ERR_DATA);
        STATUS_NAME(HR_ERR_CHECKSUM);
        STATUS_NAME(HR_ERR_MISSING_CHUNK);
        STATUS_NAME(HR_ERR_DTYPE);
        STATUS_NAME(HR_ERR_SHAPE);
        STATUS_NAME(HR_ERR_SELECTION);
        STATUS_NAME(HR_ERR_DEVICE);
        STATUS_NAME(HR_ERR_CANCELLED);
        STATUS_NAME(HR_ERR_FORKED);
        STATUS_NAME(HR_ERR_TIMEOUT);
        STATUS_NAME(HR_ERR_STRICT);
    }
    return UNKNOWN;
}

/* Does the caller's record have this field? */
#define HAS(err, field)                                                                  \
    ((err)->struct_size >= offsetof(hr_error, field) + sizeof((err)->field))

static void start(hr_error *err, hr_status status, int os_errno) {
    uint32_t size = err->struct_size;
    size_t known = size < sizeof *err ? size : sizeof *err;
    memset(err, 0, known);
    err->struct_size = size;
    if (HAS(err, status)) {
        err->status = status;
    }
    if (HAS(err, os_errno)) {
        err->os_errno = os_errno;
    }
}

/* Bytes of the UTF-8 character at p that a terminal may show, 0 where there is none. */
static size_t printable(const unsigned char *p) {
    if (p[0] < 0x80) {
        return p[0] >= 0x20 && p[0] != 0x7F;
    }
    size_t n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || (p[0] == 0xC2 && p[1] < 0xA0)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

/* One line of text, whatever a name in a document holds, and wherever it was cut. */
static void make_line(char *text) {
    for (unsigned char *p = (unsigned char *)text; *p != '\0';) {
        size_t n = printable(p);
        if (n == 0) {
            *p = '?';
        }
        p += n + (n == 0);
    }
}

#undef hr__fail
#undef hr__fail_errno
#undef hr__fail_memory

hr_status hr__fail(hr_error *err, hr_status status, const char *fmt, ...) {
    if (err != NULL && err->struct_size >= sizeof err->struct_size) {
        start(err, status, 0);
        if (HAS(err, message)) {
            va_list args;
            va_start(args, fmt);
            (void)vsnprintf(err->message, sizeof err->message, fmt, args);
            va_end(args);
            make_line(err->message);
        }
    }
    return status;
}

hr_status hr__fail_errno(hr_error *err, hr_status status, int os_errno, const char *fmt,
                         ...) {
    if (err != NULL && err->struct_size >= sizeof err->struct_size) {
        start(err, status, os_errno);
        if (HAS(err, message)) {
            va_list args;
            va_start(args, fmt);
            int n = vsnprintf(err->message, sizeof err->message, fmt, args);
            va_end(args);
            char text[128];
            /* GNU strerror_r: the result may be static text rather than our buffer */
            const char *reason = strerror_r(os_errno, text, sizeof text);
            if (n >= 0 && (size_t)n < sizeof err->message) {
                (void)snprintf(err->message + n, sizeof err->message - (size_t)n, ": %s",
                               reason);
            }
            make_line(err->message);
        }
    }
    return status;
}

hr_status hr__fail_memory(hr_error *err, size_t nbytes) {
    return hr__fail(err, HR_ERR_MEMORY, "cannot allocate %zu bytes", nbytes);
}

static void fill_text(char *dst, size_t capacity, const char *src) {
    if (dst[0] == '\0' && src != NULL) {
        (void)snprintf(dst, capacity, "%s", src);
    }
}

void hr__error_add_device_code(hr_error *err, int32_t code) {
    if (err != NULL && HAS(err, device_code) && err->device_code == 0) {
        err->device_code = code;
    }
}

void hr__error_add_codec(hr_error *err, const char *codec) {
    if (err != NULL && HAS(err, codec)) {
        fill_text(err->codec, sizeof err->codec, codec);
        make_line(err->codec);
    }
}

void hr__error_add_place(hr_error *err, const char *url, const char *key,
                         uint64_t offset) {
    if (err == NULL || !HAS(err, key)) {
        return;
    }
    if (err->key[0] == '\0') {
        err->offset += offset;
    }
    fill_text(err->url, sizeof err->url, url);
    fill_text(err->key, sizeof err->key, key);
}

/* Not what callers give a meaning of its own: an absent key, a wait that has ended. */
static bool is_of_caller(hr_status status) {
    return status < HR_OK && status != HR_ERR_NOT_FOUND && status != HR_ERR_TIMEOUT &&
           status != HR_ERR_FORKED && strcmp(hr_status_name(status), UNKNOWN) != 0;
}

hr_status hr__error_adopt(hr_error *err, hr_error *own, hr_status status,
                          hr_status otherwise, const char *what) {
    const bool is_taken = is_of_caller(status);
    const hr_status taken = is_taken ? status : otherwise;
    own->message[sizeof own->message - 1] = '\0';
    if (own->message[0] == '\0') {
        (void)snprintf(own->message, sizeof own->message, "%s failed (%s, %d)", what,
                       hr_status_name(status), (int)status);
    }
    hr_error told = HR_ERROR_INIT;
    (void)hr__fail(&told, taken, "%s", own->message);
    told.os_errno = own->os_errno;
    hr__error_copy(err, &told);
    return taken;
}

void hr__error_copy(hr_error *dst, const hr_error *src) {
    if (dst == NULL || src == NULL || dst == src) {
        return;
    }
    uint32_t size = dst->struct_size;
    size_t n = size < src->struct_size ? size : src->struct_size;
    if (n > sizeof *dst) {
        n = sizeof *dst;
    }
    if (n >= sizeof size) {
        memcpy(dst, src, n);
        dst->struct_size = size;
    }
}
