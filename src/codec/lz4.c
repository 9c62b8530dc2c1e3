/* LZ4, through liblz4: raw blocks behind a 4-byte size.
 * SPDX-License-Identifier: Apache-2.0 */
#include <lz4.h>

#include <limits.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/bytes.h"

#define HEADER_NBYTES 4

hr_status hr__lz4_block_decode(hr__decode *d, hr_error *err) {
    if (d->src_nbytes > INT_MAX || d->dst_nbytes > INT_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "LZ4 block of %zu bytes for %zu, at most %d are possible",
                        d->src_nbytes, d->dst_nbytes, INT_MAX);
    }
    /* It lets a match of offset 0 pass, which the format forbids and kernels refuse: to
     * look for one takes more than half as long as decoding does. */
    int made = LZ4_decompress_safe((const char *)d->src, (char *)d->dst,
                                   (int)d->src_nbytes, (int)d->dst_nbytes);
    if (made < 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "LZ4 block is malformed, or makes more than %zu bytes, near byte "
                        "%d of %zu",
                        d->dst_nbytes, -(made + 1), d->src_nbytes);
    }
    d->out = d->dst;
    d->out_nbytes = (size_t)made;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"acceleration", HR__PARAM_INT}, {NULL, 0}};
    return hr__config_params(p, params, err);
}

static hr_status read_header(const hr__decode *d, uint32_t *said, hr_error *err) {
    if (d->src_nbytes < HEADER_NBYTES) {
        return hr__fail(err, HR_ERR_DATA,
                        "LZ4 data are %zu bytes, less than their %d-byte header",
                        d->src_nbytes, HEADER_NBYTES);
    }
    *said = hr__load_le32(d->src);
    return HR_OK;
}

static hr_status decode_sized(const hr__codec *codec, hr__decode *d, hr_error *err) {
    uint32_t said;
    HR__TRY(read_header(d, &said, err));
    bool known = codec->decoded.nbytes != HR__SIZE_UNKNOWN;
    if (known ? said != d->dst_nbytes : said > d->dst_nbytes) {
        d->grow = true;
        return hr__fail(err, HR_ERR_DATA, "LZ4 header says %u bytes, chunk is %zu", said,
                        d->dst_nbytes);
    }
    hr__decode block = {.src = d->src + HEADER_NBYTES,
                        .src_nbytes = d->src_nbytes - HEADER_NBYTES,
                        .dst = d->dst,
                        .dst_nbytes = said};
    HR__TRY(hr__lz4_block_decode(&block, err));
    if (block.out_nbytes != said) {
        return hr__fail(err, HR_ERR_DATA, "LZ4 block makes %zu bytes, its header says %u",
                        block.out_nbytes, said);
    }
    d->out = block.out;
    d->out_nbytes = block.out_nbytes;
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    return hr__settle_grow(codec, d, decode_sized(codec, d, err));
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    uint32_t said;
    HR__TRY(read_header(d, &said, err));
    if (said != d->dst_nbytes || d->src_nbytes > UINT32_MAX) {
        return hr__fail(err, HR_ERR_DATA, "LZ4 header says %u bytes, chunk is %zu", said,
                        d->dst_nbytes);
    }
    return hr__leaves_add(out, HR__LEAF_LZ4, d->src + HEADER_NBYTES,
                          (uint32_t)d->src_nbytes - HEADER_NBYTES, 0, said, err);
}

const hr__codec_type hr__codec_lz4 = {
    .name = "lz4",
    .v2_ids = (const char *const[]){"lz4", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "liblz4",
    .parse = parse,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = 255,
};
