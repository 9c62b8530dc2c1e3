/* Filters that change the type of numbers or nothing: astype, quantize, bitround.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr_dtype *from = &codec->encoded.dtype;
    const hr_dtype *to = &codec->decoded.dtype;
    if (hr__dtype_equal(from, to)) {
        return hr__decode_view(codec, d, err);
    }
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    hr__dtype_convert(to, d->dst, from, d->src, n);
    d->out = d->dst;
    d->out_nbytes = n * to->itemsize;
    return HR_OK;
}

static bool steps(const hr__codec *codec, hr_dtype *items, hr__steps *out) {
    (void)items;
    return hr__dtype_is_number(&codec->encoded.dtype) &&
           hr__dtype_is_number(&codec->decoded.dtype) &&
           hr__steps_cast(out, &codec->encoded.dtype, &codec->decoded.dtype);
}

static hr_status parse_astype(hr__codec_parse *p, hr_error *err) {
    return hr__config_filter(p, "decode_dtype", "encode_dtype", err);
}

static hr_status parse_quantize(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"digits", HR__PARAM_INT}, {NULL, 0}};
    HR__TRY(hr__config_params(p, params, err));
    return hr__config_filter(p, "dtype", "astype", err);
}

static hr_status parse_bitround(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"keepbits", HR__PARAM_INT}, {NULL, 0}};
    return hr__config_params(p, params, err);
}

const hr__codec_type hr__codec_astype = {
    .name = "astype",
    .v2_ids = (const char *const[]){"astype", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse_astype,
    .decode = decode,
    .steps = steps,
};

const hr__codec_type hr__codec_quantize = {
    .name = "quantize",
    .v2_ids = (const char *const[]){"quantize", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse_quantize,
    .decode = decode,
    .steps = steps,
};

const hr__codec_type hr__codec_bitround = {
    .name = "bitround",
    .v2_ids = (const char *const[]){"bitround", NULL},
    .v3_names = (const char *const[]){"bitround", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse_bitround,
    .decode = hr__decode_view,
    .view = true,
};
