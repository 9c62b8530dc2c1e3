/* Codecs made through libraries, on streams that other software wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "support/codec_run.h"
#include "support/corpus.h"
#include "support/sha256.h"

#define MAX_NBYTES ((size_t)64 << 20)

#define NTYPES 8
static const hr__codec_type *const types[NTYPES] = {
    &hr__codec_zstd, &hr__codec_lz4,  &hr__codec_gzip,   &hr__codec_zlib,
    &hr__codec_bz2,  &hr__codec_lzma, &hr__codec_snappy, &hr__codec_blosc};

static const hr__codec_type *type_of(const char *compression) {
    for (size_t i = 0; i < NTYPES; i++) {
        if (strcmp(types[i]->name, compression) == 0) {
            return types[i];
        }
    }
    return NULL;
}

/* The codec's configuration lies beside the streams of numcodecs' fixtures. */
static void open_for(codec_runner *r, const corpus_row *row) {
    char *json = NULL;
    if (strncmp(row->path, "codec/numcodecs/", 16) == 0) {
        char path[512];
        int folder = (int)(strrchr(row->path, '/') - row->path);
        (void)snprintf(path, sizeof path, "%.*s/config.json", folder, row->path);
        size_t n;
        uint8_t *text = corpus_read(path, &n);
        json = realloc(text, n + 1);
        assert_non_null(json);
        json[n] = '\0';
    }
    if (runner_open(r, type_of(row->compression), json) != HR_OK) {
        fail_msg("%s: %s", row->path, r->err.message);
    }
    free(json);
}

static void check_hash(const codec_runner *r, const corpus_row *row) {
    char hex[65];
    sha256_hex(r->out, r->out_nbytes, hex);
    if (strcmp(hex, row->expected_sha256) != 0) {
        fail_msg("%s decodes to other bytes (%zu)", row->path, r->out_nbytes);
    }
}

static void check_good(const corpus_row *row) {
    size_t n;
    uint8_t *data = corpus_read(row->path, &n);
    codec_runner r;
    open_for(&r, row);
    hr_status status = runner_decode_growing(&r, data, n, MAX_NBYTES);
    if (strcmp(row->compression, "blosc") == 0 && data[0] > 2) {
        assert_int_equal(status, HR_ERR_UNSUPPORTED); /* Blosc 2 */
    } else {
        if (status != HR_OK) {
            fail_msg("%s: %s", row->path, r.err.message);
        }
        check_hash(&r, row);
        size_t made = r.out_nbytes;
        uint8_t *first = r.out;
        r.out = NULL;
        assert_decodes(&r, data, n, first, made);
        free(first);
        if (runner_decode(&r, data, n, made - 1) == HR_OK) {
            fail_msg("%s fits into less than its size", row->path);
        }
    }
    runner_close(&r);
    free(data);
}

static void corpus_streams_decode_to_their_recorded_bytes(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "codec streams of the corpus")) {
        skip();
    }
    size_t seen = 0;
    for (corpus_row row; corpus_next(&c, &row);) {
        if (strcmp(row.klass, "codec") == 0 && type_of(row.compression) != NULL) {
            check_good(&row);
            seen++;
        }
    }
    assert_true(seen > 400);
    corpus_close(&c);
}

static void malformed_corpus_streams_give_an_error_or_their_recorded_bytes(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "malformed codec streams of the corpus")) {
        skip();
    }
    size_t seen = 0;
    for (corpus_row row; corpus_next(&c, &row);) {
        if (strcmp(row.klass, "bad-codec") == 0 && type_of(row.compression) != NULL) {
            size_t n;
            uint8_t *data = corpus_read(row.path, &n);
            codec_runner r;
            open_for(&r, &row);
            hr_status status = runner_decode_growing(&r, data, n, MAX_NBYTES);
            /* No hash where newer libraries refuse what older ones let pass. */
            if (status == HR_OK && row.expected_sha256[0] != '\0') {
                check_hash(&r, &row);
            }
            seen++;
            runner_close(&r);
            free(data);
        }
    }
    assert_true(seen >= 2);
    corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_streams_decode_to_their_recorded_bytes),
        cmocka_unit_test(malformed_corpus_streams_give_an_error_or_their_recorded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
