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

/* Bytes of the float that NumPy takes a number to, where it meets floats. */
static uint64_t float_nbytes(const hr_dtype *t) {
    switch (t->kind) {
    case HR_KIND_COMPLEX:
        return t->itemsize / 2;
    case HR_KIND_FLOAT:
        return t->itemsize;
    default:
        return t->itemsize >= 4 ? 8 : 2 * t->itemsize;
    }
}

/* The type that items are added in: NumPy takes the one that holds items of both types.
 * Sums of integers are the same in the type asked for, where they wrap. */
static hr_dtype sum_type(const hr_dtype *to, const hr_dtype *from) {
    bool is_complex = to->kind == HR_KIND_COMPLEX || from->kind == HR_KIND_COMPLEX;
    bool is_float = to->kind == HR_KIND_FLOAT || from->kind == HR_KIND_FLOAT;
    if (to->kind == HR_KIND_BFLOAT || from->kind == HR_KIND_BFLOAT ||
        !(is_complex || is_float)) {
        return hr__dtype(to->kind == HR_KIND_BOOL ? from->kind : to->kind,
                         to->kind == HR_KIND_BOOL ? from->itemsize : to->itemsize);
    }
    uint64_t nbytes = float_nbytes(to), other = float_nbytes(from);
    nbytes = nbytes > other ? nbytes : other;
    return is_complex ? hr__dtype(HR_KIND_COMPLEX, 2 * nbytes)
                      : hr__dtype(HR_KIND_FLOAT, nbytes);
}

enum { BLOCK_NELEMS = 256, MAX_ITEM_NBYTES = 16 };

/* Where items are added in another type than they are delivered in: block by block, with
 * the last sum in front of the next block's items. */
static void sum_in_blocks(const hr_dtype *sums, const hr_dtype *to, uint8_t *dst,
                          const hr_dtype *from, const uint8_t *src, size_t n) {
    uint8_t block[(1 + BLOCK_NELEMS) * MAX_ITEM_NBYTES];
    uint8_t *items = block + sums->itemsize;
    for (size_t at = 0, taken; at < n; at += taken) {
        taken = n - at < BLOCK_NELEMS ? n - at : BLOCK_NELEMS;
        hr__dtype_convert(sums, items, from, src + at * from->itemsize, taken);
        if (at == 0) {
            running_sum(sums, items, taken);
        } else {
            running_sum(sums, block, 1 + taken);
        }
        hr__dtype_convert(to, dst + at * to->itemsize, sums, items, taken);
        memcpy(block, items + (taken - 1) * sums->itemsize, sums->itemsize);
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr_dtype *to = &codec->decoded.dtype, *from = &codec->encoded.dtype;
    const hr_dtype sums = sum_type(to, from);
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    if (hr__dtype_same_kind(&sums, to)) {
        hr__dtype_convert(&sums, d->dst, from, d->src, n);
        running_sum(&sums, d->dst, n);
        if (to->byte_order == HR_BIG) {
            hr__dtype_swap(to, d->dst, d->dst, n);
        }
    } else {
        sum_in_blocks(&sums, to, d->dst, from, d->src, n);
    }
    d->out = d->dst;
    d->out_nbytes = n * to->itemsize;
    return HR_OK;
}

/* Kernels convert numbers of one part only, and add in the type that they deliver. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const hr_dtype *to = &codec->decoded.dtype, *from = &codec->encoded.dtype;
    const hr_dtype sums = sum_type(to, from);
    if (to->kind == HR_KIND_BOOL || !hr__dtype_same_kind(&sums, to)) {
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
