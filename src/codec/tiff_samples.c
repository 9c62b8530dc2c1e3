/* Samples of TIFF that are no items of memory. SPDX-License-Identifier: Apache-2.0
 *
 * Integers of any width up to 64 bits: rows of bits, the highest first, padded to bytes,
 * whatever the file's byte order. Floats of 24 bits, and complex integers. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/checked.h"
#include "core/json.h"

typedef struct config {
    unsigned bits; /* of a sample */
    uint64_t sign; /* the highest of them, where samples have a sign */
    bool is_big_endian;
    size_t row, row_nbytes; /* samples, and bytes that hold them */
} config;

/* n ≤ 64 bits from bit `at` on. */
static uint64_t take_bits(const uint8_t *row, size_t at, unsigned n) {
    uint64_t value = 0;
    while (n > 0) {
        unsigned offset = (unsigned)(at % 8);
        unsigned k = 8 - offset < n ? 8 - offset : n;
        value =
            value << k | ((unsigned)row[at / 8] >> (8 - offset - k) & ((1U << k) - 1));
        at += k;
        n -= k;
    }
    return value;
}

static uint64_t load(const uint8_t *p, size_t nbytes, bool is_big_endian) {
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes; i++) {
        value = value << 8 | p[is_big_endian ? i : nbytes - 1 - i];
    }
    return value;
}

static void unpack_integers(const config *c, const hr_dtype *to, uint8_t *dst,
                            const uint8_t *row) {
    for (size_t i = 0; i < c->row; i++) {
        uint64_t value = take_bits(row, i * c->bits, c->bits);
        value = (value ^ c->sign) - c->sign;
        memcpy(dst + i * to->itemsize, &value, to->itemsize);
    }
}

static void unpack_bits(size_t n, uint8_t *dst, const uint8_t *row) {
    for (size_t i = 0; i < n; i++) {
        dst[i] = row[i / 8] >> (7 - i % 8) & 1;
    }
}

/* A sign, 7 bits of exponent, 16 of fraction. */
static uint32_t float24(uint32_t bits) {
    uint32_t sign = bits >> 23 << 31, exponent = bits >> 16 & 0x7f;
    uint32_t fraction = bits & 0xffff;
    if (exponent == 0x7f) {
        return sign | 0xffU << 23 | fraction << 7;
    }
    if (exponent == 0 && fraction == 0) {
        return sign;
    }
    if (exponent == 0) { /* a float of 32 bits has it as a normal number */
        unsigned shift = (unsigned)__builtin_clz(fraction) - 15;
        fraction = fraction << shift & 0xffff;
        return sign | (127 - 63 + 1 - shift) << 23 | fraction << 7;
    }
    return sign | (exponent + 127 - 63) << 23 | fraction << 7;
}

static void unpack_floats(const config *c, uint8_t *dst, const uint8_t *row) {
    for (size_t i = 0; i < c->row; i++) {
        uint32_t bits = float24((uint32_t)load(row + i * 3, 3, c->is_big_endian));
        memcpy(dst + i * sizeof bits, &bits, sizeof bits);
    }
}

static void unpack_complex(const config *c, const hr_dtype *to, uint8_t *dst,
                           const uint8_t *row) {
    hr_dtype from = hr__dtype(HR_KIND_INT, c->bits / 16);
    hr_dtype part = hr__dtype(HR_KIND_FLOAT, to->itemsize / 2);
    from.byte_order = c->is_big_endian && from.itemsize > 1 ? HR_BIG : HR_LITTLE;
    hr__dtype_convert(&part, dst, &from, row, 2 * c->row);
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    const hr_dtype *to = &codec->decoded.dtype;
    if (d->src_nbytes != codec->encoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes of samples, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->encoded.nbytes);
    }
    uint8_t *dst = d->dst;
    for (size_t at = 0; at < d->src_nbytes; at += c->row_nbytes) {
        const uint8_t *row = d->src + at;
        if (to->kind == HR_KIND_FLOAT) {
            unpack_floats(c, dst, row);
        } else if (to->kind == HR_KIND_COMPLEX) {
            unpack_complex(c, to, dst, row);
        } else if (c->bits == 1 && to->kind == HR_KIND_UINT) {
            unpack_bits(c->row, dst, row);
        } else {
            unpack_integers(c, to, dst, row);
        }
        dst += c->row * to->itemsize;
    }
    d->out = d->dst;
    d->out_nbytes = (size_t)(dst - d->dst);
    return HR_OK;
}

/* Rows that end within a byte are counted, others go on like one. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const config *c = codec->config;
    const hr_dtype *to = &codec->decoded.dtype;
    *out = (hr__stage){.kind = HR__STAGE_UNPACK,
                       .items = *to,
                       .nbytes = codec->decoded.nbytes,
                       .check_value = -1,
                       .component_nbytes = (uint32_t)to->itemsize,
                       .width = c->bits,
                       .is_signed = c->sign != 0,
                       .high_first = true,
                       .row = (uint64_t)c->row * c->bits % 8 == 0 ? 0 : c->row};
    return to->kind == HR_KIND_INT || to->kind == HR_KIND_UINT;
}

static bool fits(const hr_dtype *to, int64_t bits) {
    switch (to->kind) {
    case HR_KIND_INT:
    case HR_KIND_UINT:
        return (uint64_t)bits <= 8 * to->itemsize;
    case HR_KIND_FLOAT:
        return to->itemsize == 4 && bits == 24;
    case HR_KIND_COMPLEX:
        return bits == 16 || bits == 32 || bits == 64;
    default:
        return false;
    }
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    const hr__spec *decoded = &codec->decoded;
    int64_t bits, row;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "bits", 1, 64, 1, &bits, err));
    HR__TRY(hr__json_member_i64(p->config, codec->name, "row", 1, INT64_MAX / 128, 1,
                                &row, err));
    if (!fits(&decoded->dtype, bits) || decoded->nbytes == HR__SIZE_UNKNOWN ||
        decoded->nelems % (uint64_t)row != 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%llu items are not made of rows of %lld samples of %lld bits",
                        (unsigned long long)decoded->nelems, (long long)row,
                        (long long)bits);
    }
    config *c = hr__arena_alloc(p->arena, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    uint64_t nbits = (uint64_t)row * (uint64_t)bits, nbytes = 0;
    *c = (config){.bits = (unsigned)bits,
                  .row = (size_t)row,
                  .row_nbytes = nbits / 8 + (nbits % 8 != 0)};
    if (decoded->dtype.kind == HR_KIND_INT) {
        c->sign = UINT64_C(1) << (bits - 1);
    }
    c->is_big_endian = hr__json_is(hr__json_get(p->config, "endian"), "big");
    if (!hr__mul_u64(decoded->nelems / (uint64_t)row, c->row_nbytes, &nbytes)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "samples of %lld bits", (long long)bits);
    }
    codec->config = c;
    codec->encoded = hr__spec_bytes(nbytes);
    return HR_OK;
}

const hr__codec_type hr__codec_tiff_samples = {
    .name = "tiff_samples",
    .v2_ids = (const char *const[]){"tiff_samples", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .stage = stage,
    .max_ratio = 64, /* complex64 of 2 bytes; 64 bits of 1 never occur */
};

/* --- FillOrder 2 --- */

static hr_status decode_reverse(const hr__codec *codec, hr__decode *d, hr_error *err) {
    if (d->src_nbytes > d->dst_nbytes) {
        return hr__settle_grow(codec, d,
                               hr__fail_room(d, "the block", d->src_nbytes, err));
    }
    for (size_t i = 0; i < d->src_nbytes; i++) {
        unsigned b = d->src[i];
        b = (b >> 4 | b << 4) & 0xff;
        b = (b >> 2 & 0x33) | (b << 2 & 0xcc);
        d->dst[i] = (uint8_t)((b >> 1 & 0x55) | (b << 1 & 0xaa));
    }
    d->out = d->dst;
    d->out_nbytes = d->src_nbytes;
    return HR_OK;
}

static hr_status parse_reverse(hr__codec_parse *p, hr_error *err) {
    (void)err;
    p->codec->encoded = hr__spec_plus(&p->codec->decoded, 0);
    return HR_OK;
}

const hr__codec_type hr__codec_tiff_reverse = {
    .name = "tiff_reverse",
    .v2_ids = (const char *const[]){"tiff_reverse", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = parse_reverse,
    .decode = decode_reverse,
    .max_ratio = 1,
};
