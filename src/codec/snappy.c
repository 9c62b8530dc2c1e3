/* Snappy's raw format, through libsnappy. SPDX-License-Identifier: Apache-2.0 */
#include <snappy-c.h>
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"

/* Seven bits a byte, the low ones first; the highest bit says that more follow. */
static hr_status read_size(const uint8_t *src, size_t src_nbytes, uint32_t *made,
                           uint32_t *size_nbytes, hr_error *err) {
    uint64_t size = 0;
    uint32_t n = 0;
    bool more = true;
    while (more && n < 5 && n < src_nbytes) {
        size |= (uint64_t)(src[n] & 127) << (7 * n);
        more = src[n++] > 127;
    }
    if (more || size > UINT32_MAX) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes of Snappy data begin with no size",
                        src_nbytes);
    }
    *made = (uint32_t)size;
    *size_nbytes = n;
    return HR_OK;
}

/* libsnappy takes a run of 2^32 literals for none: data that have one are malformed.
 * Elements are walked only where bytes like its tag stand. */
static bool has_endless_literals(const uint8_t *src, size_t src_nbytes) {
    static const uint8_t endless[] = {63 << 2, 255, 255, 255, 255};
    const uint8_t *end = src + src_nbytes;
    if (memmem(src, src_nbytes, endless, sizeof endless) == NULL) {
        return false;
    }
    while (src < end) {
        size_t left = (size_t)(end - src);
        if (left >= sizeof endless && memcmp(src, endless, sizeof endless) == 0) {
            return true;
        }
        unsigned kind = *src & 3;
        size_t n = *src >> 2;
        size_t nmore = kind == 3 ? 4 : kind == 0 && n >= 60 ? n - 59 : kind;
        if (left <= nmore) {
            return false;
        }
        if (kind == 0 && nmore > 0) {
            n = 0;
            for (size_t i = nmore; i > 0; i--) {
                n = n << 8 | src[i];
            }
        }
        n = kind == 0 ? n + 1 : 0;
        if (left - 1 - nmore < n) {
            return false;
        }
        src += 1 + nmore + n;
    }
    return false;
}

hr_status hr__snappy_decode(hr__decode *d, hr_error *err) {
    uint32_t said, size_nbytes;
    HR__TRY(read_size(d->src, d->src_nbytes, &said, &size_nbytes, err));
    if (said > d->dst_nbytes) {
        return hr__fail_room(d, "Snappy data", said, err);
    }
    size_t made = said;
    if (has_endless_literals(d->src + size_nbytes, d->src_nbytes - size_nbytes) ||
        snappy_uncompress((const char *)d->src, d->src_nbytes, (char *)d->dst, &made) !=
            SNAPPY_OK) {
        return hr__fail(err, HR_ERR_DATA, "malformed Snappy data: %zu bytes for %zu",
                        d->src_nbytes, made);
    }
    d->out = d->dst;
    d->out_nbytes = made;
    return HR_OK;
}

hr_status hr__snappy_leaf(const uint8_t *src, uint32_t src_nbytes, uint64_t dst,
                          uint32_t dst_nbytes, hr__leaves *out, hr_error *err) {
    uint32_t said, size_nbytes;
    HR__TRY(read_size(src, src_nbytes, &said, &size_nbytes, err));
    if (said != dst_nbytes) {
        return hr__fail(err, HR_ERR_DATA, "Snappy data make %u bytes, expected %u", said,
                        dst_nbytes);
    }
    HR__TRY(hr__leaves_add(out, HR__LEAF_SNAPPY, src + size_nbytes,
                           src_nbytes - size_nbytes, dst, dst_nbytes, err));
    ((hr__leaf *)out->leaves.items)[out->leaves.n - 1].size_nbytes = size_nbytes;
    return HR_OK;
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    if (d->src_nbytes > UINT32_MAX || d->dst_nbytes > UINT32_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "%zu bytes of Snappy data for %zu",
                        d->src_nbytes, d->dst_nbytes);
    }
    return hr__snappy_leaf(d->src, (uint32_t)d->src_nbytes, 0, (uint32_t)d->dst_nbytes,
                           out, err);
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
    .parse = hr__config_ignored,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = 64, /* a copy of 64 bytes takes 3 */
};
