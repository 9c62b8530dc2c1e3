/* Status codes and the error record. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_STATUS_H
#define HEADRACE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HR_API __attribute__((visibility("default")))
#define HR_NODISCARD __attribute__((warn_unused_result))
#else
#define HR_API
#define HR_NODISCARD
#endif

/* Zeros, but for struct_size: what each HR_…_INIT makes, in C++ without its extensions.
 */
#ifdef __cplusplus
extern "C++" {
template <typename T> inline T hr_init() {
    T value = T();
    value.struct_size = sizeof(T);
    return value;
}
}
#define HR_INIT(type) hr_init<type>()
#else
#define HR_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

/* Result of a call: 0, or one negative number per kind of failure. Outputs are set on
 * success only. Besides the failures that it names, any function may give
 * HR_ERR_ARGUMENT (for a NULL where nothing says that NULL is accepted) and
 * HR_ERR_MEMORY. */
typedef enum hr_status {
    HR_OK = 0,
    HR_ERR_ARGUMENT = -1, /* the call itself is wrong: NULL, bad enum, bad struct_size */
    HR_ERR_MEMORY = -2,   /* an allocation failed or a budget would be exceeded */
    HR_ERR_OVERFLOW = -3, /* a size or an offset does not fit in 64 bits or in a limit */
    HR_ERR_UNSUPPORTED = -4,    /* valid, but not for this build or version; names what */
    HR_ERR_NOT_FOUND = -5,      /* no such array, group or file */
    HR_ERR_IO = -6,             /* the store failed; os_errno says how */
    HR_ERR_METADATA = -7,       /* metadata is malformed or contradicts itself */
    HR_ERR_DATA = -8,           /* a chunk is corrupt, truncated or of the wrong size */
    HR_ERR_CHECKSUM = -9,       /* a checksum stored with the data does not match */
    HR_ERR_MISSING_CHUNK = -10, /* strict: a chunk is absent from the store */
    HR_ERR_DTYPE = -11,         /* destination dtype differs and no cast was asked for */
    HR_ERR_SHAPE = -12,         /* destination shape differs from the selection's */
    HR_ERR_SELECTION = -13,     /* selection out of bounds or ill-formed */
    HR_ERR_DEVICE = -14,    /* the device or its driver failed; device_code says how */
    HR_ERR_CANCELLED = -15, /* the batch was cancelled */
    HR_ERR_FORKED = -16,    /* the object belongs to the parent of this forked process */
    HR_ERR_TIMEOUT = -17,   /* the wait ended before the work did */
    HR_ERR_STRICT = -18     /* strict: a fallback would have been needed */
} hr_status;

/* What went wrong, filled by the place that found it. Caller-owned; set it to
 * HR_ERROR_INIT once. It is written on failure only, and a later failure overwrites
 * it. Every function that takes one accepts NULL. All text is NUL-terminated; a field
 * that does not apply is "" or 0. */
typedef struct hr_error {
    uint32_t struct_size;
    hr_status status;
    int32_t device_code; /* CUresult, or 0 */
    int32_t os_errno;    /* errno, or 0 */
    uint64_t offset;     /* byte offset in the object named by `key`, where one applies */
    char codec[32];      /* codec that failed, as the metadata spells it */
    char url[256];       /* array or group */
    char key[256];       /* store key of the chunk or document */
    char message[512];   /* one line for a person; names sizes: actual and expected */
} hr_error;

#define HR_ERROR_INIT HR_INIT(hr_error)

/* Name of a status, as spelled in the enum ("HR_ERR_DATA"). Static text, any thread. */
HR_API const char *hr_status_name(hr_status status);

#ifdef __cplusplus
}
#endif
#endif
