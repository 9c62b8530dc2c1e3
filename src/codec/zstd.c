/* Zstandard, through libzstd. SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_d_forceIgnoreChecksum */
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/checked.h"

static void *create_context(void) {
    return ZSTD_createDCtx();
}

static void destroy_context(void *object) {
    (void)ZSTD_freeDCtx(object);
}

/* Sum of the sizes that the frames declare. */
static uint64_t declared_nbytes(const uint8_t *src, size_t src_nbytes) {
    uint64_t sum = 0;
    while (src_nbytes > 0) {
        unsigned long long size = ZSTD_getFrameContentSize(src, src_nbytes);
        size_t used = ZSTD_findFrameCompressedSize(src, src_nbytes);
        if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
            ZSTD_isError(used) || !hr__add_u64(sum, size, &sum)) {
            return HR__SIZE_UNKNOWN;
        }
        src += used;
        src_nbytes -= used;
    }
    return sum;
}

static hr_status explain(hr__decode *d, size_t code, hr_error *err) {
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_dstSize_tooSmall:
        return hr__fail_room(d, "zstd data", declared_nbytes(d->src, d->src_nbytes), err);
    case ZSTD_error_dictionary_wrong:
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd frame needs dictionary %u",
                        ZSTD_getDictID_fromFrame(d->src, d->src_nbytes));
    case ZSTD_error_checksum_wrong:
        return hr__fail(err, HR_ERR_CHECKSUM, "zstd frame's checksum does not match");
    case ZSTD_error_memory_allocation:
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libzstd");
    default:
        return hr__fail(err, HR_ERR_DATA,
                        "%zu bytes of zstd data, expected to make %zu: %s", d->src_nbytes,
                        d->dst_nbytes, ZSTD_getErrorName(code));
    }
}

static hr_status open_context(const hr__decode *d, ZSTD_DCtx **context, hr_error *err) {
    *context = hr__worker_slot(d->worker, HR__SLOT_ZSTD, create_context, destroy_context);
    if (*context == NULL) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libzstd");
    }
    ZSTD_forceIgnoreChecksum_e check =
        d->skip_checksums ? ZSTD_d_ignoreChecksum : ZSTD_d_validateChecksum;
    (void)ZSTD_DCtx_reset(*context, ZSTD_reset_session_and_parameters);
    (void)ZSTD_DCtx_setParameter(*context, ZSTD_d_forceIgnoreChecksum, (int)check);
    return HR_OK;
}

/* So much of src at a time where there is more than LARGE_NBYTES: a cancelled read shall
 * end soon. */
#define SLICE_NBYTES ((size_t)1 << 20)
#define LARGE_NBYTES ((size_t)8 << 20)

/* Straight to dst, which stays where it is, so that no window is needed. */
static hr_status decode_slices(hr__decode *d, ZSTD_DCtx *context, size_t *made,
                               hr_error *err) {
    ZSTD_inBuffer in = {.src = d->src};
    ZSTD_outBuffer out = {.dst = d->dst, .size = d->dst_nbytes};
    size_t more = 0;
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_stableOutBuffer, 1);
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX);
    while (in.pos < d->src_nbytes) {
        size_t left = d->src_nbytes - in.pos;
        in.size = in.pos + (left < SLICE_NBYTES ? left : SLICE_NBYTES);
        size_t before = in.pos;
        HR__TRY(hr__decode_check(d, err));
        more = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(more)) {
            *made = more;
            return HR_OK;
        }
        if (in.pos == before) {
            break;
        }
    }
    *made = more == 0 && in.pos == d->src_nbytes ? out.pos
                                                 : (size_t)-ZSTD_error_srcSize_wrong;
    return HR_OK;
}

hr_status hr__zstd_decode(hr__decode *d, hr_error *err) {
    ZSTD_DCtx *context;
    size_t made;
    HR__TRY(open_context(d, &context, err));
    if (d->src_nbytes > LARGE_NBYTES) {
        HR__TRY(decode_slices(d, context, &made, err));
    } else {
        /* One pass from src to dst: takes any number of frames and needs no window. */
        made = ZSTD_decompressDCtx(context, d->dst, d->dst_nbytes, d->src, d->src_nbytes);
    }
    if (ZSTD_isError(made)) {
        return explain(d, made, err);
    }
    d->out = d->dst;
    d->out_nbytes = made;
    return HR_OK;
}

/* A stream keeps a window of the frame's: larger ones are decoded whole, in one pass that
 * needs none. */
#define PIECES_WINDOW_LOG 23

static hr_status explain_pieces(hr__decode *d, size_t code, hr_error *err) {
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd window is too large for pieces");
    }
    return explain(d, code, err);
}

static hr_status put(ZSTD_outBuffer *out, const hr__decode *d, const hr__sink *sink,
                     hr_error *err) {
    if (out->pos > 0 && !sink->put(sink->user, d->dst, out->pos)) {
        return hr__fail(err, HR_ERR_DATA,
                        "%zu bytes of zstd data make more bytes than the chunk has",
                        d->src_nbytes);
    }
    out->pos = 0;
    return HR_OK;
}

/* Frames follow each other as in the one pass: more is 0 at the end of each. */
static hr_status decode_pieces(const hr__codec *codec, hr__decode *d,
                               const hr__sink *sink, hr_error *err) {
    (void)codec;
    ZSTD_DCtx *context;
    HR__TRY(open_context(d, &context, err));
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, PIECES_WINDOW_LOG);
    ZSTD_inBuffer in = {.src = d->src, .size = d->src_nbytes};
    ZSTD_outBuffer out = {.dst = d->dst, .size = d->dst_nbytes};
    size_t more = 0;
    do {
        HR__TRY(hr__decode_check(d, err));
        size_t in_before = in.pos;
        size_t out_before = out.pos;
        more = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(more)) {
            return explain_pieces(d, more, err);
        }
        bool stuck = in.pos == in_before && out.pos == out_before;
        if (out.pos == out.size) {
            HR__TRY(put(&out, d, sink, err));
        } else if (stuck && more > 0) {
            return hr__fail(err, HR_ERR_DATA, "%zu bytes of zstd data end within a frame",
                            d->src_nbytes);
        }
    } while (more > 0 || in.pos < in.size);
    return put(&out, d, sink, err);
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {
        {"level", HR__PARAM_INT}, {"checksum", HR__PARAM_BOOL}, {NULL, 0}};
    return hr__config_params(p, params, err);
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    return hr__settle_grow(codec, d, hr__zstd_decode(d, err));
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    return hr__zstd_leaf(d, d->src, d->src_nbytes, 0, d->dst_nbytes, out, err);
}

const hr__codec_type hr__codec_zstd = {
    .name = "zstd",
    .v2_ids = (const char *const[]){"zstd", NULL},
    .v3_names = (const char *const[]){"zstd", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "libzstd",
    .parse = parse,
    .decode = decode,
    .decode_pieces = decode_pieces,
    .leaves = leaves,
    .scratch_ratio = HR__ZSTD_SCRATCH_RATIO,
    .max_ratio = 1 << 15, /* 128 KiB from a block of 4 bytes */
};
