/* Shard indexes: reading, checking, keeping. SPDX-License-Identifier: Apache-2.0 */
#include "exec/index.h"

#include <inttypes.h>

#include "codec/sharding.h"
#include "core/checked.h"

hr_status hr__index_get(hr__cache *cache, const hr__cache_key *key, uint64_t n,
                        const hr__index_fill *fill, hr__block **out, hr_error *err) {
    hr__block *x = hr__cache_find(cache, key);
    if (x == NULL) {
        uint64_t nbytes;
        if (!hr__mul_u64(n, 16, &nbytes)) {
            return hr__fail(err, HR_ERR_OVERFLOW, "index of %" PRIu64 " entries", n);
        }
        x = hr__cache_new(cache, key, nbytes, true);
        if (x == NULL) {
            return hr__fail_memory(err, nbytes);
        }
        hr_status status =
            fill->fill(fill->user, (uint64_t *)(void *)hr__block_bytes(x), err);
        if (status != HR_OK) {
            hr__cache_release(cache, x);
            return status;
        }
        hr__cache_keep(cache, x);
    }
    *out = x;
    return HR_OK;
}

const uint64_t *hr__index_pairs(hr__block *index) {
    return (const uint64_t *)(void *)hr__block_bytes(index);
}

hr_status hr__index_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                         const hr_read_context *reading, hr__worker *worker,
                         uint8_t **out, hr_error *err) {
    uint8_t *bytes = hr__scratch_reserve(worker->allocator, &worker->read, nbytes);
    if (bytes == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    hr_status status = hr__object_read_index(object, offset, nbytes, reading, bytes, err);
    if (status != HR_OK) {
        hr__error_add_place(err, NULL, NULL, offset);
        return status;
    }
    *out = bytes;
    return HR_OK;
}

/* The index of a shard that is to be read. */
typedef struct shard_reader {
    const hr__level *level;
    hr__object *object;
    hr__extent shard;
    bool skip_checksums;
    const hr_read_context *reading;
    hr__worker *worker;
    uint64_t *read_nbytes;
} shard_reader;

static hr_status read_index(void *user, uint64_t *pairs, hr_error *err) {
    const shard_reader *r = user;
    uint64_t encoded = r->level->index.encoded.nbytes;
    uint64_t at = r->level->index_at_start ? 0 : r->shard.nbytes - encoded;
    uint8_t *raw;
    HR__TRY(hr__index_read(r->object, r->shard.offset + at, encoded, r->reading,
                           r->worker, &raw, err));
    hr__decode d = {.worker = r->worker,
                    .skip_checksums = r->skip_checksums,
                    .src = raw,
                    .src_nbytes = encoded,
                    .dst = (uint8_t *)pairs,
                    .dst_nbytes = r->level->ninner * 16};
    hr_status status = hr__chain_decode(&r->level->index, &d, err);
    if (status != HR_OK) {
        hr__error_add_codec(err, hr__codec_sharding.name);
        hr__error_add_place(err, NULL, NULL, r->shard.offset + at);
        return status;
    }
    *r->read_nbytes += encoded;
    return HR_OK;
}

hr_status hr__index_load(hr__cache *cache, const hr__cache_key *key,
                         const hr__level *level, hr__object *object, hr__extent shard,
                         bool skip_checksums, const hr_read_context *reading,
                         hr__worker *worker, hr__block **out, uint64_t *read_nbytes,
                         hr_error *err) {
    uint64_t encoded = level->index.encoded.nbytes;
    if (shard.nbytes < encoded) { /* before anything is allocated by claim */
        return hr__fail(err, HR_ERR_DATA,
                        "shard is %" PRIu64 " bytes, its index needs %" PRIu64,
                        shard.nbytes, encoded);
    }
    shard_reader r = {.level = level,
                      .object = object,
                      .shard = shard,
                      .skip_checksums = skip_checksums,
                      .reading = reading,
                      .worker = worker,
                      .read_nbytes = read_nbytes};
    const hr__index_fill fill = {.user = &r, .fill = read_index};
    return hr__index_get(cache, key, level->ninner, &fill, out, err);
}

hr_status hr__index_lookup(hr__block *index, uint64_t i, hr__extent shard,
                           hr__extent *out, bool *missing, hr_error *err) {
    uint64_t offset, nbytes;
    hr_status status =
        hr__shard_range(hr__block_bytes(index), i, shard.nbytes, &offset, &nbytes, err);
    if (status != HR_OK) {
        hr__error_add_codec(err, hr__codec_sharding.name);
        return status;
    }
    *missing = nbytes == UINT64_MAX;
    if (!*missing) {
        *out = (hr__extent){.offset = shard.offset + offset, .nbytes = nbytes};
    }
    return HR_OK;
}
