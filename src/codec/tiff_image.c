/* Codecs that take whole images. SPDX-License-Identifier: Apache-2.0 */
#include "codec/tiff_image.h"

#include "core/json.h"

#define MAX_SIDE 65535 /* larger images none of them can hold */

static hr_status read_tables(hr__codec_parse *p, hr__image_config *c, hr_error *err) {
    json_object *list = hr__json_get(p->config, "tables");
    size_t n =
        json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    uint8_t *tables = hr__arena_alloc(p->arena, n);
    if (tables == NULL) {
        return hr__fail_memory(err, n);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t byte;
        if (!hr__json_i64(json_object_array_get_idx(list, i), &byte)) {
            return hr__fail(err, HR_ERR_METADATA, "tables hold what is no byte");
        }
        tables[i] = (uint8_t)byte;
    }
    c->tables = tables;
    c->tables_nbytes = n;
    return HR_OK;
}

hr_status hr__image_parse(hr__codec_parse *p, hr_error *err) {
    const char *name = p->codec->name;
    const hr__spec *decoded = &p->codec->decoded;
    int64_t width, height, samples;
    HR__TRY(hr__json_member_i64(p->config, name, "width", 1, MAX_SIDE, 1, &width, err));
    HR__TRY(hr__json_member_i64(p->config, name, "height", 1, MAX_SIDE, 1, &height, err));
    HR__TRY(
        hr__json_member_i64(p->config, name, "samples", 1, MAX_SIDE, 1, &samples, err));
    uint64_t row = (uint64_t)width * (uint64_t)samples;
    if (decoded->nelems == 0 || decoded->nelems % row != 0 ||
        decoded->nelems / row > (uint64_t)height) {
        return hr__fail(
            err, HR_ERR_METADATA, "%llu items are no rows of %lld pixels of %lld samples",
            (unsigned long long)decoded->nelems, (long long)width, (long long)samples);
    }
    hr__image_config *c = hr__arena_alloc(p->arena, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    *c = (hr__image_config){.width = (uint32_t)width,
                            .height = (uint32_t)height,
                            .samples = (uint32_t)samples,
                            .nrows = (uint32_t)(decoded->nelems / row),
                            .to_rgb =
                                hr__json_is(hr__json_get(p->config, "color"), "YCbCr")};
    p->codec->config = c;
    return read_tables(p, c, err);
}

hr_status hr__image_check(const hr__image_config *c, uint64_t width, uint64_t height,
                          uint64_t samples, hr_error *err) {
    if (width <= c->width && height <= c->height && samples == c->samples) {
        return HR_OK;
    }
    return hr__fail(err, HR_ERR_DATA,
                    "image of %llu x %llu pixels of %llu samples in a block of %u x %u "
                    "of %u",
                    (unsigned long long)width, (unsigned long long)height,
                    (unsigned long long)samples, c->width, c->nrows, c->samples);
}
