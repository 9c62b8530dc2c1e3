/* categorize (numcodecs): labels stored as numbers. SPDX-License-Identifier: Apache-2.0
 *
 * 1 is the first label; a number without a label is the empty text. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/utf8.h"
#include "core/json.h"

typedef struct config {
    uint64_t nlabels;
    uint8_t *items; /* the empty one, then a decoded item per label */
} config;

static uint64_t load_number(const hr_dtype *type, const uint8_t *p) {
    uint64_t number = 0;
    uint8_t *to = (uint8_t *)&number;
    if (type->byte_order == HR_BIG) {
        hr__dtype_swap(type, to, p, 1);
    } else {
        memcpy(to, p, type->itemsize);
    }
    return number; /* negative ones, taken as large ones, have no label either */
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    const hr_dtype *from = &codec->encoded.dtype;
    size_t itemsize = codec->decoded.dtype.itemsize;
    size_t n;
    HR__TRY(hr__filter_nelems(codec, d, &n, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t number = load_number(from, d->src + i * from->itemsize);
        const uint8_t *item = c->items + (number <= c->nlabels ? number : 0) * itemsize;
        memcpy(d->dst + i * itemsize, item, itemsize);
    }
    d->out = d->dst;
    d->out_nbytes = n * itemsize;
    return HR_OK;
}

/* UTF-32 in the dtype's byte order, cut to its length as NumPy does. */
static void store_utf32(const hr_dtype *type, uint8_t *item, const char *label) {
    const uint8_t *p = (const uint8_t *)label;
    for (uint64_t at = 0; at < type->itemsize && *p != '\0'; at += 4) {
        uint32_t code = hr__utf8_next(&p);
        memcpy(item + at, &code, 4);
    }
    if (type->byte_order == HR_BIG) {
        hr__dtype_swap(type, item, item, 1);
    }
}

static hr_status store_label(hr__arena *arena, const hr_dtype *type, uint8_t *item,
                             const char *label, hr_error *err) {
    if (type->kind == HR_KIND_UNICODE) {
        store_utf32(type, item, label);
        return HR_OK;
    }
    hr_vlen element = {.data = hr__arena_strdup(arena, label), .nbytes = strlen(label)};
    if (element.data == NULL) {
        return hr__fail_memory(err, element.nbytes + 1);
    }
    memcpy(item, &element, sizeof element);
    return HR_OK;
}

static hr_status parse_labels(hr__codec_parse *p, config *c, hr_error *err) {
    json_object *labels = hr__json_get(p->config, "labels");
    const hr_dtype *type = &p->codec->decoded.dtype;
    if (!json_object_is_type(labels, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA, "labels are %s, expected a list of texts",
                        json_type_to_name(json_object_get_type(labels)));
    }
    c->nlabels = json_object_array_length(labels);
    c->items = hr__arena_array(p->arena, c->nlabels + 1, type->itemsize);
    if (c->items == NULL) {
        return hr__fail_memory(err, c->nlabels + 1);
    }
    HR__TRY(store_label(p->arena, type, c->items, "", err));
    for (uint64_t i = 0; i < c->nlabels; i++) {
        const char *label = hr__json_str(json_object_array_get_idx(labels, i));
        if (label == NULL || !hr__is_utf8((const uint8_t *)label, strlen(label))) {
            return hr__fail(err, HR_ERR_METADATA, "label %llu is not text",
                            (unsigned long long)i);
        }
        HR__TRY(
            store_label(p->arena, type, c->items + (i + 1) * type->itemsize, label, err));
    }
    return HR_OK;
}

/* dtype "|O" leaves the array's own, which holds texts of their own lengths. */
static hr_status parse_types(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    hr_dtype decoded = codec->decoded.dtype, encoded;
    const hr_dtype u1 = hr__dtype(HR_KIND_UINT, 1);
    json_object *dtype = hr__json_get(p->config, "dtype");
    if (!hr__json_is(dtype, "|O") && !hr__json_is(dtype, "object")) {
        HR__TRY(hr__config_dtype(p, "dtype", &codec->decoded.dtype, &decoded, err));
    }
    HR__TRY(hr__config_dtype(p, "astype", &u1, &encoded, err));
    bool is_vlen = hr__dtype_is_vlen(&codec->decoded.dtype) && !codec->decoded.is_bytes;
    if ((decoded.kind != HR_KIND_UNICODE && decoded.kind != HR_KIND_VLEN_UTF8) ||
        is_vlen != (decoded.kind == HR_KIND_VLEN_UTF8)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "dtype is %s, expected \"<Un\" or \"|O\", as the array's",
                        json_object_to_json_string(dtype));
    }
    if (encoded.kind != HR_KIND_INT && encoded.kind != HR_KIND_UINT) {
        return hr__fail(err, HR_ERR_METADATA, "astype is %s, expected integers",
                        json_object_to_json_string(hr__json_get(p->config, "astype")));
    }
    HR__TRY(hr__spec_view_as(&codec->decoded, &decoded, err));
    return hr__spec_retype(&codec->encoded, &codec->decoded, &encoded, err);
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    config c;
    HR__TRY(parse_types(p, err));
    HR__TRY(parse_labels(p, &c, err));
    p->codec->config = hr__arena_copy(p->arena, &c, sizeof c);
    return p->codec->config == NULL ? hr__fail_memory(err, sizeof c) : HR_OK;
}

const hr__codec_type hr__codec_categorize = {
    .name = "categorize",
    .v2_ids = (const char *const[]){"categorize", NULL},
    .klass = HR__ARRAY_TO_ARRAY,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .vlen = true,
};
