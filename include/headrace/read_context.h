/* What is being read, for custom stores and codecs. SPDX-License-Identifier: Apache-2.0
 *
 * The functions of a store or a codec get a pointer to a context, which they may ask what
 * the bytes are for, or not look at. A call is about one or more chunks of one array; a
 * chunk is read and decoded once for all requests of the batch that need it, and each of
 * these is a use of it:
 *
 *     open of a store      every chunk that the batch needs from this key
 *     read of a store      the chunks in this range of bytes; for the index of a shard or
 *                          the tables of a file those of its open
 *     decode of a codec    one chunk (also where it is a whole shard that is decoded at
 *                          once)
 *
 * Everything is worked out when it is asked for. The context, and what it points to, is
 * borrowed for the call that got it. Any thread, but only during that call. */
#ifndef HEADRACE_READ_CONTEXT_H
#define HEADRACE_READ_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/read.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What all chunks of a call have in common. */
typedef struct hr_read_info {
    uint32_t struct_size;
    const hr_node_info *array; /* its shape and type, chunks, codecs, fill value, … */
    int32_t strict;            /* 1: an absent chunk is an error; 0: it is filled */
    int32_t skip_checksums;
    uint64_t nchunks;
} hr_read_info;

#define HR_READ_INFO_INIT HR_INIT(hr_read_info)

/* Errors: HR_ERR_ARGUMENT for NULL. */
HR_API HR_NODISCARD hr_status hr_read_context_describe(const hr_read_context *reading,
                                                       hr_read_info *out, hr_error *err);

/* 1: the batch was cancelled, and nobody wants what the call is about. Who takes his time
 * may look now and then, and give up with any error. 0 for NULL. */
HR_API int hr_read_context_is_cancelled(const hr_read_context *reading);

/* A chunk: an innermost one, or a part of one that is uncompressed. */
typedef struct hr_read_chunk {
    uint32_t struct_size;
    const void *at; /* the library's; NULL: before the first */
    uint64_t nuses;
    /* Where it lies in the array, per axis, in elements; the last one along an axis may
     * reach beyond the array's end. */
    int64_t start[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
} hr_read_chunk;

#define HR_READ_CHUNK_INIT HR_INIT(hr_read_chunk)

/* Step to the next chunk, or to the first one from HR_READ_CHUNK_INIT: 1, or 0 (with the
 * record as it was) where there is none, or where an argument is NULL. */
HR_API int hr_read_context_next_chunk(const hr_read_context *reading,
                                      hr_read_chunk *chunk);

/* What one request takes of a chunk. A selection that meets the chunk in several pieces
 * has a use for each. */
typedef struct hr_read_use {
    uint32_t struct_size;
    const void *at;    /* the library's; NULL: before the first */
    uint64_t request;  /* its number in the batch */
    void *user;        /* hr_request.user */
    hr_device device;  /* of the destination's memory */
    hr_dtype dtype;    /* of its elements: what those of the array are converted to */
    int32_t is_packed; /* 1: by way of an hr_packing */
    /* HR_SELECT_AXES: per axis of the array the indices within the chunk (hr_read_chunk
     * has where that begins), an integer of the selection as a slice of one.
     * HR_SELECT_POINTS: axes[0] has the numbers of single elements, in the order in which
     * the decoded chunk has them. All are within bounds; nindices says for slices, too,
     * how many indices there are. A stop of HR_NONE is before the first element; a step
     * of 0 takes the one at start nindices times. */
    hr_selection_kind kind;
    int32_t naxes;
    uint64_t nelems; /* selected by them */
    hr_axis axes[HR_MAX_NDIM];
} hr_read_use;

#define HR_READ_USE_INIT HR_INIT(hr_read_use)

/* Step to the next use of the chunk, or to the first one from HR_READ_USE_INIT, in any
 * order: 1, or 0 (with the record as it was) where there is none, or where an argument is
 * NULL. */
HR_API int hr_read_context_next_use(const hr_read_context *reading,
                                    const hr_read_chunk *chunk, hr_read_use *use);

#ifdef __cplusplus
}
#endif
#endif
