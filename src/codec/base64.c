/* base64 (numcodecs): bytes as text. SPDX-License-Identifier: Apache-2.0 */
#include "codec/codecs.h"
#include "codec/decode.h"
#include "core/checked.h"

static int digit(uint8_t c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    size_t ndigits = d->src_nbytes, nbytes;
    if (d->src_nbytes % 4 != 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "base64 text of %zu bytes, expected groups of 4", d->src_nbytes);
    }
    for (int i = 0; i < 2 && ndigits > 0 && d->src[ndigits - 1] == '='; i++) {
        ndigits--;
    }
    nbytes = ndigits / 4 * 3 + (ndigits % 4 + 1) / 2;
    if (nbytes > d->dst_nbytes) {
        return hr__settle_grow(codec, d, hr__fail_room(d, "base64 text", nbytes, err));
    }
    uint32_t group = 0;
    size_t n = 0;
    for (size_t i = 0; i < ndigits; i++) {
        int value = digit(d->src[i]);
        if (value < 0) {
            return hr__fail(err, HR_ERR_DATA, "byte %zu of base64 text is 0x%02x", i,
                            d->src[i]);
        }
        group = group << 6 | (uint32_t)value;
        if (i % 4 != 0) {
            d->dst[n++] = (uint8_t)(group >> (6 - 2 * (i % 4)));
        }
    }
    d->out = d->dst;
    d->out_nbytes = n;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    (void)err;
    hr__codec *codec = p->codec;
    uint64_t groups = codec->decoded.max_nbytes / 3 + 1, nbytes;
    if (codec->decoded.nbytes != HR__SIZE_UNKNOWN) {
        groups = (codec->decoded.nbytes + 2) / 3;
    }
    if (!hr__mul_u64(groups, 4, &nbytes)) {
        nbytes = INT64_MAX;
    }
    codec->encoded = codec->decoded.nbytes == HR__SIZE_UNKNOWN ? hr__spec_unknown(nbytes)
                                                               : hr__spec_bytes(nbytes);
    return HR_OK;
}

const hr__codec_type hr__codec_base64 = {
    .name = "base64",
    .v2_ids = (const char *const[]){"base64", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
};
