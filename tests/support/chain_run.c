/* Running a chain of codecs from its metadata. SPDX-License-Identifier: Apache-2.0 */
#include "support/chain_run.h"

#include "core/json.h"

static void reset(chain_runner *r) {
    if (r->arena.allocator == NULL) {
        hr__arena_init(&r->arena, &hr__malloc_allocator);
        hr__worker_init(&r->worker, &hr__malloc_allocator);
        r->heap = hr__heap_create(&hr__malloc_allocator);
        assert_non_null(r->heap);
    }
    hr__arena_free(&r->arena);
    json_object_put(r->json);
    r->json = NULL;
    r->err = HR_ERROR_INIT;
}

static json_object *parse(const char *text) {
    json_object *json;
    hr_error err = HR_ERROR_INIT;
    if (hr__json_parse(text, strlen(text), &json, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    return json;
}

void chain_chunk(chain_runner *r, const char *dtype, const int64_t *shape) {
    r->chunk = (hr__spec){0};
    assert_int_equal(hr_dtype_parse(dtype, &r->chunk.dtype, NULL), HR_OK);
    while (*shape >= 0) {
        r->chunk.shape[r->chunk.ndim++] = *shape++;
    }
    assert_true(hr__spec_measure(&r->chunk));
}

void chain_chunk_text(chain_runner *r, const char *dtype, const char *shape) {
    json_object *list = parse(shape);
    size_t ndim = json_object_array_length(list);
    assert_true(ndim <= HR_MAX_NDIM);
    int64_t lengths[HR_MAX_NDIM + 1];
    for (size_t i = 0; i < ndim; i++) {
        assert_true(hr__json_i64(json_object_array_get_idx(list, i), &lengths[i]));
    }
    lengths[ndim] = -1;
    chain_chunk(r, dtype, lengths);
    json_object_put(list);
}

hr_status chain_open_v3(chain_runner *r, const char *json) {
    reset(r);
    r->json = parse(json);
    return hr__chain_parse_v3(r->json, 0, &r->chunk, &r->arena, NULL, 0, &r->chain,
                              &r->err);
}

hr_status chain_open_v2(chain_runner *r, const char *filters, const char *compressor) {
    reset(r);
    r->json = json_object_new_array();
    json_object_array_add(r->json, parse(filters));
    json_object_array_add(r->json, parse(compressor));
    return hr__chain_parse_v2(json_object_array_get_idx(r->json, 0),
                              json_object_array_get_idx(r->json, 1), &r->chunk, &r->arena,
                              NULL, &r->chain, &r->err);
}

void chain_close(chain_runner *r) {
    hr__arena_free(&r->arena);
    hr__worker_free(&r->worker);
    hr__heap_destroy(r->heap);
    json_object_put(r->json);
    free(r->dst);
    *r = (chain_runner){0};
}

static hr_status decode(chain_runner *r, const void *src, size_t src_nbytes,
                        uint8_t *dst) {
    uint8_t *copy = malloc(src_nbytes > 0 ? src_nbytes : 1);
    assert_non_null(copy);
    memcpy(copy, src, src_nbytes);
    r->err = HR_ERROR_INIT;
    hr__decode d = {.worker = &r->worker,
                    .heap = r->heap,
                    .skip_checksums = r->skip_checksums,
                    .src = copy,
                    .src_nbytes = src_nbytes,
                    .dst = dst};
    hr_status status = hr__chain_decode(&r->chain, &d, &r->err);
    assert_int_equal(r->worker.level, 0);
    if (status == HR_OK && dst == NULL) {
        assert_int_equal(d.out_nbytes, r->chain.decoded.nbytes);
        memcpy(r->dst, d.out, d.out_nbytes); /* it may lie in the copy */
    }
    r->out = r->dst;
    r->out_nbytes = d.out_nbytes;
    free(copy);
    return status;
}

static void fresh_dst(chain_runner *r) {
    size_t n = r->chain.decoded.nbytes;
    free(r->dst);
    r->dst = malloc(n > 0 ? n : 1);
    assert_non_null(r->dst);
    memset(r->dst, 0xA5, n);
}

hr_status chain_decode(chain_runner *r, const void *src, size_t src_nbytes) {
    fresh_dst(r);
    return decode(r, src, src_nbytes, r->dst);
}

hr_status chain_decode_in_place(chain_runner *r, const void *src, size_t src_nbytes) {
    fresh_dst(r);
    return decode(r, src, src_nbytes, NULL);
}

uint8_t *unhex(const char *text, size_t *nbytes) {
    size_t n = strlen(text) / 2;
    uint8_t *bytes = malloc(n > 0 ? n : 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end;
        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        assert_ptr_equal(end, pair + 2);
    }
    *nbytes = n;
    return bytes;
}

uint8_t *chain_flatten(const chain_runner *r, size_t *nbytes) {
    size_t n = r->out_nbytes / sizeof(hr_vlen), total = 0;
    hr_vlen element;
    for (size_t i = 0; i < n; i++) {
        memcpy(&element, r->out + i * sizeof element, sizeof element);
        total += 4 + element.nbytes;
    }
    uint8_t *flat = malloc(total > 0 ? total : 1), *p = flat;
    assert_non_null(flat);
    for (size_t i = 0; i < n; i++) {
        memcpy(&element, r->out + i * sizeof element, sizeof element);
        uint32_t length = (uint32_t)element.nbytes;
        memcpy(p, &length, 4);
        memcpy(p + 4, element.data, element.nbytes);
        p += 4 + element.nbytes;
    }
    *nbytes = total;
    return flat;
}

static void decode_mutant(void *user, const uint8_t *data, size_t nbytes) {
    chain_runner *r = user;
    hr_status status = chain_decode(r, data, nbytes);
    assert_true(status == HR_OK || status == HR_ERR_DATA || status == HR_ERR_CHECKSUM);
    assert_true(status == HR_OK || r->err.message[0] != '\0');
    assert_int_equal(chain_decode_in_place(r, data, nbytes), status);
}

void chain_survives_mutants(chain_runner *r, const uint8_t *data, size_t nbytes) {
    for_each_mutant(data, nbytes, decode_mutant, r);
}
