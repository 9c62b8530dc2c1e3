/* The one table of codecs. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <headrace/context.h>

#include "codec/codecs.h"
#include "codec/custom.h"
#include "codec/sharding.h"

static const hr__codec_type *const types[] = {
    &hr__codec_bytes,
    &hr__codec_sharding,
    &hr__codec_blosc,
    &hr__codec_zstd,
    &hr__codec_lz4,
    &hr__codec_gzip,
    &hr__codec_zlib,
    &hr__codec_bz2,
    &hr__codec_lzma,
    &hr__codec_snappy,
#ifdef HR_HAVE_ZFP
    &hr__codec_zfpy,
#endif
    &hr__codec_crc32c,
    &hr__codec_crc32,
    &hr__codec_adler32,
    &hr__codec_fletcher32,
    &hr__codec_jenkins_lookup3,
    &hr__codec_transpose,
    &hr__codec_reshape,
    &hr__codec_shuffle,
    &hr__codec_delta,
    &hr__codec_fixedscaleoffset,
    &hr__codec_quantize,
    &hr__codec_bitround,
    &hr__codec_astype,
    &hr__codec_scale_offset,
    &hr__codec_cast_value,
    &hr__codec_packbits_v2,
    &hr__codec_packbits_v3,
    &hr__codec_categorize,
    &hr__codec_vlen_utf8,
    &hr__codec_vlen_bytes,
    &hr__codec_vlen_array,
    &hr__codec_base64,
    &hr__codec_tiff_lzw,
    &hr__codec_tiff_packbits,
    &hr__codec_tiff_predictor2,
    &hr__codec_tiff_predictor3,
    &hr__codec_tiff_samples,
    &hr__codec_tiff_reverse,
    &hr__codec_tiff_ycbcr,
#ifdef HR_HAVE_JPEG
    &hr__codec_tiff_jpeg,
#endif
#ifdef HR_HAVE_LERC
    &hr__codec_tiff_lerc,
#endif
#ifdef HR_HAVE_WEBP
    &hr__codec_tiff_webp,
#endif
};

#define NTYPES (sizeof types / sizeof types[0])

const hr__codec_type *hr__codec_type_at(size_t i) {
    return i < NTYPES ? types[i] : NULL;
}

static bool contains(const char *const *names, const char *name) {
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_named(const hr__codec_type *type, const char *name, bool in_v2) {
    return contains(in_v2 ? type->v2_ids : type->v3_names, name);
}

static const hr__codec_type *find(const hr__custom_codecs *custom, const char *name,
                                  bool in_v2) {
    for (size_t i = 0; i < NTYPES; i++) {
        if (is_named(types[i], name, in_v2)) {
            return types[i];
        }
    }
    const hr__codec_type *type = hr__custom_next(custom, NULL);
    while (type != NULL && !is_named(type, name, in_v2)) {
        type = hr__custom_next(custom, type);
    }
    return type;
}

const hr__codec_type *hr__codec_find_v2(const hr__custom_codecs *custom, const char *id) {
    return find(custom, id, true);
}

/* The codec's v2 id where `name` is numcodecs' name for use in v3, else NULL. */
static const char *numcodecs_id(const char *name) {
    static const char *const prefixes[] = {"numcodecs.", "https://zarr.dev/numcodecs/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0) {
            return name + n;
        }
    }
    return NULL;
}

const hr__codec_type *hr__codec_find_v3(const hr__custom_codecs *custom, const char *name,
                                        hr__codec_dialect *dialect) {
    const char *id = numcodecs_id(name);
    *dialect = id != NULL ? HR__DIALECT_V2 : HR__DIALECT_V3;
    return find(custom, id != NULL ? id : name, id != NULL);
}

const char *hr__codec_refusal(const char *name) {
    static const struct {
        const char *id, *reason;
    } refused[] = {
        {"pickle", "decoding it can run code that comes with the data"},
        {"json2", "its elements are objects of Python"},
        {"msgpack2", "its elements are objects of Python"},
#ifndef HR_HAVE_ZFP
        {"zfpy", "built without libzfp"},
#endif
        {"tiff_jpeg", "built without libjpeg"},
        {"tiff_lerc", "built without liblerc"},
        {"tiff_webp", "built without libwebp"},
    };
    const char *id = numcodecs_id(name);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i].id, id != NULL ? id : name) == 0) {
            return refused[i].reason;
        }
    }
    return NULL;
}

/* Chunks with transposes or in shards are described to kernels without these codecs
 * (format/), and views need no decoding; else it takes one of the descriptions. */
static bool suits_kernels(const hr__codec_type *type) {
#ifdef HR_HAVE_KERNELS
    return type->view || type->leaves != NULL || type->steps != NULL ||
           type->stage != NULL || type == &hr__codec_transpose ||
           type == &hr__codec_sharding;
#else
    (void)type;
    return false;
#endif
}

int hr_codec_list(size_t i, hr_codec_support *out) {
    if (i >= NTYPES || out == NULL) {
        return 0;
    }
    *out = (hr_codec_support){
        .name = types[i]->name,
        .library = types[i]->library,
        .on_cpu = 1,
        .on_cuda = suits_kernels(types[i]),
    };
    return 1;
}
