/* Running one codec by itself, and its mutants. SPDX-License-Identifier: Apache-2.0 */
#include "support/codec_run.h"

#include "core/json.h"

hr_status runner_open(codec_runner *r, const hr__codec_type *type, const char *json) {
    memset(r, 0, sizeof *r);
    hr__arena_init(&r->arena, &hr__malloc_allocator);
    hr__worker_init(&r->worker, &hr__malloc_allocator);
    r->err = HR_ERROR_INIT;
    r->codec = (hr__codec){.type = type, .name = type->name};
    r->codec.decoded = (hr__spec){
        .is_bytes = true, .nbytes = HR__SIZE_UNKNOWN, .max_nbytes = HR__SIZE_UNKNOWN};
    json_object *config = NULL;
    if (json != NULL) {
        assert_int_equal(hr__json_parse(json, strlen(json), &config, &r->err), HR_OK);
    }
    hr__codec_parse p = {.dialect = HR__DIALECT_V2,
                         .config = config,
                         .arena = &r->arena,
                         .codec = &r->codec};
    hr_status status = type->parse(&p, &r->err);
    json_object_put(config);
    return status;
}

void runner_close(codec_runner *r) {
    free(r->out);
    hr__worker_free(&r->worker);
    hr__arena_free(&r->arena);
}

/* A copy in a block of its own size; one byte where that is 0. */
static uint8_t *copy_of(const void *data, size_t nbytes) {
    uint8_t *copy = malloc(nbytes > 0 ? nbytes : 1);
    assert_non_null(copy);
    if (nbytes > 0) {
        memcpy(copy, data, nbytes);
    }
    return copy;
}

static hr_status decode_into(codec_runner *r, const void *src, size_t src_nbytes,
                             size_t room) {
    uint8_t *in = copy_of(src, src_nbytes);
    free(r->out);
    r->out = malloc(room > 0 ? room : 1);
    assert_non_null(r->out);
    memset(r->out, 0xA5, room);
    r->err = HR_ERROR_INIT;
    hr__decode d = {.worker = &r->worker,
                    .skip_checksums = r->skip_checksums,
                    .cancelled = r->cancelled,
                    .src = in,
                    .src_nbytes = src_nbytes,
                    .dst = r->out,
                    .dst_nbytes = room};
    r->status = r->codec.type->decode(&r->codec, &d, &r->err);
    r->grow = d.grow;
    r->out_nbytes = 0;
    if (r->status == HR_OK) {
        assert_true(d.out_nbytes <= room);
        r->out_nbytes = d.out_nbytes;
        if (d.out != r->out && d.out_nbytes > 0) { /* a part of src */
            assert_true(d.out >= in && d.out + d.out_nbytes <= in + src_nbytes);
            memcpy(r->out, d.out, d.out_nbytes);
        }
    } else {
        assert_int_equal(r->err.status, r->status);
        assert_true(r->err.message[0] != '\0');
    }
    free(in);
    return r->status;
}

hr_status runner_decode(codec_runner *r, const void *src, size_t src_nbytes,
                        size_t decoded_nbytes) {
    r->codec.decoded.nbytes = r->codec.decoded.max_nbytes = decoded_nbytes;
    hr_status status = decode_into(r, src, src_nbytes, decoded_nbytes);
    assert_false(r->grow);
    return status;
}

void runner_check_cancel(codec_runner *r, const void *src, size_t src_nbytes,
                         const void *want, size_t want_nbytes) {
    atomic_bool cancelled;
    atomic_init(&cancelled, true);
    r->cancelled = &cancelled;
    assert_int_equal(runner_decode(r, src, src_nbytes, want_nbytes), HR_ERR_CANCELLED);
    atomic_store(&cancelled, false);
    assert_decodes(r, src, src_nbytes, want, want_nbytes);
    r->cancelled = NULL;
}

hr_status runner_decode_growing(codec_runner *r, const void *src, size_t src_nbytes,
                                size_t max_nbytes) {
    r->codec.decoded.nbytes = HR__SIZE_UNKNOWN;
    r->codec.decoded.max_nbytes = max_nbytes;
    size_t room = max_nbytes < 64 ? max_nbytes : 64;
    while (decode_into(r, src, src_nbytes, room) != HR_OK && r->grow) {
        assert_true(room < max_nbytes);
        room = room < max_nbytes / 2 ? room * 2 : max_nbytes;
    }
    return r->status;
}

void for_each_mutant(const uint8_t *data, size_t nbytes, mutant_fn *fn, void *user) {
    uint8_t *copy = copy_of(data, nbytes);
    for (size_t n = 0; n < nbytes; n++) {
        fn(user, copy, n);
    }
    for (size_t i = 0; i < nbytes; i++) {
        for (int bit = 0; bit < 9; bit++) {
            copy[i] = (uint8_t)(data[i] ^ (bit < 8 ? 1 << bit : 0xff));
            fn(user, copy, nbytes);
        }
        copy[i] = data[i];
    }
    free(copy);
}

uint8_t *sample_data(size_t n, size_t typesize) {
    uint8_t *data = malloc(n > 0 ? n : 1);
    assert_non_null(data);
    uint32_t state = 12345;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        size_t item = i / typesize, byte = i % typesize;
        size_t value = byte == 0 ? item * 3 + (state >> 30) : item / (byte * 37 + 5);
        data[i] = (uint8_t)value;
    }
    return data;
}
