/* Leaves, carried out by the libraries, give what the chain's own decoding gives.
 * SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>
#include <lz4.h>
#include <snappy-c.h>

#include "codec/decode.h"
#include "codec/leaves.h"
#include "codec/shuffle_kernels.h"
#include "support/chain_run.h"

#define N 20000

/* Elements behind the size that libsnappy wants. */
static void decode_snappy(const uint8_t *src, uint32_t n, uint8_t *out,
                          uint32_t out_nbytes) {
    uint8_t *sized = test_malloc((size_t)n + 3);
    sized[0] = (uint8_t)(out_nbytes | 128);
    sized[1] = (uint8_t)(out_nbytes >> 7 | 128);
    sized[2] = (uint8_t)(out_nbytes >> 14);
    memcpy(sized + 3, src, n);
    size_t made = out_nbytes;
    assert_int_equal(
        snappy_uncompress((const char *)sized, (size_t)n + 3, (char *)out, &made),
        SNAPPY_OK);
    assert_int_equal(made, out_nbytes);
    test_free(sized);
}

/* What kernels are to do, on the host. */
static void carry_out(const hr__leaves *l, const uint8_t *src, uint8_t *out) {
    uint8_t *joined = test_malloc(N);
    if (l->stored) {
        memcpy(joined, src + l->stored_at, N);
    }
    const hr__leaf *leaves = l->leaves.items;
    for (size_t i = 0; i < l->leaves.n; i++) {
        const hr__leaf *f = &leaves[i];
        assert_true(f->dst + f->dst_nbytes <= N);
        if (f->format == HR__LEAF_COPY) {
            assert_int_equal(f->src_nbytes, f->dst_nbytes);
            memcpy(joined + f->dst, src + f->src, f->dst_nbytes);
        } else if (f->format == HR__LEAF_SNAPPY) {
            decode_snappy(src + f->src, f->src_nbytes, joined + f->dst, f->dst_nbytes);
        } else if (f->format == HR__LEAF_BLOSCLZ) {
            hr__decode d = {.src = src + f->src,
                            .src_nbytes = f->src_nbytes,
                            .dst = joined + f->dst,
                            .dst_nbytes = f->dst_nbytes};
            hr_error err = HR_ERROR_INIT;
            assert_int_equal(hr__blosclz_decode(&d, &err), HR_OK);
            assert_int_equal(d.out_nbytes, f->dst_nbytes);
        } else {
            assert_int_equal(LZ4_decompress_safe((const char *)src + f->src,
                                                 (char *)joined + f->dst,
                                                 (int)f->src_nbytes, (int)f->dst_nbytes),
                             f->dst_nbytes);
        }
    }
    for (uint64_t at = 0; at < N; at += l->block_nbytes) {
        uint64_t n = N - at < l->block_nbytes ? N - at : l->block_nbytes;
        if (l->mode == HR__SHUFFLE_BYTES) {
            hr__unshuffle(l->typesize, n, joined + at, out + at);
        } else if (l->mode == HR__SHUFFLE_BITS) {
            hr__bitunshuffle(l->typesize, n, joined + at, out + at);
        } else {
            memcpy(out + at, joined + at, n);
        }
    }
    test_free(joined);
}

/* Valid until the next call. */
static const hr__kernel_chain *kernels_of(const hr__chain *chain) {
    static hr__kernel_chain kernels;
    (void)hr__chain_for_kernels(chain, &kernels);
    return &kernels;
}

static void assert_leaves_give(chain_runner *r, const uint8_t *src, size_t n,
                               const uint8_t *want) {
    static uint8_t out[N];
    hr_error err = HR_ERROR_INIT;
    hr__leaves leaves = {.allocator = &hr__malloc_allocator};
    hr__decode d = {.worker = &r->worker, .src = src, .src_nbytes = n};
    assert_null(hr__chain_refuses_leaves(&r->chain));
    if (hr__chain_leaves(&r->chain, kernels_of(&r->chain), &d, &leaves, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    memset(out, 0xA5, sizeof out);
    carry_out(&leaves, src, out);
    assert_memory_equal(out, want, N);
    hr__vec_free(&hr__malloc_allocator, &leaves.leaves);
}

static void blosc_of_every_shape(const char *inner) {
    static const char v3[] =
        "[{\"name\":\"bytes\"},{\"name\":\"blosc\",\"configuration\":{}},\"crc32c\"]";
    chain_runner r = {0};
    CHUNK(&r, "|u1", N);
    assert_opens(chain_open_v3(&r, v3), &r);
    r.skip_checksums = true;
    for (int typesize = 1; typesize <= 17; typesize++) {
        uint8_t *data = sample_data(N, (uint64_t)typesize);
        for (int shuffle = 0; shuffle <= 2; shuffle++) {
            for (size_t block = 0; block <= 4096; block += 1024) {
                static uint8_t packed[N + 4096];
                int n =
                    blosc_compress_ctx(block == 1024 ? 0 : 5, shuffle, (size_t)typesize,
                                       N, data, packed, sizeof packed, inner, block, 1);
                if (n < 0) {
                    skip(); /* this c-blosc is without it */
                }
                assert_true(n > 0);
                chain_runner plain = r;
                plain.chain.ncodecs = 2; /* without the checksum behind it */
                assert_leaves_give(&plain, packed, (size_t)n, data);
            }
        }
        free(data);
    }
    chain_close(&r);
}

static void blosc_lz4_of_every_shape(void **state) {
    (void)state;
    blosc_of_every_shape("lz4");
}

static void blosc_snappy_of_every_shape(void **state) {
    (void)state;
    blosc_of_every_shape("snappy");
}

static void blosc_blosclz_of_every_shape(void **state) {
    (void)state;
    blosc_of_every_shape("blosclz");
}

static void snappy_says_the_size_of_its_chunk(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<f4", N / 4);
    assert_opens(chain_open_v2(&r, "null", "{\"id\":\"snappy\"}"), &r);
    uint8_t *data = sample_data(N, 4);
    static uint8_t packed[2 * N];
    size_t n = sizeof packed;
    assert_int_equal(snappy_compress((const char *)data, N, (char *)packed, &n),
                     SNAPPY_OK);
    assert_leaves_give(&r, packed, n, data);
    free(data);
    static const struct {
        uint8_t bytes[5];
        size_t n;
    } sizes[] = {{{0xA1, 0x9C, 0x01}, 3},             /* one byte more */
                 {{0x80, 0x80, 0x80, 0x80, 0x10}, 5}, /* 2^32 */
                 {{0xA0, 0x9C, 0x81, 0x80, 0x80}, 5}, /* without an end */
                 {{0xA0, 0x9C}, 2}};                  /* cut off */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hr_error err = HR_ERROR_INIT;
        hr__leaves leaves = {.allocator = &hr__malloc_allocator};
        hr__decode d = {
            .worker = &r.worker, .src = sizes[i].bytes, .src_nbytes = sizes[i].n};
        assert_int_equal(
            hr__chain_leaves(&r.chain, kernels_of(&r.chain), &d, &leaves, &err),
            HR_ERR_DATA);
        assert_string_equal(err.codec, "snappy");
    }
    chain_close(&r);
}

static void lz4_behind_a_shuffle(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<f4", N / 4);
    assert_opens(chain_open_v2(&r, "[{\"id\":\"shuffle\",\"elementsize\":4}]",
                               "{\"id\":\"lz4\",\"acceleration\":1}"),
                 &r);
    uint8_t *data = sample_data(N, 4);
    static uint8_t packed[2 * N];
    int n = LZ4_compress_default((const char *)data, (char *)packed + 4, N, 2 * N - 4);
    packed[0] = N & 255;
    packed[1] = N >> 8;
    packed[2] = packed[3] = 0;
    assert_opens(chain_decode(&r, packed, (size_t)n + 4), &r);
    assert_leaves_give(&r, packed, (size_t)n + 4, r.out);
    packed[0] ^= 1; /* the header does not say the chunk's size */
    hr_error err = HR_ERROR_INIT;
    hr__leaves leaves = {.allocator = &hr__malloc_allocator};
    hr__decode d = {.worker = &r.worker, .src = packed, .src_nbytes = (size_t)n + 4};
    assert_int_equal(hr__chain_leaves(&r.chain, kernels_of(&r.chain), &d, &leaves, &err),
                     HR_ERR_DATA);
    assert_string_equal(err.codec, "lz4");
    free(data);
    chain_close(&r);
}

static void other_codecs_are_refused_by_name(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "<f4", N / 4);
    assert_opens(chain_open_v2(&r, "null", "{\"id\":\"bz2\",\"level\":1}"), &r);
    assert_string_equal(hr__chain_refuses_leaves(&r.chain), "bz2");
    assert_opens(
        chain_open_v2(&r, "[{\"id\":\"delta\",\"dtype\":\"<c16\",\"astype\":\"<f8\"}]",
                      "{\"id\":\"lz4\",\"acceleration\":1}"),
        &r);
    assert_string_equal(hr__chain_refuses_leaves(&r.chain), "delta");
    chain_close(&r);
}

/* Leaves of a chunk; their number. */
static size_t describe(chain_runner *r, const char *compressor, const uint8_t *src,
                       size_t nbytes, bool skips, hr__leaf *first, hr_status *status) {
    assert_opens(chain_open_v2(r, "null", compressor), r);
    hr_error err = HR_ERROR_INIT;
    hr__leaves leaves = {.allocator = &hr__malloc_allocator};
    hr__decode d = {
        .worker = &r->worker, .src = src, .src_nbytes = nbytes, .skip_checksums = skips};
    *status = hr__chain_leaves(&r->chain, kernels_of(&r->chain), &d, &leaves, &err);
    size_t n = leaves.leaves.n;
    if (n > 0) {
        *first = *(const hr__leaf *)leaves.leaves.items;
    }
    hr__vec_free(&hr__malloc_allocator, &leaves.leaves);
    return n;
}

static void deflate_streams_keep_their_wrappers(void **state) {
    (void)state;
    static const uint8_t zlib[] = {0x78, 0x9C, 3, 0, 0, 0, 0, 1};
    static const uint8_t dictionary[] = {0x78, 0xBB, 3, 0, 0, 0, 0, 1};
    static const uint8_t gzip[20] = {0x1F, 0x8B, 8};
    static const char *const codecs[] = {"{\"id\":\"zlib\",\"level\":1}",
                                         "{\"id\":\"gzip\",\"level\":1}"};
    hr_status status;
    for (int i = 0; i < 2; i++) { /* either is found in either */
        chain_runner r = {0};
        hr__leaf leaf;
        CHUNK(&r, "|u1", N);
        assert_int_equal(
            describe(&r, codecs[i], zlib, sizeof zlib, false, &leaf, &status), 1);
        assert_int_equal(status, HR_OK);
        assert_int_equal(leaf.format, HR__LEAF_DEFLATE);
        assert_int_equal(leaf.wrapper, HR__DEFLATE_ZLIB);
        assert_int_equal(leaf.src_nbytes, sizeof zlib);
        assert_int_equal(leaf.dst_nbytes, N);
        assert_false(leaf.skips_checksum);
        assert_int_equal(describe(&r, codecs[i], gzip, sizeof gzip, true, &leaf, &status),
                         1);
        assert_int_equal(leaf.wrapper, HR__DEFLATE_GZIP);
        assert_true(leaf.skips_checksum);
        (void)describe(&r, codecs[i], dictionary, sizeof dictionary, true, &leaf,
                       &status);
        assert_int_equal(status, HR_ERR_UNSUPPORTED);
        (void)describe(&r, codecs[i], gzip + 1, 9, true, &leaf, &status);
        assert_int_equal(status, HR_ERR_DATA);
        chain_close(&r);
    }
}

static void blosc_zlib_has_a_leaf_for_each_stream(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", N);
    uint8_t *data = sample_data(N, 1);
    static uint8_t packed[2 * N];
    int n = blosc_compress_ctx(5, 1, 1, N, data, packed, sizeof packed, "zlib", 0, 1);
    hr__leaf leaf;
    hr_status status;
    assert_true(
        describe(&r, "{\"id\":\"blosc\"}", packed, (size_t)n, false, &leaf, &status) > 0);
    assert_int_equal(status, HR_OK);
    assert_int_equal(leaf.format, HR__LEAF_DEFLATE);
    assert_int_equal(leaf.wrapper, HR__DEFLATE_ZLIB);
    free(data);
    chain_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blosc_lz4_of_every_shape),
        cmocka_unit_test(blosc_snappy_of_every_shape),
        cmocka_unit_test(blosc_blosclz_of_every_shape),
        cmocka_unit_test(snappy_says_the_size_of_its_chunk),
        cmocka_unit_test(lz4_behind_a_shuffle),
        cmocka_unit_test(other_codecs_are_refused_by_name),
        cmocka_unit_test(deflate_streams_keep_their_wrappers),
        cmocka_unit_test(blosc_zlib_has_a_leaf_for_each_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
