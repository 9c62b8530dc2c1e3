/* WebP in TIFF, through libwebp. SPDX-License-Identifier: Apache-2.0 */
#include <webp/decode.h>

#include "codec/codecs.h"
#include "codec/tiff_image.h"

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr__image_config *c = codec->config;
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(d->src, d->src_nbytes, &features) != VP8_STATUS_OK) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes are no WebP image", d->src_nbytes);
    }
    if ((uint32_t)features.width != c->width || (uint32_t)features.height != c->nrows) {
        return hr__fail(err, HR_ERR_DATA,
                        "WebP image of %d x %d pixels in a block of %u x %u",
                        features.width, features.height, c->width, c->nrows);
    }
    size_t nbytes = codec->decoded.nbytes;
    int stride = (int)(c->width * c->samples);
    const uint8_t *made =
        c->samples == 4
            ? WebPDecodeRGBAInto(d->src, d->src_nbytes, d->dst, nbytes, stride)
            : WebPDecodeRGBInto(d->src, d->src_nbytes, d->dst, nbytes, stride);
    if (made == NULL) {
        return hr__fail(err, HR_ERR_DATA, "WebP image of %zu bytes is malformed",
                        d->src_nbytes);
    }
    d->out = d->dst;
    d->out_nbytes = nbytes;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    HR__TRY(hr__image_parse(p, err));
    const hr__image_config *c = p->codec->config;
    const hr_dtype *items = &p->codec->decoded.dtype;
    return items->itemsize == 1 && (c->samples == 3 || c->samples == 4)
               ? HR_OK
               : hr__fail(err, HR_ERR_UNSUPPORTED,
                          "WebP of %u samples of %llu bytes, expected 3 or 4 of 1",
                          c->samples, (unsigned long long)items->itemsize);
}

const hr__codec_type hr__codec_tiff_webp = {
    .name = "tiff_webp",
    .v2_ids = (const char *const[]){"tiff_webp", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "libwebp",
    .parse = parse,
    .decode = decode,
    .max_ratio = 1 << 25, /* one colour takes some 40 bytes, up to 1 GiB */
};
