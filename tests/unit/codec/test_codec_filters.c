/* Filters among each other, and checksums. SPDX-License-Identifier: Apache-2.0 */
#include "codec/checksum.h"
#include "support/chain_run.h"

static void filters_rule_their_types(void **state) {
    (void)state;
    chain_runner r = {0};
    /* bytes of 16-bit differences, read as an array of |u1 */
    const uint16_t data[] = {1, 2, 3}, want[] = {1, 3, 6};
    CHUNK(&r, "|u1", 6);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"delta\",\"dtype\":\"<i2\"}]", "null"), &r);
    assert_chain_gives(&r, data, 6, want, 6);
    CHUNK(&r, "|u1", 5);
    assert_open_refused(
        chain_open_v2(&r, "[{\"id\":\"delta\",\"dtype\":\"<i2\"}]", "null"), &r,
        HR_ERR_METADATA, "5 bytes are no whole number of items of 2 bytes");
    CHUNK(&r, "<i2", 3);
    const char *const bad[] = {
        "[{\"id\":\"delta\",\"dtype\":\"<U1\"}]",
        "[{\"id\":\"delta\",\"dtype\":\"<M8[s]\"}]",
        "[{\"id\":\"delta\",\"dtype\":\"?!\"}]",
        "[{\"id\":\"delta\",\"dtype\":[\"<i2\"]}]",
        "[{\"id\":\"fixedscaleoffset\",\"dtype\":\"<i2\",\"scale\":1}]",
        "[{\"id\":\"fixedscaleoffset\",\"dtype\":\"<i2\",\"scale\":\"x\",\"offset\":0}]",
        "[{\"id\":\"fixedscaleoffset\",\"astype\":\"<c8\",\"scale\":1,\"offset\":0}]",
        "[{\"id\":\"crc32\",\"location\":\"middle\"}]",
        "[{\"id\":\"jenkins_lookup3\",\"prefix\":[256]}]",
        "[{\"id\":\"jenkins_lookup3\",\"initval\":4294967296}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr_status status = chain_open_v2(&r, bad[i], "null");
        if (status != HR_ERR_METADATA && status != HR_ERR_UNSUPPORTED) {
            fail_msg("%s: %s", bad[i], hr_status_name(status));
        }
    }
    chain_close(&r);
}

static void filters_run_from_the_last_to_the_first(void **state) {
    (void)state;
    chain_runner r = {0};
    /* scale first, differences of that, shuffled, then a checksum at the start */
    const char *const filters =
        "[{\"id\":\"fixedscaleoffset\",\"dtype\":\"<f8\",\"astype\":\"<i2\",\"scale\":2,"
        "\"offset\":1},{\"id\":\"delta\",\"dtype\":\"<i2\"},{\"id\":\"shuffle\","
        "\"elementsize\":2},{\"id\":\"adler32\",\"location\":\"start\"}]";
    const int16_t differences[] = {4, 2, -300};
    const double want[] = {3, 4, -146};
    uint8_t stored[10];
    for (int i = 0; i < 3; i++) {
        stored[4 + i] = (uint8_t)(differences[i] & 0xff);
        stored[7 + i] = (uint8_t)((uint16_t)differences[i] >> 8);
    }
    uint32_t a = 1, b = 0;
    for (int i = 4; i < 10; i++) {
        a += stored[i];
        b += a;
    }
    const uint32_t adler = b << 16 | a;
    memcpy(stored, &adler, 4);
    CHUNK(&r, "<f8", 3);
    assert_opens(chain_open_v2(&r, filters, "null"), &r);
    assert_int_equal(r.chain.encoded.nbytes, 10);
    assert_chain_gives(&r, stored, 10, want, 24);
    chain_survives_mutants(&r, stored, 10);
    stored[5] ^= 1;
    assert_int_equal(chain_decode(&r, stored, 10), HR_ERR_CHECKSUM);
    assert_string_equal(r.err.codec, "adler32");
    assert_non_null(strstr(r.err.message, "stored is 0x"));
    r.skip_checksums = true;
    assert_int_equal(chain_decode(&r, stored, 10), HR_OK);
    chain_close(&r);
}

static void checksums_as_first_filter_strip_the_chunk(void **state) {
    (void)state;
    chain_runner r = {0};
    /* decoded last, and only a view: what the compressor wrote is longer than the chunk
     */
    const uint8_t stored[] = {8, 0, 0, 0, 0x80, 1, 0, 12, 0, 2, 3, 4, 5}; /* lz4 of 8 */
    const uint8_t want[] = {2, 3, 4, 5};
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"crc32\"}]", "{\"id\":\"lz4\"}"), &r);
    r.skip_checksums = true;
    assert_chain_gives(&r, stored, sizeof stored, want, 4);
    chain_close(&r);
}

static void crc32c_needs_no_instruction(void **state) {
    (void)state;
    uint8_t *data = sample_data(1000, 1);
    for (size_t n = 0; n < 1000; n += 1 + n / 20) {
        assert_int_equal(hr__crc32c(data + n % 7, n),
                         hr__crc32c_portable(data + n % 7, n));
    }
    assert_int_equal(hr__crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(hr__crc32c(data, 0), 0);
    free(data);
}

static void lookup3_takes_a_prefix(void **state) {
    (void)state;
    const uint8_t *text = (const uint8_t *)"Four score and seven years ago";
    for (size_t cut = 0; cut <= 30; cut++) {
        assert_int_equal(hr__jenkins_lookup3(0, text, cut, text + cut, 30 - cut),
                         0x17770551);
        assert_int_equal(hr__jenkins_lookup3(1, text, cut, text + cut, 30 - cut),
                         0xcd628161);
    }
    assert_int_equal(hr__jenkins_lookup3(0, NULL, 0, NULL, 0), 0xdeadbeef);
    chain_runner r = {0};
    uint8_t stored[32];
    memcpy(stored, text + 2, 28);
    memcpy(stored + 28, "\x51\x05\x77\x17", 4);
    CHUNK(&r, "|u1", 28);
    assert_opens(
        chain_open_v2(&r, "[{\"id\":\"jenkins_lookup3\",\"prefix\":[70,111]}]", "null"),
        &r);
    assert_chain_gives(&r, stored, 32, text + 2, 28);
    assert_opens(
        chain_open_v2(&r, "[{\"id\":\"jenkins_lookup3\",\"prefix\":\"Fo\"}]", "null"),
        &r);
    assert_chain_gives(&r, stored, 32, text + 2, 28);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"jenkins_lookup3\"}]", "null"), &r);
    assert_int_equal(chain_decode(&r, stored, 32), HR_ERR_CHECKSUM);
    chain_close(&r);
}

static void old_fletcher_sums_are_accepted(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {1, 2, 3, 4};
    uint32_t sum = hr__fletcher32(data, 4);
    uint8_t stored[8];
    memcpy(stored, data, 4);
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"fletcher32\"}]", "null"), &r);
    memcpy(stored + 4, &sum, 4);
    assert_chain_gives(&r, stored, 8, data, 4);
    sum = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    memcpy(stored + 4, &sum, 4);
    assert_chain_gives(&r, stored, 8, data, 4);
    chain_close(&r);
}

static void shuffles_take_their_size_from_the_items(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {1, 3, 5, 2, 4, 6}, want[] = {1, 2, 3, 4, 5, 6};
    const uint8_t odd[] = {1, 3, 2, 4, 5};
    CHUNK(&r, "<i2", 3);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":2}]", "null"),
                 &r);
    assert_chain_gives(&r, data, 6, want, 6);
    assert_opens(
        chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":\"0\"}]", "null"), &r);
    assert_chain_gives(&r, data, 6, want, 6);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":0}]", "null"),
                 &r);
    assert_chain_gives(&r, data, 6, data, 6);
    assert_opens(chain_open_v3(&r, "[{\"name\":\"bytes\",\"configuration\":{\"endian\":"
                                   "\"little\"}},{\"name\":\"numcodecs.shuffle\","
                                   "\"configuration\":{\"elementsize\":null}}]"),
                 &r);
    assert_chain_gives(&r, data, 6, want, 6);
    /* what is left behind the last whole item stays where it is */
    CHUNK(&r, "|u1", 5);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":2}]", "null"),
                 &r);
    assert_chain_gives(&r, odd, 5, want, 5);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":100}]", "null"),
                 &r);
    assert_chain_gives(&r, odd, 5, odd, 5);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\"}]", "null"), &r);
    assert_chain_gives(&r, odd, 5, odd, 5);
    assert_int_equal(
        chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":-1}]", "null"),
        HR_ERR_METADATA);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_rule_their_types),
        cmocka_unit_test(filters_run_from_the_last_to_the_first),
        cmocka_unit_test(checksums_as_first_filter_strip_the_chunk),
        cmocka_unit_test(crc32c_needs_no_instruction),
        cmocka_unit_test(lookup3_takes_a_prefix),
        cmocka_unit_test(old_fletcher_sums_are_accepted),
        cmocka_unit_test(shuffles_take_their_size_from_the_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
