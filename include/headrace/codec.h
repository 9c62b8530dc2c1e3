/* Codecs of your own. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_CODEC_H
#define HEADRACE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/read.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr_codec_kind { /* as in Zarr v3, named as when it encodes */
                             HR_CODEC_ARRAY_TO_ARRAY =
                                 1, /* elements of the same type and shape */
                             HR_CODEC_ARRAY_TO_BYTES = 2,
                             HR_CODEC_BYTES_TO_BYTES = 3
} hr_codec_kind;

/* What a codec is to decode to: the elements of a chunk in C order, or bytes. Borrowed
 * for the call. */
typedef struct hr_codec_output {
    int32_t is_bytes;     /* 1: the next codec's bytes; ndim is 0, dtype says nothing */
    int32_t ndim;         /* of the chunk, or of an inner chunk of a shard */
    const int64_t *shape; /* elements, in the order in which the chunk is stored */
    hr_dtype dtype;       /* byte order included */
    uint64_t nbytes;      /* exactly; HR_UNKNOWN: not known, … */
    uint64_t max_nbytes;  /* … but at most this many */
} hr_codec_output;

#define HR_CUSTOM_CODEC_VERSION 1

/* A codec as functions. They run on the host, from any thread, many at once: for a
 * destination on a device, too, which a strict read refuses. They may not wait for a
 * batch of the same context. One that fails returns another status than HR_OK
 * (HR_ERR_DATA, HR_ERR_CHECKSUM, …) and may say why in err->message (err is never NULL);
 * where the chunk is and which codec it was is filled in. HR_ERR_TIMEOUT and
 * HR_ERR_FORKED, by which hr_batch_wait means something else, count as HR_ERR_DATA. */
typedef struct hr_custom_codec {
    uint32_t abi_version; /* HR_CUSTOM_CODEC_VERSION */
    hr_codec_kind kind;   /* Zarr v2 lets any kind be a filter or the compressor */
    const char *v3_name;  /* NULL: not in Zarr v3. Names are copied */
    const char *v2_id;    /* NULL: not in Zarr v2; "numcodecs.<v2_id>" is it in v3, too */
    void *user;           /* yours; passed to all */
    size_t state_nbytes;  /* of an array's state: memory that begins zeroed, aligned to 16
                             bytes, is filled by parse and read by decode, and goes with
                             the array; so it cannot own anything */
    /* When an array is opened (and when a chunk of another shape is met, where chunk
     * lengths vary): read the configuration, a JSON object ("{}" where there is none; in
     * v2 with its "id"). Set *encoded_nbytes where every chunk is encoded in so many
     * bytes (else leave HR_UNKNOWN; for ARRAY_TO_ARRAY it is not looked at). Nothing else
     * than HR_OK means that the array cannot be read. NULL: there is nothing to read. */
    hr_status (*parse)(void *user, const char *configuration,
                       const hr_codec_output *output, void *state,
                       uint64_t *encoded_nbytes, hr_error *err);
    /* Decode src into dst, which has room for dst_nbytes bytes and does not overlap it,
     * and set *nbytes to how many it makes. Where output->nbytes was told, that is the
     * room, and another number is an error. Else write nothing beyond it: more in *nbytes
     * asks for more room, and decode is called again. The bytes are a stranger's: check
     * them. `reading` (borrowed for the call) says what for, see read_context.h. */
    hr_status (*decode)(void *user, const void *state, const void *src, size_t src_nbytes,
                        void *dst, size_t dst_nbytes, const hr_read_context *reading,
                        uint64_t *nbytes, hr_error *err);
    /* The context is gone: the last call. NULL: nothing to do. */
    void (*destroy)(void *user);
} hr_custom_codec;

/* Have arrays that are opened with this context from now on use a codec, which is copied.
 * hr_plan_explain and errors name it as the metadata does. `user` is the context's on
 * success and stays the caller's on failure (destroy is not called then). Errors:
 * HR_ERR_ARGUMENT without decode or without a name, or where a codec of that name is
 * there already, built in or custom; HR_ERR_UNSUPPORTED for another abi_version. Any
 * thread. */
HR_API HR_NODISCARD hr_status hr_context_add_codec(hr_context *context,
                                                   const hr_custom_codec *codec,
                                                   hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
