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

static void inner_formats_without_kernel_are_for_the_host(void **state) {
    (void)state;
    chain_runner r = {0};
    CHUNK(&r, "|u1", N);
    assert_opens(chain_open_v2(&r, "null", "{\"id\":\"blosc\"}"), &r);
    uint8_t *data = sample_data(N, 1);
    static uint8_t packed[2 * N];
    int n = blosc_compress_ctx(5, 1, 1, N, data, packed, sizeof packed, "zlib", 0, 1);
    hr_error err = HR_ERROR_INIT;
    hr__leaves leaves = {.allocator = &hr__malloc_allocator};
    hr__decode d = {.worker = &r.worker, .src = packed, .src_nbytes = (size_t)n};
    assert_int_equal(hr__chain_leaves(&r.chain, kernels_of(&r.chain), &d, &leaves, &err),
                     HR_ERR_UNSUPPORTED);
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
        cmocka_unit_test(inner_formats_without_kernel_are_for_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
