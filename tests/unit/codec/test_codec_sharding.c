/* Shards decoded as a whole. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "codec/checksum.h"
#include "codec/sharding.h"
#include "support/chain_run.h"

#define ABSENT UINT64_MAX
#define CRC "\"crc32c\""
#define BYTES(order) "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"" order "\"}}"
#define SHARD(shape, codecs, index, location)                                            \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape           \
    ",\"codecs\":[" codecs "],\"index_codecs\":[" index                                  \
    "],\"index_location\":\"" location "\"}}"

/* A shard in the making. */
typedef struct shard {
    uint8_t data[4096];
    size_t nbytes;
    uint64_t index[64];
    size_t nentries; /* numbers in the index */
} shard;

static void put(shard *s, const void *data, size_t nbytes) {
    memcpy(s->data + s->nbytes, data, nbytes);
    s->nbytes += nbytes;
}

static void add_entry(shard *s, uint64_t offset, uint64_t nbytes) {
    s->index[s->nentries++] = offset;
    s->index[s->nentries++] = nbytes;
}

static void add_inner(shard *s, const void *data, size_t nbytes) {
    add_entry(s, s->nbytes, nbytes);
    put(s, data, nbytes);
}

static void put_index(shard *s, bool with_crc) {
    put(s, s->index, s->nentries * 8);
    if (with_crc) {
        uint32_t crc = hr__crc32c((const uint8_t *)s->index, s->nentries * 8);
        put(s, &crc, 4);
    }
}

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

/* Shards inside a shard: 4 × 4 → 2 × 4 → 2 × 1. */
static void shards_nest(void **state) {
    (void)state;
    chain_runner r = {0};
    shard outer = {0};
    uint16_t want[16], fill = 0x0102;
    for (uint16_t half = 0; half < 2; half++) {
        shard inner = {0};
        for (uint16_t x = 0; x < 4; x++) {
            const uint16_t column[] = {(uint16_t)(half * 100 + x),
                                       (uint16_t)(half * 100 + 50 + x)};
            want[half * 8 + x] = x == 2 ? fill : column[0];
            want[half * 8 + 4 + x] = x == 2 ? fill : column[1];
            if (x == 2) {
                add_entry(&inner, ABSENT, ABSENT);
            } else {
                add_inner(&inner, column, 4);
            }
        }
        put_index(&inner, true);
        add_inner(&outer, inner.data, inner.nbytes);
    }
    put_index(&outer, false);
    CHUNK(&r, "<u2", 4, 4);
    r.chunk.fill = &fill;
    assert_opens(chain_open_v3(&r, "[" SHARD("[2,4]",
                                             SHARD("[2,1]", BYTES("little"),
                                                   BYTES("little") "," CRC, "end"),
                                             BYTES("little"), "end") "]"),
                 &r);
    assert_chain_gives(&r, outer.data, outer.nbytes, want, 32);
    chain_survives_mutants(&r, outer.data, outer.nbytes);
    chain_close(&r);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    chain_runner r = {0};
    char json[8000] = "\"bytes\"", next[8000];
    CHUNK(&r, "|u1", 1);
    for (int depth = 1; depth <= HR__CODEC_MAX_DEPTH + 1; depth++) {
        (void)snprintf(
            next, sizeof next,
            "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":"
            "[1],\"codecs\":[%s],\"index_codecs\":[" BYTES("little") "]}}",
            json);
        (void)snprintf(json, sizeof json, "%s", next);
        (void)snprintf(next, sizeof next, "[%s]", json);
        hr_status status = chain_open_v3(&r, next);
        assert_int_equal(status, depth <= HR__CODEC_MAX_DEPTH ? HR_OK : HR_ERR_METADATA);
        if (status != HR_OK) {
            break;
        }
        /* the value 5 behind `depth` indexes: each shard is the inner one and its index
         */
        shard s = {.data = {5}, .nbytes = 1};
        for (int level = 0; level < depth; level++) {
            s.nentries = 0;
            add_entry(&s, 0, s.nbytes);
            put_index(&s, false);
        }
        assert_chain_gives(&r, s.data, s.nbytes, "\5", 1);
    }
    chain_close(&r);
}

static void inner_chunks_have_chains_of_their_own(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s = {0};
    /* 2 × 4 in chunks of 2 × 2, each transposed, packed by lz4 (literals), checked */
    for (uint8_t i = 0; i < 2; i++) {
        const uint8_t base = (uint8_t)(10 * i);
        uint8_t lz4[13] = {4,
                           0,
                           0,
                           0,
                           0x40,
                           base,
                           (uint8_t)(base + 2),
                           (uint8_t)(base + 1),
                           (uint8_t)(base + 3)};
        uint32_t crc = hr__crc32c(lz4, 9);
        memcpy(lz4 + 9, &crc, 4);
        add_inner(&s, lz4, 13);
    }
    put_index(&s, true);
    const uint8_t want[] = {0, 1, 10, 11, 2, 3, 12, 13};
    const char *codec =
        SHARD("[2,2]",
              "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},\"bytes\","
              "\"numcodecs.lz4\"," CRC,
              BYTES("little") "," CRC, "end");
    char json[1000];
    CHUNK(&r, "|u1", 2, 4);
    (void)snprintf(json, sizeof json, "[%s]", codec);
    assert_opens(chain_open_v3(&r, json), &r);
    assert_chain_gives(&r, s.data, s.nbytes, want, 8);
    for (size_t i = 0; i < s.nbytes; i++) { /* all of it is under a checksum */
        s.data[i] ^= 0x10;
        assert_int_not_equal(chain_decode(&r, s.data, s.nbytes), HR_OK);
        s.data[i] ^= 0x10;
    }
    s.data[13 + 7] ^= 1;
    assert_int_equal(chain_decode(&r, s.data, s.nbytes), HR_ERR_CHECKSUM);
    assert_int_equal(r.err.offset, 13); /* of the inner chunk */
    s.data[13 + 7] ^= 1;
    /* a transpose in front, a checksum behind */
    const uint8_t turned[] = {0, 2, 1, 3, 10, 12, 11, 13};
    (void)snprintf(json, sizeof json,
                   "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},%s," CRC
                   "]",
                   codec);
    CHUNK(&r, "|u1", 4, 2);
    assert_opens(chain_open_v3(&r, json), &r);
    uint32_t crc = hr__crc32c(s.data, s.nbytes);
    put(&s, &crc, 4);
    assert_chain_gives(&r, s.data, s.nbytes, turned, 8);
    chain_close(&r);
}

/* Boxes of every kind: rows of one item, whole rows, whole planes, a single chunk. */
static void boxes_land_where_they_belong(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 4}, {1, 3, 4}, {2, 3, 4},
                                        {2, 1, 1}, {1, 3, 2}, {2, 1, 4}, {1, 1, 2},
                                        {2, 3, 2}, {1, 3, 1}};
    chain_runner r = {0};
    uint16_t want[24];
    for (uint16_t i = 0; i < 24; i++) {
        want[i] = (uint16_t)(0x100 + i);
    }
    CHUNK(&r, "<u2", 2, 3, 4);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t *c = shapes[k];
        shard s = {0};
        for (int64_t z = 0; z < 2; z += c[0]) {
            for (int64_t y = 0; y < 3; y += c[1]) {
                for (int64_t x = 0; x < 4; x += c[2]) {
                    uint16_t inner[24];
                    size_t n = 0;
                    for (int64_t i = 0; i < c[0] * c[1] * c[2]; i++) {
                        int64_t dz = i / (c[1] * c[2]), dy = i / c[2] % c[1],
                                dx = i % c[2];
                        inner[n++] = want[((z + dz) * 3 + y + dy) * 4 + x + dx];
                    }
                    add_inner(&s, inner, n * 2);
                }
            }
        }
        put_index(&s, true);
        char json[500];
        (void)snprintf(
            json, sizeof json,
            "[" SHARD("[%d,%d,%d]", BYTES("little"), BYTES("little") "," CRC, "end") "]",
            (int)c[0], (int)c[1], (int)c[2]);
        assert_opens(chain_open_v3(&r, json), &r);
        assert_chain_gives(&r, s.data, s.nbytes, want, 48);
    }
    chain_close(&r);
}

static void shards_of_texts_decode(void **state) {
    (void)state;
    chain_runner r = {0};
    shard s = {0};
    const hr_vlen fill = {.data = "none", .nbytes = 4};
    add_inner(&s, "\1\0\0\0\3\0\0\0abc", 11);
    add_entry(&s, ABSENT, ABSENT);
    put_index(&s, true);
    CHUNK(&r, "string", 2);
    r.chunk.fill = &fill;
    assert_opens(chain_open_v3(&r, "[" SHARD("[1]", "\"vlen-utf8\"",
                                             BYTES("little") "," CRC, "end") "]"),
                 &r);
    assert_opens(chain_decode(&r, s.data, s.nbytes), &r);
    hr_vlen got[2];
    memcpy(got, r.out, sizeof got);
    assert_int_equal(got[0].nbytes, 3);
    assert_memory_equal(got[0].data, "abc", 3);
    assert_ptr_equal(got[1].data, fill.data);
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
        cmocka_unit_test(shards_nest),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(inner_chunks_have_chains_of_their_own),
        cmocka_unit_test(boxes_land_where_they_belong),
        cmocka_unit_test(shards_of_texts_decode),
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(empty_and_scalar_shards_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
