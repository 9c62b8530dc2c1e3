/* Filling hr_error. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_ERROR_H
#define HR_CORE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/status.h>

#if defined(__GNUC__)
#define HR__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HR__PRINTF(fmt, args)
#endif

/* Record a failure and return its status, so that the place that detects an error reads
 *     return hr__fail(err, HR_ERR_DATA, "chunk is %zu bytes, expected %zu", n, want);
 * Resets every other field of *err. err may be NULL. */
hr_status hr__fail(hr_error *err, hr_status status, const char *fmt, ...)
    HR__PRINTF(3, 4);

/* The same with errno's text appended and os_errno set. */
hr_status hr__fail_errno(hr_error *err, hr_status status, int os_errno, const char *fmt,
                         ...) HR__PRINTF(4, 5);

hr_status hr__fail_memory(hr_error *err, size_t nbytes);

/* What they return is seen at the call too, so that compilers and analysers know that it
 * is never HR_OK. */
#define hr__fail(err, status, ...) (hr__fail(err, status, __VA_ARGS__), (status))
#define hr__fail_errno(err, status, os_errno, ...)                                       \
    (hr__fail_errno(err, status, os_errno, __VA_ARGS__), (status))
#define hr__fail_memory(err, nbytes) (hr__fail_memory(err, nbytes), HR_ERR_MEMORY)

/* Pass on how a caller's function failed: by a status that may be any number, and by the
 * message and the errno in *own, which it was given. `otherwise` stands in for a status
 * that is none, and for those to which callers give a meaning (HR_ERR_NOT_FOUND,
 * HR_ERR_TIMEOUT, HR_ERR_FORKED); `what` it was for a missing message. */
hr_status hr__error_adopt(hr_error *err, hr_error *own, hr_status status,
                          hr_status otherwise, const char *what);

/* Add where it happened, on the way up. Only fills fields that are still empty. */
void hr__error_add_device_code(hr_error *err, int32_t code);
void hr__error_add_codec(hr_error *err, const char *codec);
void hr__error_add_place(hr_error *err, const char *url, const char *key,
                         uint64_t offset);

/* Copy src to dst within dst's struct_size; either may be NULL. */
void hr__error_copy(hr_error *dst, const hr_error *src);

#define HR__TRY(expr)                                                                    \
    do {                                                                                 \
        hr_status hr__try_status = (expr);                                               \
        if (hr__try_status != HR_OK) {                                                   \
            return hr__try_status;                                                       \
        }                                                                                \
    } while (0)

#endif
