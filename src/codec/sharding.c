/* sharding_indexed: many inner chunks in one. SPDX-License-Identifier: Apache-2.0 */
#include "codec/sharding.h"

#include <string.h>

#include "core/bytes.h"
#include "core/checked.h"
#include "core/json.h"

#define ENTRY_NBYTES 16 /* offset and size of an inner chunk */

/* --- decoding --- */

hr_status hr__shard_range(const uint8_t *index, uint64_t i, uint64_t shard_nbytes,
                          uint64_t *offset, uint64_t *nbytes, hr_error *err) {
    uint64_t at = hr__load_le64(index + i * ENTRY_NBYTES);
    uint64_t n = hr__load_le64(index + i * ENTRY_NBYTES + 8);
    bool absent = at == UINT64_MAX && n == UINT64_MAX;
    if (!absent && (at > shard_nbytes || n > shard_nbytes - at)) {
        return hr__fail(err, HR_ERR_DATA,
                        "inner chunk %llu: %llu bytes at %llu, expected to lie in the "
                        "shard's %llu",
                        (unsigned long long)i, (unsigned long long)n,
                        (unsigned long long)at, (unsigned long long)shard_nbytes);
    }
    *offset = at;
    *nbytes = n;
    return HR_OK;
}

/* Where the rows of an inner chunk go: a box in the decoded shard. */
typedef struct box {
    int32_t ndim;      /* axes that are walked, without those in a row */
    size_t row_nbytes; /* contiguous on both sides */
    uint64_t nrows;
    const int64_t *shape;
    int64_t strides[HR_MAX_NDIM]; /* of the shard */
} box;

static box make_box(const hr__codec *codec) {
    const hr__sharding_config *c = codec->config;
    const hr__spec *shard = &codec->decoded;
    box b = {.ndim = shard->ndim, .shape = c->chunk_shape};
    b.row_nbytes = shard->dtype.itemsize;
    hr__strides_c(shard->ndim, shard->shape, shard->dtype.itemsize, b.strides);
    bool whole = true; /* the axes behind are the shard's own */
    while (b.ndim > 0 && whole) {
        b.ndim--;
        b.row_nbytes *= (size_t)c->chunk_shape[b.ndim];
        whole = c->counts[b.ndim] == 1;
    }
    b.nrows = b.row_nbytes > 0 ? c->inner.decoded.nbytes / b.row_nbytes : 0;
    return b;
}

/* Byte of the shard where inner chunk i begins. */
static size_t box_start(const hr__codec *codec, const box *b, uint64_t i) {
    const hr__sharding_config *c = codec->config;
    size_t start = 0;
    for (int32_t axis = codec->decoded.ndim - 1; axis >= 0; axis--) {
        uint64_t count = (uint64_t)c->counts[axis];
        start += i % count * (uint64_t)c->chunk_shape[axis] * (uint64_t)b->strides[axis];
        i /= count;
    }
    return start;
}

/* The next row's first byte after `to`; at[] counts along the walked axes. */
static uint8_t *next_row(const box *b, uint8_t *to, int64_t *at) {
    for (int32_t axis = b->ndim - 1; axis >= 0; axis--) {
        to += b->strides[axis];
        if (++at[axis] < b->shape[axis]) {
            break;
        }
        to -= b->strides[axis] * b->shape[axis];
        at[axis] = 0;
    }
    return to;
}

static void place_rows(const box *b, uint8_t *to, const uint8_t *from) {
    int64_t at[HR_MAX_NDIM] = {0};
    for (uint64_t row = 0; row < b->nrows; row++) {
        memcpy(to, from, b->row_nbytes);
        from += b->row_nbytes;
        to = next_row(b, to, at);
    }
}

static void fill_rows(const box *b, uint8_t *to, const uint8_t *fill, size_t itemsize) {
    int64_t at[HR_MAX_NDIM] = {0};
    for (uint64_t row = 0; row < b->nrows; row++) {
        if (fill == NULL) {
            memset(to, 0, b->row_nbytes);
        } else {
            for (size_t i = 0; i < b->row_nbytes; i += itemsize) {
                memcpy(to + i, fill, itemsize);
            }
        }
        to = next_row(b, to, at);
    }
}

static hr_status decode_inner(const hr__codec *codec, const hr__decode *d, const box *b,
                              const uint8_t *index, uint64_t i, hr_error *err) {
    const hr__sharding_config *c = codec->config;
    uint8_t *to = d->dst + box_start(codec, b, i);
    uint64_t offset, nbytes;
    HR__TRY(hr__shard_range(index, i, d->src_nbytes, &offset, &nbytes, err));
    if (nbytes == UINT64_MAX) {
        fill_rows(b, to, codec->decoded.fill, codec->decoded.dtype.itemsize);
        return HR_OK;
    }
    if (nbytes > c->inner.encoded.max_nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "inner chunk %llu is %llu bytes, expected at most %llu",
                        (unsigned long long)i, (unsigned long long)nbytes,
                        (unsigned long long)c->inner.encoded.max_nbytes);
    }
    hr__decode inner = {.worker = d->worker,
                        .heap = d->heap,
                        .reading = d->reading,
                        .skip_checksums = d->skip_checksums,
                        .src = d->src + offset,
                        .src_nbytes = nbytes,
                        .dst = b->nrows == 1 ? to : NULL};
    hr_status status = hr__chain_decode(&c->inner, &inner, err);
    if (status != HR_OK) {
        hr__error_add_place(err, NULL, NULL, offset);
        return status;
    }
    if (inner.out != to) {
        place_rows(b, to, inner.out);
    }
    return HR_OK;
}

static hr_status decode_index(const hr__sharding_config *c, const hr__decode *d,
                              uint8_t **index, hr_error *err) {
    size_t nbytes = c->index.encoded.nbytes, room = c->index.decoded.nbytes;
    hr__scratch *part = &d->worker->part[d->worker->level - 1];
    if (d->src_nbytes < nbytes) {
        return hr__fail(err, HR_ERR_DATA, "shard of %zu bytes, expected an index of %zu",
                        d->src_nbytes, nbytes);
    }
    hr__decode step = {.worker = d->worker, .skip_checksums = d->skip_checksums};
    step.src = c->index_at_start ? d->src : d->src + (d->src_nbytes - nbytes);
    step.src_nbytes = nbytes;
    step.dst = hr__scratch_reserve(d->worker->allocator, part, room > 0 ? room : 1);
    if (step.dst == NULL) {
        return hr__fail_memory(err, room);
    }
    *index = step.dst;
    return hr__chain_decode(&c->index, &step, err);
}

static hr_status decode_all(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const hr__sharding_config *c = codec->config;
    uint8_t *index = NULL;
    HR__TRY(decode_index(c, d, &index, err));
    box b = make_box(codec);
    for (uint64_t i = 0; i < c->ninner; i++) {
        HR__TRY(decode_inner(codec, d, &b, index, i, err));
    }
    d->out = d->dst;
    d->out_nbytes = codec->decoded.nbytes;
    return HR_OK;
}

_Static_assert(HR__SCRATCH_LEVELS > HR__CODEC_MAX_DEPTH,
               "a worker has scratch for every chain that a parser lets nest");

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    d->worker->level++;
    hr_status status = decode_all(codec, d, err);
    d->worker->level--;
    return status;
}

/* --- metadata --- */

static hr_status parse_grid(const hr__codec_parse *p, hr__sharding_config *c,
                            hr_error *err) {
    const hr__spec *shard = &p->codec->decoded;
    json_object *shape = hr__json_get(p->config, "chunk_shape");
    bool good = json_object_is_type(shape, json_type_array) &&
                json_object_array_length(shape) == (size_t)shard->ndim;
    for (int32_t i = 0; good && i < shard->ndim; i++) {
        int64_t *length = &c->chunk_shape[i];
        good = hr__json_i64(json_object_array_get_idx(shape, (size_t)i), length) &&
               *length > 0 && shard->shape[i] % *length == 0;
        c->counts[i] = good ? shard->shape[i] / *length : 0;
    }
    if (!good || !hr__shape_nelems(shard->ndim, c->counts, &c->ninner)) {
        return hr__fail(err, HR_ERR_METADATA,
                        "chunk_shape is %s, expected %d lengths that divide the shard's",
                        json_object_to_json_string(shape), shard->ndim);
    }
    return HR_OK;
}

static hr_status parse_location(const hr__codec_parse *p, bool *at_start, hr_error *err) {
    json_object *location = hr__json_get(p->config, "index_location");
    *at_start = hr__json_is(location, "start");
    if (location != NULL && !*at_start && !hr__json_is(location, "end")) {
        return hr__fail(err, HR_ERR_METADATA,
                        "index_location is %s, expected \"start\" or \"end\"",
                        json_object_to_json_string(location));
    }
    return HR_OK;
}

static hr_status parse_index(const hr__codec_parse *p, hr__sharding_config *c,
                             hr_error *err) {
    int32_t ndim = p->codec->decoded.ndim;
    if (ndim == HR_MAX_NDIM) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "shards of %d axes, expected fewer",
                        ndim);
    }
    hr__spec index = {
        .ndim = ndim + 1, .dtype = hr__dtype(HR_KIND_UINT, 8), .keep_order = true};
    memcpy(index.shape, c->counts, (size_t)ndim * sizeof *c->counts);
    index.shape[ndim] = 2;
    if (!hr__spec_measure(&index)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "index of %llu inner chunks",
                        (unsigned long long)c->ninner);
    }
    HR__TRY(hr__chain_parse_v3(hr__json_get(p->config, "index_codecs"), 0, &index,
                               p->arena, p->custom, p->depth + 1, &c->index, err));
    if (c->index.encoded.nbytes == HR__SIZE_UNKNOWN) {
        return hr__fail(err, HR_ERR_METADATA,
                        "index_codecs give no fixed size, which finding the index needs");
    }
    return HR_OK;
}

static hr_status parse_inner(const hr__codec_parse *p, hr__sharding_config *c,
                             hr_error *err) {
    const hr__spec *shard = &p->codec->decoded;
    hr__spec chunk = {.ndim = shard->ndim,
                      .dtype = shard->dtype,
                      .fill = shard->fill,
                      .keep_order = true};
    memcpy(chunk.shape, c->chunk_shape, (size_t)shard->ndim * sizeof *c->chunk_shape);
    if (!hr__spec_measure(&chunk)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "an inner chunk's size does not fit");
    }
    c->inner_codecs = hr__json_get(p->config, "codecs");
    return hr__chain_parse_v3(c->inner_codecs, 0, &chunk, p->arena, p->custom,
                              p->depth + 1, &c->inner, err);
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__sharding_config *c = hr__arena_alloc(p->arena, sizeof *c);
    uint64_t bound;
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    HR__TRY(parse_grid(p, c, err));
    HR__TRY(parse_location(p, &c->index_at_start, err));
    HR__TRY(parse_index(p, c, err));
    HR__TRY(parse_inner(p, c, err));
    if (!hr__mul_u64(c->ninner, c->inner.encoded.max_nbytes, &bound) ||
        !hr__add_u64(bound, c->index.encoded.nbytes, &bound) || bound > INT64_MAX) {
        bound = INT64_MAX;
    }
    p->codec->encoded = hr__spec_unknown(bound);
    p->codec->config = c;
    return HR_OK;
}

const hr__codec_type hr__codec_sharding = {
    .name = "sharding_indexed",
    .v3_names = (const char *const[]){"sharding_indexed", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .vlen = true,
};
