/* fixedscaleoffset, scale_offset: x / scale + offset. SPDX-License-Identifier: Apache-2.0
 *
 * Items are turned into a working type block by block: double, float, or 64-bit integers.
 * Both steps are rounded to the type whose arithmetic the codec prescribes. */
#include <math.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/json.h"

#define BLOCK_NELEMS 512

typedef struct config {
    hr_dtype arithmetic; /* float16, bfloat16, float32, float64, int64 or uint64 */
    hr_dtype work;       /* what a block holds: float32 for the small ones */
    double scale, offset;
    int64_t int_scale, int_offset;
    uint64_t uint_scale, uint_offset;
} config;

typedef union block {
    float f32[BLOCK_NELEMS];
    double f64[BLOCK_NELEMS];
    int64_t i64[BLOCK_NELEMS];
    uint64_t u64[BLOCK_NELEMS];
} block;

/* --- x / scale + offset over a block --- */

static void scale_f64(const config *c, double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        x[i] = x[i] / c->scale + c->offset;
    }
}

static void scale_f32(const config *c, float *x, size_t n) {
    float scale = (float)c->scale, offset = (float)c->offset;
    for (size_t i = 0; i < n; i++) {
        x[i] = x[i] / scale + offset;
    }
}

static float round_half(float x) {
    return hr__half_to_float(hr__float_to_half(x));
}

static float round_bfloat(float x) {
    return hr__bfloat_to_float(hr__float_to_bfloat(x));
}

static void scale_small(const config *c, float *x, size_t n, float (*round)(float)) {
    float scale = round((float)c->scale), offset = round((float)c->offset);
    for (size_t i = 0; i < n; i++) {
        x[i] = round(round(x[i] / scale) + offset);
    }
}

/* Exact, or the index of the first item that has no exact result. */
static size_t scale_i64(const config *c, int64_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int64_t quotient = x[i];
        if (c->int_scale == -1) {
            if (__builtin_sub_overflow(0, x[i], &quotient)) {
                return i;
            }
        } else if (c->int_scale != 1) { /* division is slow */
            quotient = x[i] / c->int_scale;
            if (quotient * c->int_scale != x[i]) {
                return i;
            }
        }
        if (__builtin_add_overflow(quotient, c->int_offset, &x[i])) {
            return i;
        }
    }
    return n;
}

static size_t scale_u64(const config *c, uint64_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t quotient = c->uint_scale == 1 ? x[i] : x[i] / c->uint_scale;
        if (quotient * c->uint_scale != x[i] ||
            __builtin_add_overflow(quotient, c->uint_offset, &x[i])) {
            return i;
        }
    }
    return n;
}

/* The number of items done: n, unless an integer has no exact result. */
static size_t scale_block(const config *c, block *b, size_t n) {
    switch (c->arithmetic.kind) {
    case HR_KIND_INT:
        return scale_i64(c, b->i64, n);
    case HR_KIND_UINT:
        return scale_u64(c, b->u64, n);
    case HR_KIND_BFLOAT:
        scale_small(c, b->f32, n, round_bfloat);
        return n;
    default:
        break;
    }
    switch (c->arithmetic.itemsize) {
    case 2:
        scale_small(c, b->f32, n, round_half);
        break;
    case 4:
        scale_f32(c, b->f32, n);
        break;
    default:
        scale_f64(c, b->f64, n);
    }
    return n;
}

/* Index of the first of n integers that an item of `to` cannot hold, or n. */
static size_t first_outside(const hr_dtype *to, const block *b, size_t n) {
    unsigned spare = 64 - 8 * (unsigned)to->itemsize;
    size_t i = 0;
    if (to->kind == HR_KIND_INT) {
        while (i < n && b->i64[i] >= INT64_MIN >> spare &&
               b->i64[i] <= INT64_MAX >> spare) {
            i++;
        }
        return i;
    }
    while (i < n && b->u64[i] <= UINT64_MAX >> spare) {
        i++;
    }
    return i;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    const hr_dtype *from = &codec->encoded.dtype;
    const hr_dtype *to = &codec->decoded.dtype;
    bool exact = hr__dtype_is_integer(&c->arithmetic);
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    for (size_t i = 0; i < n; i += BLOCK_NELEMS) {
        block b;
        size_t m = n - i < BLOCK_NELEMS ? n - i : BLOCK_NELEMS;
        hr__dtype_convert(&c->work, (uint8_t *)&b, from, d->src + i * from->itemsize, m);
        size_t done = scale_block(c, &b, m);
        if (exact && done == m) {
            done = first_outside(to, &b, m);
        }
        if (done < m) {
            return hr__fail(err, HR_ERR_DATA,
                            "item %zu has no exact x / scale + offset in its type",
                            i + done);
        }
        hr__dtype_convert(to, d->dst + i * to->itemsize, &c->work, (const uint8_t *)&b,
                          m);
    }
    d->out = d->dst;
    d->out_nbytes = n * to->itemsize;
    return HR_OK;
}

static bool steps(const hr__codec *codec, hr_dtype *items, hr__steps *out) {
    const config *c = codec->config;
    const hr__step arithmetic = {
        .code = HR__STEP_DIV_ADD, .dtype = c->arithmetic, .a = c->scale, .b = c->offset};
    (void)items;
    bool is_float =
        c->arithmetic.kind != HR_KIND_INT && c->arithmetic.kind != HR_KIND_UINT;
    return is_float && !isnan(c->scale) && !isnan(c->offset) &&
           hr__steps_cast(out, &codec->encoded.dtype, &c->arithmetic) &&
           hr__steps_add(out, &arithmetic) &&
           hr__steps_cast(out, &c->arithmetic, &codec->decoded.dtype);
}

/* Integers, which may have no exact result. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const config *c = codec->config;
    const hr_dtype *to = &codec->decoded.dtype;
    bool is_signed = to->kind == HR_KIND_INT;
    *out = (hr__stage){.kind = HR__STAGE_SCALE,
                       .items = *to,
                       .nbytes = codec->decoded.nbytes,
                       .scale = is_signed ? (uint64_t)c->int_scale : c->uint_scale,
                       .offset = is_signed ? (uint64_t)c->int_offset : c->uint_offset};
    out->items.byte_order = HR_LITTLE;
    return (is_signed || to->kind == HR_KIND_UINT) && c->arithmetic.kind == to->kind &&
           hr__dtype_same_kind(to, &codec->encoded.dtype);
}

/* --- fixedscaleoffset (numcodecs) --- */

static hr_status set_config(hr__codec_parse *p, config *c, hr_error *err) {
    bool is_small = c->arithmetic.itemsize == 2;
    c->work = is_small ? hr__dtype(HR_KIND_FLOAT, 4) : c->arithmetic;
    p->codec->config = hr__arena_copy(p->arena, c, sizeof *c);
    return p->codec->config == NULL ? hr__fail_memory(err, sizeof *c) : HR_OK;
}

static hr_status get_number(const hr__codec_parse *p, const char *member, double *out,
                            hr_error *err) {
    json_object *value = hr__json_get(p->config, member);
    if (!hr__json_double(value, out)) {
        return hr__fail(err, HR_ERR_METADATA, "%s is %s, expected a number", member,
                        json_object_to_json_string(value));
    }
    return HR_OK;
}

static hr_status parse_fixed(hr__codec_parse *p, hr_error *err) {
    config c = {0};
    HR__TRY(hr__config_filter(p, "dtype", "astype", err));
    HR__TRY(get_number(p, "scale", &c.scale, err));
    HR__TRY(get_number(p, "offset", &c.offset, err));
    const hr_dtype *encoded = &p->codec->encoded.dtype;
    if (encoded->kind == HR_KIND_COMPLEX || encoded->kind == HR_KIND_BFLOAT) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "codec \"%s\" from complex numbers or bfloat16", p->codec->name);
    }
    /* NumPy divides floats in their own type, everything else as double */
    c.arithmetic =
        hr__dtype(HR_KIND_FLOAT, encoded->kind == HR_KIND_FLOAT ? encoded->itemsize : 8);
    return set_config(p, &c, err);
}

const hr__codec_type hr__codec_fixedscaleoffset = {
    .name = "fixedscaleoffset",
    .v2_ids = (const char *const[]){"fixedscaleoffset", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse_fixed,
    .decode = decode,
    .steps = steps,
};

/* --- scale_offset (Zarr v3 extension) --- */

static size_t encode_i64(const config *c, int64_t *x) {
    int64_t difference;
    return !__builtin_sub_overflow(*x, c->int_offset, &difference) &&
           !__builtin_mul_overflow(difference, c->int_scale, x);
}

static size_t encode_u64(const config *c, uint64_t *x) {
    uint64_t difference;
    return !__builtin_sub_overflow(*x, c->uint_offset, &difference) &&
           !__builtin_mul_overflow(difference, c->uint_scale, x);
}

static void encode_small(const config *c, float *x, float (*round)(float)) {
    float scale = round((float)c->scale), offset = round((float)c->offset);
    *x = round(round(*x - offset) * scale);
}

/* (x - offset) × scale for the first item; the number of items done. */
static size_t encode_one(const config *c, block *b) {
    switch (c->arithmetic.kind) {
    case HR_KIND_INT:
        return encode_i64(c, b->i64);
    case HR_KIND_UINT:
        return encode_u64(c, b->u64);
    case HR_KIND_BFLOAT:
        encode_small(c, b->f32, round_bfloat);
        return 1;
    default:
        break;
    }
    switch (c->arithmetic.itemsize) {
    case 2:
        encode_small(c, b->f32, round_half);
        break;
    case 4:
        b->f32[0] = (b->f32[0] - (float)c->offset) * (float)c->scale;
        break;
    default:
        b->f64[0] = (b->f64[0] - c->offset) * c->scale;
    }
    return 1;
}

/* The codecs behind see the fill value encoded (for inner chunks that a shard lacks). */
static hr_status encode_fill(hr__codec_parse *p, const config *c, hr_error *err) {
    static const uint8_t zero[8];
    const hr__spec *decoded = &p->codec->decoded;
    const hr_dtype *type = &decoded->dtype;
    const uint8_t *fill = decoded->fill != NULL ? decoded->fill : zero;
    bool exact = hr__dtype_is_integer(type);
    block b;
    hr__dtype_convert(&c->work, (uint8_t *)&b, type, fill, 1);
    if (encode_one(c, &b) == 0 || (exact && first_outside(type, &b, 1) == 0)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "the fill value has no (x - offset) * scale in its type");
    }
    uint8_t *encoded = hr__arena_alloc(p->arena, type->itemsize);
    if (encoded == NULL) {
        return hr__fail_memory(err, type->itemsize);
    }
    hr__dtype_convert(type, encoded, &c->work, (const uint8_t *)&b, 1);
    p->codec->encoded.fill = encoded;
    return HR_OK;
}

/* A parameter in each of the working types. */
static hr_status get_scalar(const hr__codec_parse *p, const char *member, int absent,
                            double *real, int64_t *i, uint64_t *u, hr_error *err) {
    const hr_dtype *type = &p->codec->decoded.dtype;
    json_object *value = hr__json_get(p->config, member);
    const hr_dtype f64 = hr__dtype(HR_KIND_FLOAT, 8), i64 = hr__dtype(HR_KIND_INT, 8),
                   u64 = hr__dtype(HR_KIND_UINT, 8);
    uint8_t item[8];
    *real = absent;
    *i = absent;
    *u = (uint64_t)absent;
    if (value == NULL) {
        return HR_OK;
    }
    HR__TRY(hr__config_scalar(value, member, type, item, err));
    hr__dtype_convert(&f64, (uint8_t *)real, type, item, 1);
    hr__dtype_convert(&i64, (uint8_t *)i, type, item, 1);
    hr__dtype_convert(&u64, (uint8_t *)u, type, item, 1);
    return HR_OK;
}

static hr_status parse_scale_offset(hr__codec_parse *p, hr_error *err) {
    static const char *const members[] = {"offset", "scale", NULL};
    const hr_dtype *type = &p->codec->decoded.dtype;
    config c = {0};
    HR__TRY(hr__config_members(p, members, err));
    HR__TRY(hr__config_real_type(p, type, err));
    bool is_integer = hr__dtype_is_integer(type);
    c.arithmetic = hr__dtype((hr_kind)type->kind, is_integer ? 8 : type->itemsize);
    HR__TRY(get_scalar(p, "offset", 0, &c.offset, &c.int_offset, &c.uint_offset, err));
    HR__TRY(get_scalar(p, "scale", 1, &c.scale, &c.int_scale, &c.uint_scale, err));
    if (is_integer && c.scale == 0) {
        return hr__fail(err, HR_ERR_METADATA, "scale is 0, which has no inverse");
    }
    HR__TRY(set_config(p, &c, err));
    return encode_fill(p, p->codec->config, err);
}

const hr__codec_type hr__codec_scale_offset = {
    .name = "scale_offset",
    .v3_names = (const char *const[]){"scale_offset", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse_scale_offset,
    .decode = decode,
    .steps = steps,
    .stage = stage,
};
