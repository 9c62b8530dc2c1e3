/* Chains of codecs: from metadata, and over a chunk.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codec.h"
#include "core/checked.h"
#include "core/json.h"

/* A chain while it is being parsed. */
typedef struct builder {
    hr__chain chain;
    hr__spec next; /* what the codec to come takes when encoding */
    hr__arena *arena;
    const struct hr__custom_codecs *custom;
    int depth;
} builder;

static hr_status start(builder *b, const hr__spec *chunk, size_t ncodecs,
                       hr__arena *arena, hr_error *err) {
    if (ncodecs > HR__CHAIN_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "%zu codecs, expected at most %d", ncodecs,
                        HR__CHAIN_MAX);
    }
    *b = (builder){.chain = {.decoded = *chunk}, .next = *chunk, .arena = arena};
    b->chain.codecs = hr__arena_array(arena, ncodecs, sizeof *b->chain.codecs);
    return b->chain.codecs == NULL ? hr__fail_memory(err, ncodecs * sizeof(hr__codec))
                                   : HR_OK;
}

static hr__spec encoded_preset(const hr__codec *codec) {
    const hr__spec *decoded = &codec->decoded;
    if (codec->type->klass == HR__ARRAY_TO_ARRAY) {
        return *decoded;
    }
    bool vlen = !decoded->is_bytes && hr__dtype_is_vlen(&decoded->dtype);
    return hr__spec_unknown(vlen ? HR__VLEN_MAX_NBYTES
                                 : hr__encoded_bound(decoded->max_nbytes));
}

static hr_status parse_codec(builder *b, hr__codec *codec, hr__codec_dialect dialect,
                             json_object *config, hr_error *err) {
    if (!codec->type->vlen && !b->next.is_bytes && hr__dtype_is_vlen(&b->next.dtype)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "codec \"%s\" does not take elements of variable length",
                        codec->name);
    }
    hr__codec_parse p = {.dialect = dialect,
                         .config = config,
                         .arena = b->arena,
                         .custom = b->custom,
                         .codec = codec,
                         .depth = b->depth};
    return codec->type->parse(&p, err);
}

static hr_status append(builder *b, const hr__codec_type *type, const char *name,
                        hr__codec_dialect dialect, json_object *config, hr_error *err) {
    hr__codec *codec = &b->chain.codecs[b->chain.ncodecs];
    codec->name = hr__arena_strdup(b->arena, name);
    if (codec->name == NULL) {
        return hr__fail_memory(err, strlen(name) + 1);
    }
    codec->type = type;
    codec->decoded = b->next;
    codec->encoded = encoded_preset(codec);
    hr_status status = parse_codec(b, codec, dialect, config, err);
    if (status != HR_OK) {
        hr__error_add_codec(err, name);
        return status;
    }
    b->chain.ncodecs++;
    b->next = codec->encoded;
    b->next.keep_order |= type->klass == HR__ARRAY_TO_ARRAY;
    return HR_OK;
}

static hr_status finish(builder *b, hr__chain *chain, hr_error *err) {
    if (!b->next.is_bytes && hr__dtype_is_vlen(&b->next.dtype)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "no codec makes bytes of elements of variable length");
    }
    b->chain.encoded = b->next;
    *chain = b->chain;
    return HR_OK;
}

static hr_status fail_unknown(const char *name, hr_error *err) {
    const char *reason = hr__codec_refusal(name);
    hr_status status =
        hr__fail(err, HR_ERR_UNSUPPORTED, "codec \"%s\" is not supported%s%s", name,
                 reason != NULL ? ": " : "", reason != NULL ? reason : "");
    hr__error_add_codec(err, name);
    return status;
}

/* --- Zarr v3 --- */

hr_status hr__codec_entry_v3(json_object *entry, const char **name, json_object **config,
                             hr_error *err) {
    bool bare = json_object_is_type(entry, json_type_string);
    const char *text = hr__json_str(bare ? entry : hr__json_get(entry, "name"));
    json_object *configuration = hr__json_get(entry, "configuration");
    if (text == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "a codec is %s, expected a name or an object with a \"name\"",
                        json_type_to_name(json_object_get_type(entry)));
    }
    if (configuration != NULL && !json_object_is_type(configuration, json_type_object)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "configuration of codec \"%s\" is %s, expected an object", text,
                        json_type_to_name(json_object_get_type(configuration)));
    }
    *name = text;
    *config = configuration;
    return HR_OK;
}

static const char *class_name(hr__codec_class klass) {
    return klass == HR__ARRAY_TO_ARRAY   ? "array -> array"
           : klass == HR__ARRAY_TO_BYTES ? "array -> bytes"
                                         : "bytes -> bytes";
}

/* May a codec of class `next` follow one of class `last` (0 at the beginning)? */
static bool may_follow(int last, hr__codec_class next) {
    switch (next) {
    case HR__ARRAY_TO_ARRAY:
    case HR__ARRAY_TO_BYTES:
        return last == 0 || last == HR__ARRAY_TO_ARRAY;
    case HR__BYTES_TO_BYTES:
        return last == HR__ARRAY_TO_BYTES || last == HR__BYTES_TO_BYTES;
    }
    return false;
}

static bool may_be_left_out(json_object *entry) {
    return hr__json_is_false(hr__json_get(entry, "must_understand"));
}

static hr_status append_v3(builder *b, json_object *entry, int *last, hr_error *err) {
    const char *name;
    json_object *config;
    HR__TRY(hr__codec_entry_v3(entry, &name, &config, err));
    hr__codec_dialect dialect;
    const hr__codec_type *type = hr__codec_find_v3(b->custom, name, &dialect);
    if (type == NULL) {
        return may_be_left_out(entry) ? HR_OK : fail_unknown(name, err);
    }
    if (!may_follow(*last, type->klass)) {
        return hr__fail(err, HR_ERR_METADATA, "codec \"%s\" (%s) stands %s%s", name,
                        class_name(type->klass),
                        *last == 0 ? "first" : "after one that is ",
                        *last == 0 ? "" : class_name((hr__codec_class)*last));
    }
    *last = (int)type->klass;
    return append(b, type, name, dialect, config, err);
}

hr_status hr__chain_parse_v3(json_object *codecs, int32_t first, const hr__spec *chunk,
                             hr__arena *arena, const struct hr__custom_codecs *custom,
                             int depth, hr__chain *chain, hr_error *err) {
    if (!json_object_is_type(codecs, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA, "codecs are %s, expected a list",
                        json_type_to_name(json_object_get_type(codecs)));
    }
    if (depth > HR__CODEC_MAX_DEPTH) {
        return hr__fail(err, HR_ERR_METADATA,
                        "shards are nested %d deep, expected at most %d", depth,
                        HR__CODEC_MAX_DEPTH);
    }
    size_t n = json_object_array_length(codecs);
    builder b;
    HR__TRY(start(&b, chunk, n, arena, err));
    b.custom = custom;
    b.depth = depth;
    int last = 0;
    for (size_t i = (size_t)first; i < n; i++) {
        HR__TRY(append_v3(&b, json_object_array_get_idx(codecs, i), &last, err));
    }
    if (last < HR__ARRAY_TO_BYTES) {
        return hr__fail(err, HR_ERR_METADATA, "no codec is array -> bytes");
    }
    HR__TRY(finish(&b, chain, err));
    if (chain->codecs[0].type->klass == HR__ARRAY_TO_BYTES) {
        chain->decoded = chain->codecs[0].decoded; /* the stored byte order */
    }
    return HR_OK;
}

/* --- Zarr v2 --- */

static hr_status append_v2(builder *b, json_object *entry, hr_error *err) {
    const char *id = hr__json_str(hr__json_get(entry, "id"));
    if (id == NULL) {
        return hr__fail(err, HR_ERR_METADATA,
                        "a codec is %s, expected an object with an \"id\"",
                        json_type_to_name(json_object_get_type(entry)));
    }
    const hr__codec_type *type = hr__codec_find_v2(b->custom, id);
    if (type == NULL) {
        return fail_unknown(id, err);
    }
    return append(b, type, id, HR__DIALECT_V2, entry, err);
}

hr_status hr__chain_parse_v2(json_object *filters, json_object *compressor,
                             const hr__spec *chunk, hr__arena *arena,
                             const struct hr__custom_codecs *custom, hr__chain *chain,
                             hr_error *err) {
    if (filters != NULL && !json_object_is_type(filters, json_type_array)) {
        return hr__fail(err, HR_ERR_METADATA, "filters are %s, expected a list or null",
                        json_type_to_name(json_object_get_type(filters)));
    }
    size_t nfilters = filters != NULL ? json_object_array_length(filters) : 0;
    builder b;
    HR__TRY(start(&b, chunk, nfilters + (compressor != NULL), arena, err));
    b.custom = custom;
    for (size_t i = 0; i < nfilters; i++) {
        HR__TRY(append_v2(&b, json_object_array_get_idx(filters, i), err));
    }
    if (compressor != NULL) {
        HR__TRY(append_v2(&b, compressor, err));
    }
    return finish(&b, chain, err);
}

/* --- decoding --- */

static size_t first_guess(const hr__spec *decoded, size_t src_nbytes) {
    if (decoded->nbytes != HR__SIZE_UNKNOWN) {
        return decoded->nbytes;
    }
    uint64_t guess = decoded->max_nbytes;
    if (hr__mul_u64(src_nbytes, 4, &guess)) {
        (void)hr__add_u64(guess, 65536, &guess);
    }
    return guess < decoded->max_nbytes ? guess : decoded->max_nbytes;
}

hr_status hr__codec_check_ratio(const hr__codec *codec, size_t src_nbytes,
                                hr_error *err) {
    uint64_t needed = codec->decoded.nbytes;
    uint32_t ratio = codec->type->max_ratio;
    if (ratio == 0 || needed == HR__SIZE_UNKNOWN || needed / ratio <= src_nbytes) {
        return HR_OK;
    }
    return hr__fail(err, HR_ERR_DATA,
                    "%zu bytes cannot make the %llu expected: at most %u times as many",
                    src_nbytes, (unsigned long long)needed, ratio);
}

hr_status hr__chain_check_ratio(const hr__chain *chain, uint64_t src_nbytes,
                                hr_error *err) {
    uint64_t most = src_nbytes;
    for (int32_t i = chain->ncodecs; i-- > 0;) {
        const hr__codec *codec = &chain->codecs[i];
        const uint32_t ratio = codec->type->max_ratio;
        if (hr__codec_check_ratio(codec, most, err) != HR_OK) {
            hr__error_add_codec(err, codec->name);
            return HR_ERR_DATA;
        }
        if (codec->decoded.nbytes != HR__SIZE_UNKNOWN) {
            most = codec->decoded.nbytes;
        } else if (ratio == 0 || !hr__mul_u64(most, ratio, &most)) {
            most = UINT64_MAX;
        }
    }
    return HR_OK;
}

/* Decode into a scratch buffer, again with a larger one while the codec asks for it. */
static hr_status decode_to_scratch(const hr__codec *codec, hr__decode *step,
                                   hr__scratch *scratch, hr_error *err) {
    const hr__spec *decoded = &codec->decoded;
    HR__TRY(hr__codec_check_ratio(codec, step->src_nbytes, err));
    size_t room = first_guess(decoded, step->src_nbytes);
    for (;;) {
        step->dst =
            hr__scratch_reserve(step->worker->allocator, scratch, room > 0 ? room : 1);
        if (step->dst == NULL) {
            return hr__fail_memory(err, room);
        }
        step->dst_nbytes = room;
        step->grow = false;
        hr_status status = codec->type->decode(codec, step, err);
        if (status != HR_ERR_DATA || !step->grow || room >= decoded->max_nbytes) {
            return status;
        }
        room = room <= decoded->max_nbytes / 4 ? room * 4 : decoded->max_nbytes;
    }
}

static hr_status check_size(const hr__chain *chain, int32_t i, size_t nbytes,
                            hr_error *err) {
    const hr__spec *decoded =
        i < chain->ncodecs ? &chain->codecs[i].decoded : &chain->decoded;
    if (nbytes == decoded->nbytes ||
        (decoded->nbytes == HR__SIZE_UNKNOWN && nbytes <= decoded->max_nbytes)) {
        return HR_OK;
    }
    const char *expected =
        decoded->nbytes == HR__SIZE_UNKNOWN ? "expected at most" : "expected";
    if (i == 0) {
        return hr__fail(err, HR_ERR_DATA, "chunk decodes to %zu bytes, %s %llu", nbytes,
                        expected, (unsigned long long)decoded->max_nbytes);
    }
    return hr__fail(err, HR_ERR_DATA, "codec \"%s\" gives %zu bytes, %s %llu",
                    chain->codecs[i].name, nbytes, expected,
                    (unsigned long long)decoded->max_nbytes);
}

/* The codec that may write straight into the chunk's memory: views alone come after it,
 * and they strip nothing. −1: none. */
static int32_t last_writer(const hr__chain *chain) {
    for (int32_t i = 0; i < chain->ncodecs; i++) {
        if (!chain->codecs[i].type->view) {
            return chain->codecs[i].decoded.nbytes == chain->decoded.nbytes ? i : -1;
        }
    }
    return -1;
}

int32_t hr__chain_partial(const hr__chain *chain) {
    int32_t i = last_writer(chain);
    return i >= 0 && chain->codecs[i].type->partial ? i : -1;
}

static hr_status decode_step(const hr__codec *codec, hr__decode *step, uint8_t *dst,
                             hr__scratch *scratch, hr_error *err) {
    step->dst = NULL;
    step->dst_nbytes = 0;
    if (codec->type->view) {
        return codec->type->decode(codec, step, err);
    }
    if (dst != NULL) {
        step->dst = dst;
        step->dst_nbytes = codec->decoded.nbytes;
        return codec->type->decode(codec, step, err);
    }
    return decode_to_scratch(codec, step, scratch, err);
}

hr_status hr__chain_decode(const hr__chain *chain, hr__decode *d, hr_error *err) {
    hr__scratch *stage = d->worker->stage[d->worker->level];
    int32_t writer = d->dst != NULL ? last_writer(chain) : -1;
    hr__decode step = *d;
    const int32_t partial = hr__chain_partial(chain);
    int turn = 0; /* step.src is never in stage[turn] */
    for (int32_t i = chain->ncodecs - 1; i >= 0; i--) {
        const hr__codec *codec = &chain->codecs[i];
        step.wanted = i == partial ? d->wanted : NULL;
        hr_status status =
            decode_step(codec, &step, i == writer ? d->dst : NULL, &stage[turn], err);
        if (status == HR_OK) {
            status = check_size(chain, i, step.out_nbytes, err);
        }
        if (status != HR_OK) {
            hr__error_add_codec(err, codec->name);
            return status;
        }
        if (step.dst != NULL && step.out == stage[turn].data) {
            turn ^= 1;
        }
        step.src = step.out;
        step.src_nbytes = step.out_nbytes;
    }
    if (chain->ncodecs == 0) {
        HR__TRY(check_size(chain, 0, step.src_nbytes, err));
    }
    if (d->dst != NULL && step.src != d->dst && step.src_nbytes > 0) {
        memcpy(d->dst, step.src, step.src_nbytes);
    }
    d->out = d->dst != NULL ? d->dst : step.src;
    d->out_nbytes = step.src_nbytes;
    d->left_out_nbytes = step.left_out_nbytes;
    return HR_OK;
}

bool hr__chain_is_raw(const hr__chain *chain) {
    for (int32_t i = 0; i < chain->ncodecs; i++) {
        const hr__codec *codec = &chain->codecs[i];
        if (!codec->type->view || codec->encoded.nbytes != codec->decoded.nbytes ||
            codec->encoded.nbytes == HR__SIZE_UNKNOWN) {
            return false;
        }
    }
    return true;
}
