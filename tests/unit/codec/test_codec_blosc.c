/* Blosc chunks that libblosc makes decode to what went in.
 * SPDX-License-Identifier: Apache-2.0 */
#include <blosc.h>

#include "support/codec_run.h"

static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
static const size_t typesizes[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,  10,
                                   11, 12, 13, 14, 15, 16, 17, 255, 300};
#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct options {
    const char *cname;
    int clevel, shuffle;
    size_t typesize, blocksize, nbytes;
} options;

/* Compress data with libblosc, decode, compare. */
static void round_trip(codec_runner *r, const options *o, const uint8_t *data) {
    size_t capacity = o->nbytes + BLOSC_MAX_OVERHEAD;
    uint8_t *packed = malloc(capacity);
    assert_non_null(packed);
    int n = blosc_compress_ctx(o->clevel, o->shuffle, o->typesize, o->nbytes, data,
                               packed, capacity, o->cname, o->blocksize, 1);
    assert_true(n > 0);
    if (runner_decode(r, packed, (size_t)n, o->nbytes) != HR_OK ||
        r->out_nbytes != o->nbytes || memcmp(r->out, data, o->nbytes) != 0) {
        fail_msg("%s clevel %d shuffle %d typesize %zu blocksize %zu nbytes %zu: %s",
                 o->cname, o->clevel, o->shuffle, o->typesize, o->blocksize, o->nbytes,
                 r->status == HR_OK ? "other bytes" : r->err.message);
    }
    free(packed);
}

static void all_options_and_tails_decode(void **state) {
    (void)state;
    static const size_t blocksizes[] = {0, 512, 4099};
    uint8_t *data[COUNT(typesizes)];
    for (size_t t = 0; t < COUNT(typesizes); t++) {
        data[t] = sample_data(16384, typesizes[t]);
    }
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    size_t tail = 0;
    options o;
    for (size_t c = 0; c < COUNT(names); c++) {
        o.cname = names[c];
        for (o.clevel = 0; o.clevel <= 9; o.clevel++) {
            for (o.shuffle = 0; o.shuffle <= 2; o.shuffle++) {
                for (size_t t = 0; t < COUNT(typesizes); t++) {
                    for (size_t b = 0; b < COUNT(blocksizes); b++) {
                        tail = (tail + 389) % 1004; /* every tail comes up ten times */
                        o.typesize = typesizes[t];
                        o.blocksize = blocksizes[b];
                        o.nbytes = (tail % 3 == 0   ? 0
                                    : tail % 3 == 1 ? 5120
                                                    : 12000) +
                                   tail;
                        round_trip(&r, &o, data[t]);
                    }
                }
            }
        }
    }
    runner_close(&r);
    for (size_t t = 0; t < COUNT(typesizes); t++) {
        free(data[t]);
    }
}

static void every_short_length_decodes(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    uint8_t *data = sample_data(1004, 4);
    options o = {.cname = "lz4", .clevel = 5, .typesize = 4, .blocksize = 256};
    for (o.nbytes = 0; o.nbytes <= 1003; o.nbytes++) {
        o.shuffle = (int)(o.nbytes % 3);
        round_trip(&r, &o, data);
    }
    free(data);
    runner_close(&r);
}

static void large_chunks_of_many_default_blocks_decode(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    for (size_t c = 0; c < COUNT(names); c++) {
        for (size_t typesize = 1; typesize <= 8; typesize *= 2) {
            size_t nbytes = (3u << 20) + 1003;
            uint8_t *data = sample_data(nbytes, typesize);
            options o = {names[c], c < 4 ? 5 : 1, (int)(typesize % 3), typesize,
                         0,        nbytes};
            round_trip(&r, &o, data);
            free(data);
        }
    }
    runner_close(&r);
}

static void incompressible_chunks_decode(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    uint8_t data[5003];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    for (int shuffle = 0; shuffle <= 2; shuffle++) {
        options o = {"lz4", 9, shuffle, 4, 0, sizeof data};
        round_trip(&r, &o, data);
        memset(data, 7, 3000); /* now some splits are stored, some not */
    }
    runner_close(&r);
}

static void every_split_mode_decodes(void **state) {
    (void)state;
    static const int modes[] = {BLOSC_ALWAYS_SPLIT, BLOSC_NEVER_SPLIT, BLOSC_AUTO_SPLIT,
                                BLOSC_FORWARD_COMPAT_SPLIT}; /* the default last */
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    for (size_t m = 0; m < COUNT(modes); m++) {
        blosc_set_splitmode(modes[m]);
        for (size_t c = 0; c < COUNT(names); c++) {
            /* libblosc cannot read its own ALWAYS_SPLIT chunks of larger types. */
            for (size_t typesize = 1; typesize <= 16; typesize++) {
                uint8_t *data = sample_data(9001, typesize);
                options o = {names[c], 3, 1, typesize, 2048, 9001};
                round_trip(&r, &o, data);
                free(data);
            }
        }
    }
    runner_close(&r);
}

static void the_size_may_be_unknown(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    uint8_t *data = sample_data(5000, 2), packed[5016];
    int n = blosc_compress_ctx(5, 1, 2, 5000, data, packed, sizeof packed, "lz4", 0, 1);
    assert_int_equal(runner_decode_growing(&r, packed, (size_t)n, 5000), HR_OK);
    assert_int_equal(r.out_nbytes, 5000);
    assert_memory_equal(r.out, data, 5000);
    assert_int_equal(runner_decode_growing(&r, packed, (size_t)n, 4999), HR_ERR_DATA);
    assert_string_equal(r.err.message,
                        "Blosc header says 5000 bytes decoded, expected 4999");
    free(data);
    runner_close(&r);
}

static void a_warm_worker_decodes_without_allocating(void **state) {
    (void)state;
    codec_runner r;
    assert_int_equal(runner_open(&r, &hr__codec_blosc, NULL), HR_OK);
    uint8_t *data = sample_data(70000, 4);
    options o = {"lz4", 5, 1, 4, 0, 70000};
    round_trip(&r, &o, data);
    const uint8_t *scratch = r.worker.part[0].data;
    size_t capacity = r.worker.part[0].capacity;
    o.shuffle = 2;
    round_trip(&r, &o, data);
    assert_ptr_equal(r.worker.part[0].data, scratch);
    assert_int_equal(r.worker.part[0].capacity, capacity);
    free(data);
    runner_close(&r);
}

static void parameters_are_checked_for_their_types_only(void **state) {
    (void)state;
    static const char *const good[] = {
        "{}", "{\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1,\"blocksize\":0}",
        "{\"cname\":\"none\",\"clevel\":\"5\",\"shuffle\":\"shuffle\"}",
        "{\"typesize\":null}"};
    codec_runner r;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(runner_open(&r, &hr__codec_blosc, good[i]), HR_OK);
        runner_close(&r);
    }
    hr_status status = runner_open(&r, &hr__codec_blosc, "{\"clevel\":[5]}");
    assert_int_equal(status, HR_ERR_METADATA);
    assert_non_null(strstr(r.err.message, "blosc: \"clevel\" is [ 5 ], expected"));
    runner_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_options_and_tails_decode),
        cmocka_unit_test(every_short_length_decodes),
        cmocka_unit_test(large_chunks_of_many_default_blocks_decode),
        cmocka_unit_test(incompressible_chunks_decode),
        cmocka_unit_test(every_split_mode_decodes),
        cmocka_unit_test(the_size_may_be_unknown),
        cmocka_unit_test(a_warm_worker_decodes_without_allocating),
        cmocka_unit_test(parameters_are_checked_for_their_types_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
