/* Pixels of YCbCr whose chroma is that of several. SPDX-License-Identifier: Apache-2.0
 *
 * Rows of units of `across` × `down` pixels: the luma of each, row by row, then one Cb
 * and one Cr, which all of them get. Units reach beyond the right and lower edges. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/decode.h"
#include "core/checked.h"
#include "core/json.h"

enum { NSAMPLES = 3, CHROMA = 2, MOST_ACROSS = 4 };

typedef struct config {
    size_t width, nrows, across, down; /* pixels */
    size_t itemsize, unit_nbytes;
} config;

/* The pixels of a unit that are in the block, from (y, x) on. */
static void unpack_unit(const config *c, uint8_t *dst, const uint8_t *unit, size_t y,
                        size_t x) {
    const uint8_t *chroma = unit + c->across * c->down * c->itemsize;
    for (size_t r = 0; r < c->down && y + r < c->nrows; r++) {
        uint8_t *pixel = dst + ((y + r) * c->width + x) * NSAMPLES * c->itemsize;
        for (size_t k = 0; k < c->across && x + k < c->width; k++) {
            memcpy(pixel, unit + (r * c->across + k) * c->itemsize, c->itemsize);
            memcpy(pixel + c->itemsize, chroma, CHROMA * c->itemsize);
            pixel += NSAMPLES * c->itemsize;
        }
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    if (d->src_nbytes != codec->encoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes of YCbCr, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->encoded.nbytes);
    }
    const uint8_t *unit = d->src;
    for (size_t y = 0; y < c->nrows; y += c->down) {
        for (size_t x = 0; x < c->width; x += c->across, unit += c->unit_nbytes) {
            unpack_unit(c, d->dst, unit, y, x);
        }
    }
    d->out = d->dst;
    d->out_nbytes = codec->decoded.nbytes;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    const uint64_t itemsize = codec->decoded.dtype.itemsize;
    int64_t width, across, down;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "width", 1, INT64_MAX / 64, 1,
                                &width, err));
    HR__TRY(hr__json_member_i64(p->config, codec->name, "across", 1, MOST_ACROSS, 1,
                                &across, err));
    HR__TRY(hr__json_member_i64(p->config, codec->name, "down", 1, MOST_ACROSS, 1, &down,
                                err));
    const uint64_t row = (uint64_t)width * NSAMPLES;
    if (codec->decoded.nbytes == HR__SIZE_UNKNOWN || codec->decoded.nelems % row != 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%llu items are no rows of %lld pixels of YCbCr",
                        (unsigned long long)codec->decoded.nelems, (long long)width);
    }
    config *c = hr__arena_alloc(p->arena, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    *c = (config){.width = (size_t)width,
                  .nrows = codec->decoded.nelems / row,
                  .across = (size_t)across,
                  .down = (size_t)down,
                  .itemsize = itemsize,
                  .unit_nbytes = (size_t)(across * down + CHROMA) * itemsize};
    const uint64_t nacross = (c->width + c->across - 1) / c->across;
    const uint64_t ndown = (c->nrows + c->down - 1) / c->down;
    uint64_t nbytes;
    if (!hr__mul_u64(nacross, ndown, &nbytes) ||
        !hr__mul_u64(nbytes, c->unit_nbytes, &nbytes)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "YCbCr of %lld pixels across",
                        (long long)width);
    }
    codec->config = c;
    codec->encoded = hr__spec_bytes(nbytes);
    return HR_OK;
}

const hr__codec_type hr__codec_tiff_ycbcr = {
    .name = "tiff_ycbcr",
    .v2_ids = (const char *const[]){"tiff_ycbcr", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .max_ratio = NSAMPLES,
};
