/* LZMA in its three containers (xz, alone, raw), through liblzma.
 * SPDX-License-Identifier: Apache-2.0 */
#include <lzma.h>

#include <inttypes.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "core/json.h"

/* What one decoder may allocate: xz -9 needs 65 MiB. */
#define MEMORY_LIMIT ((uint64_t)256 << 20)

/* So much is decoded before it is asked whether anybody wants it still. */
#define STEP_ROOM ((size_t)1 << 20)

/* Python's numbers, which the metadata use. */
enum { FORMAT_XZ = 1, FORMAT_ALONE = 2, FORMAT_RAW = 3 };

typedef struct lzma_config {
    int64_t format;
    lzma_filter filters[LZMA_FILTERS_MAX + 1]; /* of FORMAT_RAW */
} lzma_config;

static hr_status member_u32(json_object *filter, const char *name, int64_t lo, int64_t hi,
                            uint32_t *inout, hr_error *err) {
    int64_t value;
    HR__TRY(
        hr__json_member_i64(filter, "lzma filter", name, lo, hi, *inout, &value, err));
    *inout = (uint32_t)value;
    return HR_OK;
}

/* The members that a decoder needs; mode, nice_len, mf and depth steer encoders. */
static hr_status parse_lzma12(json_object *json, hr__arena *arena, void **out,
                              hr_error *err) {
    lzma_options_lzma *options = hr__arena_alloc(arena, sizeof *options);
    if (options == NULL) {
        return hr__fail_memory(err, sizeof *options);
    }
    uint32_t preset = LZMA_PRESET_DEFAULT;
    HR__TRY(member_u32(json, "preset", 0, UINT32_MAX, &preset, err));
    if (lzma_lzma_preset(options, preset)) {
        return hr__fail(err, HR_ERR_METADATA, "lzma preset %u is not 0 to 9", preset);
    }
    HR__TRY(member_u32(json, "dict_size", 0, UINT32_MAX, &options->dict_size, err));
    HR__TRY(member_u32(json, "lc", LZMA_LCLP_MIN, LZMA_LCLP_MAX, &options->lc, err));
    HR__TRY(member_u32(json, "lp", LZMA_LCLP_MIN, LZMA_LCLP_MAX, &options->lp, err));
    HR__TRY(member_u32(json, "pb", LZMA_PB_MIN, LZMA_PB_MAX, &options->pb, err));
    *out = options;
    return HR_OK;
}

static hr_status parse_delta(json_object *json, hr__arena *arena, void **out,
                             hr_error *err) {
    lzma_options_delta *options = hr__arena_alloc(arena, sizeof *options);
    if (options == NULL) {
        return hr__fail_memory(err, sizeof *options);
    }
    options->type = LZMA_DELTA_TYPE_BYTE;
    options->dist = LZMA_DELTA_DIST_MIN;
    HR__TRY(member_u32(json, "dist", LZMA_DELTA_DIST_MIN, LZMA_DELTA_DIST_MAX,
                       &options->dist, err));
    *out = options;
    return HR_OK;
}

static hr_status parse_bcj(json_object *json, hr__arena *arena, void **out,
                           hr_error *err) {
    lzma_options_bcj *options = hr__arena_alloc(arena, sizeof *options);
    if (options == NULL) {
        return hr__fail_memory(err, sizeof *options);
    }
    HR__TRY(member_u32(json, "start_offset", 0, UINT32_MAX, &options->start_offset, err));
    *out = options;
    return HR_OK;
}

static hr_status parse_filter(json_object *json, hr__arena *arena, lzma_filter *filter,
                              hr_error *err) {
    if (!hr__json_u64(hr__json_get(json, "id"), &filter->id)) {
        return hr__fail(err, HR_ERR_METADATA, "lzma filter %.80s has no id",
                        json_object_to_json_string(json));
    }
    switch (filter->id) {
    case LZMA_FILTER_LZMA1:
    case LZMA_FILTER_LZMA2:
        return parse_lzma12(json, arena, &filter->options, err);
    case LZMA_FILTER_DELTA:
        return parse_delta(json, arena, &filter->options, err);
    case LZMA_FILTER_X86:
    case LZMA_FILTER_POWERPC:
    case LZMA_FILTER_IA64:
    case LZMA_FILTER_ARM:
    case LZMA_FILTER_ARMTHUMB:
    case LZMA_FILTER_SPARC:
        return parse_bcj(json, arena, &filter->options, err);
    default:
        return hr__fail(err, HR_ERR_UNSUPPORTED, "lzma filter id %" PRIu64, filter->id);
    }
}

/* Can a decoder be made of them? */
static hr_status check_filters(const lzma_filter *filters, json_object *list,
                               hr_error *err) {
    uint64_t need = lzma_raw_decoder_memusage(filters);
    if (need != UINT64_MAX && need > MEMORY_LIMIT) {
        return hr__fail(err, HR_ERR_MEMORY,
                        "lzma filters need %" PRIu64 " bytes, the limit is %" PRIu64,
                        need, MEMORY_LIMIT);
    }
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret code = lzma_raw_decoder(&stream, filters);
    lzma_end(&stream);
    if (code == LZMA_MEM_ERROR) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for liblzma");
    }
    return code == LZMA_OK ? HR_OK
                           : hr__fail(err, HR_ERR_UNSUPPORTED, "lzma filters %.200s",
                                      json_object_to_json_string(list));
}

static hr_status parse_filters(json_object *list, hr__arena *arena, lzma_config *config,
                               hr_error *err) {
    if (!json_object_is_type(list, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA, "raw lzma has no list of \"filters\"");
    }
    size_t n = json_object_array_length(list);
    if (n < 1 || n > LZMA_FILTERS_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "%zu lzma filters, expected 1 to %d", n,
                        LZMA_FILTERS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        HR__TRY(parse_filter(json_object_array_get_idx(list, i), arena,
                             &config->filters[i], err));
    }
    config->filters[n].id = LZMA_VLI_UNKNOWN;
    return check_filters(config->filters, list, err);
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {
        {"check", HR__PARAM_INT}, {"preset", HR__PARAM_INT}, {NULL, 0}};
    HR__TRY(hr__config_params(p, params, err));
    lzma_config *config = hr__arena_alloc(p->arena, sizeof *config);
    if (config == NULL) {
        return hr__fail_memory(err, sizeof *config);
    }
    HR__TRY(hr__json_member_i64(p->config, p->codec->name, "format", FORMAT_XZ,
                                FORMAT_RAW, FORMAT_XZ, &config->format, err));
    if (config->format == FORMAT_RAW) {
        json_object *list = hr__json_get(p->config, "filters");
        HR__TRY(parse_filters(list, p->arena, config, err));
    }
    p->codec->config = config;
    return HR_OK;
}

static lzma_ret start(lzma_stream *stream, const lzma_config *config, bool skip) {
    switch (config->format) {
    case FORMAT_XZ:
        return lzma_stream_decoder(stream, MEMORY_LIMIT,
                                   LZMA_CONCATENATED |
                                       (skip ? (uint32_t)LZMA_IGNORE_CHECK : 0));
    case FORMAT_ALONE:
        return lzma_alone_decoder(stream, MEMORY_LIMIT);
    default:
        return lzma_raw_decoder(stream, config->filters);
    }
}

/* Run to the end. A full dst is not the end yet: an end marker or checksum may follow, so
 * one more byte is offered and must stay unused. */
static hr_status run(lzma_stream *stream, hr__decode *d, lzma_ret *code, bool *full,
                     hr_error *err) {
    uint8_t spare;
    size_t left = d->dst_nbytes;
    stream->next_out = d->dst;
    *full = false;
    for (*code = LZMA_OK; *code == LZMA_OK;) {
        HR__TRY(hr__decode_check(d, err));
        if (stream->avail_out == 0 && *full) {
            break;
        }
        if (stream->avail_out == 0 && left == 0) {
            *full = true;
            stream->next_out = &spare;
            stream->avail_out = 1;
        } else if (stream->avail_out == 0) {
            stream->avail_out = left < STEP_ROOM ? left : STEP_ROOM;
            left -= stream->avail_out;
        }
        *code = lzma_code(stream, LZMA_FINISH);
    }
    *full = *full && stream->avail_out == 0;
    *code = *full ? LZMA_BUF_ERROR : *code;
    return HR_OK;
}

static hr_status explain(lzma_stream *stream, lzma_ret code, bool full, hr__decode *d,
                         hr_error *err) {
    switch (code) {
    case LZMA_MEMLIMIT_ERROR:
        return hr__fail(err, HR_ERR_MEMORY,
                        "lzma stream needs %" PRIu64 " bytes, the limit is %" PRIu64,
                        lzma_memusage(stream), MEMORY_LIMIT);
    case LZMA_MEM_ERROR:
        return hr__fail(err, HR_ERR_MEMORY, "no memory for liblzma");
    case LZMA_OPTIONS_ERROR:
        return hr__fail(err, HR_ERR_UNSUPPORTED, "lzma stream's options");
    case LZMA_FORMAT_ERROR:
        return hr__fail(err, HR_ERR_DATA, "%zu bytes are not an lzma stream",
                        d->src_nbytes);
    case LZMA_BUF_ERROR:
        if (full) {
            return hr__fail_room(d, "lzma stream", HR__SIZE_UNKNOWN, err);
        }
        return hr__fail(err, HR_ERR_DATA,
                        "lzma stream is cut off at the end of %zu bytes", d->src_nbytes);
    default:
        return hr__fail(err, HR_ERR_DATA,
                        "lzma stream is malformed, or its checksum wrong, before byte "
                        "%" PRIu64 " of %zu",
                        stream->total_in, d->src_nbytes);
    }
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    lzma_stream stream = LZMA_STREAM_INIT;
    bool full = false;
    lzma_ret code = start(&stream, codec->config, d->skip_checksums);
    hr_status status = HR_OK;
    if (code == LZMA_OK) {
        stream.next_in = d->src;
        stream.avail_in = d->src_nbytes;
        status = run(&stream, d, &code, &full, err);
    }
    if (status == HR_OK && code == LZMA_STREAM_END) {
        d->out = d->dst;
        d->out_nbytes = (size_t)stream.total_out;
    } else if (status == HR_OK) {
        status = explain(&stream, code, full, d, err);
    }
    lzma_end(&stream);
    return hr__settle_grow(codec, d, status);
}

const hr__codec_type hr__codec_lzma = {
    .name = "lzma",
    .v2_ids = (const char *const[]){"lzma", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "liblzma",
    .parse = parse,
    .decode = decode,
    .max_ratio = 1 << 16, /* 273 bytes from a quarter of a bit, in the limit */
};
