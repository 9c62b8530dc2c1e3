/* What the codecs made through libraries share. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_LIBRARY_H
#define HR_CODEC_LIBRARY_H

#include "codec/codec.h"

/* Types that a parameter may have; null counts as absent. */
enum {
    HR__PARAM_INT = 1, /* also decimal text, as NCZarr writes numbers */
    HR__PARAM_BOOL = 2,
    HR__PARAM_TEXT = 4
};

typedef struct hr__param {
    const char *name;
    unsigned types;
} hr__param;

/* Parameters that only an encoder uses: check their types. The list ends with a NULL
 * name. HR_ERR_METADATA naming codec and parameter. */
hr_status hr__params_check(const hr__codec_parse *p, const hr__param *params,
                           hr_error *err);

/* The decoders below take src, dst, worker and skip_checksums from d, and set out and
 * out_nbytes; with d->grow they say that dst was too small, known size or not. */
hr_status hr__zstd_decode(hr__decode *d, hr_error *err);
hr_status hr__lz4_block_decode(hr__decode *d, hr_error *err); /* a raw block */
hr_status hr__snappy_decode(hr__decode *d, hr_error *err);
hr_status hr__zlib_decode(hr__decode *d, hr_error *err); /* ignores what follows */
hr_status hr__gzip_decode(hr__decode *d, hr_error *err); /* all members */
hr_status hr__blosclz_decode(hr__decode *d, hr_error *err);

/* Record that what `what` holds does not fit: it makes `nbytes`, or an unknown number of
 * bytes more than dst when nbytes is HR__SIZE_UNKNOWN. Sets d->grow. */
hr_status hr__fail_room(hr__decode *d, const char *what, uint64_t nbytes, hr_error *err);

/* Pass status through, leaving d->grow set only where a larger dst may be tried. */
hr_status hr__settle_grow(const hr__codec *codec, hr__decode *d, hr_status status);

static inline uint32_t hr__load_le32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
