/* Codecs made by hand, on what numcodecs wrote. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/bytes.h"
#include "support/chain_run.h"
#include "support/corpus.h"
#include "support/sha256.h"

static const char *const ids[] = {
    "adler32",  "astype",   "crc32",      "crc32c",    "delta",  "fixedscaleoffset",
    "packbits", "quantize", "vlen-bytes", "vlen-utf8", "shuffle"};

static bool is_ours(const corpus_row *row) {
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (strcmp(ids[i], row->compression) == 0) {
            return strcmp(row->klass, "codec") == 0;
        }
    }
    return false;
}

/* "[codec]" from the configuration that lies beside the stream. */
static char *read_filters(const corpus_row *row) {
    char path[512];
    size_t n;
    (void)snprintf(path, sizeof path, "%.*s/config.json",
                   (int)(strrchr(row->path, '/') - row->path), row->path);
    uint8_t *config = corpus_read(path, &n);
    char *filters = malloc(n + 3);
    assert_non_null(filters);
    (void)snprintf(filters, n + 3, "[%.*s]", (int)n, (const char *)config);
    free(config);
    return filters;
}

/* The manifest has no shape for texts: their number stands first. */
static void set_texts(chain_runner *r, const corpus_row *row, const uint8_t *data) {
    bool is_utf8 = strcmp(row->compression, "vlen-utf8") == 0;
    CHUNK(r, is_utf8 ? "string" : "bytes", hr__load_le32(data));
}

static void check_hash(const chain_runner *r, const corpus_row *row) {
    char hex[65];
    size_t n = r->out_nbytes;
    uint8_t *flat = hr__dtype_is_vlen(&r->chunk.dtype) ? chain_flatten(r, &n) : NULL;
    sha256_hex(flat != NULL ? flat : r->out, n, hex);
    free(flat);
    if (strcmp(hex, row->expected_sha256) != 0) {
        fail_msg("%s decodes to other bytes", row->path);
    }
}

/* Every length for short streams, some for long ones. */
static void check_truncations(chain_runner *r, const corpus_row *row, const uint8_t *data,
                              size_t nbytes) {
    size_t step = nbytes / 300 + 1;
    for (size_t n = 0; n < nbytes; n += step) {
        hr_status status = chain_decode(r, data, n);
        if (status != HR_ERR_DATA && status != HR_ERR_CHECKSUM) {
            fail_msg("%s cut to %zu bytes: %s", row->path, n, hr_status_name(status));
        }
    }
}

static void check_row(chain_runner *r, const corpus_row *row) {
    size_t n;
    uint8_t *data = corpus_read(row->path, &n);
    char *filters = read_filters(row);
    if (strncmp(row->compression, "vlen-", 5) == 0) {
        set_texts(r, row, data);
    } else {
        chain_chunk_text(r, row->dtype, row->shape);
    }
    if (chain_open_v2(r, filters, "null") != HR_OK || chain_decode(r, data, n) != HR_OK) {
        fail_msg("%s: %s", row->path, r->err.message);
    }
    check_hash(r, row);
    if (chain_decode_in_place(r, data, n) != HR_OK) {
        fail_msg("%s in place: %s", row->path, r->err.message);
    }
    check_hash(r, row);
    check_truncations(r, row, data, n);
    free(filters);
    free(data);
}

static void streams_of_numcodecs_decode_to_their_recorded_bytes(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "numcodecs streams of the corpus")) {
        skip();
    }
    chain_runner r = {0};
    size_t seen = 0;
    for (corpus_row row; corpus_next(&c, &row);) {
        if (is_ours(&row)) {
            check_row(&r, &row);
            seen++;
        }
    }
    print_message("%zu streams\n", seen);
    assert_true(seen > 80);
    chain_close(&r);
    corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_numcodecs_decode_to_their_recorded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
