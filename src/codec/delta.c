/* delta: differences between neighbours. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"

/* Running sums in place, in the type itself: integers wrap. */
#define RUNNING_SUM(name, type)                                                          \
    static void name(uint8_t *items, size_t n) {                                         \
        for (size_t i = 1; i < n; i++) {                                                 \
            type a, b;                                                                   \
            memcpy(&a, items + (i - 1) * sizeof a, sizeof a);                            \
            memcpy(&b, items + i * sizeof b, sizeof b);                                  \
            b = (type)(a + b);                                                           \
            memcpy(items + i * sizeof b, &b, sizeof b);                                  \
        }                                                                                \
    }

/* Floats round at each step; a sum that is NaN stays that NaN, which compilers, who may
 * change the order of a and b, leave open. `lanes` is 2 for complex numbers, whose parts
 * are summed apart. */
#define FLOAT_SUM(name, type, load, store, infinity, quiet)                              \
    static type name##_nan(type a, type b) {                                             \
        const type magnitude = (type)(infinity | (infinity - 1));                        \
        return (a & magnitude) > infinity   ? (type)(a | quiet)                          \
               : (b & magnitude) > infinity ? (type)(b | quiet)                          \
                                            : (type)(~magnitude | infinity | quiet);     \
    }                                                                                    \
    static void name(uint8_t *items, size_t n, size_t lanes) {                           \
        for (size_t i = lanes; i < n; i++) {                                             \
            type a, b, sum;                                                              \
            memcpy(&a, items + (i - lanes) * sizeof a, sizeof a);                        \
            memcpy(&b, items + i * sizeof b, sizeof b);                                  \
            sum = store(load(a) + load(b));                                              \
            if ((sum & (type)(infinity | (infinity - 1))) > infinity) {                  \
                sum = name##_nan(a, b);                                                  \
            }                                                                            \
            memcpy(items + i * sizeof sum, &sum, sizeof sum);                            \
        }                                                                                \
    }

static float bits_to_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t float_to_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double bits_to_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t double_to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

RUNNING_SUM(sum_u8, uint8_t)
RUNNING_SUM(sum_u16, uint16_t)
RUNNING_SUM(sum_u32, uint32_t)
RUNNING_SUM(sum_u64, uint64_t)
FLOAT_SUM(sum_half, uint16_t, hr__half_to_float, hr__float_to_half, 0x7C00, 0x200)
FLOAT_SUM(sum_bfloat, uint16_t, hr__bfloat_to_float, hr__float_to_bfloat, 0x7F80, 0x40)
FLOAT_SUM(sum_f32, uint32_t, bits_to_float, float_to_bits, UINT32_C(0x7F800000),
          UINT32_C(0x400000))
FLOAT_SUM(sum_f64, uint64_t, bits_to_double, double_to_bits, (UINT64_C(0x7FF) << 52),
          (UINT64_C(1) << 51))

/* As NumPy sums bool: it stays true. */
static void sum_bool(uint8_t *items, size_t n) {
    for (size_t i = 1; i < n; i++) {
        items[i] |= items[i - 1];
    }
}

static void sum_floats(size_t itemsize, uint8_t *items, size_t n, size_t lanes) {
    switch (itemsize) {
    case 2:
        sum_half(items, n, lanes);
        break;
    case 4:
        sum_f32(items, n, lanes);
        break;
    default:
        sum_f64(items, n, lanes);
    }
}

static void sum_integers(size_t itemsize, uint8_t *items, size_t n) {
    switch (itemsize) {
    case 1:
        sum_u8(items, n);
        break;
    case 2:
        sum_u16(items, n);
        break;
    case 4:
        sum_u32(items, n);
        break;
    default:
        sum_u64(items, n);
    }
}

static void running_sum(const hr_dtype *t, uint8_t *items, size_t n) {
    switch (t->kind) {
    case HR_KIND_BOOL:
        sum_bool(items, n);
        break;
    case HR_KIND_FLOAT:
        sum_floats(t->itemsize, items, n, 1);
        break;
    case HR_KIND_BFLOAT:
        sum_bfloat(items, n, 1);
        break;
    case HR_KIND_COMPLEX:
        sum_floats(t->itemsize / 2, items, 2 * n, 2);
        break;
    default:
        sum_integers(t->itemsize, items, n);
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr_dtype *to = &codec->decoded.dtype;
    hr_dtype native = *to;
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    native.byte_order = HR_LITTLE;
    hr__dtype_convert(&native, d->dst, &codec->encoded.dtype, d->src, n);
    running_sum(&native, d->dst, n);
    if (to->byte_order == HR_BIG) {
        hr__dtype_swap(to, d->dst, d->dst, n);
    }
    d->out = d->dst;
    d->out_nbytes = n * to->itemsize;
    return HR_OK;
}

/* Kernels convert numbers of one part only. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const hr_dtype *to = &codec->decoded.dtype, *from = &codec->encoded.dtype;
    if (to->kind == HR_KIND_BOOL || !hr__dtype_is_number(from) ||
        !hr__dtype_is_number(to)) {
        return false;
    }
    bool is_complex = to->kind == HR_KIND_COMPLEX || from->kind == HR_KIND_COMPLEX;
    *out =
        (hr__stage){.kind = HR__STAGE_SUM, .items = *to, .nbytes = codec->decoded.nbytes};
    out->items.byte_order = HR_LITTLE;
    return !is_complex || hr__dtype_same_kind(from, to);
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    return hr__config_filter(p, "dtype", "astype", err);
}

const hr__codec_type hr__codec_delta = {
    .name = "delta",
    .v2_ids = (const char *const[]){"delta", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .stage = stage,
};
