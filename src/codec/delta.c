/* delta: differences between neighbours. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"

/* Running sums in place, in the type itself: integers wrap, floats round at each step.
 * `lanes` is 2 for complex numbers, whose parts are summed apart. */
#define RUNNING_SUM(name, type, load, store)                                             \
    static void name(uint8_t *items, size_t n, size_t lanes) {                           \
        for (size_t i = lanes; i < n; i++) {                                             \
            type a, b;                                                                   \
            memcpy(&a, items + (i - lanes) * sizeof a, sizeof a);                        \
            memcpy(&b, items + i * sizeof b, sizeof b);                                  \
            b = store(load(a) + load(b));                                                \
            memcpy(items + i * sizeof b, &b, sizeof b);                                  \
        }                                                                                \
    }

#define AS_U8(x) ((uint8_t)(x))
#define AS_U16(x) ((uint16_t)(x))

RUNNING_SUM(sum_u8, uint8_t, AS_U8, AS_U8)
RUNNING_SUM(sum_u16, uint16_t, AS_U16, AS_U16)
RUNNING_SUM(sum_u32, uint32_t, , )
RUNNING_SUM(sum_u64, uint64_t, , )
RUNNING_SUM(sum_f32, float, , )
RUNNING_SUM(sum_f64, double, , )
RUNNING_SUM(sum_half, uint16_t, hr__half_to_float, hr__float_to_half)
RUNNING_SUM(sum_bfloat, uint16_t, hr__bfloat_to_float, hr__float_to_bfloat)

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
        sum_u8(items, n, 1);
        break;
    case 2:
        sum_u16(items, n, 1);
        break;
    case 4:
        sum_u32(items, n, 1);
        break;
    default:
        sum_u64(items, n, 1);
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

/* Integers: sums of floats depend on their order, which is one after the other. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const hr_dtype *to = &codec->decoded.dtype;
    *out =
        (hr__stage){.kind = HR__STAGE_SUM, .items = *to, .nbytes = codec->decoded.nbytes};
    out->items.byte_order = HR_LITTLE;
    return (to->kind == HR_KIND_INT || to->kind == HR_KIND_UINT) &&
           hr__dtype_is_number(&codec->encoded.dtype);
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
