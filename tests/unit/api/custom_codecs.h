/* Arrays whose codecs are the test's own. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_CUSTOM_CODECS_H
#define HR_TESTS_API_CUSTOM_CODECS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fixture.h"

#define N 300000 /* elements of the array, one byte each, in two chunks */
#define CHUNK_N 200000

/* What a codec does, and what it was told. */
typedef struct codec {
    hr_status status; /* given by decode instead of decoding */
    hr_status parse_status;
    const char *message;
    int64_t claim; /* added to the number of bytes that it says it made */
    bool always_more;
    atomic_int nparsed, ndecoded, ndestroyed, nunaware;
    hr_codec_output output; /* of the last parse; shape gone */
    int64_t first_length;
    char configuration[256];
} codec;

typedef struct world {
    hr_context *context;
    hr_store *store;
    codec xor, runs;
    hr_node *array;
    uint8_t out[N];
    hr_error err;
} world;

static world w;

static inline uint8_t element_at(int64_t i) {
    return (uint8_t)(i / 1000);
}

static inline hr_status refuse(const codec *c, hr_status status, hr_error *err) {
    if (c->message != NULL) {
        (void)snprintf(err->message, sizeof err->message, "%s", c->message);
    }
    return status;
}

/* State of a codec: what the configuration says. */
typedef struct settings {
    uint64_t zero;
    uint8_t key;
} settings;

static inline hr_status codec_parse(void *user, const char *configuration,
                                    const hr_codec_output *output, void *memory,
                                    uint64_t *encoded_nbytes, hr_error *err) {
    codec *c = user;
    settings *s = memory;
    int key = 0;
    assert_int_equal((uintptr_t)memory % 16, 0);
    assert_int_equal(s->zero, 0);
    assert_true(*encoded_nbytes == HR_UNKNOWN);
    (void)atomic_fetch_add(&c->nparsed, 1);
    (void)snprintf(c->configuration, sizeof c->configuration, "%s", configuration);
    c->output = *output;
    c->first_length = output->ndim > 0 ? output->shape[0] : -1;
    if (c->parse_status != HR_OK) {
        return refuse(c, c->parse_status, err);
    }
    const char *at = strstr(configuration, "\"key\":");
    if (at != NULL && sscanf(at + 6, "%d", &key) == 1) {
        s->key = (uint8_t)key;
    }
    return HR_OK;
}

static inline void note_reading(codec *c, const hr_read_context *reading) {
    hr_read_info info = HR_READ_INFO_INIT;
    hr_read_chunk chunk = HR_READ_CHUNK_INIT;
    bool is_told = hr_read_context_describe(reading, &info, NULL) == HR_OK &&
                   info.nchunks == 1 &&
                   hr_read_context_next_chunk(reading, &chunk) == 1 &&
                   chunk.start[0] % chunk.shape[0] == 0 && chunk.nuses >= 1 &&
                   hr_read_context_next_chunk(reading, &chunk) == 0;
    (void)atomic_fetch_add(&c->nunaware, !is_told);
}

/* Every byte by itself. */
static inline hr_status xor_decode(void *user, const void *memory, const void *src,
                                   size_t src_nbytes, void *dst, size_t dst_nbytes,
                                   const hr_read_context *reading, uint64_t *nbytes,
                                   hr_error *err) {
    codec *c = user;
    (void)atomic_fetch_add(&c->ndecoded, 1);
    note_reading(c, reading);
    if (c->status != HR_OK) {
        return refuse(c, c->status, err);
    }
    for (size_t i = 0; i < src_nbytes && i < dst_nbytes; i++) {
        ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i] ^ ((const settings *)memory)->key;
    }
    *nbytes = src_nbytes + (uint64_t)c->claim;
    return HR_OK;
}

/* Pairs of a count and a byte. */
static inline hr_status runs_decode(void *user, const void *memory, const void *src,
                                    size_t src_nbytes, void *dst, size_t dst_nbytes,
                                    const hr_read_context *reading, uint64_t *nbytes,
                                    hr_error *err) {
    (void)memory;
    (void)err;
    codec *c = user;
    const uint8_t *p = src;
    size_t made = 0;
    (void)atomic_fetch_add(&c->ndecoded, 1);
    note_reading(c, reading);
    for (size_t i = 0; i + 2 <= src_nbytes; i += 2) {
        if (made + p[i] <= dst_nbytes) {
            memset((uint8_t *)dst + made, p[i + 1], p[i]);
        }
        made += p[i];
    }
    *nbytes = c->always_more ? dst_nbytes + 1 : made;
    return HR_OK;
}

static inline void codec_destroy(void *user) {
    (void)atomic_fetch_add(&((codec *)user)->ndestroyed, 1);
}

static inline hr_custom_codec functions_of(codec *c, const char *name) {
    bool is_runs = c == &w.runs;
    return (hr_custom_codec){.abi_version = HR_CUSTOM_CODEC_VERSION,
                             .kind = HR_CODEC_BYTES_TO_BYTES,
                             .v3_name = name,
                             .v2_id = name,
                             .user = c,
                             .state_nbytes = sizeof(settings),
                             .parse = codec_parse,
                             .decode = is_runs ? runs_decode : xor_decode,
                             .destroy = codec_destroy};
}

static inline void add(codec *c, const char *name, hr_codec_kind kind) {
    hr_custom_codec f = functions_of(c, name);
    f.kind = kind;
    assert_int_equal(hr_context_add_codec(w.context, &f, NULL), HR_OK);
}

static inline int set_up(void **state) {
    (void)state;
    memset(&w, 0, sizeof w);
    w.err = HR_ERROR_INIT;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 4;
    assert_int_equal(hr_context_create(&o, &w.context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &w.store, NULL), HR_OK);
    add(&w.runs, "x-runs", HR_CODEC_BYTES_TO_BYTES);
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    hr_node_unref(w.array);
    hr_store_unref(w.store);
    assert_int_equal(atomic_load(&w.runs.ndestroyed), 0);
    hr_context_unref(w.context);
    assert_int_equal(atomic_load(&w.runs.ndestroyed), 1);
    assert_true(atomic_load(&w.xor.ndestroyed) <= 1);
    assert_int_equal(atomic_load(&w.xor.nunaware) + atomic_load(&w.runs.nunaware), 0);
    return 0;
}

/* A chunk, xored, and with runs. Returns the number of bytes. */
static inline size_t encode(int64_t start, uint8_t key, bool with_runs, uint8_t *out) {
    size_t n = 0;
    for (int64_t i = start; i < start + CHUNK_N; i += with_runs ? 200 : 1) {
        if (with_runs) {
            out[n++] = 200;
        }
        out[n++] = element_at(i) ^ key;
    }
    return n;
}

static inline void put_chunks(const char *format, uint8_t key, bool with_runs) {
    static uint8_t bytes[CHUNK_N];
    for (int k = 0; k < 2; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, format[0] == 'c' ? "c/%d" : "%d", k);
        put(w.store, name, bytes, encode((int64_t)k * CHUNK_N, key, with_runs, bytes));
    }
}

static inline hr_status open_v3(const char *codecs) {
    char meta[1024];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%d],"
                   "\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\","
                   "\"configuration\":{\"chunk_shape\":[%d]}},\"chunk_key_encoding\":{"
                   "\"name\":\"default\"},\"fill_value\":1,\"codecs\":[%s]}",
                   N, CHUNK_N, codecs);
    put(w.store, "zarr.json", meta, strlen(meta));
    return hr_open_store(w.store, "", NULL, &w.array, &w.err);
}

static inline hr_status open_v2(const char *filters, const char *compressor) {
    char meta[1024];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"|u1\","
                   "\"filters\":%s,\"compressor\":%s,\"fill_value\":1,\"order\":\"C\"}",
                   N, CHUNK_N, filters, compressor);
    put(w.store, ".zarray", meta, strlen(meta));
    return hr_open_store(w.store, "", NULL, &w.array, &w.err);
}

static inline hr_tensor destination(void *data) {
    static const int64_t shape[1] = {N};
    hr_tensor t = {.data = data, .ndim = 1, .shape = shape};
    assert_int_equal(hr_dtype_parse("|u1", &t.dtype, NULL), HR_OK);
    return t;
}

static inline hr_status read_all(uint8_t *out) {
    hr_tensor dst = destination(out);
    return hr_read(w.array, NULL, &dst, &w.err);
}

static inline void assert_reads(hr_status opened) {
    if (opened != HR_OK || read_all(w.out) != HR_OK) {
        fail_msg("%s: %s", w.err.codec, w.err.message);
    }
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(w.out[i], element_at(i));
    }
}

#define BOTH                                                                             \
    "\"bytes\",{\"name\":\"x-xor\",\"configuration\":{\"key\":90}},{\"name\":\"x-"       \
    "runs\"}"
#define XOR "\"bytes\",{\"name\":\"x-xor\",\"configuration\":{\"key\":90}}"

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
