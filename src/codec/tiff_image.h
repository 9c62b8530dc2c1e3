/* Codecs that take whole images. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_TIFF_IMAGE_H
#define HR_CODEC_TIFF_IMAGE_H

#include "codec/codec.h"

/* What codec->config of tiff_jpeg, tiff_lerc and tiff_webp points to. */
typedef struct hr__image_config {
    uint32_t width, samples; /* of a block; samples of a pixel */
    uint32_t height;         /* rows of a whole block: the last one may have fewer */
    uint32_t nrows;          /* of the block that this chain decodes */
    bool to_rgb;             /* YCbCr becomes RGB */
    const uint8_t *tables;   /* JPEG: what all blocks share */
    size_t tables_nbytes;
} hr__image_config;

/* "width", "height", "samples", "color" and "tables" (a list of bytes). Items are left as
 * they are when the configuration is checked. HR_ERR_METADATA. */
hr_status hr__image_parse(hr__codec_parse *p, hr_error *err);

/* An image in the block is as wide as it, and no higher. HR_ERR_DATA. */
hr_status hr__image_check(const hr__image_config *c, uint64_t width, uint64_t height,
                          uint64_t samples, hr_error *err);

#endif
