/* Shards decoded as a whole. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "codec/sharding.h"
#include "support/chain_run.h"

#include "shard_maker.h"

/* 4 × 4 of |u1 in chunks of 2 × 2: out of order, with a gap, one chunk absent. */
static void make_squares(shard *s, bool with_crc) {
    *s = (shard){0};
    put(s, "\x21\x22\x23\x24????\x01\x02\x03\x04\x11\x12\x13\x14", 16);
    add_entry(s, 8, 4);
    add_entry(s, 12, 4);
    add_entry(s, 0, 4);
    add_entry(s, ABSENT, ABSENT);
    put_index(s, with_crc);
}

static const uint8_t squares[16] = {0x01, 0x02, 0x11, 0x12, 0x03, 0x04, 0x13, 0x14,
                                    0x21, 0x22, 9,    9,    0x23, 0x24, 9,    9};

static void inner_chunks_are_placed(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s;
    const uint8_t fill = 9;
    make_squares(&s, true);
    CHUNK(&r, "|u1", 4, 4);
    r.chunk.fill = &fill;
    assert_opens(chain_open_v3(&r, "[" SHARD("[2,2]", "\"bytes\"",
                                             BYTES("little") "," CRC, "end") "]"),
                 &r);
    assert_ptr_equal(r.chain.codecs[0].type, &hr__codec_sharding);
    const hr__sharding_config *c = r.chain.codecs[0].config;
    assert_int_equal(c->ninner, 4);
    assert_int_equal(c->counts[1], 2);
    assert_int_equal(c->chunk_shape[0], 2);
    assert_false(c->index_at_start);
    assert_int_equal(c->index.encoded.nbytes, 68);
    assert_int_equal(c->inner.decoded.nbytes, 4);
    assert_int_equal(json_object_array_length(c->inner_codecs), 1);
    assert_false(hr__chain_is_raw(&r.chain));
    assert_chain_gives(&r, s.data, s.nbytes, squares, 16);
    chain_close(&r);
}

static void every_damage_is_an_error_or_harmless(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s;
    CHUNK(&r, "|u1", 4, 4);
    const char *with_crc =
        "[" SHARD("[2,2]", "\"bytes\"", BYTES("little") "," CRC, "end") "]";
    const char *without = "[" SHARD("[2,2]", "\"bytes\"", BYTES("little"), "end") "]";
    make_squares(&s, true);
    assert_opens(chain_open_v3(&r, with_crc), &r);
    chain_survives_mutants(&r, s.data, s.nbytes);
    for (size_t n = 0; n < s.nbytes; n++) {
        assert_int_not_equal(chain_decode(&r, s.data, n), HR_OK);
    }
    assert_chain_refuses(&r, s.data, 67, HR_ERR_DATA,
                         "shard of 67 bytes, expected an index of 68");
    s.data[20] ^= 1;
    assert_int_equal(chain_decode(&r, s.data, s.nbytes), HR_ERR_CHECKSUM);
    assert_string_equal(r.err.codec, "crc32c");
    make_squares(&s, false);
    assert_opens(chain_open_v3(&r, without), &r);
    chain_survives_mutants(&r, s.data, s.nbytes);
    chain_close(&r);
}

static void ranges_outside_are_refused(void **state) {
    (void)state;
    static const uint64_t bad[][2] = {{ABSENT, 0},
                                      {0, ABSENT},
                                      {ABSENT, 4},
                                      {ABSENT - 1, ABSENT},
                                      {ABSENT - 9, 20},
                                      {80, 1},
                                      {81, 0},
                                      {0, 81},
                                      {ABSENT, 1},
                                      {79, 2},
                                      {UINT64_C(1) << 63, UINT64_C(1) << 63},
                                      {1, ABSENT - 1},
                                      {40, ABSENT - 39}};
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4, 4);
    assert_opens(
        chain_open_v3(&r, "[" SHARD("[2,2]", "\"bytes\"", BYTES("little"), "end") "]"),
        &r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shard s;
        make_squares(&s, false);
        assert_int_equal(s.nbytes, 80);
        memcpy(s.data + 16 + 16, bad[i], 16);
        assert_int_equal(chain_decode(&r, s.data, s.nbytes), HR_ERR_DATA);
        assert_non_null(strstr(r.err.message, "inner chunk 1"));
    }
    /* in the shard, but no inner chunk */
    static const uint64_t sizes[] = {0, 3, 5, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        shard s;
        make_squares(&s, false);
        memcpy(s.data + 16 + 24, &sizes[i], 8);
        memset(s.data + 16 + 16, 0, 8);
        assert_int_equal(chain_decode(&r, s.data, s.nbytes), HR_ERR_DATA);
    }
    chain_close(&r);
}

static void inner_chunks_may_share_bytes(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s = {0};
    const uint8_t want[] = {1, 2, 1, 2, 2, 3};
    put(&s, "\1\2\3", 3);
    add_entry(&s, 0, 2);
    add_entry(&s, 0, 2);
    add_entry(&s, 1, 2);
    put_index(&s, true);
    CHUNK(&r, "|u1", 6);
    assert_opens(chain_open_v3(&r, "[" SHARD("[2]", "\"bytes\"", BYTES("little") "," CRC,
                                             "end") "]"),
                 &r);
    assert_chain_gives(&r, s.data, s.nbytes, want, 6);
    chain_close(&r);
}

static void the_index_may_come_first_and_be_big_endian(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t want[] = {7, 0, 8, 0};
    shard s = {0};
    for (size_t i = 0; i < 2; i++) {
        add_entry(&s, __builtin_bswap64(36 + 2 * i), __builtin_bswap64(2));
    }
    put_index(&s, true);
    put(&s, "\0\7\0\x8", 4);
    CHUNK(&r, "<u2", 2);
    assert_opens(chain_open_v3(&r, "[" SHARD("[1]", BYTES("big"), BYTES("big") "," CRC,
                                             "start") "]"),
                 &r);
    const hr__sharding_config *c = r.chain.codecs[0].config;
    assert_true(c->index_at_start);
    assert_int_equal(c->index.decoded.dtype.byte_order, HR_LITTLE);
    /* inner chunks come in the byte order that was asked for */
    assert_int_equal(r.chain.decoded.dtype.byte_order, HR_LITTLE);
    assert_chain_gives(&r, s.data, s.nbytes, want, 4);
    chain_survives_mutants(&r, s.data, s.nbytes);
    chain_close(&r);
}

static void other_configurations_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        SHARD("[3,2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[0,2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[-2,2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[8,2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[2,2,1]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[2.5,2]", "\"bytes\"", BYTES("little"), "end"),
        SHARD("2", "\"bytes\"", BYTES("little"), "end"),
        SHARD("[2,2]", "", BYTES("little"), "end"),
        SHARD("[2,2]", "\"bytes\"", "", "end"),
        SHARD("[2,2]", "\"bytes\"", "\"bytes\"", "end"),
        SHARD("[2,2]", "\"bytes\"", BYTES("little") ",\"gzip\"", "end"),
        SHARD("[2,2]", "\"bytes\"", BYTES("little"), "middle"),
        "\"sharding_indexed\"",
    };
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char json[600];
        (void)snprintf(json, sizeof json, "[%s]", bad[i]);
        if (chain_open_v3(&r, json) != HR_ERR_METADATA) {
            fail_msg("%s is taken", bad[i]);
        }
        assert_true(r.err.message[0] != '\0');
    }
    chain_close(&r);
}

static void empty_and_scalar_shards_decode(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s = {0};
    const char *const scalar = "[" SHARD("[]", "\"bytes\"", BYTES("little"), "end") "]";
    add_inner(&s, "\7", 1);
    put_index(&s, false);
    CHUNK(&r, "|u1", -1);
    assert_opens(chain_open_v3(&r, scalar), &r);
    assert_chain_gives(&r, s.data, s.nbytes, "\7", 1);
    CHUNK(&r, "|u1", 0);
    assert_opens(
        chain_open_v3(&r, "[" SHARD("[2]", "\"bytes\"", BYTES("little"), "end") "]"), &r);
    assert_chain_gives(&r, "", 0, "", 0);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_chunks_are_placed),
        cmocka_unit_test(every_damage_is_an_error_or_harmless),
        cmocka_unit_test(ranges_outside_are_refused),
        cmocka_unit_test(inner_chunks_may_share_bytes),
        cmocka_unit_test(the_index_may_come_first_and_be_big_endian),
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(empty_and_scalar_shards_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
