/* Mutated metadata gives an error or a sane array. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/corpus.h"
#include "support/zarr_exercise.h"

typedef struct document {
    const char *name;
    const char *text;
} document;

#define V3(shape, type, grid, fill, codecs)                                              \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":" shape ",\"data_type\":" type \
    ",\"chunk_grid\":" grid ",\"chunk_key_encoding\":{\"name\":\"default\","             \
    "\"configuration\":{\"separator\":\"/\"}},\"fill_value\":" fill                      \
    ",\"codecs\":" codecs ",\"attributes\":{\"a\":1},\"dimension_names\":null}"
#define REGULAR(shape)                                                                   \
    "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" shape "}}"
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define SHARDING(shape, codecs)                                                          \
    "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape          \
    ",\"codecs\":" codecs ",\"index_codecs\":[" BYTES ",{\"name\":\"crc32c\"}],"         \
    "\"index_location\":\"start\"}}]"
#define V2(shape, chunks, dtype, fill, filters)                                          \
    "{\"zarr_format\":2,\"shape\":" shape ",\"chunks\":" chunks ",\"dtype\":" dtype      \
    ",\"fill_value\":" fill ",\"filters\":" filters                                      \
    ",\"order\":\"F\",\"compressor\":{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,"  \
    "\"shuffle\":1},\"dimension_separator\":\"/\"}"

static const document seeds[] = {
    {"zarr.json", V3("[10,6]", "\"int32\"", REGULAR("[4,6]"), "7", "[" BYTES "]")},
    {"zarr.json",
     V3("[10,6]", "\"float32\"", REGULAR("[4,6]"), "\"0x7fc00000\"",
        "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," BYTES
        ",\"zstd\"]")},
    {"zarr.json", V3("[10,64]", "\"uint8\"", REGULAR("[8,64]"), "255",
                     SHARDING("[4,32]", SHARDING("[2,8]", "[\"bytes\"]")))},
    {"zarr.json", V3("[60,6]", "\"complex64\"",
                     "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
                     "\"chunk_shapes\":[[10,[20,2],[1,10]],4]}}",
                     "[\"NaN\",\"-Infinity\"]",
                     "[" BYTES ",{\"name\":\"gzip\","
                     "\"configuration\":{\"level\":5}}]")},
    {"zarr.json",
     V3("[3]",
        "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"a\","
        "\"data_type\":\"int16\"},{\"name\":\"b\",\"data_type\":{\"name\":"
        "\"numpy.datetime64\",\"configuration\":{\"unit\":\"ns\",\"scale_factor\":10}}}]}"
        "}",
        REGULAR("[2]"), "{\"a\":1,\"b\":\"NaT\"}", "[" BYTES "]")},
    {"zarr.json", V3("[3]", "\"string\"", REGULAR("[2]"), "\"\\u00e9\"",
                     "[\"vlen-utf8\",{\"name\":\"numcodecs.zlib\"}]")},
    {"zarr.json",
     "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{},"
     "\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,"
     "\"metadata\":{\"a\":{\"zarr_format\":3,\"node_type\":\"group\"},\"a/b\":" V3(
         "[1]", "\"r16\"", REGULAR("[1]"), "[1,2]", "[\"bytes\"]") "}}}"},
    {".zarray", V2("[10,6]", "[4,3]", "\">f8\"", "\"NaN\"",
                   "[{\"id\":\"delta\",\"dtype\":\">f8\"},{\"id\":\"shuffle\","
                   "\"elementsize\":8}]")},
    {".zarray", V2("[5]", "[2]", "[[\"a\",\">i2\"],[\"\",\"|V2\"],[\"b\",\"<U2\",[2]]]",
                   "\"AAAAAAAAAAAAAAAAAAAAAAAAAAA=\"", "null")},
    {".zarray", V2("[5]", "[2]", "\"|O\"", "0", "[{\"id\":\"vlen-utf8\"}]")},
    {".zmetadata",
     "{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":{"
     "\"zarr_format\":2},\"a/.zarray\":" V2("[5]", "[2]", "\"<i4\"", "1",
                                            "[]") ",\"a/.zattrs\":{"
                                                  "\"_ARRAY_DIMENSIONS\":[\"x\"]}}}"},
};
#define NSEEDS (sizeof seeds / sizeof seeds[0])

/* --- the mutations --- */

typedef struct mutant {
    char text[8192];
    size_t n;
} mutant;

static uint32_t random_below(uint64_t *state, size_t bound) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 32) % (bound == 0 ? 1 : bound));
}

/* Replace text[at, at + length) by `with`. */
static void splice(mutant *m, size_t at, size_t length, const char *with, size_t n) {
    if (at + length > m->n || m->n - length + n > sizeof m->text) {
        return;
    }
    memmove(m->text + at + n, m->text + at + length, m->n - at - length);
    memcpy(m->text + at, with, n);
    m->n = m->n - length + n;
}

/* deeper than the parser goes */
#define DEEP4(x) "[[[[" x "]]]]"
#define DEEP16(x) DEEP4(DEEP4(DEEP4(DEEP4(x))))
#define DEEP DEEP16(DEEP16(DEEP16(DEEP16(""))))

static const char *const values[] = {"0",
                                     "-1",
                                     "1",
                                     "33",
                                     "255",
                                     "2147483648",
                                     "4294967296",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "1e308",
                                     "1e999",
                                     "0.5",
                                     "-0.0",
                                     "NaN",
                                     "-Infinity",
                                     "null",
                                     "true",
                                     "\"\"",
                                     "\"0\"",
                                     "[]",
                                     "{}",
                                     "[0]",
                                     "[[1,9223372036854775807]]",
                                     "\"|V16777216\"",
                                     "\"|O\"",
                                     "\"C\"",
                                     "\"F\"",
                                     "\"/\"",
                                     DEEP};
#define NVALUES (sizeof values / sizeof values[0])

/* Length of the token at `at`: a number, a string, a word, or one byte. */
static size_t token(const mutant *m, size_t at) {
    static const char word[] =
        "0123456789+-.eEabcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = 1;
    if (m->text[at] == '"') {
        while (at + n < m->n && m->text[at + n] != '"') {
            n++;
        }
        return n + 1;
    }
    while (strchr(word, m->text[at]) != NULL && at + n < m->n &&
           strchr(word, m->text[at + n]) != NULL) {
        n++;
    }
    return n;
}

static void mutate(mutant *m, uint64_t *state) {
    if (m->n == 0) {
        return;
    }
    size_t at = random_below(state, m->n);
    const char *value = values[random_below(state, NVALUES)];
    const char *other = seeds[random_below(state, NSEEDS)].text;
    size_t from = random_below(state, strlen(other));
    char byte = (char)random_below(state, 256);
    switch (random_below(state, 8)) {
    case 0:
        splice(m, at, 1, &byte, 1);
        break;
    case 1:
        splice(m, at, random_below(state, 20), "", 0);
        break;
    case 2:
    case 3:
    case 4:
    case 5: /* another value: the syntax stays */
        while (at > 0 && strchr(":[", m->text[at - 1]) == NULL) {
            at--;
        }
        while (at + 1 < m->n && strchr(" \n", m->text[at]) != NULL) {
            at++;
        }
        if (strchr("{[]", m->text[at]) == NULL) {
            splice(m, at, token(m, at), value, strlen(value));
        }
        break;
    case 6:
        splice(m, at, 0, other + from, random_below(state, strlen(other) - from));
        break;
    default:
        m->n = at;
    }
}

static void run(const char *name, const char *text, size_t n, int count, uint64_t seed,
                int *opened) {
    mutant *m = malloc(sizeof *m);
    assert_non_null(m);
    for (int i = 0; i < count && n <= sizeof m->text; i++) {
        uint64_t state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL | 1;
        memcpy(m->text, text, n);
        m->n = n;
        for (uint32_t k = 1 + random_below(&state, 2); k > 0; k--) {
            mutate(m, &state);
        }
        uint8_t *exact = malloc(m->n + 1); /* a read beyond the end is seen */
        assert_non_null(exact);
        memcpy(exact, m->text, m->n);
        *opened += zarr_exercise(name, exact, m->n) == HR_OK;
        free(exact);
    }
    free(m);
}

static void mutants_of_small_documents(void **state) {
    (void)state;
    int opened = 0;
    for (size_t i = 0; i < NSEEDS; i++) {
        const char *text = seeds[i].text;
        if (zarr_exercise(seeds[i].name, (const uint8_t *)text, strlen(text)) != HR_OK) {
            fail_msg("not opened: %s", text);
        }
        run(seeds[i].name, text, strlen(text), 1000, 1000 * i, &opened);
    }
    print_message("%d of %d mutants opened\n", opened, (int)NSEEDS * 1000);
    assert_true(opened > 1000); /* else they are too broken to get far */
}

static void mutants_of_real_documents(void **state) {
    (void)state;
    corpus c;
    if (!corpus_open(&c, "mutants of real documents")) {
        skip();
    }
    corpus_row row;
    int opened = 0;
    uint64_t seed = 0;
    while (corpus_next(&c, &row)) {
        bool is_v3 = strcmp(row.format, "zarr3") == 0;
        if (strcmp(row.klass, "zarr-array") != 0) {
            continue;
        }
        char path[1024];
        size_t n;
        (void)snprintf(path, sizeof path, "%s/%s", row.path,
                       is_v3 ? "zarr.json" : ".zarray");
        char *text = (char *)corpus_read(path, &n);
        run(is_v3 ? "zarr.json" : ".zarray", text, n, 30, seed += 1000, &opened);
        free(text);
    }
    corpus_close(&c);
    print_message("%d mutants opened\n", opened);
    assert_true(opened > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_of_small_documents),
        cmocka_unit_test(mutants_of_real_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
