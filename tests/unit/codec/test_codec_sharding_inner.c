/* Chains, shapes and shards inside a shard. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "codec/sharding.h"
#include "support/chain_run.h"

#include "shard_maker.h"

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
        /* the value 5 behind `depth` indexes: a shard is the inner one and its index */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_nest),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(inner_chunks_have_chains_of_their_own),
        cmocka_unit_test(boxes_land_where_they_belong),
        cmocka_unit_test(shards_of_texts_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
