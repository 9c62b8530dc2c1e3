/* transpose: the axes in another order. SPDX-License-Identifier: Apache-2.0 */
#include "codec/transpose.h"

#include <string.h>

#include "codec/codecs.h"
#include "core/checked.h"
#include "core/json.h"

/* The walk over the decoded items: lengths, and steps on both sides in bytes, in the
 * order of the decoded axes. Axes of length 1 are left out, neighbours that are
 * contiguous in src are merged. */
typedef struct walk {
    int32_t ndim;
    uint64_t itemsize;
    int64_t shape[HR_MAX_NDIM];
    int64_t from_step[HR_MAX_NDIM];
    int64_t to_step[HR_MAX_NDIM];
} walk;

hr_status hr__transpose_order(json_object *config, int32_t ndim, int32_t *order,
                              hr_error *err) {
    json_object *value = hr__json_get(config, "order");
    if (hr__json_is(value, "C") || hr__json_is(value, "F")) {
        for (int32_t i = 0; i < ndim; i++) {
            order[i] = hr__json_is(value, "C") ? i : ndim - 1 - i;
        }
        return HR_OK;
    }
    bool seen[HR_MAX_NDIM] = {false};
    bool good = json_object_is_type(value, json_type_array) &&
                json_object_array_length(value) == (size_t)ndim;
    for (int32_t i = 0; good && i < ndim; i++) {
        int64_t axis = -1;
        good = hr__json_i64(json_object_array_get_idx(value, (size_t)i), &axis) &&
               axis >= 0 && axis < ndim && !seen[axis];
        if (good) {
            seen[axis] = true;
            order[i] = (int32_t)axis;
        }
    }
    if (!good) {
        return hr__fail(err, HR_ERR_METADATA,
                        "order of a transpose is %s, expected a permutation of %d axes",
                        json_object_to_json_string(value), ndim);
    }
    return HR_OK;
}

static void append_axis(walk *w, int64_t length, int64_t from_step) {
    int32_t last = w->ndim - 1;
    if (length == 1) {
        return;
    }
    if (last >= 0 && w->from_step[last] == length * from_step) {
        w->shape[last] *= length;
        w->from_step[last] = from_step;
        return;
    }
    w->shape[w->ndim] = length;
    w->from_step[w->ndim++] = from_step;
}

/* Put the axis with the smallest step in src next to the last, which is contiguous in
 * dst: the cache lines of src are then used up while they are at hand. */
static void order_axes(walk *w) {
    int32_t last = w->ndim - 1, axis = 0;
    for (int32_t i = 0; i < last; i++) {
        axis = w->from_step[i] < w->from_step[axis] ? i : axis;
    }
    for (; axis < last - 1; axis++) {
        int64_t *const steps[] = {w->shape, w->from_step, w->to_step};
        for (int i = 0; i < 3; i++) {
            int64_t moved = steps[i][axis];
            steps[i][axis] = steps[i][axis + 1];
            steps[i][axis + 1] = moved;
        }
    }
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    int32_t order[HR_MAX_NDIM] = {0};
    int64_t strides[HR_MAX_NDIM], step[HR_MAX_NDIM] = {0};
    if (codec->decoded.is_bytes) {
        return hr__fail(err, HR_ERR_METADATA, "bytes have no axes to transpose");
    }
    HR__TRY(hr__transpose_order(p->config, codec->decoded.ndim, order, err));
    walk *w = hr__arena_alloc(p->arena, sizeof *w);
    if (w == NULL) {
        return hr__fail_memory(err, sizeof *w);
    }
    for (int32_t i = 0; i < codec->decoded.ndim; i++) {
        codec->encoded.shape[i] = codec->decoded.shape[order[i]];
    }
    w->itemsize = codec->decoded.dtype.itemsize;
    codec->config = w;
    if (codec->decoded.nbytes == 0) {
        return HR_OK;
    }
    hr__strides_c(codec->encoded.ndim, codec->encoded.shape, w->itemsize, strides);
    for (int32_t i = 0; i < codec->decoded.ndim; i++) {
        step[order[i]] = strides[i];
    }
    for (int32_t i = 0; i < codec->decoded.ndim; i++) {
        append_axis(w, codec->decoded.shape[i], step[i]);
    }
    int32_t last = w->ndim - 1;
    if (last >= 0 && w->from_step[last] == (int64_t)w->itemsize) {
        w->itemsize *= (uint64_t)w->shape[last]; /* whole rows move together */
        w->ndim = last;
    }
    hr__strides_c(w->ndim, w->shape, w->itemsize, w->to_step);
    order_axes(w);
    return HR_OK;
}

/* n items that lie `step` bytes apart in src, packed to dst. */
#define GATHER(size)                                                                     \
    static void gather##size(uint8_t *restrict dst, const uint8_t *restrict src,         \
                             int64_t n, int64_t step) {                                  \
        for (int64_t i = 0; i < n; i++) {                                                \
            memcpy(dst + i * size, src + i * step, size);                                \
        }                                                                                \
    }

GATHER(1)
GATHER(2)
GATHER(4)
GATHER(8)
GATHER(16)

static void gather(uint64_t itemsize, uint8_t *dst, const uint8_t *src, int64_t n,
                   int64_t step) {
    switch (itemsize) {
    case 1:
        gather1(dst, src, n, step);
        return;
    case 2:
        gather2(dst, src, n, step);
        return;
    case 4:
        gather4(dst, src, n, step);
        return;
    case 8:
        gather8(dst, src, n, step);
        return;
    case 16:
        gather16(dst, src, n, step);
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + (uint64_t)i * itemsize, src + i * step, itemsize);
        }
    }
}

/* Few: a step of a power of two puts all lines of src into one cache set. */
#define TILE_NELEMS 8

/* The last two axes, in strips of the last. */
static void transpose_plane(const walk *w, uint8_t *dst, const uint8_t *src) {
    int32_t last = w->ndim - 1;
    int64_t nrows = last > 0 ? w->shape[last - 1] : 1, ncolumns = w->shape[last];
    for (int64_t column = 0; column < ncolumns; column += TILE_NELEMS) {
        int64_t n = ncolumns - column < TILE_NELEMS ? ncolumns - column : TILE_NELEMS;
        uint8_t *to = dst + column * w->to_step[last];
        const uint8_t *from = src + column * w->from_step[last];
        for (int64_t row = 0; row < nrows; row++) {
            gather(w->itemsize, to, from, n, w->from_step[last]);
            if (last > 0) {
                to += w->to_step[last - 1];
                from += w->from_step[last - 1];
            }
        }
    }
}

static void transpose(const walk *w, uint8_t *dst, const uint8_t *src) {
    int64_t at[HR_MAX_NDIM] = {0};
    int32_t axis = 0;
    while (axis >= 0) {
        transpose_plane(w, dst, src);
        for (axis = w->ndim - 3; axis >= 0; axis--) {
            dst += w->to_step[axis];
            src += w->from_step[axis];
            if (++at[axis] < w->shape[axis]) {
                break;
            }
            dst -= w->to_step[axis] * w->shape[axis];
            src -= w->from_step[axis] * w->shape[axis];
            at[axis] = 0;
        }
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const walk *w = codec->config;
    if (d->src_nbytes != codec->decoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes to transpose, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->decoded.nbytes);
    }
    d->out_nbytes = d->src_nbytes;
    if (w->ndim == 0) {
        d->out = d->src;
        return HR_OK;
    }
    transpose(w, d->dst, d->src);
    d->out = d->dst;
    return HR_OK;
}

const hr__codec_type hr__codec_transpose = {
    .name = "transpose",
    .v3_names = (const char *const[]){"transpose", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .vlen = true,
};
