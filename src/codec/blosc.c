/* Blosc 1: the container here, its streams through the libraries.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/blosc_frame.h"
#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "codec/shuffle_kernels.h"

typedef hr_status (*stream_decoder)(hr__decode *d, hr_error *err);

static stream_decoder decoder_of(hr__blosc_format format) {
    switch (format) {
    case HR__BLOSC_BLOSCLZ:
        return hr__blosclz_decode;
    case HR__BLOSC_LZ4:
        return hr__lz4_block_decode;
    case HR__BLOSC_SNAPPY:
        return hr__snappy_decode;
    case HR__BLOSC_ZLIB:
        return hr__zlib_decode;
    case HR__BLOSC_ZSTD:
        return hr__zstd_decode;
    }
    return NULL; /* hr__blosc_parse lets no other pass */
}

static hr_status decode_stream(stream_decoder decoder, const hr__decode *d,
                               const hr__blosc_stream *s, uint8_t *dst, hr_error *err) {
    if (s->nbytes == s->decoded_nbytes) {
        memcpy(dst, d->src + s->offset, s->nbytes);
        return HR_OK;
    }
    hr__decode stream = {.worker = d->worker,
                         .skip_checksums = d->skip_checksums,
                         .src = d->src + s->offset,
                         .src_nbytes = s->nbytes,
                         .dst = dst,
                         .dst_nbytes = s->decoded_nbytes};
    HR__TRY(decoder(&stream, err));
    if (stream.out_nbytes != s->decoded_nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc stream at byte %u makes %zu bytes, expected %u", s->offset,
                        stream.out_nbytes, s->decoded_nbytes);
    }
    return HR_OK;
}

static hr_status decode_block(const hr__blosc_frame *f, const hr__blosc_block *block,
                              const hr__decode *d, uint8_t *scratch, uint8_t *dst,
                              hr_error *err) {
    stream_decoder decoder = decoder_of(f->format);
    uint8_t *joined = scratch != NULL ? scratch : dst;
    for (uint32_t j = 0, at = 0; j < block->nstreams; j++) {
        const hr__blosc_stream *stream = &block->streams[j];
        HR__TRY(decode_stream(decoder, d, stream, joined + at, err));
        at += stream->decoded_nbytes;
    }
    if (f->shuffle) {
        hr__unshuffle(f->typesize, block->nbytes, joined, dst);
    } else if (f->bitshuffle) {
        hr__bitunshuffle(f->typesize, block->nbytes, joined, dst);
    }
    return HR_OK;
}

/* Size of block i if nobody wants it; else 0. */
static uint32_t unwanted_nbytes(const hr__blosc_frame *f, const hr__wanted *wanted,
                                uint32_t i) {
    uint32_t at = i * f->blocksize;
    uint32_t left = f->nbytes - at;
    uint32_t nbytes = left < f->blocksize ? left : f->blocksize;
    return hr__wanted_any(wanted, at, (uint64_t)at + nbytes) ? 0 : nbytes;
}

static hr_status decode_blocks(const hr__blosc_frame *f, hr__decode *d, hr_error *err) {
    uint8_t *scratch = NULL;
    if (f->shuffle || f->bitshuffle) {
        hr__worker *w = d->worker;
        scratch = hr__scratch_reserve(w->allocator, &w->part[w->level], f->blocksize);
        if (scratch == NULL) {
            return hr__fail_memory(err, f->blocksize);
        }
    }
    uint32_t unclaimed = f->cbytes;
    for (uint32_t i = 0; i < f->nblocks; i++) {
        hr__blosc_block block;
        uint8_t *dst = d->dst + (size_t)i * f->blocksize;
        uint32_t unwanted = unwanted_nbytes(f, d->wanted, i);
        if (unwanted > 0) {
            d->left_out_nbytes += unwanted;
            continue;
        }
        HR__TRY(hr__decode_check(d, err));
        HR__TRY(hr__blosc_block_at(f, d->src, i, &unclaimed, &block, err));
        HR__TRY(decode_block(f, &block, d, scratch, dst, err));
    }
    return HR_OK;
}

/* --- for kernels --- */

static hr_status add_stream(hr__blosc_format format, const hr__blosc_stream *s,
                            const hr__decode *d, uint64_t dst, hr__leaves *out,
                            hr_error *err) {
    const uint8_t *src = d->src;
    bool is_stored = s->nbytes == s->decoded_nbytes;
    if (!is_stored && format == HR__BLOSC_SNAPPY) {
        return hr__snappy_leaf(src + s->offset, s->nbytes, dst, s->decoded_nbytes, out,
                               err);
    }
    if (!is_stored && format == HR__BLOSC_ZSTD) {
        return hr__zstd_leaf(d, src + s->offset, s->nbytes, dst, s->decoded_nbytes, out,
                             err);
    }
    if (!is_stored && format == HR__BLOSC_ZLIB) {
        return hr__zlib_leaf(d, src + s->offset, s->nbytes, dst, s->decoded_nbytes, out,
                             err);
    }
    hr__leaf_format leaf = is_stored                     ? HR__LEAF_COPY
                           : format == HR__BLOSC_BLOSCLZ ? HR__LEAF_BLOSCLZ
                                                         : HR__LEAF_LZ4;
    return hr__leaves_add(out, leaf, src + s->offset, s->nbytes, dst, s->decoded_nbytes,
                          err);
}

static hr_status block_leaves(hr__blosc_format format, const hr__blosc_block *block,
                              const hr__decode *d, uint64_t dst, hr__leaves *out,
                              hr_error *err) {
    for (uint32_t j = 0; j < block->nstreams; j++) {
        HR__TRY(add_stream(format, &block->streams[j], d, dst, out, err));
        dst += block->streams[j].decoded_nbytes;
    }
    return HR_OK;
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    hr__blosc_frame f;
    HR__TRY(hr__blosc_parse(d->src, d->src_nbytes, &f, err));
    if (f.nbytes != d->dst_nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc header says %u bytes decoded, expected %zu", f.nbytes,
                        d->dst_nbytes);
    }
    if (f.stored) {
        hr__leaves_stored(out, d->src + HR__BLOSC_HEADER_NBYTES);
        return HR_OK;
    }
    if (f.shuffle || f.bitshuffle) { /* else a filter in front may say how bytes lie */
        out->mode = f.shuffle ? HR__SHUFFLE_BYTES : HR__SHUFFLE_BITS;
        out->typesize = f.typesize;
        out->block_nbytes = f.blocksize;
    }
    uint32_t unclaimed = f.cbytes;
    for (uint32_t i = 0; i < f.nblocks; i++) {
        hr__blosc_block block;
        uint32_t unwanted = unwanted_nbytes(&f, d->wanted, i);
        if (unwanted > 0) {
            out->left_out_nbytes += unwanted;
            continue;
        }
        HR__TRY(hr__blosc_block_at(&f, d->src, i, &unclaimed, &block, err));
        HR__TRY(block_leaves(f.format, &block, d, (uint64_t)i * f.blocksize, out, err));
    }
    return HR_OK;
}

/* --- on the host --- */

/* The header alone says what to do: the metadata's parameters are the encoder's. */
static hr_status decode_chunk(const hr__codec *codec, hr__decode *d, hr_error *err) {
    hr__blosc_frame f;
    HR__TRY(hr__blosc_parse(d->src, d->src_nbytes, &f, err));
    bool known = codec->decoded.nbytes != HR__SIZE_UNKNOWN;
    if (known ? f.nbytes != d->dst_nbytes : f.nbytes > d->dst_nbytes) {
        d->grow = true;
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc header says %u bytes decoded, expected %zu", f.nbytes,
                        d->dst_nbytes);
    }
    if (f.stored) {
        d->out = d->src + HR__BLOSC_HEADER_NBYTES;
    } else {
        HR__TRY(decode_blocks(&f, d, err));
        d->out = d->dst;
    }
    d->out_nbytes = f.nbytes;
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    return hr__settle_grow(codec, d, decode_chunk(codec, d, err));
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"cname", HR__PARAM_TEXT},
                                       {"clevel", HR__PARAM_INT},
                                       {"shuffle", HR__PARAM_INT | HR__PARAM_TEXT},
                                       {"blocksize", HR__PARAM_INT},
                                       {"typesize", HR__PARAM_INT},
                                       {NULL, 0}};
    return hr__config_params(p, params, err);
}

const hr__codec_type hr__codec_blosc = {
    .name = "blosc",
    .v2_ids = (const char *const[]){"blosc", NULL},
    .v3_names = (const char *const[]){"blosc", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .leaves = leaves,
    .partial = true,
    .may_shuffle = true,
    .scratch_ratio = HR__ZSTD_SCRATCH_RATIO,
    .max_ratio = 1 << 15, /* of the densest inner format, zstd */
};
