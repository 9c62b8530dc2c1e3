/* zfpy streams, with libzfp as encoder and oracle. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <zfp.h>

#include "support/chain_run.h"
#include "support/corpus.h"
#include "support/sha256.h"

#define ZFPY "{\"id\":\"zfpy\",\"mode\":4,\"tolerance\":0.01,\"precision\":-1}"
#define MAX_STREAM 65536

typedef struct stream {
    uint64_t words[MAX_STREAM / 8];
    size_t n; /* bytes */
} stream;

static const char *const dtypes[] = {"<i4", "<i8", "<f4", "<f8"}; /* by zfp_type − 1 */

typedef enum mode { REVERSIBLE, RATE, PRECISION, ACCURACY, EXPERT, NMODES } mode;

static void set_mode(zfp_stream *zfp, const zfp_field *f, mode m) {
    switch (m) {
    case REVERSIBLE:
        zfp_stream_set_reversible(zfp);
        break;
    case RATE:
        (void)zfp_stream_set_rate(zfp, 7, f->type, zfp_field_dimensionality(f), 0);
        break;
    case PRECISION:
        (void)zfp_stream_set_precision(zfp, 12);
        break;
    case ACCURACY:
        (void)zfp_stream_set_accuracy(zfp, 0.5);
        break;
    default: /* no block fills it */
        assert_true(zfp_stream_set_params(zfp, 20000, 30000, 40, -1074));
        break;
    }
}

static zfp_field field_of(const chain_runner *r, zfp_type type, void *data) {
    zfp_field f = {.type = type, .data = data};
    size_t *n[] = {&f.nx, &f.ny, &f.nz, &f.nw};
    for (int32_t i = 0; i < r->chunk.ndim; i++) {
        *n[r->chunk.ndim - 1 - i] = (size_t)r->chunk.shape[i];
    }
    return f;
}

/* Compress data as zfpy does: a full header in front. */
static void encode(stream *s, zfp_field *f, mode m) {
    memset(s->words, 0, sizeof s->words);
    zfp_stream zfp = {.stream = stream_open(s->words, sizeof s->words)};
    set_mode(&zfp, f, m);
    assert_true(zfp_write_header(&zfp, f, ZFP_HEADER_FULL) > 0);
    s->n = zfp_compress(&zfp, f);
    assert_in_range(s->n, 1, sizeof s->words);
    stream_close(zfp.stream);
}

/* What libzfp makes of it, from input that ends in enough zeros. */
static bool decode_by_libzfp(const void *src, size_t n, zfp_field *f) {
    static uint64_t words[2 * MAX_STREAM];
    assert_true(n <= MAX_STREAM);
    memset(words, 0, sizeof words);
    memcpy(words, src, n);
    zfp_stream zfp = {.stream = stream_open(words, sizeof words)};
    zfp_field held = {0};
    bool good = zfp_read_header(&zfp, &held, ZFP_HEADER_FULL) > 0 &&
                held.type == f->type && held.nx == f->nx && held.ny == f->ny &&
                held.nz == f->nz && held.nw == f->nw && zfp_decompress(&zfp, f) > 0;
    stream_close(zfp.stream);
    return good;
}

static void *items(const chain_runner *r, zfp_type type) {
    uint8_t *data = malloc(r->chunk.nbytes);
    assert_non_null(data);
    uint32_t state = 1;
    for (uint64_t i = 0; i < r->chunk.nelems; i++) {
        state = state * 1664525u + 1013904223u;
        double value = (double)i * 0.75 + (double)(state >> 28);
        hr_dtype from = hr__dtype(HR_KIND_FLOAT, 8);
        hr__dtype_convert(&r->chunk.dtype, data + i * zfp_type_size(type), &from,
                          (const uint8_t *)&value, 1);
    }
    return data;
}

static void check_mode(chain_runner *r, zfp_type type, mode m) {
    stream s;
    void *data = items(r, type);
    zfp_field f = field_of(r, type, data);
    encode(&s, &f, m);
    void *want = malloc(r->chunk.nbytes);
    assert_non_null(want);
    zfp_field g = field_of(r, type, want);
    assert_true(decode_by_libzfp(s.words, s.n, &g));
    if (m == REVERSIBLE) {
        assert_memory_equal(want, data, r->chunk.nbytes);
    }
    assert_opens(chain_open_v2(r, "null", ZFPY), r);
    assert_chain_gives(r, s.words, s.n, want, r->chunk.nbytes);
    free(want);
    free(data);
}

static void every_type_mode_and_number_of_axes_decodes_as_libzfp_does(void **state) {
    (void)state;
    static const char *const shapes[] = {"[1]",          "[4]",          "[37]",
                                         "[1, 1]",       "[8, 4]",       "[5, 23]",
                                         "[1, 1, 7]",    "[4, 8, 4]",    "[3, 10, 5]",
                                         "[2, 1, 6, 5]", "[4, 4, 4, 4]", "[5, 3, 2, 9]"};
    chain_runner r = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int type = zfp_type_int32; type <= zfp_type_double; type++) {
            for (mode m = REVERSIBLE; m < NMODES; m++) {
                chain_chunk_text(&r, dtypes[type - 1], shapes[i]);
                check_mode(&r, (zfp_type)type, m);
            }
        }
    }
    chain_close(&r);
}

/* A reversible stream of floats. */
static void encode_floats(stream *s, float *data, size_t ny, size_t nx) {
    for (size_t i = 0; i < (ny > 0 ? ny : 1) * nx; i++) {
        data[i] = (float)i * 0.5f + (float)(i % 7);
    }
    zfp_field f = {.type = zfp_type_float, .nx = nx, .ny = ny, .data = data};
    encode(s, &f, REVERSIBLE);
}

static void a_chunk_may_be_stored_as_one_axis(void **state) {
    (void)state;
    float data[60];
    stream s;
    encode_floats(&s, data, 0, 60);
    chain_runner r = {0};
    CHUNK(&r, "<f4", 1, 2, 1, 3, 10); /* more axes than zfp knows */
    assert_opens(chain_open_v2(&r, "[" ZFPY "]", "null"), &r);
    assert_chain_gives(&r, s.words, s.n, data, sizeof data);
    chain_close(&r);
}

static void numcodecs_name_in_v3_is_understood(void **state) {
    (void)state;
    float data[60];
    stream s;
    encode_floats(&s, data, 6, 10);
    chain_runner r = {0};
    CHUNK(&r, "<f4", 6, 10);
    assert_opens(chain_open_v3(&r, "[{\"name\":\"numcodecs.zfpy\",\"configuration\":"
                                   "{\"mode\":4,\"tolerance\":0.01}}]"),
                 &r);
    assert_chain_gives(&r, s.words, s.n, data, sizeof data);
    assert_string_equal(r.chain.codecs[0].type->library, "libzfp");
    chain_close(&r);
}

static void a_stream_of_another_shape_or_type_is_refused_with_both(void **state) {
    (void)state;
    float data[60];
    stream s;
    encode_floats(&s, data, 6, 10);
    chain_runner r = {0};
    CHUNK(&r, "<f4", 10, 6);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    assert_chain_refuses(&r, s.words, s.n, HR_ERR_DATA,
                         "zfp stream holds <f4 [6, 10], expected <f4 [10, 6]");
    CHUNK(&r, "<i4", 6, 10);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    assert_chain_refuses(&r, s.words, s.n, HR_ERR_DATA,
                         "zfp stream holds <f4 [6, 10], expected <i4 [6, 10]");
    CHUNK(&r, "<f4", 6, 11);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    assert_chain_refuses(&r, s.words, s.n, HR_ERR_DATA,
                         "zfp stream holds <f4 [6, 10], expected <f4 [6, 11]");
    CHUNK(&r, "<f4", 60);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    assert_chain_refuses(&r, s.words, s.n, HR_ERR_DATA,
                         "zfp stream holds <f4 [6, 10], expected <f4 [60]");
    encode_floats(&s, data, 0, 59);
    assert_chain_refuses(&r, s.words, s.n, HR_ERR_DATA,
                         "zfp stream holds <f4 [59], expected <f4 [60]");
    chain_close(&r);
}

static void other_bytes_are_refused(void **state) {
    (void)state;
    float data[60];
    stream s;
    encode_floats(&s, data, 0, 60);
    chain_runner r = {0};
    CHUNK(&r, "<f4", 60);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    uint8_t other[16];
    memcpy(other, s.words, sizeof other);
    other[3] = 4;
    assert_chain_refuses(&r, other, sizeof other, HR_ERR_DATA,
                         "16 bytes begin with no zfp header of version 5");
    assert_chain_refuses(&r, "", 0, HR_ERR_DATA,
                         "0 bytes begin with no zfp header of version 5");
    assert_chain_refuses(&r, s.words, 11, HR_ERR_DATA,
                         "zfp stream is cut off at the end of 11 bytes");
    chain_close(&r);
}

static void enormous_sizes_in_a_header_cost_nothing(void **state) {
    (void)state;
    static const uint8_t header[16] = {'z',  'f',  'p',  5,    0x0e | 0xf0, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0xff,        0xff};
    chain_runner r = {0};
    CHUNK(&r, "<f4", 4, 4, 4, 4);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    assert_int_equal(chain_decode(&r, header, sizeof header), HR_ERR_DATA);
    chain_close(&r);
}

static void elements_that_zfpy_does_not_store_are_refused(void **state) {
    (void)state;
    static const char *const others[] = {">f4", "<f2", "<i2", "<u4", "<u8", "|b1", "<c8"};
    chain_runner r = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "zfpy stores <i4, <i8, <f4 and <f8, not %s",
                       others[i]);
        chain_chunk_text(&r, others[i], "[4]");
        assert_open_refused(chain_open_v2(&r, "null", ZFPY), &r, HR_ERR_METADATA, text);
    }
    CHUNK(&r, "<f4", 4);
    assert_open_refused(chain_open_v2(&r, "[{\"id\":\"zlib\"}]", ZFPY), &r,
                        HR_ERR_METADATA, "zfpy stores <i4, <i8, <f4 and <f8, not bytes");
    assert_open_refused(chain_open_v2(&r, "null", "{\"id\":\"zfpy\",\"mode\":\"x\"}"), &r,
                        HR_ERR_METADATA, "zfpy: \"mode\" is \"x\", expected an integer");
    chain_close(&r);
}

/* Without the zeros that fill the last word. */
static size_t used_nbytes(const stream *s) {
    size_t n = s->n;
    while (n > 0 && ((const uint8_t *)s->words)[n - 1] == 0) {
        n--;
    }
    return n;
}

static void a_stream_cut_off_is_refused(void **state) {
    (void)state;
    float data[60];
    stream s;
    encode_floats(&s, data, 6, 10);
    chain_runner r = {0};
    CHUNK(&r, "<f4", 6, 10);
    assert_opens(chain_open_v2(&r, "null", ZFPY), &r);
    size_t used = used_nbytes(&s);
    for (size_t n = 4; n < used; n++) {
        char text[100];
        (void)snprintf(text, sizeof text, "zfp stream is cut off at the end of %zu bytes",
                       n);
        assert_chain_refuses(&r, s.words, n, HR_ERR_DATA, text);
    }
    assert_chain_gives(&r, s.words, s.n, data, sizeof data);
    chain_close(&r);
}

typedef struct oracle {
    chain_runner r;
    zfp_type type;
    uint8_t *want;
    size_t ngood;
} oracle;

static void check_mutant(void *user, const uint8_t *data, size_t n) {
    oracle *o = user;
    zfp_field f = field_of(&o->r, o->type, o->want);
    hr_status status = chain_decode(&o->r, data, n);
    if (status == HR_OK) {
        assert_true(decode_by_libzfp(data, n, &f));
        assert_memory_equal(o->r.out, o->want, o->r.out_nbytes);
        o->ngood++;
    } else {
        assert_int_equal(status, HR_ERR_DATA);
    }
}

static void open_oracle(oracle *o, zfp_type type, const char *shape) {
    *o = (oracle){.type = type};
    chain_chunk_text(&o->r, dtypes[type - 1], shape);
    assert_opens(chain_open_v2(&o->r, "null", ZFPY), &o->r);
    o->want = malloc(o->r.chunk.nbytes);
    assert_non_null(o->want);
}

static void close_oracle(oracle *o) {
    free(o->want);
    chain_close(&o->r);
}

static void damaged_streams_give_an_error_or_what_libzfp_gives(void **state) {
    (void)state;
    static const char *const shapes[] = {"[9]", "[3, 6]", "[2, 3, 5]", "[2, 2, 3, 2]"};
    for (int type = zfp_type_int32; type <= zfp_type_double; type++) {
        for (mode m = REVERSIBLE; m < EXPERT; m++) {
            oracle o;
            open_oracle(&o, (zfp_type)type, shapes[(type + (int)m) % 4]);
            void *data = items(&o.r, o.type);
            zfp_field f = field_of(&o.r, o.type, data);
            stream s;
            encode(&s, &f, m);
            for_each_mutant((const uint8_t *)s.words, s.n, check_mutant, &o);
            assert_true(o.ngood > 0);
            free(data);
            close_oracle(&o);
        }
    }
}

/* Any limits per block that a header can ask for, before any bytes. */
static void any_limits_and_bytes_give_an_error_or_what_libzfp_gives(void **state) {
    (void)state;
    static const char *const shapes[] = {"[11]", "[5, 6]", "[2, 3, 5]", "[5, 2, 3, 2]"};
    uint32_t seed = 7;
    size_t ngood = 0;
    for (int round = 0; round < 4000; round++) {
        oracle o;
        open_oracle(&o, (zfp_type)(round % 4 + 1), shapes[round / 4 % 4]);
        zfp_field f = field_of(&o.r, o.type, o.want);
        stream s = {.n = (size_t)(round % 37) * 24};
        for (size_t i = 0; i < 1024; i++) {
            seed = seed * 1664525u + 1013904223u;
            s.words[i] = (uint64_t)seed << 32 | (seed ^ seed << 7);
        }
        zfp_stream zfp = {.stream = stream_open(s.words, sizeof s.words)};
        uint32_t limit = (seed & 3) == 0 ? seed >> 28 : seed >> 17;
        (void)zfp_stream_set_params(&zfp, round % 3 == 0 ? 1 : limit + 1, limit + 1,
                                    seed % 64 + 1, (int)(seed % 3000) - 1600);
        size_t header = zfp_write_header(&zfp, &f, ZFP_HEADER_FULL);
        zfp_stream_flush(&zfp);
        stream_close(zfp.stream);
        s.n += (header + 63) / 64 * 8;
        check_mutant(&o, (const uint8_t *)s.words, s.n);
        ngood += o.ngood;
        close_oracle(&o);
    }
    assert_in_range(ngood, 500, 3500);
}

static void check_fixture(chain_runner *r, const corpus_row *row) {
    size_t n;
    uint8_t *data = corpus_read(row->path, &n);
    chain_chunk_text(r, row->dtype, row->shape);
    char hex[65];
    /* whatever its configuration: the stream says all itself */
    if (chain_open_v2(r, "null", ZFPY) != HR_OK || chain_decode(r, data, n) != HR_OK) {
        fail_msg("%s: %s", row->path, r->err.message);
    }
    sha256_hex(r->out, r->out_nbytes, hex);
    assert_string_equal(hex, row->expected_sha256);
    free(data);
}

static void streams_of_numcodecs_decode_to_their_recorded_bytes(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "zfpy streams of the corpus")) {
        skip();
    }
    chain_runner r = {0};
    size_t seen = 0;
    for (corpus_row row; corpus_next(&c, &row);) {
        if (strcmp(row.klass, "codec") == 0 && strcmp(row.compression, "zfpy") == 0) {
            check_fixture(&r, &row);
            seen++;
        }
    }
    assert_int_equal(seen, 19);
    chain_close(&r);
    corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_mode_and_number_of_axes_decodes_as_libzfp_does),
        cmocka_unit_test(a_chunk_may_be_stored_as_one_axis),
        cmocka_unit_test(numcodecs_name_in_v3_is_understood),
        cmocka_unit_test(a_stream_of_another_shape_or_type_is_refused_with_both),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(enormous_sizes_in_a_header_cost_nothing),
        cmocka_unit_test(elements_that_zfpy_does_not_store_are_refused),
        cmocka_unit_test(a_stream_cut_off_is_refused),
        cmocka_unit_test(damaged_streams_give_an_error_or_what_libzfp_gives),
        cmocka_unit_test(any_limits_and_bytes_give_an_error_or_what_libzfp_gives),
        cmocka_unit_test(streams_of_numcodecs_decode_to_their_recorded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
