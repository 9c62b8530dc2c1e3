/* What decoders share. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_DECODE_H
#define HR_CODEC_DECODE_H

#include "codec/codec.h"

/* The streams that other codecs hold too. They take src, dst, worker and skip_checksums
 * from d, and set out and out_nbytes; with d->grow they say that dst was too small, known
 * size or not. */
hr_status hr__zstd_decode(hr__decode *d, hr_error *err);
hr_status hr__lz4_block_decode(hr__decode *d, hr_error *err); /* a raw block */
hr_status hr__snappy_decode(hr__decode *d, hr_error *err);
hr_status hr__zlib_decode(hr__decode *d, hr_error *err); /* ignores what follows */
hr_status hr__blosclz_decode(hr__decode *d, hr_error *err);

/* Between the parts of a long decode: HR_ERR_CANCELLED once nobody wants it any more. */
hr_status hr__decode_check(const hr__decode *d, hr_error *err);

/* decode of a codec that leaves the bytes as they are: out is src. */
hr_status hr__decode_view(const hr__codec *codec, hr__decode *d, hr_error *err);

/* Record that what `what` holds does not fit: it makes `nbytes`, or an unknown number of
 * bytes more than dst when nbytes is HR__SIZE_UNKNOWN. Sets d->grow. */
hr_status hr__fail_room(hr__decode *d, const char *what, uint64_t nbytes, hr_error *err);

/* Pass status through, leaving d->grow set only where a larger dst may be tried. */
hr_status hr__settle_grow(const hr__codec *codec, hr__decode *d, hr_status status);

/* The number of items in src, and the room for them in dst, of a filter that makes one
 * item of one. HR_ERR_DATA; d->grow is set where dst may be larger next time. */
hr_status hr__filter_nelems(const hr__codec *codec, hr__decode *d, size_t *nelems,
                            hr_error *err);

#endif
