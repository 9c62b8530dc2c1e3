/* numcodecs' zfpy, through libzfp. SPDX-License-Identifier: Apache-2.0
 *
 * libzfp does not look where its input ends. So the stream is copied in front of more
 * zeros than one block can take, and its blocks are decoded one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zfp.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "core/checked.h"

#define MAX_NDIM 4
#define EDGE 4 /* of a block, along each axis */
#define MAX_BLOCK 256

/* A block takes at most 2^15 bits, what a header may ask for; few more than 2^14 where it
 * asks for less than a block's own headers. One word is read ahead. */
#define SPARE_NBYTES 8192

typedef union block {
    int32_t int32[MAX_BLOCK];
    int64_t int64[MAX_BLOCK];
    float float32[MAX_BLOCK];
    double float64[MAX_BLOCK];
    uint8_t bytes[MAX_BLOCK * 8];
} block;

/* A stream that is being decoded. */
typedef struct reader {
    zfp_stream zfp;
    zfp_type type;
    uint64_t nbits; /* of input */
    int32_t ndim;
    int64_t n[MAX_NDIM]; /* C order, 1 on axes that the stream lacks in front */
    size_t itemsize;
} reader;

static void decode_int32(zfp_stream *zfp, int32_t ndim, int32_t *to) {
    (void)(ndim == 1   ? zfp_decode_block_int32_1(zfp, to)
           : ndim == 2 ? zfp_decode_block_int32_2(zfp, to)
           : ndim == 3 ? zfp_decode_block_int32_3(zfp, to)
                       : zfp_decode_block_int32_4(zfp, to));
}

static void decode_int64(zfp_stream *zfp, int32_t ndim, int64_t *to) {
    (void)(ndim == 1   ? zfp_decode_block_int64_1(zfp, to)
           : ndim == 2 ? zfp_decode_block_int64_2(zfp, to)
           : ndim == 3 ? zfp_decode_block_int64_3(zfp, to)
                       : zfp_decode_block_int64_4(zfp, to));
}

static void decode_float32(zfp_stream *zfp, int32_t ndim, float *to) {
    (void)(ndim == 1   ? zfp_decode_block_float_1(zfp, to)
           : ndim == 2 ? zfp_decode_block_float_2(zfp, to)
           : ndim == 3 ? zfp_decode_block_float_3(zfp, to)
                       : zfp_decode_block_float_4(zfp, to));
}

static void decode_float64(zfp_stream *zfp, int32_t ndim, double *to) {
    (void)(ndim == 1   ? zfp_decode_block_double_1(zfp, to)
           : ndim == 2 ? zfp_decode_block_double_2(zfp, to)
           : ndim == 3 ? zfp_decode_block_double_3(zfp, to)
                       : zfp_decode_block_double_4(zfp, to));
}

static void decode_block(reader *r, block *b) {
    switch (r->type) {
    case zfp_type_int32:
        decode_int32(&r->zfp, r->ndim, b->int32);
        break;
    case zfp_type_int64:
        decode_int64(&r->zfp, r->ndim, b->int64);
        break;
    case zfp_type_float:
        decode_float32(&r->zfp, r->ndim, b->float32);
        break;
    default:
        decode_float64(&r->zfp, r->ndim, b->float64);
        break;
    }
}

/* Copy what of the block at `at` lies inside the array. */
static void place(const reader *r, const int64_t *at, const block *b, uint8_t *dst) {
    int64_t n[MAX_NDIM];
    for (int i = 0; i < MAX_NDIM; i++) {
        n[i] = r->n[i] - at[i] < EDGE ? r->n[i] - at[i] : EDGE;
    }
    size_t row_nbytes = (size_t)n[3] * r->itemsize;
    for (int64_t i = 0; i < n[0]; i++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t k = 0; k < n[2]; k++) {
                int64_t from = ((i * EDGE + j) * EDGE + k) * EDGE;
                int64_t row = ((at[0] + i) * r->n[1] + at[1] + j) * r->n[2] + at[2] + k;
                memcpy(dst + (size_t)(row * r->n[3] + at[3]) * r->itemsize,
                       b->bytes + (size_t)from * r->itemsize, row_nbytes);
            }
        }
    }
}

static bool next_block(const reader *r, int64_t *at) {
    for (int axis = MAX_NDIM - 1; axis >= 0; axis--) {
        at[axis] += EDGE;
        if (at[axis] < r->n[axis]) {
            return true;
        }
        at[axis] = 0;
    }
    return false;
}

static hr_status check_end(const reader *r, hr_error *err) {
    return (uint64_t)stream_rtell(r->zfp.stream) <= r->nbits
               ? HR_OK
               : hr__fail(err, HR_ERR_DATA,
                          "zfp stream is cut off at the end of %" PRIu64 " bytes",
                          r->nbits / 8);
}

static hr_status decode_blocks(reader *r, uint8_t *dst, hr_error *err) {
    int64_t at[MAX_NDIM] = {0};
    block b;
    do {
        decode_block(r, &b);
        HR__TRY(check_end(r, err));
        place(r, at, &b, dst);
    } while (next_block(r, at));
    return HR_OK;
}

/* "<f8 [10, 20]" */
static void describe(const hr__spec *spec, char *text, size_t capacity) {
    size_t n = hr_dtype_format(&spec->dtype, text, capacity);
    for (int32_t i = 0; i < spec->ndim && n < capacity; i++) {
        n += (size_t)snprintf(text + n, capacity - n, "%s%" PRId64, i == 0 ? " [" : ", ",
                              spec->shape[i]);
    }
    if (n < capacity) {
        (void)snprintf(text + n, capacity - n, spec->ndim > 0 ? "]" : " []");
    }
}

/* numcodecs gave zfp the chunk as it is, before version 0.11 as one axis in the order of
 * memory. */
static bool is_same(const hr__spec *held, const hr__spec *decoded) {
    if (held->nbytes != decoded->nbytes ||
        !hr__dtype_equal(&held->dtype, &decoded->dtype)) {
        return false;
    }
    return held->ndim == 1 || (held->ndim == decoded->ndim &&
                               memcmp(held->shape, decoded->shape,
                                      (size_t)held->ndim * sizeof held->shape[0]) == 0);
}

/* What the header says is in the stream. */
static bool to_spec(const zfp_field *field, hr__spec *held) {
    const size_t n[MAX_NDIM] = {field->nw, field->nz, field->ny, field->nx};
    bool is_int = field->type == zfp_type_int32 || field->type == zfp_type_int64;
    *held = (hr__spec){.dtype = hr__dtype(is_int ? HR_KIND_INT : HR_KIND_FLOAT,
                                          zfp_type_size(field->type))};
    for (int i = 0; i < MAX_NDIM; i++) {
        if (n[i] > 0) {
            held->shape[held->ndim++] = (int64_t)n[i];
        }
    }
    return hr__spec_measure(held);
}

static hr_status read_header(reader *r, const hr__codec *codec, hr_error *err) {
    zfp_field field = {0};
    hr__spec held;
    bool good = zfp_read_header(&r->zfp, &field, ZFP_HEADER_FULL) != 0;
    if (!good || !to_spec(&field, &held)) {
        return hr__fail(err, HR_ERR_DATA,
                        "%" PRIu64 " bytes begin with no zfp header of version %u",
                        r->nbits / 8, zfp_codec_version);
    }
    HR__TRY(check_end(r, err));
    if (!is_same(&held, &codec->decoded)) {
        char actual[128], expected[256];
        describe(&held, actual, sizeof actual);
        describe(&codec->decoded, expected, sizeof expected);
        return hr__fail(err, HR_ERR_DATA, "zfp stream holds %s, expected %s", actual,
                        expected);
    }
    r->type = field.type;
    r->ndim = held.ndim;
    r->itemsize = (size_t)held.dtype.itemsize;
    for (int i = 0; i < MAX_NDIM; i++) {
        int axis = i - (MAX_NDIM - held.ndim);
        r->n[i] = axis < 0 ? 1 : held.shape[axis];
    }
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    hr__worker *w = d->worker;
    size_t padded_nbytes = 0;
    uint8_t *padded = NULL;
    if (d->src_nbytes <= SIZE_MAX / 16) {
        padded_nbytes = d->src_nbytes + SPARE_NBYTES;
        padded = hr__scratch_reserve(w->allocator, &w->part[w->level], padded_nbytes);
    }
    if (padded == NULL) {
        return hr__fail_memory(err, padded_nbytes);
    }
    memcpy(padded, d->src, d->src_nbytes);
    memset(padded + d->src_nbytes, 0, SPARE_NBYTES);
    reader r = {.nbits = (uint64_t)d->src_nbytes * 8};
    r.zfp.stream = stream_open(padded, padded_nbytes);
    if (r.zfp.stream == NULL) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libzfp");
    }
    hr_status status = read_header(&r, codec, err);
    if (status == HR_OK) {
        status = decode_blocks(&r, d->dst, err);
    }
    stream_close(r.zfp.stream);
    if (status == HR_OK) {
        d->out = d->dst;
        d->out_nbytes = d->dst_nbytes;
    }
    return status;
}

/* Blocks at the border are stored whole. */
static uint64_t bound(const hr__spec *decoded) {
    hr__spec whole = *decoded;
    for (int32_t i = 0; i < whole.ndim; i++) {
        whole.shape[i] = hr__ceil_div_i64(whole.shape[i], EDGE) * EDGE;
    }
    return hr__spec_measure(&whole) ? hr__encoded_bound(whole.nbytes) : INT64_MAX;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {
        {"mode", HR__PARAM_INT}, {"precision", HR__PARAM_INT}, {NULL, 0}};
    const hr__spec *decoded = &p->codec->decoded;
    const hr_dtype *t = &decoded->dtype;
    if (decoded->is_bytes || (t->kind != HR_KIND_INT && t->kind != HR_KIND_FLOAT) ||
        t->itemsize < 4 || t->byte_order != HR_LITTLE) {
        char text[64];
        (void)hr_dtype_format(t, text, sizeof text);
        return hr__fail(err, HR_ERR_METADATA, "zfpy stores <i4, <i8, <f4 and <f8, not %s",
                        decoded->is_bytes ? "bytes" : text);
    }
    p->codec->encoded = hr__spec_unknown(bound(decoded));
    return hr__config_params(p, params, err);
}

const hr__codec_type hr__codec_zfpy = {
    .name = "zfpy",
    .v2_ids = (const char *const[]){"zfpy", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "libzfp",
    .parse = parse,
    .decode = decode,
};
