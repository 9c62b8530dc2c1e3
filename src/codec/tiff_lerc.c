/* LERC in TIFF, through liblerc. SPDX-License-Identifier: Apache-2.0 */
#include <Lerc_c_api.h>

#include <math.h>
#include <string.h>

#include "codec/codecs.h"
#include "codec/tiff_image.h"
#include "core/checked.h"

/* Places in what lerc_getBlobInfo gives. */
enum { TYPE = 1, DEPTH = 2, COLUMNS = 3, ROWS = 4, BANDS = 5, MASKS = 8, NINFO = 11 };

/* liblerc's number of a type; −1: it has none. */
static int lerc_type(const hr_dtype *t) {
    if (t->kind == HR_KIND_FLOAT) {
        return t->itemsize == 4 ? 6 : t->itemsize == 8 ? 7 : -1;
    }
    bool is_unsigned = t->kind == HR_KIND_UINT;
    bool is_integer = is_unsigned || t->kind == HR_KIND_INT;
    int size = t->itemsize == 1 ? 0 : t->itemsize == 2 ? 2 : t->itemsize == 4 ? 4 : -1;
    return is_integer && size >= 0 ? size + is_unsigned : -1;
}

/* Samples of a pixel are the depth of one band, or as many bands of depth 1. */
static hr_status check_blob(const hr__codec *codec, const unsigned *info,
                            unsigned samples, hr_error *err) {
    const hr__image_config *c = codec->config;
    HR__TRY(hr__image_check(c, info[COLUMNS], info[ROWS], samples, err));
    bool are_bands = info[BANDS] == samples && info[DEPTH] == 1;
    if (info[COLUMNS] != c->width || info[ROWS] != c->nrows ||
        (info[BANDS] != 1 && !are_bands) ||
        (info[MASKS] > 1 && info[MASKS] != info[BANDS]) ||
        (int)info[TYPE] != lerc_type(&codec->decoded.dtype)) {
        return hr__fail(err, HR_ERR_DATA,
                        "LERC blob of %u x %u pixels, %u bands, %u masks, type %u in a "
                        "block of %u x %u",
                        info[COLUMNS], info[ROWS], info[BANDS], info[MASKS], info[TYPE],
                        c->width, c->nrows);
    }
    return HR_OK;
}

/* What the masks (one, or one for each sample) leave out is NaN, where there is one; of
 * integers it is left as liblerc made it. Blobs have the bytes of items in the order of
 * the file. */
static void apply_masks(const hr_dtype *t, uint8_t *dst, const uint8_t *masks,
                        size_t nmasks, size_t npixels, size_t samples) {
    const float f32 = NAN;
    const double f64 = NAN;
    uint8_t nan[8];
    if (t->kind != HR_KIND_FLOAT) {
        return;
    }
    memcpy(nan, t->itemsize == 4 ? (const void *)&f32 : (const void *)&f64, t->itemsize);
    if (t->byte_order == HR_BIG) {
        hr__dtype_swap(t, nan, nan, 1);
    }
    for (size_t k = 0; k < samples; k++) {
        const uint8_t *mask = masks + (nmasks > 1 ? k * npixels : 0);
        for (size_t i = 0; i < npixels; i++) {
            if (mask[i] == 0) {
                memcpy(dst + (i * samples + k) * t->itemsize, nan, t->itemsize);
            }
        }
    }
}

/* Bands that lie one after the other, as those with masks of their own do. */
static void interleave(uint8_t *dst, const uint8_t *bands, size_t nbands, size_t npixels,
                       size_t size) {
    for (size_t k = 0; k < nbands; k++) {
        for (size_t i = 0; i < npixels; i++) {
            memcpy(dst + (i * nbands + k) * size, bands + (k * npixels + i) * size, size);
        }
    }
}

/* Opacity, where the writer has made it the mask: spread pixels, from the end. */
static void spread_alpha(uint8_t *dst, const uint8_t *mask, size_t npixels,
                         size_t samples) {
    for (size_t i = npixels; i-- > 0;) {
        memmove(dst + i * samples, dst + i * (samples - 1), samples - 1);
        dst[i * samples + samples - 1] = mask[i] != 0 ? 255 : 0;
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr__image_config *c = codec->config;
    const hr_dtype *t = &codec->decoded.dtype;
    unsigned info[NINFO] = {0};
    size_t npixels = (size_t)c->width * c->nrows;
    if (d->src_nbytes > UINT32_MAX ||
        lerc_getBlobInfo(d->src, (unsigned)d->src_nbytes, info, NULL, NINFO, 0) != 0) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes are no LERC blob", d->src_nbytes);
    }
    size_t nmasks = info[MASKS], nbands = info[BANDS];
    unsigned channels = nbands > 1 ? info[BANDS] : info[DEPTH];
    bool has_alpha = nbands == 1 && channels + 1 == c->samples && t->itemsize == 1;
    HR__TRY(check_blob(codec, info, channels + has_alpha, err));
    size_t bands_nbytes = nbands > 1 ? codec->decoded.nbytes : 0;
    size_t masks_nbytes = npixels * (nmasks > 1 ? nmasks : 1);
    hr__scratch *scratch = &d->worker->part[d->worker->level];
    uint8_t *bands =
        hr__scratch_reserve(d->worker->allocator, scratch, bands_nbytes + masks_nbytes);
    if (bands == NULL) {
        return hr__fail_memory(err, bands_nbytes + masks_nbytes);
    }
    uint8_t *masks = bands + bands_nbytes;
    uint8_t *image = nbands > 1 ? bands : d->dst;
    memset(masks, 1, masks_nbytes);
    memset(image, 0, codec->decoded.nbytes);
    lerc_status code = lerc_decode(
        d->src, (unsigned)d->src_nbytes, (int)nmasks, nmasks > 0 ? masks : NULL,
        (int)info[DEPTH], (int)c->width, (int)c->nrows, (int)nbands, info[TYPE], image);
    if (code != 0) {
        return hr__fail(err, HR_ERR_DATA, "LERC blob of %zu bytes: liblerc's error %u",
                        d->src_nbytes, code);
    }
    if (nbands > 1) {
        interleave(d->dst, bands, nbands, npixels, t->itemsize);
    }
    if (has_alpha) {
        spread_alpha(d->dst, masks, npixels, c->samples);
    } else if (nmasks > 0) {
        apply_masks(t, d->dst, masks, nmasks, npixels, c->samples);
    }
    d->out = d->dst;
    d->out_nbytes = codec->decoded.nbytes;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    if (lerc_type(&p->codec->decoded.dtype) < 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "LERC of such samples");
    }
    return hr__image_parse(p, err);
}

const hr__codec_type hr__codec_tiff_lerc = {
    .name = "tiff_lerc",
    .v2_ids = (const char *const[]){"tiff_lerc", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "liblerc",
    .parse = parse,
    .decode = decode,
    .max_ratio = 1 << 25, /* an image of one value takes some 70 bytes, up to 2 GiB */
};
