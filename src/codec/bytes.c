/* bytes: items one after the other (Zarr v3). SPDX-License-Identifier: Apache-2.0
 *
 * A view wherever the chunk may keep the stored byte order. Where it may not (a filter
 * stands in front), parse puts the swapping variant in its place. */
#include "codec/codecs.h"
#include "codec/decode.h"
#include "core/json.h"

static hr_status decode_swapping(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr_dtype *big = codec->config;
    if (d->src_nbytes != codec->decoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "chunk decodes to %zu bytes, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->decoded.nbytes);
    }
    hr__dtype_swap(big, d->dst, d->src, codec->decoded.nelems);
    d->out = d->dst;
    d->out_nbytes = d->src_nbytes;
    return HR_OK;
}

static bool steps_swapping(const hr__codec *codec, hr_dtype *items, hr__steps *out) {
    if (out->n > 0) {
        return false;
    }
    *items = *(const hr_dtype *)codec->config;
    return items->kind != HR_KIND_STRUCT;
}

static const hr__codec_type swapping = {
    .name = "bytes",
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .decode = decode_swapping,
    .steps = steps_swapping,
};

static hr_status parse_endian(const hr__codec_parse *p, hr_byte_order *order,
                              hr_error *err) {
    json_object *value = hr__json_get(p->config, "endian");
    if (value != NULL && !hr__json_is(value, "little") && !hr__json_is(value, "big")) {
        return hr__fail(err, HR_ERR_METADATA,
                        "endian is %s, expected \"little\" or \"big\"",
                        json_object_to_json_string(value));
    }
    *order = hr__json_is(value, "big") ? HR_BIG : HR_LITTLE;
    hr_dtype big = p->codec->decoded.dtype;
    big.byte_order = HR_BIG;
    if (value == NULL && big.kind != HR_KIND_STRUCT && hr__dtype_needs_swap(&big)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "\"endian\" is missing, expected for items of %llu bytes",
                        (unsigned long long)big.itemsize);
    }
    return HR_OK;
}

/* The chunk keeps the stored byte order, and its fill gets it. */
static hr_status keep_stored_order(hr__codec_parse *p, const hr_dtype *big,
                                   const hr_dtype *stored, hr_error *err) {
    hr__spec *decoded = &p->codec->decoded;
    if (decoded->fill != NULL) {
        uint8_t *fill = hr__arena_alloc(p->arena, stored->itemsize);
        if (fill == NULL) {
            return hr__fail_memory(err, stored->itemsize);
        }
        hr__dtype_swap(big, fill, decoded->fill, 1);
        decoded->fill = fill;
    }
    decoded->dtype = *stored;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    const hr_dtype *asked = &codec->decoded.dtype;
    hr_byte_order order = HR_LITTLE;
    HR__TRY(parse_endian(p, &order, err));
    hr_dtype stored;
    hr_dtype *big = hr__arena_alloc(p->arena, sizeof *big);
    if (big == NULL || !hr__dtype_in_order(asked, order, p->arena, &stored) ||
        !hr__dtype_in_order(asked, HR_BIG, p->arena, big)) {
        return hr__fail_memory(err, sizeof *asked);
    }
    codec->encoded = hr__spec_bytes(codec->decoded.nbytes);
    codec->encoded.dtype = codec->decoded.dtype; /* for shuffle, which asks its size */
    if (hr__dtype_equal(&stored, asked)) {
        return HR_OK;
    }
    if (!codec->decoded.keep_order) {
        return keep_stored_order(p, big, &stored, err);
    }
    codec->type = &swapping;
    codec->config = big;
    return HR_OK;
}

const hr__codec_type hr__codec_bytes = {
    .name = "bytes",
    .v3_names = (const char *const[]){"bytes", "endian", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = hr__decode_view,
    .view = true,
};
