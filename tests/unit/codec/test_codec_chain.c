/* Chains: their order, their sizes, their messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <zlib.h>

#include <headrace/context.h>

#include "support/chain_run.h"

/* zlib.compress of the four bytes 7 0 0 0 */
static const uint8_t zlib7[] = {0x78, 0x9c, 0x63, 0x67, 0x60, 0x60,
                                0x00, 0x00, 0x00, 0x20, 0x00, 0x08};

static void v2_takes_no_codec_at_all(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<i4", 2);
    const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const char *const filters[] = {"null", "[]"};
    for (int i = 0; i < 2; i++) {
        assert_opens(chain_open_v2(&r, filters[i], "null"), &r);
        assert_true(hr__chain_is_raw(&r.chain));
        assert_int_equal(r.chain.encoded.nbytes, 8);
        assert_chain_gives(&r, data, 8, data, 8);
        assert_chain_refuses(&r, data, 7, HR_ERR_DATA,
                             "chunk decodes to 7 bytes, expected 8");
        assert_chain_refuses(&r, data, 0, HR_ERR_DATA,
                             "chunk decodes to 0 bytes, expected 8");
    }
    chain_close(&r);
}

static void v2_takes_compressors_among_filters(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<i4", 1);
    const uint8_t seven[] = {7, 0, 0, 0};
    assert_opens(chain_open_v2(&r, "[{\"id\":\"zlib\",\"level\":2}]", "null"), &r);
    assert_false(hr__chain_is_raw(&r.chain));
    assert_int_equal(r.chain.encoded.nbytes, HR__SIZE_UNKNOWN);
    assert_chain_gives(&r, zlib7, sizeof zlib7, seven, 4);
    chain_survives_mutants(&r, zlib7, sizeof zlib7);
    /* bytes 7 0 0 0 shuffled are the 16-bit items 7 and 0 */
    CHUNK(&r, "<i2", 2);
    const uint8_t items[] = {7, 0, 0, 0};
    assert_opens(chain_open_v2(&r,
                               "[{\"id\":\"shuffle\",\"elementsize\":2},"
                               "{\"id\":\"zlib\",\"level\":2}]",
                               "null"),
                 &r);
    assert_chain_gives(&r, zlib7, sizeof zlib7, items, 4);
    chain_close(&r);
}

static void v3_order_is_checked(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v3(&r, "[\"bytes\"]"), &r);
    assert_opens(chain_open_v3(&r, "[{\"name\":\"bytes\"},\"crc32c\",\"crc32c\"]"), &r);
    assert_open_refused(chain_open_v3(&r, "[]"), &r, HR_ERR_METADATA,
                        "no codec is array -> bytes");
    assert_open_refused(chain_open_v3(&r, "[\"crc32c\",\"bytes\"]"), &r, HR_ERR_METADATA,
                        "codec \"crc32c\" (bytes -> bytes) stands first");
    assert_open_refused(
        chain_open_v3(&r, "[\"bytes\",\"bytes\"]"), &r, HR_ERR_METADATA,
        "codec \"bytes\" (array -> bytes) stands after one that is array -> bytes");
    chain_close(&r);
}

static void entries_of_other_shapes_are_refused(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    const char *const bad[] = {
        "[3]",
        "[null]",
        "[{}]",
        "[{\"name\":3}]",
        "{\"name\":\"bytes\"}",
        "\"bytes\"",
        "[{\"name\":\"bytes\",\"configuration\":3}]",
        "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"middle\"}}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chain_open_v3(&r, bad[i]), HR_ERR_METADATA);
        assert_true(r.err.message[0] != '\0');
    }
    assert_int_equal(chain_open_v2(&r, "{}", "null"), HR_ERR_METADATA);
    assert_int_equal(chain_open_v2(&r, "[null]", "null"), HR_ERR_METADATA);
    assert_int_equal(chain_open_v2(&r, "null", "\"zlib\""), HR_ERR_METADATA);
    assert_int_equal(chain_open_v2(&r, "null", "{\"name\":\"zlib\"}"), HR_ERR_METADATA);
    chain_close(&r);
}

static void unknown_codecs_are_named(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    assert_open_refused(chain_open_v3(&r, "[\"bytes\",{\"name\":\"zfp\"}]"), &r,
                        HR_ERR_UNSUPPORTED, "codec \"zfp\" is not supported");
    assert_string_equal(r.err.codec, "zfp");
    assert_open_refused(chain_open_v3(&r, "[\"numcodecs.pcodec\"]"), &r,
                        HR_ERR_UNSUPPORTED,
                        "codec \"numcodecs.pcodec\" is not supported");
    assert_open_refused(chain_open_v2(&r, "[{\"id\":\"pcodec\"}]", "null"), &r,
                        HR_ERR_UNSUPPORTED, "codec \"pcodec\" is not supported");
    assert_open_refused(
        chain_open_v2(&r, "[{\"id\":\"pickle\"}]", "null"), &r, HR_ERR_UNSUPPORTED,
        "codec \"pickle\" is not supported: decoding it can run code that comes with the "
        "data");
    assert_int_equal(chain_open_v2(&r, "[{\"id\":\"json2\"}]", "null"),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(chain_open_v3(&r, "[\"numcodecs.msgpack2\"]"), HR_ERR_UNSUPPORTED);
    /* v2 knows no bytes, v3 no plain zlib */
    assert_int_equal(chain_open_v2(&r, "[{\"id\":\"bytes\"}]", "null"),
                     HR_ERR_UNSUPPORTED);
    assert_int_equal(chain_open_v3(&r, "[\"bytes\",\"zlib\"]"), HR_ERR_UNSUPPORTED);
    chain_close(&r);
}

static void a_codec_left_out_of_the_build_is_refused_with_the_reason(void **state) {
    (void)state;
    if (hr__codec_find_v2(NULL, "zfpy") != NULL) {
        print_message("skipped: the refusal of zfpy (built with libzfp)\n");
        skip();
    }
    chain_runner r = {0};
    CHUNK(&r, "<f4", 4);
    assert_open_refused(
        chain_open_v3(&r, "[\"numcodecs.zfpy\"]"), &r, HR_ERR_UNSUPPORTED,
        "codec \"numcodecs.zfpy\" is not supported: built without libzfp");
    chain_close(&r);
}

static void unknown_codecs_that_need_no_understanding_are_left_out(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v3(&r,
                               "[{\"name\":\"x\",\"must_understand\":false},\"bytes\","
                               "{\"name\":\"y\",\"must_understand\":false}]"),
                 &r);
    assert_int_equal(r.chain.ncodecs, 1);
    assert_chain_gives(&r, "abcd", 4, "abcd", 4);
    assert_int_equal(chain_open_v3(&r, "[\"bytes\",{\"name\":\"y\","
                                       "\"must_understand\":true}]"),
                     HR_ERR_UNSUPPORTED);
    chain_close(&r);
}

static void v3_understands_names_of_numcodecs(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<i4", 1);
    const uint8_t seven[] = {7, 0, 0, 0};
    assert_opens(chain_open_v3(&r,
                               "[{\"name\":\"endian\",\"configuration\":"
                               "{\"endian\":\"little\"}},{\"name\":\"numcodecs.zlib\","
                               "\"configuration\":{\"level\":3}}]"),
                 &r);
    assert_string_equal(r.chain.codecs[1].name, "numcodecs.zlib");
    assert_chain_gives(&r, zlib7, sizeof zlib7, seven, 4);
    chain_close(&r);
}

static void long_chains_are_refused(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    char json[400] = "[\"bytes\"";
    for (int i = 0; i < HR__CHAIN_MAX - 1; i++) {
        strcat(json, ",\"crc32c\"");
    }
    size_t n = strlen(json);
    (void)snprintf(json + n, sizeof json - n, "]");
    assert_opens(chain_open_v3(&r, json), &r);
    assert_int_equal(r.chain.encoded.nbytes, 4 + 15 * 4);
    (void)snprintf(json + n, sizeof json - n, ",\"crc32c\"]");
    assert_open_refused(chain_open_v3(&r, json), &r, HR_ERR_METADATA,
                        "17 codecs, expected at most 16");
    chain_close(&r);
}

static void sizes_of_stages_are_checked(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 16);
    /* zlib of four bytes where sixteen are expected, and where eight are */
    assert_opens(chain_open_v2(&r, "null", "{\"id\":\"zlib\"}"), &r);
    assert_chain_refuses(&r, zlib7, sizeof zlib7, HR_ERR_DATA,
                         "chunk decodes to 4 bytes, expected 16");
    assert_string_equal(r.err.codec, "zlib");
    assert_opens(chain_open_v3(&r, "[\"bytes\",\"crc32c\",\"numcodecs.zlib\"]"), &r);
    assert_chain_refuses(&r, zlib7, sizeof zlib7, HR_ERR_DATA,
                         "codec \"numcodecs.zlib\" gives 4 bytes, expected 20");
    chain_close(&r);
}

/* zlib of n bytes; malloc'ed. */
static uint8_t *deflated(const uint8_t *data, size_t n, int level, size_t *packed_n) {
    uLongf room = compressBound(n);
    uint8_t *packed = malloc(room);
    assert_non_null(packed);
    assert_int_equal(compress2(packed, &room, data, n, level), Z_OK);
    *packed_n = room;
    return packed;
}

static void stages_of_unknown_size_grow(void **state) {
    (void)state;
    chain_runner r = {0};
    const size_t n = 1 << 20;
    uint8_t *zeros = calloc(n, 1);
    assert_non_null(zeros);
    size_t stored_n, packed_n;
    uint8_t *stored = deflated(zeros, n, 0, &stored_n);
    uint8_t *packed = deflated(stored, stored_n, 9, &packed_n);
    assert_true(packed_n < 10000); /* so that the first guess is far too small */
    CHUNK(&r, "|u1", 1 << 20);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"zlib\"}]", "{\"id\":\"zlib\"}"), &r);
    assert_chain_gives(&r, packed, packed_n, zeros, n);
    assert_opens(chain_open_v3(&r, "[\"bytes\",\"numcodecs.zlib\",\"numcodecs.zlib\"]"),
                 &r);
    assert_chain_gives(&r, packed, packed_n, zeros, n);
    /* but not without end: this is no zlib stream of a chunk of 4 bytes */
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v3(&r, "[\"bytes\",\"numcodecs.zlib\",\"numcodecs.zlib\"]"),
                 &r);
    assert_int_equal(chain_decode(&r, packed, packed_n), HR_ERR_DATA);
    free(zeros);
    free(stored);
    free(packed);
    chain_close(&r);
}

static void elements_of_variable_length_need_a_codec(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "string", 2);
    assert_int_equal(chain_open_v2(&r, "null", "null"), HR_ERR_METADATA);
    assert_int_equal(chain_open_v2(&r, "null", "{\"id\":\"zlib\"}"), HR_ERR_METADATA);
    assert_open_refused(chain_open_v3(&r, "[\"bytes\"]"), &r, HR_ERR_METADATA,
                        "codec \"bytes\" does not take elements of variable length");
    chain_close(&r);
}

static void bytes_need_endian_where_it_matters(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<i4", 1);
    assert_open_refused(chain_open_v3(&r, "[\"bytes\"]"), &r, HR_ERR_METADATA,
                        "\"endian\" is missing, expected for items of 4 bytes");
    assert_string_equal(r.err.codec, "bytes");
    CHUNK(&r, "|S7", 1);
    assert_opens(chain_open_v3(&r, "[\"bytes\"]"), &r);
    CHUNK(&r, "<U7", 1);
    assert_int_equal(chain_open_v3(&r, "[\"bytes\"]"), HR_ERR_METADATA);
    chain_close(&r);
}

static void bytes_leave_the_stored_order(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<i4", 1);
    const uint8_t seven[] = {0, 0, 0, 7}, fill[] = {1, 2, 3, 4}, llif[] = {4, 3, 2, 1};
    r.chunk.fill = fill;
    const char *big = "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]";
    assert_opens(chain_open_v3(&r, big), &r);
    assert_int_equal(r.chain.decoded.dtype.byte_order, HR_BIG);
    assert_memory_equal(r.chain.decoded.fill, llif, 4);
    assert_true(hr__chain_is_raw(&r.chain));
    assert_chain_gives(&r, seven, 4, seven, 4);
    /* unless they must not */
    const uint8_t want[] = {7, 0, 0, 0};
    r.chunk.keep_order = true;
    assert_opens(chain_open_v3(&r, big), &r);
    assert_int_equal(r.chain.decoded.dtype.byte_order, HR_LITTLE);
    assert_memory_equal(r.chain.decoded.fill, fill, 4);
    assert_false(hr__chain_is_raw(&r.chain));
    assert_chain_gives(&r, seven, 4, want, 4);
    /* one byte has no order */
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v3(&r, big), &r);
    assert_int_equal(r.chain.decoded.dtype.byte_order, HR_LITTLE);
    chain_close(&r);
}

static void bytes_of_structures_have_an_order_in_each_field(void **state) {
    (void)state;
    chain_runner r = {0};
    const hr_field pair[] = {{.name = "x", .dtype = hr__dtype(HR_KIND_INT, 2)}};
    const int64_t two = 2;
    hr_field fields[] = {
        {.name = "a", .dtype = hr__dtype(HR_KIND_INT, 4)},
        {.name = "b", .dtype = hr__dtype(HR_KIND_UINT, 1), .offset_nbytes = 4},
        {.name = "c", .offset_nbytes = 5, .ndim = 1, .shape = &two}};
    fields[2].dtype = hr__dtype(HR_KIND_STRUCT, 2);
    fields[2].dtype.fields = pair;
    fields[2].dtype.nfields = 1;
    const uint8_t stored[] = {0, 0, 0, 1, 2, 0, 3, 0, 4};
    const uint8_t want[] = {1, 0, 0, 0, 2, 3, 0, 4, 0};
    CHUNK(&r, "|V9", 1);
    r.chunk.dtype.kind = HR_KIND_STRUCT;
    r.chunk.dtype.fields = fields;
    r.chunk.dtype.nfields = 3;
    r.chunk.fill = want;
    const char *big = "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]";
    assert_opens(chain_open_v3(&r, big), &r);
    const hr_dtype *t = &r.chain.decoded.dtype;
    assert_int_equal(t->fields[0].dtype.byte_order, HR_BIG);
    assert_int_equal(t->fields[1].dtype.byte_order, HR_LITTLE);
    assert_int_equal(t->fields[2].dtype.fields[0].dtype.byte_order, HR_BIG);
    assert_memory_equal(r.chain.decoded.fill, stored, 9);
    assert_chain_gives(&r, stored, 9, stored, 9);
    r.chunk.keep_order = true;
    assert_opens(chain_open_v3(&r, big), &r);
    assert_chain_gives(&r, stored, 9, want, 9);
    assert_opens(chain_open_v3(&r, "[\"bytes\"]"), &r); /* little */
    assert_chain_gives(&r, want, 9, want, 9);
    chain_close(&r);
}

static void leading_codecs_may_be_taken_off(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    assert_int_equal(chain_open_v3(&r, "[\"nonsense\",\"bytes\",\"crc32c\"]"),
                     HR_ERR_UNSUPPORTED);
    assert_opens(
        hr__chain_parse_v3(r.json, 1, &r.chunk, &r.arena, NULL, 0, &r.chain, &r.err), &r);
    assert_int_equal(r.chain.ncodecs, 2);
    assert_int_equal(hr__chain_parse_v3(r.json, 1, &r.chunk, &r.arena, NULL,
                                        HR__CODEC_MAX_DEPTH + 1, &r.chain, &r.err),
                     HR_ERR_METADATA);
    chain_close(&r);
}

static void empty_chunks_decode(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 3, 0);
    assert_opens(chain_open_v2(&r, "null", "null"), &r);
    assert_chain_gives(&r, "", 0, "", 0);
    assert_opens(chain_open_v3(&r, "[\"bytes\",\"crc32c\"]"), &r);
    assert_chain_gives(&r, "\0\0\0", 4, "", 0);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v2_takes_no_codec_at_all),
        cmocka_unit_test(v2_takes_compressors_among_filters),
        cmocka_unit_test(v3_order_is_checked),
        cmocka_unit_test(entries_of_other_shapes_are_refused),
        cmocka_unit_test(unknown_codecs_are_named),
        cmocka_unit_test(a_codec_left_out_of_the_build_is_refused_with_the_reason),
        cmocka_unit_test(unknown_codecs_that_need_no_understanding_are_left_out),
        cmocka_unit_test(v3_understands_names_of_numcodecs),
        cmocka_unit_test(long_chains_are_refused),
        cmocka_unit_test(sizes_of_stages_are_checked),
        cmocka_unit_test(stages_of_unknown_size_grow),
        cmocka_unit_test(elements_of_variable_length_need_a_codec),
        cmocka_unit_test(bytes_need_endian_where_it_matters),
        cmocka_unit_test(bytes_leave_the_stored_order),
        cmocka_unit_test(bytes_of_structures_have_an_order_in_each_field),
        cmocka_unit_test(leading_codecs_may_be_taken_off),
        cmocka_unit_test(empty_chunks_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
