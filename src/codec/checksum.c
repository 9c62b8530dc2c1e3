/* Codecs that add a 32-bit checksum. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <libdeflate.h>

#include "codec/checksum.h"
#include "codec/codecs.h"
#include "core/bytes.h"
#include "core/json.h"

#define CHECKSUM_NBYTES 4

typedef struct config {
    bool at_start;
    uint32_t initval; /* lookup3 */
    size_t nprefix;
    const uint8_t *prefix;
    uint32_t (*compute)(const struct config *c, const uint8_t *data, size_t nbytes);
} config;

static uint32_t crc32c(const config *c, const uint8_t *data, size_t nbytes) {
    (void)c;
    return hr__crc32c(data, nbytes);
}

static uint32_t crc32(const config *c, const uint8_t *data, size_t nbytes) {
    (void)c;
    return libdeflate_crc32(0, data, nbytes);
}

static uint32_t adler32(const config *c, const uint8_t *data, size_t nbytes) {
    (void)c;
    return libdeflate_adler32(1, data, nbytes);
}

static uint32_t fletcher32(const config *c, const uint8_t *data, size_t nbytes) {
    (void)c;
    return hr__fletcher32(data, nbytes);
}

static uint32_t lookup3(const config *c, const uint8_t *data, size_t nbytes) {
    return hr__jenkins_lookup3(c->initval, c->prefix, c->nprefix, data, nbytes);
}

/* HDF5 before 1.6.3 computed Fletcher's sum over words of the machine's byte order, and
 * its readers still accept that. */
static bool is_old_fletcher32(const config *c, uint32_t stored, uint32_t computed) {
    uint32_t swapped = (computed & 0x00ff00ff) << 8 | (computed & 0xff00ff00) >> 8;
    return c->compute == fletcher32 && stored == swapped;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const config *c = codec->config;
    if (d->src_nbytes < CHECKSUM_NBYTES) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes, expected at least %d of checksum",
                        d->src_nbytes, CHECKSUM_NBYTES);
    }
    size_t nbytes = d->src_nbytes - CHECKSUM_NBYTES;
    const uint8_t *data = c->at_start ? d->src + CHECKSUM_NBYTES : d->src;
    if (!d->skip_checksums) {
        uint32_t stored = hr__load_le32(c->at_start ? d->src : d->src + nbytes);
        uint32_t computed = c->compute(c, data, nbytes);
        if (stored != computed && !is_old_fletcher32(c, stored, computed)) {
            return hr__fail(err, HR_ERR_CHECKSUM,
                            "checksum stored is 0x%08x, computed over %zu bytes 0x%08x",
                            stored, nbytes, computed);
        }
    }
    d->out = data;
    d->out_nbytes = nbytes;
    return HR_OK;
}

static hr_status parse_location(const hr__codec_parse *p, bool *at_start, hr_error *err) {
    json_object *value = hr__json_get(p->config, "location");
    if (value == NULL) {
        return HR_OK;
    }
    if (!hr__json_is(value, "start") && !hr__json_is(value, "end")) {
        return hr__fail(err, HR_ERR_METADATA,
                        "location is %s, expected \"start\" or \"end\"",
                        json_object_to_json_string(value));
    }
    *at_start = hr__json_is(value, "start");
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, config c, hr_error *err) {
    HR__TRY(parse_location(p, &c.at_start, err));
    p->codec->config = hr__arena_copy(p->arena, &c, sizeof c);
    if (p->codec->config == NULL) {
        return hr__fail_memory(err, sizeof c);
    }
    p->codec->encoded = hr__spec_plus(&p->codec->decoded, CHECKSUM_NBYTES);
    return HR_OK;
}

static hr_status parse_crc32c(hr__codec_parse *p, hr_error *err) {
    return parse(p, (config){.compute = crc32c}, err);
}

static hr_status parse_crc32(hr__codec_parse *p, hr_error *err) {
    return parse(p, (config){.compute = crc32, .at_start = true}, err);
}

static hr_status parse_adler32(hr__codec_parse *p, hr_error *err) {
    return parse(p, (config){.compute = adler32, .at_start = true}, err);
}

static hr_status parse_fletcher32(hr__codec_parse *p, hr_error *err) {
    return parse(p, (config){.compute = fletcher32}, err);
}

/* A prefix is null, text, or a list of bytes. */
static hr_status parse_prefix(const hr__codec_parse *p, config *c, hr_error *err) {
    json_object *value = hr__json_get(p->config, "prefix");
    const char *text = hr__json_str(value);
    bool is_list = json_object_is_type(value, json_type_array);
    if (value == NULL) {
        return HR_OK;
    }
    size_t n = text != NULL ? strlen(text)
               : is_list    ? json_object_array_length(value)
                            : 0;
    uint8_t *prefix = hr__arena_alloc(p->arena, n);
    if (prefix == NULL) {
        return hr__fail_memory(err, n);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t byte = text != NULL ? (uint8_t)text[i] : -1;
        if (is_list) {
            (void)hr__json_i64(json_object_array_get_idx(value, i), &byte);
        }
        if (byte < 0 || byte > UINT8_MAX) {
            return hr__fail(err, HR_ERR_METADATA, "byte %zu of prefix is not 0 to 255",
                            i);
        }
        prefix[i] = (uint8_t)byte;
    }
    if (text == NULL && !is_list) {
        return hr__fail(err, HR_ERR_METADATA, "prefix is %s, expected bytes",
                        json_type_to_name(json_object_get_type(value)));
    }
    c->prefix = prefix;
    c->nprefix = n;
    return HR_OK;
}

static hr_status parse_lookup3(hr__codec_parse *p, hr_error *err) {
    config c = {.compute = lookup3};
    int64_t initval = 0;
    HR__TRY(hr__json_member_i64(p->config, "jenkins_lookup3", "initval", 0, UINT32_MAX, 0,
                                &initval, err));
    c.initval = (uint32_t)initval;
    HR__TRY(parse_prefix(p, &c, err));
    return parse(p, c, err);
}

#define CHECKSUM(symbol, text, v3, by, parser)                                           \
    const hr__codec_type symbol = {                                                      \
        .name = text,                                                                    \
        .v2_ids = (const char *const[]){text, NULL},                                     \
        .v3_names = (const char *const[]){v3, NULL},                                     \
        .klass = HR__BYTES_TO_BYTES,                                                     \
        .library = by,                                                                   \
        .parse = parser,                                                                 \
        .decode = decode,                                                                \
        .view = true,                                                                    \
    }

CHECKSUM(hr__codec_crc32c, "crc32c", "crc32c", "built in", parse_crc32c);
CHECKSUM(hr__codec_crc32, "crc32", NULL, "libdeflate", parse_crc32);
CHECKSUM(hr__codec_adler32, "adler32", NULL, "libdeflate", parse_adler32);
CHECKSUM(hr__codec_fletcher32, "fletcher32", NULL, "built in", parse_fletcher32);
CHECKSUM(hr__codec_jenkins_lookup3, "jenkins_lookup3", NULL, "built in", parse_lookup3);
