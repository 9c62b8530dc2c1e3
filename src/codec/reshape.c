/* reshape: the same items under other axes (Zarr v3 extension).
 * SPDX-License-Identifier: Apache-2.0 */
#include "codec/codecs.h"
#include "codec/decode.h"
#include "core/checked.h"
#include "core/json.h"

typedef struct reshaper {
    const hr__spec *from;
    hr__spec *to;
    int64_t next_input; /* input axes are named in rising order */
    int32_t unknown;    /* output axis given as −1, or −1 */
} reshaper;

/* An output axis given as a list of input axes, which must begin where it begins. */
static bool join_inputs(reshaper *r, int32_t axis, json_object *inputs) {
    size_t n = json_object_array_length(inputs);
    int64_t length = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t input;
        if (!hr__json_i64(json_object_array_get_idx(inputs, i), &input) ||
            input < r->next_input || input >= r->from->ndim ||
            !hr__mul_i64(length, r->from->shape[input], &length)) {
            return false;
        }
        r->next_input = input + 1;
    }
    r->to->shape[axis] = length;
    return true;
}

static bool set_axis(reshaper *r, int32_t axis, json_object *value) {
    int64_t length;
    if (json_object_is_type(value, json_type_array)) {
        return join_inputs(r, axis, value);
    }
    if (!hr__json_i64(value, &length) || length == 0 || length < -1 ||
        (length == -1 && r->unknown >= 0)) {
        return false;
    }
    if (length == -1) {
        r->unknown = axis;
    }
    r->to->shape[axis] = length == -1 ? 1 : length;
    return true;
}

/* Do the named input axes and the output axis cover the same items? That is so when the
 * products of the lengths before and after them agree. */
static bool inputs_line_up(const reshaper *r, int32_t axis, json_object *inputs) {
    size_t n = json_object_array_length(inputs);
    int64_t first = 0, last = -1;
    uint64_t before[2], after[2];
    if (n == 0) {
        return true;
    }
    (void)hr__json_i64(json_object_array_get_idx(inputs, 0), &first);
    (void)hr__json_i64(json_object_array_get_idx(inputs, n - 1), &last);
    return hr__shape_nelems((int32_t)first, r->from->shape, &before[0]) &&
           hr__shape_nelems(axis, r->to->shape, &before[1]) &&
           hr__shape_nelems(r->from->ndim - (int32_t)last - 1, r->from->shape + last + 1,
                            &after[0]) &&
           hr__shape_nelems(r->to->ndim - axis - 1, r->to->shape + axis + 1, &after[1]) &&
           before[0] == before[1] && after[0] == after[1];
}

static bool resolve(reshaper *r, json_object *shape) {
    uint64_t nelems;
    for (int32_t i = 0; i < r->to->ndim; i++) {
        if (!set_axis(r, i, json_object_array_get_idx(shape, (size_t)i))) {
            return false;
        }
    }
    if (!hr__shape_nelems(r->to->ndim, r->to->shape, &nelems)) {
        return false;
    }
    if (r->unknown >= 0) {
        if (nelems == 0 || r->from->nelems % nelems != 0) {
            return false;
        }
        r->to->shape[r->unknown] = (int64_t)(r->from->nelems / nelems);
        nelems = r->from->nelems;
    }
    for (int32_t i = 0; i < r->to->ndim; i++) {
        json_object *axis = json_object_array_get_idx(shape, (size_t)i);
        if (json_object_is_type(axis, json_type_array) && !inputs_line_up(r, i, axis)) {
            return false;
        }
    }
    return nelems == r->from->nelems;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    json_object *shape = hr__json_get(p->config, "shape");
    reshaper r = {.from = &codec->decoded, .to = &codec->encoded, .unknown = -1};
    if (!json_object_is_type(shape, json_type_array) ||
        json_object_array_length(shape) > HR_MAX_NDIM) {
        return hr__fail(err, HR_ERR_METADATA,
                        "shape is %s, expected a list of at most %d axes",
                        json_object_to_json_string(shape), HR_MAX_NDIM);
    }
    r.to->ndim = (int32_t)json_object_array_length(shape);
    if (!resolve(&r, shape)) {
        return hr__fail(
            err, HR_ERR_METADATA, "shape %s does not fit a chunk of %llu elements",
            json_object_to_json_string(shape), (unsigned long long)r.from->nelems);
    }
    return HR_OK;
}

const hr__codec_type hr__codec_reshape = {
    .name = "reshape",
    .v3_names = (const char *const[]){"reshape", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse,
    .decode = hr__decode_view,
    .view = true,
    .vlen = true,
};
