/* TIFF's predictors. SPDX-License-Identifier: Apache-2.0
 *
 * 2: each item is the difference to the sample before it in its row, as integers of its
 * size wrap. 3: the bytes of a row of floats, the highest ones of all items first, as
 * differences of bytes. Both give little-endian items. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "codec/shuffle_kernels.h"
#include "codec/tiff_predictor.h"
#include "core/json.h"

/* Row length, stride and byte order, and that whole rows make up the block. */
static hr_status parse_rows(const hr__codec_parse *p, int64_t itemsize,
                            hr__predictor_config **out, hr_error *err) {
    const hr__codec *codec = p->codec;
    int64_t row, stride;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "row", 1, INT64_MAX / 64, 1, &row,
                                err));
    HR__TRY(
        hr__json_member_i64(p->config, codec->name, "stride", 1, row, 1, &stride, err));
    if (codec->decoded.nbytes == HR__SIZE_UNKNOWN ||
        codec->decoded.nbytes % (uint64_t)(row * itemsize) != 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%llu bytes are no whole number of rows of %lld items of %lld",
                        (unsigned long long)codec->decoded.nbytes, (long long)row,
                        (long long)itemsize);
    }
    hr__predictor_config *c = hr__arena_alloc(p->arena, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    *c = (hr__predictor_config){
        .row = (uint64_t)row,
        .stride = (uint64_t)stride,
        .itemsize = (uint32_t)itemsize,
        .is_big_endian = hr__json_is(hr__json_get(p->config, "endian"), "big")};
    *out = c;
    return HR_OK;
}

static hr_status check_size(const hr__codec *codec, const hr__decode *d, hr_error *err) {
    return d->src_nbytes == codec->decoded.nbytes
               ? HR_OK
               : hr__fail(err, HR_ERR_DATA,
                          "%zu bytes before the predictor, expected %llu", d->src_nbytes,
                          (unsigned long long)codec->decoded.nbytes);
}

static void set_out(hr__decode *d) {
    d->out = d->dst;
    d->out_nbytes = d->src_nbytes;
}

/* --- 2 --- */

#define FEW_KINDS 8

/* Sums along a row of n items, from src to dst. One kind of sample after the other keeps
 * each sum in a register; many kinds would rather go through the row side by side. */
#define SUM_ROW(name, type, swap)                                                        \
    static void name(uint8_t *dst, const uint8_t *src, size_t n, size_t stride,          \
                     bool is_swapped) {                                                  \
        type x, sum;                                                                     \
        if (stride > FEW_KINDS) {                                                        \
            for (size_t i = 0; i < n; i++) {                                             \
                memcpy(&x, src + i * sizeof x, sizeof x);                                \
                sum = 0;                                                                 \
                if (i >= stride) {                                                       \
                    memcpy(&sum, dst + (i - stride) * sizeof x, sizeof x);               \
                }                                                                        \
                sum = (type)(sum + (is_swapped ? (type)swap(x) : x));                    \
                memcpy(dst + i * sizeof x, &sum, sizeof x);                              \
            }                                                                            \
            return;                                                                      \
        }                                                                                \
        for (size_t kind = 0; kind < stride; kind++) {                                   \
            sum = 0;                                                                     \
            for (size_t i = kind; i < n; i += stride) {                                  \
                memcpy(&x, src + i * sizeof x, sizeof x);                                \
                sum = (type)(sum + (is_swapped ? (type)swap(x) : x));                    \
                memcpy(dst + i * sizeof x, &sum, sizeof x);                              \
            }                                                                            \
        }                                                                                \
    }

SUM_ROW(sum_row1, uint8_t, )
SUM_ROW(sum_row2, uint16_t, __builtin_bswap16)
SUM_ROW(sum_row4, uint32_t, __builtin_bswap32)
SUM_ROW(sum_row8, uint64_t, __builtin_bswap64)

static hr_status decode2(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr__predictor_config *c = codec->config;
    HR__TRY(check_size(codec, d, err));
    size_t row_nbytes = c->row * c->itemsize;
    for (size_t at = 0; at < d->src_nbytes; at += row_nbytes) {
        uint8_t *dst = d->dst + at;
        const uint8_t *src = d->src + at;
        switch (c->itemsize) {
        case 1:
            sum_row1(dst, src, c->row, c->stride, false);
            break;
        case 2:
            sum_row2(dst, src, c->row, c->stride, c->is_big_endian);
            break;
        case 4:
            sum_row4(dst, src, c->row, c->stride, c->is_big_endian);
            break;
        default:
            sum_row8(dst, src, c->row, c->stride, c->is_big_endian);
        }
    }
    set_out(d);
    return HR_OK;
}

/* Items are those of the array, or words of `itemsize` bytes in what is unpacked later.
 */
static hr_status parse2(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    const hr_dtype *items = &codec->decoded.dtype;
    bool is_plain = items->kind == HR_KIND_INT || items->kind == HR_KIND_UINT ||
                    items->kind == HR_KIND_FLOAT || items->kind == HR_KIND_COMPLEX;
    int64_t size;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "itemsize", 1, 8,
                                (int64_t)items->itemsize, &size, err));
    bool is_unpacked_later = codec->decoded.is_bytes;
    if (is_unpacked_later ? (size & (size - 1)) != 0
                          : !is_plain || (uint64_t)size != items->itemsize || size > 8 ||
                                items->byte_order != HR_LITTLE) {
        return hr__fail(err, HR_ERR_METADATA,
                        "predictor 2 makes little-endian numbers of 1 to 8 bytes");
    }
    hr__predictor_config *c = NULL;
    HR__TRY(parse_rows(p, size, &c, err));
    codec->config = c;
    codec->encoded = codec->decoded;
    if (!is_unpacked_later) {
        codec->encoded.dtype.byte_order =
            c->is_big_endian && size > 1 ? HR_BIG : HR_LITTLE;
    }
    codec->encoded.fill = NULL;
    return HR_OK;
}

/* Kernels would reverse the parts of a complex number, not the number. */
static bool stage2(const hr__codec *codec, hr__stage *out) {
    const hr__predictor_config *c = codec->config;
    *out = (hr__stage){.kind = HR__STAGE_SUM,
                       .items = codec->decoded.dtype,
                       .nbytes = codec->decoded.nbytes,
                       .row = c->row,
                       .stride = c->stride,
                       .component_nbytes = c->itemsize};
    return c->itemsize == codec->decoded.dtype.itemsize &&
           (!c->is_big_endian || codec->decoded.dtype.kind != HR_KIND_COMPLEX);
}

const hr__codec_type hr__codec_tiff_predictor2 = {
    .name = "tiff_predictor2",
    .v2_ids = (const char *const[]){"tiff_predictor2", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse2,
    .decode = decode2,
    .stage = stage2,
};

/* --- 3 --- */

/* As they are gathered, the highest byte comes first. */
static void reverse_items(uint8_t *items, size_t n, size_t size) {
    const hr_dtype type = hr__dtype(HR_KIND_FLOAT, size);
    if (size != 3) {
        hr__dtype_swap(&type, items, items, n);
        return;
    }
    for (size_t i = 0; i < n; i++, items += 3) {
        uint8_t last = items[2];
        items[2] = items[0];
        items[0] = last;
    }
}

static hr_status decode3(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr__predictor_config *c = codec->config;
    HR__TRY(check_size(codec, d, err));
    size_t size = c->itemsize, n = c->row, row_nbytes = n * size;
    hr__scratch *scratch = &d->worker->part[d->worker->level];
    uint8_t *sums = hr__scratch_reserve(d->worker->allocator, scratch, row_nbytes);
    if (sums == NULL) {
        return hr__fail_memory(err, row_nbytes);
    }
    for (size_t at = 0; at < d->src_nbytes; at += row_nbytes) {
        const uint8_t *src = d->src + at;
        uint8_t *dst = d->dst + at;
        sum_row1(sums, src, row_nbytes, c->stride, false);
        hr__unshuffle(size, row_nbytes, sums, dst);
        reverse_items(dst, n, size);
    }
    set_out(d);
    return HR_OK;
}

static hr_status parse3(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    int64_t size;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "itemsize", 2, 8,
                                (int64_t)codec->decoded.dtype.itemsize, &size, err));
    if (size > 4 && size != 8) {
        return hr__fail(err, HR_ERR_METADATA, "predictor 3 on items of %lld bytes",
                        (long long)size);
    }
    hr__predictor_config *c = NULL;
    HR__TRY(parse_rows(p, size, &c, err));
    codec->config = c;
    codec->encoded = hr__spec_bytes(codec->decoded.nbytes);
    return HR_OK;
}

/* Summed-up rows are big-endian items, shuffled: the store lays them out. */
static bool stage3(const hr__codec *codec, hr__stage *out) {
    const hr__predictor_config *c = codec->config;
    const hr_dtype *items = &codec->decoded.dtype;
    *out = (hr__stage){.kind = HR__STAGE_SUM,
                       .items = *items,
                       .nbytes = codec->decoded.nbytes,
                       .row = c->row * c->itemsize,
                       .stride = c->stride,
                       .has_planes = true,
                       .component_nbytes = 1};
    out->items.byte_order = HR_BIG;
    return items->kind == HR_KIND_FLOAT && items->itemsize == c->itemsize &&
           items->byte_order == HR_LITTLE && codec->decoded.nbytes <= UINT32_MAX;
}

const hr__codec_type hr__codec_tiff_predictor3 = {
    .name = "tiff_predictor3",
    .v2_ids = (const char *const[]){"tiff_predictor3", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse3,
    .decode = decode3,
    .stage = stage3,
};
