/* The compressions of TIFF. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "format/tiff/internal.h"

static const hr__tiff_compression compressions[] = {
    {"none", NULL, 1, HR__TIFF_PLAIN},
    {"CCITT RLE", NULL, 2, HR__TIFF_REFUSED},
    {"CCITT fax 3", NULL, 3, HR__TIFF_REFUSED},
    {"CCITT fax 4", NULL, 4, HR__TIFF_REFUSED},
    {"LZW", "tiff_lzw", 5, HR__TIFF_BYTES},
    {"old JPEG", NULL, 6, HR__TIFF_REFUSED},
    {"JPEG", "tiff_jpeg", HR__TIFF_JPEG, HR__TIFF_IMAGE},
    {"Deflate", "zlib", 8, HR__TIFF_BYTES},
    {"JBIG", NULL, 9, HR__TIFF_REFUSED},
    {"JBIG colour", NULL, 10, HR__TIFF_REFUSED},
    {"NeXT", NULL, 32766, HR__TIFF_REFUSED},
    {"CCITT RLE, word aligned", NULL, 32771, HR__TIFF_REFUSED},
    {"PackBits", "tiff_packbits", 32773, HR__TIFF_PLAIN},
    {"ThunderScan", NULL, 32809, HR__TIFF_REFUSED},
    {"Deflate", "zlib", 32946, HR__TIFF_BYTES},
    {"JPEG 2000 (Aperio, YCbCr)", NULL, 33003, HR__TIFF_REFUSED},
    {"JPEG 2000 (Aperio, RGB)", NULL, 33005, HR__TIFF_REFUSED},
    {"JBIG", NULL, 34661, HR__TIFF_REFUSED},
    {"SGI LogLuv", NULL, 34676, HR__TIFF_REFUSED},
    {"SGI LogLuv, 24 bits", NULL, 34677, HR__TIFF_REFUSED},
    {"JPEG 2000", NULL, 34712, HR__TIFF_REFUSED},
    {"LERC", "tiff_lerc", HR__TIFF_LERC, HR__TIFF_IMAGE},
    {"lossy JPEG (DNG)", NULL, 34892, HR__TIFF_REFUSED},
    {"LZMA", "lzma", HR__TIFF_LZMA, HR__TIFF_BYTES},
    {"Zstandard", "zstd", 50000, HR__TIFF_BYTES},
    {"WebP", "tiff_webp", 50001, HR__TIFF_IMAGE},
    {"JPEG XL", NULL, 50002, HR__TIFF_REFUSED},
    {"JPEG XL", NULL, 52546, HR__TIFF_REFUSED},
};

hr_status hr__tiff_compression_find(uint32_t id, const hr__tiff_compression **out,
                                    hr_error *err) {
    for (size_t i = 0; i < sizeof compressions / sizeof compressions[0]; i++) {
        const hr__tiff_compression *c = &compressions[i];
        if (c->id != id) {
            continue;
        }
        if (c->kind == HR__TIFF_REFUSED) {
            return hr__fail(err, HR_ERR_UNSUPPORTED,
                            "compression %" PRIu32 " (%s) is not supported", id, c->name);
        }
        if (c->codec != NULL && hr__codec_find_v2(NULL, c->codec) == NULL) {
            return hr__fail(err, HR_ERR_UNSUPPORTED,
                            "compression %" PRIu32 " (%s) is not supported: %s", id,
                            c->name, hr__codec_refusal(c->codec));
        }
        *out = c;
        return HR_OK;
    }
    return hr__fail(err, HR_ERR_UNSUPPORTED, "compression %" PRIu32 " is not known", id);
}

json_object *hr__tiff_add_codec(json_object *list, const char *id) {
    json_object *codec = json_object_new_object();
    json_object_object_add(codec, "id", json_object_new_string(id));
    json_object_array_add(list, codec);
    return codec;
}

static void add_number(json_object *codec, const char *name, int64_t value) {
    json_object_object_add(codec, name, json_object_new_int64(value));
}

static hr_status add_tables(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            json_object *codec, hr_error *err) {
    char *bytes;
    uint64_t n;
    HR__TRY(hr__tiff_bytes(file, ifd, HR__TIFF_JPEG_TABLES, &bytes, &n, err));
    if (n == 0) {
        return HR_OK;
    }
    json_object *list = json_object_new_array();
    for (uint64_t i = 0; i < n; i++) {
        json_object_array_add(list, json_object_new_int((uint8_t)bytes[i]));
    }
    json_object_object_add(codec, "tables", list);
    return HR_OK;
}

/* What LERC made may be compressed once more. */
static hr_status add_second(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            json_object *codecs, hr_error *err) {
    uint64_t *values;
    uint64_t n;
    HR__TRY(hr__tiff_uints(file, ifd, HR__TIFF_LERC_PARAMETERS, 2, &values, &n, err));
    uint64_t second = n > 1 ? values[1] : 0;
    if (second > 2) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "compression %" PRIu64 " of LERC's is not known", second);
    }
    if (second != 0) {
        (void)hr__tiff_add_codec(codecs, second == 1 ? "zlib" : "zstd");
    }
    return HR_OK;
}

static hr_status add_image(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                           const hr__tiff_layout *l, json_object *codec,
                           json_object *codecs, hr_error *err) {
    add_number(codec, "width", l->block_width);
    add_number(codec, "height", l->block_height);
    add_number(codec, "samples", l->is_planar ? 1 : l->nsamples);
    if (l->compression == HR__TIFF_LERC) {
        return add_second(file, ifd, codecs, err);
    }
    if (l->compression != HR__TIFF_JPEG) {
        return HR_OK;
    }
    json_object_object_add(
        codec, "color",
        json_object_new_string(l->photometric == HR__TIFF_YCBCR ? "YCbCr" : "stored"));
    return add_tables(file, ifd, codec, err);
}

hr_status hr__tiff_compression_add(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                                   const hr__tiff_layout *l,
                                   const hr__tiff_compression *c, json_object *codecs,
                                   hr_error *err) {
    json_object *codec = c->codec != NULL ? hr__tiff_add_codec(codecs, c->codec) : NULL;
    if (c->kind == HR__TIFF_IMAGE) {
        return add_image(file, ifd, l, codec, codecs, err);
    }
    if (c->id == HR__TIFF_LZMA) {
        add_number(codec, "format", 1);
    }
    if (l->fill_order == 2) {
        (void)hr__tiff_add_codec(codecs, "tiff_reverse");
    }
    return HR_OK;
}
