/* PackBits as TIFF has it: runs and literals of up to 128 bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"

/* Stops where the block is full: some writers' last run reaches beyond. */
static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    (void)codec;
    (void)err;
    size_t at = 0, made = 0;
    while (at < d->src_nbytes && made < d->dst_nbytes) {
        unsigned head = d->src[at++];
        size_t room = d->dst_nbytes - made;
        if (head < 128) {
            size_t n = (size_t)head + 1;
            n = n < d->src_nbytes - at ? n : d->src_nbytes - at;
            n = n < room ? n : room;
            if (n > 0) {
                memcpy(d->dst + made, d->src + at, n);
            }
            at += n;
            made += n;
        } else if (head > 128 && at < d->src_nbytes) {
            size_t n = 257 - (size_t)head;
            n = n < room ? n : room;
            memset(d->dst + made, d->src[at++], n);
            made += n;
        }
    }
    d->out = d->dst;
    d->out_nbytes = made;
    return HR_OK;
}

/* One team makes some 2 GB/s of a stream. The host, which looks at its heads only, is
 * faster than that: of a strip that large it makes streams for many teams. */
#define LARGE_NBYTES (UINT64_C(2) << 20)
#define PART_NBYTES (UINT64_C(128) << 10)

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    if (d->dst_nbytes < LARGE_NBYTES || d->src_nbytes > UINT32_MAX ||
        d->dst_nbytes > UINT32_MAX) {
        return hr__leaves_add_whole(out, HR__LEAF_PACKBITS, d, err);
    }
    size_t src = 0, dst = 0; /* where the part begins */
    for (size_t at = 0, made = 0; at < d->src_nbytes && made < d->dst_nbytes;) {
        size_t head = d->src[at];
        at += head < 128 ? head + 2 : 1 + (head > 128);
        made += head < 128 ? head + 1 : head > 128 ? 257 - head : 0;
        if (made - dst >= PART_NBYTES && made < d->dst_nbytes && at < d->src_nbytes) {
            HR__TRY(hr__leaves_add(out, HR__LEAF_PACKBITS, d->src + src,
                                   (uint32_t)(at - src), dst, (uint32_t)(made - dst),
                                   err));
            src = at;
            dst = made;
        }
    }
    return hr__leaves_add(out, HR__LEAF_PACKBITS, d->src + src,
                          (uint32_t)(d->src_nbytes - src), dst,
                          (uint32_t)(d->dst_nbytes - dst), err);
}

const hr__codec_type hr__codec_tiff_packbits = {
    .name = "tiff_packbits",
    .v2_ids = (const char *const[]){"tiff_packbits", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = hr__config_ignored,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = 64, /* 128 bytes from 2 */
};
