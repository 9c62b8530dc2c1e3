/* Texts and other elements of variable length. SPDX-License-Identifier: Apache-2.0 */
#include "codec/utf8.h"
#include "support/chain_run.h"

/* numcodecs.VLenUTF8().encode(["foo", "", "é€𝄞"]) */
#define THREE "0300000003000000666f6f0000000009000000c3a9e282acf09d849e"
static const char *const three[] = {"foo", "", "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e"};

static void assert_texts(const chain_runner *r, const char *const *want, size_t n) {
    assert_int_equal(r->out_nbytes, n * sizeof(hr_vlen));
    for (size_t i = 0; i < n; i++) {
        hr_vlen element;
        memcpy(&element, r->out + i * sizeof element, sizeof element);
        assert_non_null(element.data);
        assert_int_equal(element.nbytes, strlen(want[i]));
        assert_memory_equal(element.data, want[i], element.nbytes);
    }
}

static void texts_live_in_the_heap(void **state) {
    (void)state;
    chain_runner r = {0};
    size_t n;
    uint8_t *data = unhex(THREE, &n);
    CHUNK(&r, "string", 3, 1);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"vlen-utf8\"}]", "null"), &r);
    assert_opens(chain_decode(&r, data, n), &r);
    memset(data, 0, n); /* nothing points into the stored bytes */
    assert_texts(&r, three, 3);
    free(data);
    data = unhex(THREE, &n);
    assert_opens(chain_open_v3(&r, "[\"vlen-utf8\"]"), &r);
    assert_opens(chain_decode_in_place(&r, data, n), &r);
    assert_texts(&r, three, 3);
    assert_opens(chain_open_v3(&r, "[\"numcodecs.vlen-utf8\"]"), &r);
    assert_opens(chain_decode(&r, data, n), &r);
    assert_texts(&r, three, 3);
    chain_survives_mutants(&r, data, n);
    free(data);
    chain_close(&r);
}

static void lengths_of_elements_are_checked(void **state) {
    (void)state;
    chain_runner r = {0};
    static const struct {
        const char *data, *message;
    } bad[] = {
        {"", "0 bytes, expected the number of elements"},
        {"020000", "3 bytes, expected the number of elements"},
        {"0300000000000000", "chunk holds 3 elements, expected 2"},
        {"ffffffff00000000", "chunk holds 4294967295 elements, expected 2"},
        {"0200000000000000", "element 1 of 0 bytes at byte 8 of 8 is cut short"},
        {"02000000000000000000", "element 1 of 0 bytes at byte 8 of 10 is cut short"},
        {"020000000000000001000000", "element 1 of 1 bytes at byte 8 of 12 is cut short"},
        {"02000000fcffffff00000000",
         "element 0 of 4294967292 bytes at byte 4 of 12 is cut short"},
        {"02000000000000000000000041", "1 bytes follow the last element"},
    };
    CHUNK(&r, "bytes", 2);
    assert_opens(chain_open_v3(&r, "[\"vlen-bytes\"]"), &r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n;
        uint8_t *data = unhex(bad[i].data, &n);
        assert_chain_refuses(&r, data, n, HR_ERR_DATA, bad[i].message);
        free(data);
    }
    chain_close(&r);
}

static void texts_must_be_utf8_and_bytes_need_not(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {1, 0, 0, 0, 2, 0, 0, 0, 0xc3, 0x28};
    CHUNK(&r, "string", 1);
    assert_opens(chain_open_v3(&r, "[\"vlen-utf8\"]"), &r);
    assert_chain_refuses(&r, data, sizeof data, HR_ERR_DATA, "element 0 is not UTF-8");
    assert_open_refused(chain_open_v3(&r, "[\"vlen-bytes\"]"), &r, HR_ERR_METADATA,
                        "codec \"vlen-bytes\" does not encode items of string");
    CHUNK(&r, "bytes", 1);
    assert_opens(chain_open_v3(&r, "[\"vlen-bytes\"]"), &r);
    assert_opens(chain_decode(&r, data, sizeof data), &r);
    const char *const want[] = {"\xc3\x28"};
    assert_texts(&r, want, 1);
    CHUNK(&r, "<i4", 1);
    assert_int_equal(chain_open_v3(&r, "[\"vlen-utf8\"]"), HR_ERR_METADATA);
    assert_int_equal(chain_open_v2(&r, "[{\"id\":\"vlen-bytes\"}]", "null"),
                     HR_ERR_METADATA);
    chain_close(&r);
}

static void utf8_is_told_from_other_bytes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"", true},
        {"a\x7f", true},
        {"\xc2\x80\xdf\xbf", true},
        {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", true},
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true},
        {"\x80", false},
        {"\xc0\x80", false},
        {"\xc1\xbf", false},
        {"\xc2", false},
        {"\xc2"
         "a",
         false},
        {"\xe0\x9f\xbf", false},
        {"\xed\xa0\x80", false},
        {"\xe2\x82", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf5\x80\x80\x80", false},
        {"\xff", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *p = (const uint8_t *)cases[i].text;
        assert_int_equal(hr__is_utf8(p, strlen(cases[i].text)), cases[i].good);
    }
}

static void compressed_texts_may_be_of_any_size(void **state) {
    (void)state;
    chain_runner r = {0};
    /* one text of a million letters, and its LZ4 block by hand */
    const size_t length = 1000000, plain_n = 8 + length;
    uint8_t *plain = malloc(plain_n);
    assert_non_null(plain);
    const uint8_t head[] = {1, 0, 0, 0, 0x40, 0x42, 0x0f, 0};
    memcpy(plain, head, 8);
    memset(plain + 8, 'x', length);
    size_t n = 0;
    uint8_t *lz4 = malloc(5000);
    assert_non_null(lz4);
    const uint8_t size[] = {0x48, 0x42, 0x0f, 0};
    memcpy(lz4, size, 4);
    n = 4;
    lz4[n++] = 0x9f; /* nine literals, a long match */
    memcpy(lz4 + n, plain, 9);
    n += 9;
    lz4[n++] = 1; /* offset 1 */
    lz4[n++] = 0;
    size_t match = plain_n - 9 - 5 - 4 - 15;
    for (; match >= 255; match -= 255) {
        lz4[n++] = 255;
    }
    lz4[n++] = (uint8_t)match;
    lz4[n++] = 0x50;
    memcpy(lz4 + n, "xxxxx", 5);
    n += 5;
    CHUNK(&r, "string", 1);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"vlen-utf8\"}]", "{\"id\":\"lz4\"}"), &r);
    assert_opens(chain_decode(&r, lz4, n), &r);
    hr_vlen element;
    memcpy(&element, r.out, sizeof element);
    assert_int_equal(element.nbytes, length);
    assert_memory_equal(element.data, plain + 8, length);
    free(plain);
    free(lz4);
    chain_close(&r);
}

static void arrays_are_whole_items(void **state) {
    (void)state;
    chain_runner r = {0};
    const hr_dtype base = hr__dtype(HR_KIND_INT, 2);
    size_t n;
    /* numcodecs.VLenArray('<i2').encode([[1, 3, 5], [4], []]) */
    uint8_t *data = unhex("0300000006000000010003000500020000000400"
                          "00000000",
                          &n);
    CHUNK(&r, "bytes", 3);
    r.chunk.dtype.kind = HR_KIND_VLEN_ARRAY;
    r.chunk.dtype.base = &base;
    const char *const filters = "[{\"id\":\"vlen-array\",\"dtype\":\"<i2\"}]";
    assert_opens(chain_open_v2(&r, filters, "null"), &r);
    assert_opens(chain_decode(&r, data, n), &r);
    hr_vlen element;
    memcpy(&element, r.out, sizeof element);
    const int16_t want[] = {1, 3, 5};
    assert_int_equal(element.nbytes, 6);
    assert_memory_equal(element.data, want, 6);
    assert_int_equal((uintptr_t)element.data % 2, 0);
    chain_survives_mutants(&r, data, n);
    data[4] = 5;
    assert_int_equal(chain_decode(&r, data, n), HR_ERR_DATA);
    assert_int_equal(
        chain_open_v2(&r, "[{\"id\":\"vlen-array\",\"dtype\":\"<i4\"}]", "null"),
        HR_ERR_METADATA);
    free(data);
    chain_close(&r);
}

static void categories_are_texts(void **state) {
    (void)state;
    chain_runner r = {0};
    const uint8_t data[] = {2, 0, 1, 3};
    const char *const filters =
        "[{\"id\":\"categorize\",\"labels\":[\"a\",\"b\xc3\xa9\"],\"dtype\":\"|O\","
        "\"astype\":\"|u1\"}]";
    const char *const want[] = {"b\xc3\xa9", "", "a", ""};
    CHUNK(&r, "string", 4);
    assert_opens(chain_open_v2(&r, filters, "null"), &r);
    assert_int_equal(r.chain.encoded.nbytes, 4);
    assert_opens(chain_decode(&r, data, 4), &r);
    assert_texts(&r, want, 4);
    chain_survives_mutants(&r, data, 4);
    const char *const bad[] = {
        "[{\"id\":\"categorize\",\"dtype\":\"|O\"}]",
        "[{\"id\":\"categorize\",\"labels\":[3],\"dtype\":\"|O\"}]",
        "[{\"id\":\"categorize\",\"labels\":[],\"dtype\":\"<U3\"}]",
        "[{\"id\":\"categorize\",\"labels\":[],\"dtype\":\"<i4\"}]",
        "[{\"id\":\"categorize\",\"labels\":[],\"dtype\":\"|O\",\"astype\":\"<f4\"}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chain_open_v2(&r, bad[i], "null"), HR_ERR_METADATA);
    }
    chain_close(&r);
}

static void transposed_texts_move_as_a_whole(void **state) {
    (void)state;
    chain_runner r = {0};
    size_t n;
    uint8_t *data = unhex("04000000"
                          "0100000061"
                          "0100000062"
                          "0100000063"
                          "0100000064",
                          &n);
    const char *const want[] = {"a", "c", "b", "d"};
    CHUNK(&r, "string", 2, 2);
    assert_opens(chain_open_v3(&r,
                               "[{\"name\":\"transpose\",\"configuration\":{\"order\":"
                               "[1,0]}},\"vlen-utf8\"]"),
                 &r);
    assert_opens(chain_decode(&r, data, n), &r);
    assert_texts(&r, want, 4);
    free(data);
    chain_close(&r);
}

static void base64_takes_its_alphabet_alone(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", 4);
    assert_opens(chain_open_v2(&r, "null", "{\"id\":\"base64\"}"), &r);
    assert_chain_gives(&r, "+/8AAQ==", 8, "\xfb\xff\0\1", 4);
    assert_chain_refuses(&r, "+/8AAQ=", 7, HR_ERR_DATA,
                         "base64 text of 7 bytes, expected groups of 4");
    assert_chain_refuses(&r, "+/8A Q==", 8, HR_ERR_DATA, "byte 4 of base64 text is 0x20");
    assert_chain_refuses(&r, "+/8AA===", 8, HR_ERR_DATA, "byte 5 of base64 text is 0x3d");
    assert_chain_refuses(&r, "+/8A", 4, HR_ERR_DATA,
                         "chunk decodes to 3 bytes, expected 4");
    assert_int_equal(chain_decode(&r, "+/8AAQIDBA==", 12), HR_ERR_DATA);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_live_in_the_heap),
        cmocka_unit_test(lengths_of_elements_are_checked),
        cmocka_unit_test(texts_must_be_utf8_and_bytes_need_not),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(compressed_texts_may_be_of_any_size),
        cmocka_unit_test(arrays_are_whole_items),
        cmocka_unit_test(categories_are_texts),
        cmocka_unit_test(transposed_texts_move_as_a_whole),
        cmocka_unit_test(base64_takes_its_alphabet_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
