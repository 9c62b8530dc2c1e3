/* transpose, reshape and packbits. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "support/chain_run.h"

#define TRANSPOSE(order)                                                                 \
    "{\"name\":\"transpose\",\"configuration\":{\"order\":" order "}}"
#define RESHAPE(shape) "{\"name\":\"reshape\",\"configuration\":{\"shape\":" shape "}}"
#define PACK(members) "{\"name\":\"packbits\",\"configuration\":{" members "}}"

/* Transpose item by item: `encoded` has axis i where `decoded` has axis order[i]. */
static void reference(const hr__spec *decoded, const int32_t *order,
                      const uint8_t *encoded, uint8_t *out) {
    size_t size = decoded->dtype.itemsize;
    for (uint64_t i = 0; i < decoded->nelems; i++) {
        int64_t at[HR_MAX_NDIM];
        uint64_t rest = i, from = 0;
        for (int32_t axis = decoded->ndim - 1; axis >= 0; axis--) {
            at[axis] = (int64_t)(rest % (uint64_t)decoded->shape[axis]);
            rest /= (uint64_t)decoded->shape[axis];
        }
        for (int32_t k = 0; k < decoded->ndim; k++) {
            from = from * (uint64_t)decoded->shape[order[k]] + (uint64_t)at[order[k]];
        }
        memcpy(out + i * size, encoded + from * size, size);
    }
}

static void check_order(chain_runner *r, const char *json, const int32_t *order) {
    uint8_t encoded[4096], want[4096];
    size_t n = r->chunk.nbytes;
    assert_true(n <= sizeof encoded);
    for (size_t i = 0; i < n; i++) {
        encoded[i] = (uint8_t)(i * 31 + i / 256);
    }
    reference(&r->chunk, order, encoded, want);
    assert_opens(chain_open_v3(r, json), r);
    assert_chain_gives(r, encoded, n, want, n);
}

static void axes_come_back_in_order(void **state) {
    (void)state;
    static const int32_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2},
                                        {2, 3, 0, 1}, {1, 2, 3, 0}, {3, 0, 1, 2},
                                        {0, 2, 1, 3}};
    static const char *const dtypes[] = {"|u1", "<i2",  "|V3", "<f4",
                                         "<f8", "<c16", "|S5"};
    chain_runner r = {0};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
            char json[200];
            (void)snprintf(json, sizeof json,
                           "[" TRANSPOSE("[%d,%d,%d,%d]") ",{\"name\":\"bytes\","
                                                          "\"configuration\":{\"endian\":"
                                                          "\"little\"}}]",
                           orders[k][0], orders[k][1], orders[k][2], orders[k][3]);
            CHUNK(&r, dtypes[t], 3, 4, 1, 5);
            check_order(&r, json, orders[k]);
            CHUNK(&r, dtypes[t], 2, 1, 7, 2);
            check_order(&r, json, orders[k]);
        }
    }
    chain_close(&r);
}

static void letters_stand_for_orders(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {1, 2, 3, 4, 5, 6}, f[] = {1, 3, 5, 2, 4, 6};
    CHUNK(&r, "|u1", 2, 3);
    assert_opens(chain_open_v3(&r, "[" TRANSPOSE("\"F\"") ",\"bytes\"]"), &r);
    assert_int_equal(r.chain.codecs[0].encoded.shape[0], 3);
    assert_chain_gives(&r, data, 6, f, 6);
    assert_opens(chain_open_v3(&r, "[" TRANSPOSE("\"C\"") ",\"bytes\"]"), &r);
    assert_chain_gives(&r, data, 6, data, 6);
    chain_survives_mutants(&r, data, 6);
    CHUNK(&r, "|u1", -1);
    assert_opens(chain_open_v3(&r, "[" TRANSPOSE("[]") ",\"bytes\"]"), &r);
    assert_chain_gives(&r, data, 1, data, 1);
    CHUNK(&r, "|u1", 2, 0);
    assert_opens(chain_open_v3(&r, "[" TRANSPOSE("[1,0]") ",\"bytes\"]"), &r);
    assert_chain_gives(&r, data, 0, data, 0);
    chain_close(&r);
}

static void other_orders_are_refused(void **state) {
    (void)state;
    chain_runner r = {0};
    const char *const bad[] = {"[0]",   "[0,1,2]", "[0,0]", "[1,2]", "[-1,0]",
                               "\"A\"", "[0.5,1]", "null",  "3",     "[\"0\",\"1\"]"};
    CHUNK(&r, "|u1", 2, 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char json[100];
        (void)snprintf(json, sizeof json, "[" TRANSPOSE("%s") ",\"bytes\"]", bad[i]);
        assert_int_equal(chain_open_v3(&r, json), HR_ERR_METADATA);
    }
    assert_int_equal(chain_open_v3(&r, "[\"transpose\",\"bytes\"]"), HR_ERR_METADATA);
    chain_close(&r);
}

static void big_endian_bytes_behind_a_filter_are_swapped(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {0, 1, 0, 2, 0, 3, 0, 4}, want[] = {1, 0, 3, 0, 2, 0, 4, 0};
    CHUNK(&r, "<u2", 2, 2);
    assert_opens(
        chain_open_v3(&r,
                      "[" TRANSPOSE("[1,0]") ",{\"name\":\"bytes\","
                                             "\"configuration\":{\"endian\":\"big\"}}]"),
        &r);
    assert_int_equal(r.chain.decoded.dtype.byte_order, HR_LITTLE);
    assert_chain_gives(&r, data, 8, want, 8);
    chain_survives_mutants(&r, data, 8);
    chain_close(&r);
}

static void shapes_are_resolved(void **state) {
    (void)state;
    static const struct {
        const char *json;
        int32_t ndim;
        int64_t shape[4];
    } good[] = {
        {"[[0,1],[2],3]", 3, {50, 64, 3}},
        {"[9600]", 1, {9600}},
        {"[-1]", 1, {9600}},
        {"[[0],-1]", 2, {10, 960}},
        {"[5,-1,3]", 3, {5, 640, 3}},
        {"[[0,1,2,3]]", 1, {9600}},
        {"[10,[1],[2,3]]", 3, {10, 5, 192}},
    };
    const char *const bad[] = {"[[1],[0],192]",
                               "[9601]",
                               "[-1,-1]",
                               "[0,-1]",
                               "[[0,1],10,[3]]",
                               "[7,-1]",
                               "[]",
                               "\"x\"",
                               "[[4],-1]",
                               "[[1,0]]",
                               "[-2]",
                               "[[2],[3],50]",
                               "[4611686018427387904,4611686018427387904]"};
    chain_runner r = {0};
    char json[200];
    CHUNK(&r, "|u1", 10, 5, 64, 3);
    uint8_t *data = sample_data(9600, 1);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        (void)snprintf(json, sizeof json, "[" RESHAPE("%s") ",\"bytes\"]", good[i].json);
        assert_opens(chain_open_v3(&r, json), &r);
        const hr__spec *encoded = &r.chain.codecs[0].encoded;
        assert_int_equal(encoded->ndim, good[i].ndim);
        assert_memory_equal(encoded->shape, good[i].shape,
                            (size_t)good[i].ndim * sizeof(int64_t));
        assert_true(hr__chain_is_raw(&r.chain));
        assert_chain_gives(&r, data, 9600, data, 9600);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(json, sizeof json, "[" RESHAPE("%s") ",\"bytes\"]", bad[i]);
        if (chain_open_v3(&r, json) != HR_ERR_METADATA) {
            fail_msg("%s is taken", bad[i]);
        }
    }
    free(data);
    chain_close(&r);
}

static void bits_are_packed_from_the_lowest(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t want[] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 1}, packed[] = {0x01, 0x03};
    CHUNK(&r, "|b1", 10);
    assert_opens(chain_open_v3(&r, "[\"packbits\"]"), &r);
    assert_int_equal(r.chain.encoded.nbytes, 2);
    assert_chain_gives(&r, packed, 2, want, 10);
    assert_opens(chain_open_v3(&r, "[" PACK("\"padding_encoding\":\"none\"") "]"), &r);
    assert_chain_gives(&r, packed, 2, want, 10);
    const uint8_t first[] = {6, 0x01, 0x03}, last[] = {0x01, 0x03, 6};
    assert_opens(chain_open_v3(&r, "[" PACK("\"padding_encoding\":\"first_byte\"") "]"),
                 &r);
    assert_chain_gives(&r, first, 3, want, 10);
    assert_chain_refuses(&r, last, 3, HR_ERR_DATA, "1 padding bits, expected 6");
    assert_chain_refuses(&r, first, 2, HR_ERR_DATA, "2 packed bytes, expected 3");
    chain_survives_mutants(&r, first, 3);
    assert_opens(chain_open_v3(&r, "[" PACK("\"padding_encoding\":\"last_byte\"") "]"),
                 &r);
    assert_chain_gives(&r, last, 3, want, 10);
    /* numcodecs' codec of the same name packs from the highest */
    const uint8_t v2[] = {6, 0x80, 0xc0};
    assert_opens(chain_open_v3(&r, "[\"numcodecs.packbits\",\"bytes\"]"), &r);
    assert_int_equal(r.chain.encoded.nbytes, 3);
    assert_chain_gives(&r, v2, 3, want, 10);
    chain_close(&r);
}

static void ranges_of_bits_are_packed(void **state) {
    (void)state;
    chain_runner r = {0};
    /* 5-bit values 1, 31, 16 from bit 2 on: 00001 11111 10000 from the lowest bit up */
    const uint8_t packed[] = {0xe1, 0x43};
    const uint8_t want[] = {1 << 2, 31 << 2, 16 << 2};
    CHUNK(&r, "|u1", 3);
    assert_opens(chain_open_v3(&r, "[" PACK("\"first_bit\":2,\"last_bit\":6") "]"), &r);
    assert_chain_gives(&r, packed, 2, want, 3);
    const int8_t negative[] = {1 << 2, -4, -64};
    CHUNK(&r, "|i1", 3);
    assert_opens(chain_open_v3(&r, "[" PACK("\"first_bit\":2,\"last_bit\":6") "]"), &r);
    assert_chain_gives(&r, packed, 2, negative, 3);
    /* 33 bits of 64, signed, across bytes */
    const int64_t wide[] = {-1, 0xffffffff, INT64_C(-4294967296)};
    uint8_t bits[13] = {0};
    for (int i = 0; i < 3 * 33; i++) {
        bits[i / 8] |= (uint8_t)(((uint64_t)wide[i / 33] >> (i % 33) & 1) << (i % 8));
    }
    CHUNK(&r, "<i8", 3);
    assert_opens(chain_open_v3(&r, "[" PACK("\"last_bit\":32") "]"), &r);
    assert_int_equal(r.chain.encoded.nbytes, 13);
    assert_chain_gives(&r, bits, 13, wide, 24);
    /* the halves of a complex number one by one; all bits are a plain copy */
    CHUNK(&r, "<c8", 1);
    assert_opens(chain_open_v3(&r, "[" PACK("\"first_bit\":16") "]"), &r);
    const float pair[] = {1.5F, -2.0F};
    assert_chain_gives(&r, "\xc0\x3f\x00\xc0", 4, pair, 8);
    assert_opens(chain_open_v3(&r, "[\"packbits\"]"), &r);
    assert_chain_gives(&r, pair, 8, pair, 8);
    const char *const bad[] = {PACK("\"first_bit\":8"), PACK("\"last_bit\":8"),
                               PACK("\"first_bit\":3,\"last_bit\":2"),
                               PACK("\"first_bit\":-1"),
                               PACK("\"padding_encoding\":\"start\"")};
    CHUNK(&r, "|u1", 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char json[100];
        (void)snprintf(json, sizeof json, "[%s]", bad[i]);
        assert_int_equal(chain_open_v3(&r, json), HR_ERR_METADATA);
    }
    CHUNK(&r, "|S3", 3);
    assert_int_equal(chain_open_v3(&r, "[\"packbits\"]"), HR_ERR_UNSUPPORTED);
    chain_close(&r);
}

static void padding_beyond_the_bits_is_refused(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|b1", 0);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"packbits\"}]", "null"), &r);
    assert_chain_gives(&r, "\0", 1, "", 0);
    assert_chain_refuses(&r, "\1", 1, HR_ERR_DATA, "1 padding bits of 0 bits");
    assert_chain_refuses(&r, "", 0, HR_ERR_DATA,
                         "0 bytes, expected the number of padding bits");
    assert_int_equal(chain_decode(&r, "\0\0", 2), HR_ERR_DATA);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_come_back_in_order),
        cmocka_unit_test(letters_stand_for_orders),
        cmocka_unit_test(other_orders_are_refused),
        cmocka_unit_test(big_endian_bytes_behind_a_filter_are_swapped),
        cmocka_unit_test(shapes_are_resolved),
        cmocka_unit_test(bits_are_packed_from_the_lowest),
        cmocka_unit_test(ranges_of_bits_are_packed),
        cmocka_unit_test(padding_beyond_the_bits_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
