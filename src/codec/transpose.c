/* transpose and reshape. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codecs.h"
#include "core/checked.h"
#include "core/json.h"

/* The walk over the decoded items in their order: lengths, and steps in src in bytes.
 * Axes of length 1 are left out, neighbours that are contiguous in src are merged. */
typedef struct walk {
    int32_t ndim;
    uint64_t itemsize;
    int64_t shape[HR_MAX_NDIM];
    int64_t step[HR_MAX_NDIM];
} walk;

static hr_status parse_order(const hr__codec_parse *p, int32_t *order, hr_error *err) {
    json_object *value = hr__json_get(p->config, "order");
    int32_t ndim = p->codec->decoded.ndim;
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
                        "order is %s, expected a permutation of %d axes",
                        json_object_to_json_string(value), ndim);
    }
    return HR_OK;
}

static void append_axis(walk *w, int64_t length, int64_t step) {
    int32_t last = w->ndim - 1;
    if (length == 1) {
        return;
    }
    if (last >= 0 && w->step[last] == length * step) {
        w->shape[last] *= length;
        w->step[last] = step;
        return;
    }
    w->shape[w->ndim] = length;
    w->step[w->ndim++] = step;
}

static hr_status parse_transpose(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    int32_t order[HR_MAX_NDIM] = {0};
    int64_t strides[HR_MAX_NDIM], step[HR_MAX_NDIM] = {0};
    if (codec->decoded.is_bytes) {
        return hr__fail(err, HR_ERR_METADATA, "bytes have no axes to transpose");
    }
    HR__TRY(parse_order(p, order, err));
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

static void transpose(const walk *w, uint8_t *dst, const uint8_t *src, size_t nbytes) {
    int32_t last = w->ndim - 1;
    int64_t at[HR_MAX_NDIM] = {0};
    size_t row = (size_t)w->shape[last] * w->itemsize;
    for (size_t done = 0; done < nbytes; done += row) {
        gather(w->itemsize, dst + done, src, w->shape[last], w->step[last]);
        for (int32_t i = last - 1; i >= 0; i--) {
            src += w->step[i];
            if (++at[i] < w->shape[i]) {
                break;
            }
            src -= w->step[i] * w->shape[i];
            at[i] = 0;
        }
    }
}

static hr_status decode_transpose(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const walk *w = codec->config;
    if (d->src_nbytes != codec->decoded.nbytes) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes to transpose, expected %llu",
                        d->src_nbytes, (unsigned long long)codec->decoded.nbytes);
    }
    d->out_nbytes = d->src_nbytes;
    if (w->ndim == 0 || (w->ndim == 1 && w->step[0] == (int64_t)w->itemsize)) {
        d->out = d->src;
        return HR_OK;
    }
    transpose(w, d->dst, d->src, d->src_nbytes);
    d->out = d->dst;
    return HR_OK;
}

const hr__codec_type hr__codec_transpose = {
    .name = "transpose",
    .v3_names = (const char *const[]){"transpose", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse_transpose,
    .decode = decode_transpose,
    .vlen = true,
};
