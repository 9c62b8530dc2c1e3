/* The library codecs in chains. SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>
#include <zlib.h>

#include "support/chain_run.h"

#define N ((size_t)4000)

/* Blosc inside zlib, as metadata of Zarr v3 list them. */
static const char codecs_json[] =
    "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},"
    "{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":5,"
    "\"shuffle\":\"shuffle\",\"typesize\":2,\"blocksize\":0}},"
    "{\"name\":\"numcodecs.zlib\",\"configuration\":{\"level\":1}}]";

static size_t pack(const uint8_t *data, int clevel, uint8_t *packed, size_t capacity) {
    uint8_t inner[5000];
    int n = blosc_compress_ctx(clevel, 1, 2, N, data, inner, sizeof inner, "lz4", 0, 1);
    assert_true(n > 0);
    uLongf made = capacity;
    assert_int_equal(compress2(packed, &made, inner, (uLong)n, 1), Z_OK);
    return made;
}

/* The size between the two is unknown; at level 0 Blosc only strips its header. */
static void sizes_between_codecs_need_not_be_known(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<u2", N / 2);
    assert_opens(chain_open_v3(&r, codecs_json), &r);
    uint8_t *data = sample_data(N, 2), packed[6000];
    for (int clevel = 0; clevel <= 9; clevel += 3) {
        size_t n = pack(data, clevel, packed, sizeof packed);
        assert_chain_gives(&r, packed, n, data, N);
        packed[n - 1] ^= 1;
        assert_int_equal(chain_decode(&r, packed, n), HR_ERR_CHECKSUM);
        assert_string_equal(r.err.codec, "numcodecs.zlib");
    }
    free(data);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_between_codecs_need_not_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
