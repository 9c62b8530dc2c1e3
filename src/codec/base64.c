/* base64 (numcodecs): bytes as text. SPDX-License-Identifier: Apache-2.0 */
#include "codec/base64.h"

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

static size_t count_digits(const uint8_t *text, size_t n) {
    for (int i = 0; i < 2 && n > 0 && text[n - 1] == '='; i++) {
        n--;
    }
    return n;
}

size_t hr__base64_nbytes(const uint8_t *text, size_t n) {
    size_t ndigits = count_digits(text, n);
    return ndigits / 4 * 3 + (ndigits % 4 + 1) / 2;
}

size_t hr__base64_decode(const uint8_t *text, size_t n, uint8_t *dst) {
    size_t ndigits = count_digits(text, n);
    uint32_t group = 0;
    for (size_t i = 0; i < ndigits; i++) {
        int value = digit(text[i]);
        if (value < 0) {
            return i;
        }
        group = group << 6 | (uint32_t)value;
        if (i % 4 != 0) {
            *dst++ = (uint8_t)(group >> (6 - 2 * (i % 4)));
        }
    }
    return n;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    if (d->src_nbytes % 4 != 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "base64 text of %zu bytes, expected groups of 4", d->src_nbytes);
    }
    size_t nbytes = hr__base64_nbytes(d->src, d->src_nbytes);
    if (nbytes > d->dst_nbytes) {
        return hr__settle_grow(codec, d, hr__fail_room(d, "base64 text", nbytes, err));
    }
    size_t end = hr__base64_decode(d->src, d->src_nbytes, d->dst);
    if (end < d->src_nbytes) {
        return hr__fail(err, HR_ERR_DATA, "byte %zu of base64 text is 0x%02x", end,
                        d->src[end]);
    }
    d->out = d->dst;
    d->out_nbytes = nbytes;
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
