/* cast_value: numbers of another type (Zarr v3 extension).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/cast.h"
#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/json.h"

/* One direction of the codec. */
typedef struct direction {
    hr__cast cast;
    size_t nmapped; /* of the scalar map, first the input, then the output */
    uint8_t (*mapped)[2][8];
} direction;

typedef struct config {
    direction decode;
    bool is_exact;
    uint8_t *table; /* 256 outputs where inputs are one byte, else NULL */
    bool has[256];  /* is there an output? */
} config;

static bool cast_one(const direction *d, uint8_t *to, const uint8_t *from) {
    for (size_t i = 0; i < d->nmapped; i++) {
        if (hr__cast_same(&d->cast.from, d->mapped[i][0], from)) {
            memcpy(to, d->mapped[i][1], d->cast.to.itemsize);
            return true;
        }
    }
    return hr__cast_item(&d->cast, to, from);
}

/* The number of items that could be cast. */
static size_t cast_all(const config *c, uint8_t *to, const uint8_t *from, size_t n) {
    const direction *d = &c->decode;
    size_t to_size = d->cast.to.itemsize, from_size = d->cast.from.itemsize;
    size_t i = 0;
    if (c->is_exact && d->nmapped == 0) {
        hr__dtype_convert(&d->cast.to, to, &d->cast.from, from, n);
        return n;
    }
    if (c->table != NULL) {
        for (; i < n && c->has[from[i]]; i++) {
            memcpy(to + i * to_size, c->table + from[i] * to_size, to_size);
        }
        return i;
    }
    while (i < n && cast_one(d, to + i * to_size, from + i * from_size)) {
        i++;
    }
    return i;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    const hr_dtype *to = &codec->decoded.dtype;
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    size_t done = cast_all(c, d->dst, d->src, n);
    if (done < n) {
        char text[64];
        (void)hr_dtype_format(to, text, sizeof text);
        return hr__fail(err, HR_ERR_DATA, "item %zu has no value in %s", done, text);
    }
    d->out = d->dst;
    d->out_nbytes = n * to->itemsize;
    return HR_OK;
}

/* Does a plain cast do? Of integers it may round, if it rounds the same way. */
static bool is_plain_cast(const config *c) {
    const hr__cast *cast = &c->decode.cast;
    bool is_integer = hr__dtype_is_integer(&cast->from);
    bool is_wide = cast->to.kind == HR_KIND_FLOAT && cast->to.itemsize >= 4;
    if (c->decode.nmapped > 0 && !is_integer) {
        return false;
    }
    return c->is_exact || (is_integer && is_wide && cast->rounding == HR__NEAREST_EVEN);
}

/* A scalar map with one output is a mark for each input. */
static bool steps(const hr__codec *codec, hr_dtype *items, hr__steps *out) {
    const config *c = codec->config;
    const direction *d = &c->decode;
    bool can = is_plain_cast(c);
    (void)items;
    for (size_t i = 0; i < d->nmapped && can; i++) {
        hr__step mark = {.code = HR__STEP_MARK, .dtype = d->cast.from};
        memcpy(mark.item, d->mapped[i][0], sizeof mark.item);
        can = memcmp(d->mapped[i][1], d->mapped[0][1], d->cast.to.itemsize) == 0 &&
              hr__steps_add(out, &mark);
    }
    can = can && hr__steps_cast(out, &d->cast.from, &d->cast.to);
    if (can && d->nmapped > 0) {
        hr__step replace = {.code = HR__STEP_REPLACE, .dtype = d->cast.to};
        memcpy(replace.item, d->mapped[0][1], sizeof replace.item);
        can = hr__steps_add(out, &replace);
    }
    return can;
}

/* What no plain cast does: its own rounding, a range, outputs of any kind for inputs. */
static bool stage(const hr__codec *codec, hr__stage *out) {
    const config *c = codec->config;
    const direction *d = &c->decode;
    *out = (hr__stage){.kind = HR__STAGE_CAST,
                       .items = d->cast.to,
                       .nbytes = codec->decoded.nbytes,
                       .from = d->cast.from,
                       .rounding = (uint32_t)d->cast.rounding,
                       .out_of_range = (uint32_t)d->cast.out_of_range,
                       .nmapped = (uint32_t)d->nmapped};
    for (size_t i = 0; i < d->nmapped && i < HR__STAGE_MOST_MAPPED; i++) {
        memcpy(&out->mapped[i][0], d->mapped[i][0], d->cast.from.itemsize);
        memcpy(&out->mapped[i][1], d->mapped[i][1], d->cast.to.itemsize);
    }
    return d->nmapped <= HR__STAGE_MOST_MAPPED;
}

/* --- metadata --- */

/* Position of a text in a list that ends with NULL, −1 where there is no text at all. */
static hr_status choose(const hr__codec_parse *p, const char *member,
                        const char *const *names, int *out, hr_error *err) {
    json_object *value = hr__json_get(p->config, member);
    int i = -1;
    if (value != NULL) {
        for (i = 0; names[i] != NULL && !hr__json_is(value, names[i]); i++) {
        }
        if (names[i] == NULL) {
            return hr__fail(err, HR_ERR_METADATA, "%s is %s, expected \"%s\" or the like",
                            member, json_object_to_json_string(value), names[0]);
        }
    }
    *out = i;
    return HR_OK;
}

static hr_status parse_map(const hr__codec_parse *p, const char *name, direction *d,
                           hr_error *err) {
    json_object *list = hr__json_get(hr__json_get(p->config, "scalar_map"), name);
    size_t n =
        json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    d->mapped = hr__arena_array(p->arena, n, sizeof *d->mapped);
    if (d->mapped == NULL) {
        return hr__fail_memory(err, n * sizeof *d->mapped);
    }
    for (size_t i = 0; i < n; i++) {
        json_object *pair = json_object_array_get_idx(list, i);
        if (!json_object_is_type(pair, json_type_array) ||
            json_object_array_length(pair) != 2) {
            return hr__fail(err, HR_ERR_METADATA, "scalar_map holds %s, expected pairs",
                            json_object_to_json_string(pair));
        }
        HR__TRY(hr__config_scalar(json_object_array_get_idx(pair, 0),
                                  "scalar_map's input", &d->cast.from, d->mapped[i][0],
                                  err));
        HR__TRY(hr__config_scalar(json_object_array_get_idx(pair, 1),
                                  "scalar_map's output", &d->cast.to, d->mapped[i][1],
                                  err));
    }
    d->nmapped = n;
    return HR_OK;
}

static hr_status parse_cast(const hr__codec_parse *p, const hr_dtype *stored,
                            direction *decoding, direction *encoding, hr_error *err) {
    static const char *const roundings[] = {"nearest-even",     "towards-zero",
                                            "towards-positive", "towards-negative",
                                            "nearest-away",     NULL};
    static const char *const ranges[] = {"clamp", "wrap", NULL};
    int rounding = -1, range = -1;
    HR__TRY(choose(p, "rounding", roundings, &rounding, err));
    HR__TRY(choose(p, "out_of_range", ranges, &range, err));
    rounding = rounding < 0 ? HR__NEAREST_EVEN : rounding;
    int out_of_range = range < 0 ? HR__RANGE_FAIL : HR__RANGE_CLAMP + range;
    if (out_of_range == HR__RANGE_WRAP && stored->kind != HR_KIND_INT &&
        stored->kind != HR_KIND_UINT) {
        return hr__fail(err, HR_ERR_METADATA,
                        "out_of_range is \"wrap\", which is for integers");
    }
    decoding->cast = (hr__cast){.from = *stored,
                                .to = p->codec->decoded.dtype,
                                .rounding = (hr__rounding)rounding,
                                .out_of_range = (hr__out_of_range)out_of_range};
    encoding->cast = decoding->cast;
    encoding->cast.from = decoding->cast.to;
    encoding->cast.to = decoding->cast.from;
    HR__TRY(parse_map(p, "decode", decoding, err));
    return parse_map(p, "encode", encoding, err);
}

/* The codecs behind see the fill value encoded, and it must come back as something. */
static hr_status cast_fill(hr__codec_parse *p, const config *c, const direction *encoding,
                           hr_error *err) {
    static const uint8_t zero[8];
    uint8_t again[8];
    const hr__spec *decoded = &p->codec->decoded;
    uint8_t *fill = hr__arena_alloc(p->arena, sizeof zero);
    if (fill == NULL) {
        return hr__fail_memory(err, sizeof zero);
    }
    if (!cast_one(encoding, fill, decoded->fill != NULL ? decoded->fill : zero) ||
        !cast_one(&c->decode, again, fill)) {
        return hr__fail(err, HR_ERR_METADATA, "the fill value cannot be cast");
    }
    p->codec->encoded.fill = fill;
    return HR_OK;
}

static hr_status make_table(hr__codec_parse *p, config *c, hr_error *err) {
    size_t itemsize = c->decode.cast.to.itemsize;
    if (c->decode.cast.from.itemsize != 1) {
        return HR_OK;
    }
    c->table = hr__arena_array(p->arena, 256, itemsize);
    if (c->table == NULL) {
        return hr__fail_memory(err, 256 * itemsize);
    }
    for (size_t i = 0; i < 256; i++) {
        uint8_t input = (uint8_t)i;
        c->has[i] = cast_one(&c->decode, c->table + i * itemsize, &input);
    }
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const char *const members[] = {"data_type", "rounding", "out_of_range",
                                          "scalar_map", NULL};
    hr__codec *codec = p->codec;
    const hr_dtype none = {0};
    hr_dtype stored;
    direction encoding = {0};
    config *c = hr__arena_alloc(p->arena, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    HR__TRY(hr__config_members(p, members, err));
    HR__TRY(hr__config_dtype(p, "data_type", &none, &stored, err));
    if (stored.itemsize == 0 || stored.byte_order == HR_BIG) {
        return hr__fail(err, HR_ERR_METADATA, "data_type is %s, expected a data type",
                        json_object_to_json_string(hr__json_get(p->config, "data_type")));
    }
    HR__TRY(hr__config_real_type(p, &codec->decoded.dtype, err));
    HR__TRY(hr__config_real_type(p, &stored, err));
    HR__TRY(parse_cast(p, &stored, &c->decode, &encoding, err));
    c->is_exact = hr__cast_is_exact(&c->decode.cast);
    HR__TRY(hr__spec_retype(&codec->encoded, &codec->decoded, &stored, err));
    HR__TRY(cast_fill(p, c, &encoding, err));
    HR__TRY(make_table(p, c, err));
    codec->config = c;
    return HR_OK;
}

const hr__codec_type hr__codec_cast_value = {
    .name = "cast_value",
    .v3_names = (const char *const[]){"cast_value", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .itemwise = true,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .steps = steps,
    .stage = stage,
};
