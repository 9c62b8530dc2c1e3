/* Element types, devices, tensors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_TYPES_H
#define HEADRACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most dimensions an array can have (NumPy 1's limit). */
#define HR_MAX_NDIM 32

typedef enum hr_kind {
    HR_KIND_BOOL = 1,   /* one byte, 0 or 1 */
    HR_KIND_INT,        /* two's complement, 1 2 4 8 bytes */
    HR_KIND_UINT,       /* 1 2 4 8 bytes */
    HR_KIND_FLOAT,      /* IEEE 754 binary16, 32, 64 */
    HR_KIND_BFLOAT,     /* bfloat16 */
    HR_KIND_COMPLEX,    /* two IEEE floats, real first; 8 or 16 bytes */
    HR_KIND_DATETIME,   /* int64 count of time_scale × time_unit since 1970; min = NaT */
    HR_KIND_TIMEDELTA,  /* int64 count of time_scale × time_unit; min = NaT */
    HR_KIND_STRING,     /* fixed bytes, NUL padded (NumPy "S") */
    HR_KIND_UNICODE,    /* fixed UTF-32 code units, NUL padded (NumPy "U") */
    HR_KIND_VOID,       /* raw bytes (NumPy "V", Zarr v3 "r*") */
    HR_KIND_STRUCT,     /* packed bytes with fields */
    HR_KIND_VLEN_UTF8,  /* element is an hr_vlen of UTF-8 text; host memory only */
    HR_KIND_VLEN_BYTES, /* element is an hr_vlen of bytes; host memory only */
    HR_KIND_VLEN_ARRAY  /* element is an hr_vlen holding a 1-D array of item `base` */
} hr_kind;

typedef enum hr_byte_order {
    HR_LITTLE = 0, /* also where order does not apply (one-byte items) */
    HR_BIG = 1
} hr_byte_order;

typedef enum hr_time_unit {
    HR_TIME_GENERIC = 0,
    HR_TIME_Y,
    HR_TIME_M,
    HR_TIME_W,
    HR_TIME_D,
    HR_TIME_h,
    HR_TIME_m,
    HR_TIME_s,
    HR_TIME_ms,
    HR_TIME_us,
    HR_TIME_ns,
    HR_TIME_ps,
    HR_TIME_fs,
    HR_TIME_as
} hr_time_unit;

struct hr_field;

/* Element type. A plain value: copy it freely. `fields` and `base` are borrowed from
 * the array the dtype came from. */
typedef struct hr_dtype {
    uint8_t kind;       /* hr_kind */
    uint8_t byte_order; /* hr_byte_order; HR_KIND_STRUCT: HR_BIG where a field is big */
    uint8_t time_unit;  /* hr_time_unit */
    uint8_t reserved;
    int32_t time_scale; /* ≥ 1 for datetimes, else 0 */
    uint64_t itemsize;  /* bytes per element in memory; sizeof(hr_vlen) for VLEN kinds */
    const struct hr_field *fields; /* HR_KIND_STRUCT: nfields of them */
    uint64_t nfields;
    const struct hr_dtype *base; /* HR_KIND_VLEN_ARRAY: the inner element type */
} hr_dtype;

/* One field of a structured type. A field may be a subarray (ndim > 0). */
typedef struct hr_field {
    const char *name;
    hr_dtype dtype;
    uint64_t offset_nbytes; /* from the start of the item */
    int32_t ndim;
    const int64_t *shape;
} hr_field;

/* Element of a variable-length array in host memory. `data` stays valid as long as the
 * batch that read it is referenced. */
typedef struct hr_vlen {
    const void *data;
    uint64_t nbytes;
} hr_vlen;

/* Parse a NumPy type string ("<f4", "|b1", ">i2", "<M8[ns]", "|S5", "<U4", "|V3"), or
 * a name: "bool", "int8" and so on to "complex128", "bfloat16", "string", "bytes".
 * Structured types and empty items ("|S0") are not accepted.
 * Errors: HR_ERR_DTYPE. Any thread. */
HR_API HR_NODISCARD hr_status hr_dtype_parse(const char *text, hr_dtype *dtype,
                                             hr_error *err);

/* Write the NumPy type string, or a field list "[('a', '<i4'), …]" for structures, or
 * "bfloat16", "string", "bytes", "vlen-array(<f4)". Truncates to capacity − 1 bytes and
 * NUL-terminates like snprintf (text may be NULL where capacity is 0); returns the full
 * length. Any thread. */
HR_API size_t hr_dtype_format(const hr_dtype *dtype, char *text, size_t capacity);

typedef enum hr_device_type {
    HR_DEVICE_CPU = 1,
    HR_DEVICE_CUDA = 2,
    HR_DEVICE_SIMT = 3 /* the kernels, run on the CPU; for tests */
} hr_device_type;

typedef struct hr_device {
    int32_t type; /* hr_device_type; 0 is taken as HR_DEVICE_CPU */
    int32_t index;
} hr_device;

/* Parse "cpu", "cuda", "cuda:1", "simt". Errors: HR_ERR_ARGUMENT. Any thread. */
HR_API HR_NODISCARD hr_status hr_device_parse(const char *text, hr_device *device,
                                              hr_error *err);

/* A strided block of elements in some memory; the fields mean what DLPack's mean,
 * except that strides are in bytes. Memory is the caller's (borrowed). */
typedef struct hr_tensor {
    void *data; /* first element (index 0 in every axis) */
    hr_device device;
    hr_dtype dtype;
    int32_t ndim;
    const int64_t *shape;          /* elements; borrowed */
    const int64_t *strides_nbytes; /* may be negative or 0-sized; NULL = C order */
} hr_tensor;

#ifdef __cplusplus
}
#endif
#endif
