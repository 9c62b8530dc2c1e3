/* packbits of Zarr v2 and of v3, which differ. SPDX-License-Identifier: Apache-2.0
 *
 * v2 packs bool from the highest bit down, v3 packs a range of the bits of every item
 * from the lowest bit up. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/checked.h"
#include "core/json.h"

/* --- v2 --- */

static hr_status decode_v2(const hr__codec *codec, hr__decode *d, hr_error *err) {
    if (d->src_nbytes == 0) {
        return hr__fail(err, HR_ERR_DATA, "0 bytes, expected the number of padding bits");
    }
    size_t nbits = (d->src_nbytes - 1) * 8, padding = d->src[0];
    if (padding > nbits) {
        return hr__fail(err, HR_ERR_DATA, "%zu padding bits of %zu bits", padding, nbits);
    }
    nbits -= padding;
    if (nbits > d->dst_nbytes) {
        return hr__settle_grow(codec, d, hr__fail_room(d, "packbits", nbits, err));
    }
    for (size_t i = 0; i < nbits; i++) {
        d->dst[i] = d->src[1 + i / 8] >> (7 - i % 8) & 1;
    }
    d->out = d->dst;
    d->out_nbytes = nbits;
    return HR_OK;
}

static bool stage_v2(const hr__codec *codec, hr__stage *out) {
    *out = (hr__stage){.kind = HR__STAGE_UNPACK,
                       .items = hr__dtype(HR_KIND_BOOL, 1),
                       .nbytes = codec->decoded.nbytes,
                       .packed_at = 1,
                       .check_value = (int32_t)(-codec->decoded.nbytes % 8),
                       .component_nbytes = 1,
                       .width = 1,
                       .high_first = true};
    return codec->encoded.nbytes != HR__SIZE_UNKNOWN;
}

static hr_status parse_v2(hr__codec_parse *p, hr_error *err) {
    const hr_dtype boolean = hr__dtype(HR_KIND_BOOL, 1);
    hr__codec *codec = p->codec;
    HR__TRY(hr__spec_view_as(&codec->decoded, &boolean, err));
    if (codec->decoded.nbytes == HR__SIZE_UNKNOWN) {
        codec->encoded = hr__spec_unknown(codec->decoded.max_nbytes / 8 + 2);
        return HR_OK;
    }
    uint64_t nbytes = 1 + codec->decoded.nbytes / 8 + (codec->decoded.nbytes % 8 != 0);
    codec->encoded = hr__spec_bytes(nbytes);
    codec->encoded.is_bytes = false;
    codec->encoded.ndim = 1;
    codec->encoded.shape[0] = (int64_t)nbytes;
    return HR_OK;
}

const hr__codec_type hr__codec_packbits_v2 = {
    .name = "numcodecs.packbits",
    .v2_ids = (const char *const[]){"packbits", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse_v2,
    .decode = decode_v2,
    .stage = stage_v2,
};

/* --- v3 --- */

typedef enum padding_encoding { NO_BYTE, FIRST_BYTE, LAST_BYTE } padding_encoding;

typedef struct config {
    padding_encoding padding_encoding;
    unsigned padding;   /* bits at the end of the packed ones */
    unsigned width;     /* bits that are stored of a component */
    unsigned first_bit; /* where they belong */
    bool is_signed;
    size_t component_nbytes;
    uint64_t ncomponents;
    uint64_t packed_nbytes;
} config;

/* `width` ≤ 64 bits from bit `at` on. */
static uint64_t take_bits(const uint8_t *packed, uint64_t at, unsigned width) {
    uint64_t bits = 0;
    unsigned have = 0;
    while (have < width) {
        unsigned offset = (unsigned)(at % 8), n = 8 - offset;
        n = n < width - have ? n : width - have;
        uint64_t byte = packed[at / 8];
        bits |= (byte >> offset & ((1u << n) - 1)) << have;
        have += n;
        at += n;
    }
    return bits;
}

static uint64_t extend(const config *c, uint64_t bits) {
    bits <<= c->first_bit;
    unsigned used = c->first_bit + c->width;
    if (c->is_signed && used < 64 && (bits >> (used - 1) & 1) != 0) {
        bits |= ~(uint64_t)0 << used;
    }
    return bits;
}

static void unpack(const config *c, uint8_t *dst, const uint8_t *packed) {
    if (c->width == 8 * c->component_nbytes) {
        if (c->packed_nbytes > 0) {
            memcpy(dst, packed, c->packed_nbytes);
        }
        return;
    }
    if (c->width == 1 && c->component_nbytes == 1 && !c->is_signed) {
        for (uint64_t i = 0; i < c->ncomponents; i++) {
            dst[i] = (uint8_t)((packed[i / 8] >> i % 8 & 1) << c->first_bit);
        }
        return;
    }
    for (uint64_t i = 0; i < c->ncomponents; i++) {
        uint64_t bits = extend(c, take_bits(packed, i * c->width, c->width));
        memcpy(dst + i * c->component_nbytes, &bits, c->component_nbytes);
    }
}

static hr_status decode_v3(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    if (d->src_nbytes != codec->encoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "%zu packed bytes, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->encoded.nbytes);
    }
    const uint8_t *packed = c->padding_encoding == FIRST_BYTE ? d->src + 1 : d->src;
    if (c->padding_encoding != NO_BYTE) {
        unsigned stored =
            c->padding_encoding == FIRST_BYTE ? d->src[0] : d->src[c->packed_nbytes];
        if (stored != c->padding) {
            return hr__fail(err, HR_ERR_DATA, "%u padding bits, expected %u", stored,
                            c->padding);
        }
    }
    unpack(c, d->dst, packed);
    d->out = d->dst;
    d->out_nbytes = codec->decoded.nbytes;
    return HR_OK;
}

static bool stage_v3(const hr__codec *codec, hr__stage *out) {
    const config *c = codec->config;
    *out = (hr__stage){
        .kind = HR__STAGE_UNPACK,
        .items = codec->decoded.dtype,
        .nbytes = codec->decoded.nbytes,
        .packed_at = c->padding_encoding == FIRST_BYTE,
        .check_at = c->padding_encoding == LAST_BYTE ? c->packed_nbytes : 0,
        .check_value = c->padding_encoding == NO_BYTE ? -1 : (int32_t)c->padding,
        .component_nbytes = (uint32_t)c->component_nbytes,
        .width = c->width,
        .first_bit = c->first_bit,
        .is_signed = c->is_signed};
    return codec->decoded.dtype.byte_order == HR_LITTLE;
}

static hr_status parse_padding(const hr__codec_parse *p, config *c, hr_error *err) {
    json_object *value = hr__json_get(p->config, "padding_encoding");
    if (value == NULL || hr__json_is(value, "none")) {
        c->padding_encoding = NO_BYTE;
    } else if (hr__json_is(value, "first_byte")) {
        c->padding_encoding = FIRST_BYTE;
    } else if (hr__json_is(value, "last_byte")) {
        c->padding_encoding = LAST_BYTE;
    } else {
        return hr__fail(
            err, HR_ERR_METADATA,
            "padding_encoding is %s, expected \"none\", \"first_byte\" or \"last_byte\"",
            json_object_to_json_string(value));
    }
    return HR_OK;
}

static hr_status parse_bits(const hr__codec_parse *p, config *c, hr_error *err) {
    const hr_dtype *type = &p->codec->decoded.dtype;
    bool is_complex = type->kind == HR_KIND_COMPLEX;
    int64_t first = 0, last = 0;
    if (!hr__dtype_is_number(type)) {
        char text[64];
        (void)hr_dtype_format(type, text, sizeof text);
        return hr__fail(err, HR_ERR_UNSUPPORTED, "packbits of %s: expected numbers",
                        text);
    }
    c->component_nbytes = type->itemsize / (is_complex ? 2 : 1);
    c->ncomponents = p->codec->decoded.nelems * (is_complex ? 2 : 1);
    c->is_signed = type->kind == HR_KIND_INT;
    int64_t all = type->kind == HR_KIND_BOOL ? 1 : (int64_t)c->component_nbytes * 8;
    HR__TRY(hr__json_member_i64(p->config, "packbits", "first_bit", 0, all - 1, 0, &first,
                                err));
    HR__TRY(hr__json_member_i64(p->config, "packbits", "last_bit", first, all - 1,
                                all - 1, &last, err));
    c->first_bit = (unsigned)first;
    c->width = (unsigned)(last - first + 1);
    return HR_OK;
}

static hr_status parse_v3(hr__codec_parse *p, hr_error *err) {
    config c = {0};
    uint64_t nbits;
    HR__TRY(parse_padding(p, &c, err));
    HR__TRY(parse_bits(p, &c, err));
    if (!hr__mul_u64(c.ncomponents, c.width, &nbits)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "%llu items of %u bits",
                        (unsigned long long)c.ncomponents, c.width);
    }
    c.padding = (unsigned)(-nbits % 8);
    c.packed_nbytes = nbits / 8 + (c.padding != 0);
    p->codec->config = hr__arena_copy(p->arena, &c, sizeof c);
    if (p->codec->config == NULL) {
        return hr__fail_memory(err, sizeof c);
    }
    p->codec->encoded = hr__spec_bytes(c.packed_nbytes + (c.padding_encoding != NO_BYTE));
    return HR_OK;
}

const hr__codec_type hr__codec_packbits_v3 = {
    .name = "packbits",
    .v3_names = (const char *const[]){"packbits", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .parse = parse_v3,
    .decode = decode_v3,
    .stage = stage_v3,
};
