/* vlen-utf8, vlen-bytes, vlen-array: elements of their own lengths.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A 32-bit count of elements; for each a 32-bit length in bytes, and the bytes. */
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/utf8.h"
#include "core/bytes.h"
#include "core/json.h"

#define LENGTH_NBYTES 4

static hr_status check_element(const hr_dtype *type, uint64_t i, const uint8_t *data,
                               size_t nbytes, hr_error *err) {
    if (type->kind == HR_KIND_VLEN_UTF8 && !hr__is_utf8(data, nbytes)) {
        return hr__fail(err, HR_ERR_DATA, "element %llu is not UTF-8",
                        (unsigned long long)i);
    }
    if (type->kind == HR_KIND_VLEN_ARRAY && nbytes % type->base->itemsize != 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "element %llu is %zu bytes, expected whole items of %llu bytes",
                        (unsigned long long)i, nbytes,
                        (unsigned long long)type->base->itemsize);
    }
    return HR_OK;
}

/* Check all of src before anything is allocated. */
static hr_status check(const hr__codec *codec, const hr__decode *d, hr_error *err) {
    const uint8_t *p = d->src;
    size_t left = d->src_nbytes;
    if (left < LENGTH_NBYTES) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes, expected the number of elements",
                        left);
    }
    if (hr__load_le32(p) != codec->decoded.nelems) {
        return hr__fail(err, HR_ERR_DATA, "chunk holds %u elements, expected %llu",
                        hr__load_le32(p), (unsigned long long)codec->decoded.nelems);
    }
    p += LENGTH_NBYTES;
    left -= LENGTH_NBYTES;
    for (uint64_t i = 0; i < codec->decoded.nelems; i++) {
        size_t nbytes = left < LENGTH_NBYTES ? 0 : hr__load_le32(p);
        if (left < LENGTH_NBYTES || nbytes > left - LENGTH_NBYTES) {
            return hr__fail(err, HR_ERR_DATA,
                            "element %llu of %zu bytes at byte %zu of %zu is cut short",
                            (unsigned long long)i, nbytes, (size_t)(p - d->src),
                            d->src_nbytes);
        }
        HR__TRY(check_element(&codec->decoded.dtype, i, p + LENGTH_NBYTES, nbytes, err));
        p += LENGTH_NBYTES + nbytes;
        left -= LENGTH_NBYTES + nbytes;
    }
    if (left > 0) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes follow the last element", left);
    }
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    uint64_t nelems = codec->decoded.nelems;
    HR__TRY(check(codec, d, err));
    /* the elements' bytes without the count and the lengths */
    size_t total = d->src_nbytes - LENGTH_NBYTES * (size_t)(nelems + 1);
    uint8_t *data = hr__heap_alloc(d->heap, total);
    if (data == NULL) {
        return hr__fail_memory(err, total);
    }
    const uint8_t *p = d->src + LENGTH_NBYTES;
    for (uint64_t i = 0; i < nelems; i++) {
        hr_vlen element = {.data = data, .nbytes = hr__load_le32(p)};
        p += LENGTH_NBYTES;
        memcpy(data, p, element.nbytes);
        memcpy(d->dst + i * sizeof element, &element, sizeof element);
        p += element.nbytes;
        data += element.nbytes;
    }
    d->out = d->dst;
    d->out_nbytes = nelems * sizeof(hr_vlen);
    return HR_OK;
}

static hr_status parse_kind(hr__codec_parse *p, hr_kind kind, hr_error *err) {
    const hr__spec *decoded = &p->codec->decoded;
    if (decoded->is_bytes || decoded->dtype.kind != kind) {
        char text[64];
        (void)hr_dtype_format(&decoded->dtype, text, sizeof text);
        return hr__fail(err, HR_ERR_METADATA, "codec \"%s\" does not encode items of %s",
                        p->codec->name, text);
    }
    return HR_OK;
}

static hr_status parse_utf8(hr__codec_parse *p, hr_error *err) {
    return parse_kind(p, HR_KIND_VLEN_UTF8, err);
}

static hr_status parse_bytes(hr__codec_parse *p, hr_error *err) {
    return parse_kind(p, HR_KIND_VLEN_BYTES, err);
}

static hr_status parse_array(hr__codec_parse *p, hr_error *err) {
    HR__TRY(parse_kind(p, HR_KIND_VLEN_ARRAY, err));
    const hr_dtype *base = p->codec->decoded.dtype.base;
    hr_dtype item;
    HR__TRY(hr__config_dtype(p, "dtype", base, &item, err));
    if (item.itemsize == 0 || !hr__dtype_equal(&item, base)) {
        return hr__fail(err, HR_ERR_METADATA, "dtype is %s, other than the array's",
                        json_object_to_json_string(hr__json_get(p->config, "dtype")));
    }
    return HR_OK;
}

#define VLEN(symbol, text, v3, parser)                                                   \
    const hr__codec_type symbol = {                                                      \
        .name = text,                                                                    \
        .v2_ids = (const char *const[]){text, NULL},                                     \
        .v3_names = (const char *const[]){v3, NULL},                                     \
        .klass = HR__ARRAY_TO_BYTES,                                                     \
        .library = "built in",                                                           \
        .parse = parser,                                                                 \
        .decode = decode,                                                                \
        .max_ratio = sizeof(hr_vlen) / LENGTH_NBYTES,                                    \
        .vlen = true,                                                                    \
    }

VLEN(hr__codec_vlen_utf8, "vlen-utf8", "vlen-utf8", parse_utf8);
VLEN(hr__codec_vlen_bytes, "vlen-bytes", "vlen-bytes", parse_bytes);
VLEN(hr__codec_vlen_array, "vlen-array", NULL, parse_array);
