/* Leaves, carried out by the libraries, give what the chain's own decoding gives.
 * SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>
#include <lz4.h>

#include "codec/leaves.h"
#include "codec/shuffle_kernels.h"
#include "support/chain_run.h"

#define N 20000

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

static void blosc_of_every_shape(void **state) {
    (void)state;
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
                                       N, data, packed, sizeof packed, "lz4", block, 1);
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
    assert_opens(chain_open_v2(&r, "[{\"id\":\"delta\",\"dtype\":\"<f4\"}]",
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
        cmocka_unit_test(blosc_of_every_shape),
        cmocka_unit_test(lz4_behind_a_shuffle),
        cmocka_unit_test(other_codecs_are_refused_by_name),
        cmocka_unit_test(inner_formats_without_kernel_are_for_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
