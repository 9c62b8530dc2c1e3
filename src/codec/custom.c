/* Codecs of the caller's. SPDX-License-Identifier: Apache-2.0
 *
 * The sizes and statuses that their functions return are not believed. */
#include "codec/custom.h"

#include <inttypes.h>
#include <string.h>

#include "codec/decode.h"

typedef struct hr__custom {
    hr__codec_type type; /* first: what a chain points to */
    hr_custom_codec functions;
    const char *v2_ids[2], *v3_names[2];
    struct hr__custom *older;
    size_t nbytes; /* of this allocation, the names included */
} custom;

static hr_codec_output output_of(const hr__spec *decoded) {
    return (hr_codec_output){.is_bytes = decoded->is_bytes,
                             .ndim = decoded->ndim,
                             .shape = decoded->shape,
                             .dtype = decoded->dtype,
                             .nbytes = decoded->nbytes,
                             .max_nbytes = decoded->max_nbytes};
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    const custom *c = (const custom *)p->codec->type;
    const char *text =
        p->config == NULL
            ? "{}"
            : json_object_to_json_string_ext(p->config, JSON_C_TO_STRING_PLAIN);
    void *state = hr__arena_alloc(p->arena, c->functions.state_nbytes);
    if (text == NULL || state == NULL) {
        return hr__fail_memory(err, c->functions.state_nbytes);
    }
    p->codec->config = state;
    if (c->functions.parse == NULL) {
        return HR_OK;
    }
    const hr_codec_output output = output_of(&p->codec->decoded);
    uint64_t encoded_nbytes = HR_UNKNOWN;
    hr_error own = HR_ERROR_INIT;
    hr_status status = c->functions.parse(c->functions.user, text, &output, state,
                                          &encoded_nbytes, &own);
    if (status != HR_OK) {
        return hr__error_adopt(err, &own, status, HR_ERR_METADATA,
                               "parse of the custom codec");
    }
    if (encoded_nbytes != HR_UNKNOWN && c->type.klass != HR__ARRAY_TO_ARRAY) {
        p->codec->encoded = hr__spec_bytes(encoded_nbytes);
    }
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr_custom_codec *f = &((const custom *)codec->type)->functions;
    uint64_t nbytes = 0;
    hr_error own = HR_ERROR_INIT;
    hr_status status = f->decode(f->user, codec->config, d->src, d->src_nbytes, d->dst,
                                 d->dst_nbytes, d->reading, &nbytes, &own);
    if (status != HR_OK) {
        return hr__error_adopt(err, &own, status, HR_ERR_DATA,
                               "decode of the custom codec");
    }
    if (nbytes > d->dst_nbytes) {
        return hr__settle_grow(codec, d, hr__fail_room(d, "the codec", nbytes, err));
    }
    d->out = d->dst;
    d->out_nbytes = (size_t)nbytes;
    return HR_OK;
}

void hr__custom_init(hr__custom_codecs *codecs, const hr_allocator *a) {
    codecs->allocator = a;
    hr__lock_init(&codecs->lock);
    atomic_init(&codecs->newest, NULL);
}

void hr__custom_free(hr__custom_codecs *codecs) {
    for (custom *c = atomic_load(&codecs->newest); c != NULL;) {
        custom *older = c->older;
        if (c->functions.destroy != NULL) {
            c->functions.destroy(c->functions.user);
        }
        hr__free(codecs->allocator, c, c->nbytes);
        c = older;
    }
    hr__lock_destroy(&codecs->lock);
}

const hr__codec_type *hr__custom_next(const hr__custom_codecs *codecs,
                                      const hr__codec_type *before) {
    const custom *c = before != NULL   ? ((const custom *)before)->older
                      : codecs != NULL ? atomic_load(&codecs->newest)
                                       : NULL;
    return c != NULL ? &c->type : NULL;
}

static hr_status check(const hr_custom_codec *f, hr_error *err) {
    if (f->abi_version != HR_CUSTOM_CODEC_VERSION) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "custom codec: abi_version is %" PRIu32 ", this version knows %d",
                        f->abi_version, HR_CUSTOM_CODEC_VERSION);
    }
    const bool is_named = f->v2_id != NULL || f->v3_name != NULL;
    const bool is_kind =
        f->kind >= HR_CODEC_ARRAY_TO_ARRAY && f->kind <= HR_CODEC_BYTES_TO_BYTES;
    if (f->decode == NULL || !is_named || !is_kind) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "custom codec: no decode, no name, or no kind (%d)",
                        (int)f->kind);
    }
    return HR_OK;
}

static hr_status check_names(const hr__custom_codecs *codecs, const hr_custom_codec *f,
                             hr_error *err) {
    hr__codec_dialect dialect;
    const bool is_v2 = f->v2_id != NULL && hr__codec_find_v2(codecs, f->v2_id) != NULL;
    const bool is_v3 =
        f->v3_name != NULL && hr__codec_find_v3(codecs, f->v3_name, &dialect) != NULL;
    return is_v2 || is_v3 ? hr__fail(err, HR_ERR_ARGUMENT,
                                     "custom codec: there is a codec \"%s\" already",
                                     is_v2 ? f->v2_id : f->v3_name)
                          : HR_OK;
}

static custom *create(const hr_allocator *a, const hr_custom_codec *f) {
    const char *v2 = f->v2_id != NULL ? f->v2_id : "";
    const char *v3 = f->v3_name != NULL ? f->v3_name : "";
    const size_t v2_nbytes = strlen(v2) + 1, v3_nbytes = strlen(v3) + 1;
    custom *c = hr__calloc(a, sizeof *c + v2_nbytes + v3_nbytes);
    if (c == NULL) {
        return NULL;
    }
    c->nbytes = sizeof *c + v2_nbytes + v3_nbytes;
    c->functions = *f;
    c->v2_ids[0] = f->v2_id != NULL ? memcpy(c + 1, v2, v2_nbytes) : NULL;
    c->v3_names[0] =
        f->v3_name != NULL ? memcpy((char *)(c + 1) + v2_nbytes, v3, v3_nbytes) : NULL;
    c->type = (hr__codec_type){.name = f->v3_name != NULL ? c->v3_names[0] : c->v2_ids[0],
                               .v2_ids = c->v2_ids,
                               .v3_names = c->v3_names,
                               .klass = (hr__codec_class)f->kind,
                               .library = "custom",
                               .parse = parse,
                               .decode = decode};
    return c;
}

hr_status hr__custom_add(hr__custom_codecs *codecs, const hr_custom_codec *functions,
                         hr_error *err) {
    HR__TRY(check(functions, err));
    custom *c = create(codecs->allocator, functions);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    (void)hr__lock_acquire(&codecs->lock); /* one store publishes: never half done */
    hr_status status = check_names(codecs, functions, err);
    if (status == HR_OK) {
        c->older = atomic_load(&codecs->newest);
        atomic_store(&codecs->newest, c);
    }
    hr__lock_release(&codecs->lock);
    if (status != HR_OK) {
        hr__free(codecs->allocator, c, c->nbytes);
    }
    return status;
}
