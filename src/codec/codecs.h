/* The codec descriptors that registry.c puts into its table.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_CODECS_H
#define HR_CODEC_CODECS_H

#include "codec/codec.h"

/* through libraries */
extern const hr__codec_type hr__codec_zstd;
extern const hr__codec_type hr__codec_lz4;
extern const hr__codec_type hr__codec_gzip;
extern const hr__codec_type hr__codec_zlib;
extern const hr__codec_type hr__codec_bz2;
extern const hr__codec_type hr__codec_lzma;
extern const hr__codec_type hr__codec_snappy;
extern const hr__codec_type hr__codec_blosc;
extern const hr__codec_type hr__codec_zfpy; /* with HR_HAVE_ZFP */

/* by hand */
extern const hr__codec_type hr__codec_bytes;
extern const hr__codec_type hr__codec_crc32c;
extern const hr__codec_type hr__codec_crc32;
extern const hr__codec_type hr__codec_adler32;
extern const hr__codec_type hr__codec_fletcher32;
extern const hr__codec_type hr__codec_jenkins_lookup3;
extern const hr__codec_type hr__codec_transpose;
extern const hr__codec_type hr__codec_reshape;
extern const hr__codec_type hr__codec_shuffle;
extern const hr__codec_type hr__codec_delta;
extern const hr__codec_type hr__codec_fixedscaleoffset;
extern const hr__codec_type hr__codec_quantize;
extern const hr__codec_type hr__codec_bitround;
extern const hr__codec_type hr__codec_astype;
extern const hr__codec_type hr__codec_scale_offset;
extern const hr__codec_type hr__codec_cast_value;
extern const hr__codec_type hr__codec_packbits_v2;
extern const hr__codec_type hr__codec_packbits_v3;
extern const hr__codec_type hr__codec_categorize;
extern const hr__codec_type hr__codec_vlen_utf8;
extern const hr__codec_type hr__codec_vlen_bytes;
extern const hr__codec_type hr__codec_vlen_array;
extern const hr__codec_type hr__codec_base64;

/* of TIFF */
extern const hr__codec_type hr__codec_tiff_lzw;
extern const hr__codec_type hr__codec_tiff_packbits;
extern const hr__codec_type hr__codec_tiff_predictor2;
extern const hr__codec_type hr__codec_tiff_predictor3;
extern const hr__codec_type hr__codec_tiff_samples;
extern const hr__codec_type hr__codec_tiff_reverse;
extern const hr__codec_type hr__codec_tiff_ycbcr;
extern const hr__codec_type hr__codec_tiff_jpeg; /* with HR_HAVE_JPEG */
extern const hr__codec_type hr__codec_tiff_lerc; /* with HR_HAVE_LERC */
extern const hr__codec_type hr__codec_tiff_webp; /* with HR_HAVE_WEBP */

#endif
