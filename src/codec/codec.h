/* Codecs: one descriptor per codec, chains of them. SPDX-License-Identifier: Apache-2.0
 *
 * A chunk passes, when it is decoded, through a chain from its stored bytes back to
 * array elements. Every codec is a function from bytes to bytes whose sizes on both
 * sides are worked out when the array is opened. */
#ifndef HR_CODEC_CODEC_H
#define HR_CODEC_CODEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "codec/wanted.h"
#include "codec/worker.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/steps.h"

typedef enum hr__codec_class {
    HR__ARRAY_TO_ARRAY = 1,
    HR__ARRAY_TO_BYTES = 2,
    HR__BYTES_TO_BYTES = 3
} hr__codec_class;

#define HR__SIZE_UNKNOWN UINT64_MAX

/* What lies between two codecs of a chain. On the array side: shape and dtype, packed in
 * C order, nbytes exact. On the bytes side: ndim 0, is_bytes, and nbytes exact or
 * unknown with an upper bound that a decoder may trust instead of headers. */
typedef struct hr__spec {
    bool is_bytes;
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    hr_dtype dtype; /* byte order included: filters of Zarr v2 see the stored order */
    uint64_t nelems;
    uint64_t nbytes;     /* exact size or HR__SIZE_UNKNOWN */
    uint64_t max_nbytes; /* = nbytes where that is known */
    const void *fill;    /* one item in dtype's byte order, or NULL (= zeros) */
    bool keep_order; /* decoding must give dtype's byte order. Where it is false, the v3
                        bytes codec stays a view: it leaves big-endian items as they are
                        stored and says so in codec->decoded.dtype (and its fill). */
} hr__spec;

/* Spec of `nbytes` plain bytes, and of bytes of unknown size ≤ max_nbytes. */
hr__spec hr__spec_bytes(uint64_t nbytes);
hr__spec hr__spec_unknown(uint64_t max_nbytes);
/* The same with `extra` more bytes, as plain bytes; saturates. */
hr__spec hr__spec_plus(const hr__spec *spec, uint64_t extra);
/* Recompute nelems, nbytes, max_nbytes from shape and dtype; false on overflow. */
bool hr__spec_measure(hr__spec *spec);
/* The same bytes read as items of dtype, as Zarr v2 does where the dtype of a filter
 * differs from what it is given: one axis unless the item sizes agree. Bytes of unknown
 * size stay so. HR_ERR_METADATA when the size is no multiple. */
hr_status hr__spec_view_as(hr__spec *spec, const hr_dtype *dtype, hr_error *err);
/* As many elements of dtype, from the elements of `from` (which may be unknown bytes
 * that hold items of from->dtype). HR_ERR_OVERFLOW. */
hr_status hr__spec_retype(hr__spec *spec, const hr__spec *from, const hr_dtype *dtype,
                          hr_error *err);

struct hr__codec_type;
struct hr__custom_codecs;
struct hr__sink;
struct hr__leaves;
struct hr__stage;

/* One codec of one array: immutable once parsed, shared by all threads. */
typedef struct hr__codec {
    const struct hr__codec_type *type;
    const char *name;   /* as the metadata spells it, for messages */
    hr__spec decoded;   /* what decode produces */
    hr__spec encoded;   /* what decode takes */
    const void *config; /* the codec's own, in the array's arena */
} hr__codec;

typedef enum hr__codec_dialect {
    HR__DIALECT_V2, /* numcodecs JSON: {"id": …}; also v3 names "numcodecs.x" */
    HR__DIALECT_V3  /* {"name": …, "configuration": …} */
} hr__codec_dialect;

/* What parse gets. It reads config (an object, or NULL where the metadata had none),
 * checks it, fills codec->config (allocated from arena) and codec->encoded (preset to a
 * copy of codec->decoded for ARRAY_TO_ARRAY, and to unknown bytes bounded by
 * hr__encoded_bound otherwise). codec->decoded is the input and may not be changed, but
 * for the v2 rule that a filter's own dtype may replace codec->decoded.dtype's kind. */
typedef struct hr__codec_parse {
    hr__codec_dialect dialect;
    json_object *config;
    hr__arena *arena;
    const struct hr__custom_codecs *custom; /* for the chains inside */
    hr__codec *codec;
    int depth; /* nesting of sharding, bounded */
} hr__codec_parse;

/* One decode call. src is borrowed. dst holds dst_nbytes bytes: exactly the decoded size
 * where codec->decoded.nbytes is known, else the room there is. The codec sets out and
 * out_nbytes: out == dst, or a place inside src for codecs that only strip bytes. */
typedef struct hr__decode {
    hr__worker *worker;    /* per-thread contexts and scratch */
    struct hr__heap *heap; /* for elements of VLEN kinds; NULL elsewhere */
    const struct hr_read_context *reading; /* for custom codecs; NULL: nothing is known */
    bool skip_checksums;
    const atomic_bool *cancelled; /* NULL: nobody cancels */
    const uint8_t *src;
    size_t src_nbytes;
    uint8_t *dst;
    size_t dst_nbytes;
    const uint8_t *out;
    size_t out_nbytes;
    const hr__wanted *wanted; /* of the output; NULL: all. For `partial` codecs, … */
    size_t left_out_nbytes;   /* … which set this where they did not make all */
    bool grow; /* set with HR_ERR_DATA: dst was too small and the size was not known */
} hr__decode;

typedef struct hr__codec_type {
    const char *name;            /* "zstd" */
    const char *const *v2_ids;   /* NULL-terminated, or NULL: not in v2 */
    const char *const *v3_names; /* NULL-terminated, or NULL: not in v3; "numcodecs.<v2
                                    id>" is understood for every v2 id besides */
    hr__codec_class klass;       /* in v3; in v2 every codec may stand as filter or
                                    compressor */
    const char *library;         /* "libzstd", or "built in" */
    hr_status (*parse)(hr__codec_parse *p, hr_error *err);
    /* Malformed input gives HR_ERR_DATA or HR_ERR_CHECKSUM and a message with the sizes;
     * never reads or writes outside src and dst; time linear in src + dst. Output
     * shorter than dst_nbytes where the size is known is an error of the chain, which
     * checks it: a codec need not. */
    hr_status (*decode)(const hr__codec *codec, hr__decode *d, hr_error *err);
    uint32_t scratch_ratio; /* what its kernels need beside their output, at most: so many
                               times as much, as a rule */
    uint32_t max_ratio; /* no encoded byte makes more decoded ones; 0: no limit known */
    bool partial;       /* decode and leaves may leave out what is not wanted */
    bool view; /* out is always a part of src: no dst is needed (dst may be NULL) */
    bool vlen; /* decodes to elements of variable length too */
    /* Where the output can be made in order, in pieces that stay in the cache: decode
     * with d->dst as the buffer, giving it to the sink each time it is full, and what is
     * left at the end; HR_ERR_DATA once the sink has had enough. HR_ERR_UNSUPPORTED: not
     * these data; the sink may have seen some. */
    hr_status (*decode_pieces)(const hr__codec *codec, hr__decode *d,
                               const struct hr__sink *sink, hr_error *err);
    /* Where kernels can decode it (see leaves.h): describe d->src, of which d->dst_nbytes
     * must come, as leaves. HR_ERR_UNSUPPORTED where this chunk is for the host. */
    hr_status (*leaves)(const hr__codec *codec, const hr__decode *d,
                        struct hr__leaves *out, hr_error *err);
    /* Where items are decoded one by one, by a list that cannot fail: append that.
     * `items` is the type of those in plain memory from which they are made, and may be
     * changed by a codec that finds it so (then no step stands before it). False: not by
     * steps. */
    bool (*steps)(const hr__codec *codec, hr_dtype *items, hr__steps *out);
    /* Where a kernel of its own decodes it, between leaves and steps: say how. False: not
     * this configuration. */
    bool (*stage)(const hr__codec *codec, struct hr__stage *out);
    bool itemwise; /* each item from one item, whatever the shape: array to array */
    bool lays_out; /* leaves only says how bytes lie, on top of another codec's leaves */
    bool may_shuffle; /* leaves may leave the bytes shuffled */
} hr__codec_type;

/* The chain of a chunk: codecs[0] is the first in the metadata's order (nearest the
 * array); decode runs from the last to the first. `decoded` is the chunk as it was
 * given, but for the byte order (and fill) that keep_order leaves open. */
typedef struct hr__chain {
    int32_t ncodecs;
    hr__codec *codecs;
    hr__spec decoded; /* the chunk */
    hr__spec encoded; /* what the store holds */
} hr__chain;

#define HR__CHAIN_MAX 16
#define HR__CODEC_MAX_DEPTH 8

/* codec/registry.c: the one explicit table, then the caller's (custom.h; NULL: none). */
const hr__codec_type *hr__codec_find_v2(const struct hr__custom_codecs *custom,
                                        const char *id);
/* Also finds "numcodecs.x"; *dialect says whose configuration keys to expect. */
const hr__codec_type *hr__codec_find_v3(const struct hr__custom_codecs *custom,
                                        const char *name, hr__codec_dialect *dialect);
const hr__codec_type *hr__codec_type_at(size_t i); /* NULL past the end */
/* Why a codec that is known is not decoded ("…: decoding it can run code"), or NULL. */
const char *hr__codec_refusal(const char *name);

/* codec/chain.c. `custom` are the codecs that there are beside the table's (custom.h;
 * NULL: none). v3: `codecs` is the metadata's list (objects or bare names). Leading
 * transposes may have been taken off by the caller, so `first` says where to begin.
 * Checks the order array→array*, array→bytes, bytes→bytes*. Unknown codec:
 * HR_ERR_UNSUPPORTED naming it (unless it says "must_understand": false, then it is
 * left out). */
hr_status hr__chain_parse_v3(json_object *codecs, int32_t first, const hr__spec *chunk,
                             hr__arena *arena, const struct hr__custom_codecs *custom,
                             int depth, hr__chain *chain, hr_error *err);
/* v2: filters (list or NULL) in order, then compressor (object or NULL). */
hr_status hr__chain_parse_v2(json_object *filters, json_object *compressor,
                             const hr__spec *chunk, hr__arena *arena,
                             const struct hr__custom_codecs *custom, hr__chain *chain,
                             hr_error *err);

/* Name ("zstd") and configuration of one entry of a v3 codec list: an object with
 * "name", or a bare string. config may be NULL. HR_ERR_METADATA for anything else. */
hr_status hr__codec_entry_v3(json_object *entry, const char **name, json_object **config,
                             hr_error *err);

/* Decode a whole chunk. With dst: the decoded bytes (chain->decoded.nbytes of them) end
 * up there. With dst NULL: *out points to them, in src or in the worker's scratch, until
 * the worker decodes again. Sizes are checked: result and error name actual and expected.
 * d supplies worker, heap, skip_checksums, src, src_nbytes, dst, wanted. */
hr_status hr__chain_decode(const hr__chain *chain, hr__decode *d, hr_error *err);

/* The codec that may leave out parts of the chunk, since bytes of its output are those of
 * the chunk; −1: none. */
int32_t hr__chain_partial(const hr__chain *chain);

/* Could so many bytes make what the codec is to give? Asked before memory is allocated by
 * the claim of the metadata. HR_ERR_DATA. */
hr_status hr__codec_check_ratio(const hr__codec *codec, size_t src_nbytes, hr_error *err);

/* The same of all codecs of a chain, which is to make a chunk of so many bytes. */
hr_status hr__chain_check_ratio(const hr__chain *chain, uint64_t src_nbytes,
                                hr_error *err);

/* Takes decoded bytes in order. */
typedef struct hr__sink {
    void *user;
    /* False: enough, nothing that follows is wanted. */
    bool (*put)(void *user, const uint8_t *bytes, size_t nbytes);
} hr__sink;

/* Can the chain give its chunk in pieces? */
bool hr__chain_has_pieces(const hr__chain *chain);
/* Decode a chunk into the sink, piece_nbytes at a time (the last may be shorter). Sizes
 * are checked as by hr__chain_decode, but only once all is delivered. HR_ERR_UNSUPPORTED
 * as for the codec: decode it whole. d as there; dst is not used. */
hr_status hr__chain_decode_pieces(const hr__chain *chain, hr__decode *d,
                                  size_t piece_nbytes, const hr__sink *sink,
                                  hr_error *err);

/* No codec at all, or only views that strip nothing: the stored bytes are the chunk's,
 * so a part can be read alone. */
bool hr__chain_is_raw(const hr__chain *chain);

/* Largest encoding of nbytes that a decoder accepts from its inner neighbour. Generous:
 * no real encoder expands that much; keeps hostile streams bounded. Saturates. */
uint64_t hr__encoded_bound(uint64_t nbytes);
/* The same for elements of variable length, whose size the metadata does not bound. */
#define HR__VLEN_MAX_NBYTES ((uint64_t)1 << 32)

#endif
