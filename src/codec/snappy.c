/* Snappy's raw format, through libsnappy. SPDX-License-Identifier: Apache-2.0 */
#include <snappy-c.h>

#include "codec/codecs.h"
#include "codec/decode.h"

hr_status hr__snappy_decode(hr__decode *d, hr_error *err) {
    const char *src = (const char *)d->src;
    size_t made;
    if (snappy_uncompressed_length(src, d->src_nbytes, &made) != SNAPPY_OK) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes of Snappy data begin with no size",
                        d->src_nbytes);
    }
    if (made > d->dst_nbytes) {
        return hr__fail_room(d, "Snappy data", made, err);
    }
    if (snappy_uncompress(src, d->src_nbytes, (char *)d->dst, &made) != SNAPPY_OK) {
        return hr__fail(err, HR_ERR_DATA, "malformed Snappy data: %zu bytes for %zu",
                        d->src_nbytes, made);
    }
    d->out = d->dst;
    d->out_nbytes = made;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    (void)p;
    (void)err;
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    return hr__settle_grow(codec, d, hr__snappy_decode(d, err));
}

const hr__codec_type hr__codec_snappy = {
    .name = "snappy",
    .v2_ids = (const char *const[]){"snappy", NULL},
    .v3_names = (const char *const[]){"snappy", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "libsnappy",
    .parse = parse,
    .decode = decode,
    .max_ratio = 64, /* a copy of 64 bytes takes 3 */
};
