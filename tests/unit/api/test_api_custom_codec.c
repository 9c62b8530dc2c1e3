/* Codecs of the caller's own. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <unistd.h>

#include <cmocka.h>

#include "custom_codecs.h"

static void a_v3_chain_has_known_and_unknown_sizes(void **state) {
    (void)state;
    add(&w.xor, "x-xor", HR_CODEC_BYTES_TO_BYTES);
    put_chunks("c", 90, true);
    assert_reads(open_v3(BOTH));
    assert_string_equal(w.xor.configuration, "{\"key\":90}");
    assert_string_equal(w.runs.configuration, "{}");
    assert_int_equal(w.xor.output.nbytes, CHUNK_N);
    assert_int_equal(w.xor.output.is_bytes, 1);
    assert_true(w.runs.output.nbytes == HR_UNKNOWN);
    assert_true(w.runs.output.max_nbytes >= CHUNK_N);
    assert_true(w.runs.ndecoded > 2); /* asked for more room */
    assert_int_equal(w.xor.ndecoded, 2);
}

static void v2_takes_it_as_filter_and_as_compressor(void **state) {
    (void)state;
    add(&w.xor, "x-xor", HR_CODEC_ARRAY_TO_ARRAY);
    put_chunks("", 7, true);
    assert_reads(open_v2("[{\"id\":\"x-xor\",\"key\":7}]", "{\"id\":\"x-runs\"}"));
    assert_string_equal(w.xor.configuration, "{\"id\":\"x-xor\",\"key\":7}");
    assert_int_equal(w.xor.output.is_bytes, 0);
    assert_int_equal(w.xor.first_length, CHUNK_N);
    assert_int_equal(w.xor.output.dtype.itemsize, 1);
    assert_int_equal(w.runs.output.nbytes, CHUNK_N); /* of elements: known */
    assert_int_equal(w.runs.ndecoded, 2);
}

static void v3_knows_it_by_its_name_of_numcodecs(void **state) {
    (void)state;
    put_chunks("c", 0, true);
    assert_reads(open_v3("\"bytes\",{\"name\":\"numcodecs.x-runs\",\"configuration\":{"
                         "\"level\":1}}"));
    assert_string_equal(w.runs.configuration, "{\"level\":1}");
}

static void it_may_make_the_bytes_of_the_array(void **state) {
    (void)state;
    add(&w.xor, "x-xor", HR_CODEC_ARRAY_TO_BYTES);
    put_chunks("c", 3, false);
    assert_reads(open_v3("{\"name\":\"x-xor\",\"configuration\":{\"key\":3}}"));
    assert_int_equal(w.xor.output.is_bytes, 0);
    assert_int_equal(w.xor.output.ndim, 1);
}

static void put_shard(const char *key, const uint8_t *data, uint64_t nbytes) {
    static uint8_t shard[CHUNK_N + 16];
    const uint64_t pair[2] = {0, nbytes};
    memcpy(shard, data, nbytes);
    memcpy(shard + nbytes, pair, sizeof pair);
    put(w.store, key, shard, nbytes + sizeof pair);
}

static void shards_may_have_it_inside(void **state) {
    (void)state;
    static uint8_t bytes[CHUNK_N];
    for (int k = 0; k < 2; k++) {
        size_t n = encode((int64_t)k * CHUNK_N, 0, true, bytes);
        put_shard(k == 0 ? "c/0" : "c/1", bytes, n);
    }
    assert_reads(open_v3("{\"name\":\"sharding_indexed\",\"configuration\":{"
                         "\"chunk_shape\":[200000],\"codecs\":[\"bytes\",\"x-runs\"],"
                         "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{"
                         "\"endian\":\"little\"}}]}}"));
}

static void another_context_does_not_know_it(void **state) {
    (void)state;
    hr_store *own = w.store;
    hr_context *other = NULL;
    assert_int_equal(hr_context_create(NULL, &other, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(other, &w.store, NULL), HR_OK);
    assert_int_equal(open_v3("\"bytes\",\"x-runs\""), HR_ERR_UNSUPPORTED);
    assert_string_equal(w.err.codec, "x-runs");
    hr_store_unref(w.store);
    hr_context_unref(other);
    w.store = own;
}

static void explanations_and_strict_reads_name_it(void **state) {
    (void)state;
    put_chunks("c", 0, true);
    assert_reads(open_v3("\"bytes\",\"x-runs\""));
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_request r = HR_REQUEST_INIT;
    r.array = w.array;
    r.dst = destination(NULL);
    hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
    hr_explanation *e = NULL;
    assert_int_equal(hr_plan_explain(w.context, &r, 1, &e, NULL), HR_OK);
    assert_int_equal(hr_explanation_chain(e, 0, &chain, NULL), HR_OK);
    assert_string_equal(chain.codecs[chain.ncodecs - 1].name, "x-runs");
    assert_string_equal(chain.codecs[chain.ncodecs - 1].implementation, "custom");
    hr_explanation_free(e);
    if (hr_device_describe(simt, &info, NULL) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    void *memory = NULL;
    assert_int_equal(hr_memory_alloc(w.context, simt, N, &memory, NULL), HR_OK);
    r.dst = destination(memory);
    r.dst.device = simt;
    assert_int_equal(hr_plan_explain(w.context, &r, 1, &e, NULL), HR_OK);
    assert_int_equal(hr_explanation_chain(e, 0, &chain, NULL), HR_OK);
    assert_int_equal(chain.is_refused, 1);
    assert_string_equal(chain.reason, "no kernel decodes x-runs");
    hr_explanation_free(e);
    for (int32_t strict = 0; strict < 2; strict++) {
        hr_read_options o = HR_READ_OPTIONS_INIT;
        o.strict = strict;
        hr_batch *batch = NULL;
        assert_int_equal(hr_read_submit(w.context, &r, 1, NULL, &o, &batch, NULL), HR_OK);
        assert_int_equal(hr_batch_wait(batch, -1, &w.err),
                         strict ? HR_ERR_STRICT : HR_OK);
        hr_batch_unref(batch);
    }
    assert_string_equal(w.err.codec, "x-runs");
    memset(w.out, 0, sizeof w.out);
    assert_int_equal(hr_memory_to_host(w.context, simt, w.out, memory, N, NULL), HR_OK);
    hr_memory_free(w.context, simt, memory);
    assert_int_equal(w.out[N - 1], element_at(N - 1));
}

static void *read_often(void *arg) {
    (void)arg;
    uint8_t *out = calloc(1, N);
    const char *problem = out == NULL ? "memory" : NULL;
    hr_tensor dst = destination(out);
    for (int i = 0; i < 10 && problem == NULL; i++) {
        memset(out, 0, N);
        if (hr_read(w.array, NULL, &dst, NULL) != HR_OK ||
            out[N - 1] != element_at(N - 1)) {
            problem = "wrong";
        }
    }
    free(out);
    return (void *)(uintptr_t)problem;
}

static void *add_often(void *arg) {
    for (int i = 0; i < 50; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "x-%s-%d", (const char *)arg, i);
        hr_custom_codec f = functions_of(&w.xor, name);
        f.destroy = NULL;
        if (hr_context_add_codec(w.context, &f, NULL) != HR_OK ||
            hr_context_add_codec(w.context, &f, NULL) != HR_ERR_ARGUMENT) {
            return "add";
        }
    }
    return NULL;
}

static void threads_decode_while_others_add(void **state) {
    (void)state;
    put_chunks("c", 0, true);
    assert_int_equal(open_v3("\"bytes\",\"x-runs\""), HR_OK);
    pthread_t threads[6];
    static char names[2][2] = {"a", "b"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? add_often : read_often,
                                        i < 2 ? names[i] : NULL),
                         0);
    }
    for (int i = 0; i < 6; i++) {
        void *problem;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
}

/* The short chunk is none; the other one takes its time until somebody cares. */
static hr_status judge_decode(void *user, const void *memory, const void *src,
                              size_t src_nbytes, void *dst, size_t dst_nbytes,
                              const hr_read_context *reading, uint64_t *nbytes,
                              hr_error *err) {
    (void)user;
    (void)memory;
    (void)src;
    (void)dst;
    (void)dst_nbytes;
    (void)nbytes;
    if (src_nbytes == 1) {
        return refuse(&(codec){.message = "no good"}, HR_ERR_DATA, err);
    }
    while (!hr_read_context_is_cancelled(reading)) {
        (void)usleep(1000);
    }
    return refuse(&(codec){.message = "interrupted"}, HR_ERR_CANCELLED, err);
}

static void a_decoder_that_was_stopped_says_by_what(void **state) {
    (void)state;
    const hr_custom_codec judge = {.abi_version = HR_CUSTOM_CODEC_VERSION,
                                   .v3_name = "x-judge",
                                   .kind = HR_CODEC_BYTES_TO_BYTES,
                                   .decode = judge_decode};
    assert_int_equal(hr_context_add_codec(w.context, &judge, &w.err), HR_OK);
    put(w.store, "c/0", "ab", 2);
    put(w.store, "c/1", "a", 1);
    assert_int_equal(open_v3("\"bytes\",\"x-judge\""), HR_OK);
    const int64_t one[] = {1};
    hr_axis axes[2];
    hr_request r[2] = {HR_REQUEST_INIT, HR_REQUEST_INIT};
    for (int i = 0; i < 2; i++) {
        axes[i] = (hr_axis){
            .start = (int64_t)i * CHUNK_N, .stop = (int64_t)i * CHUNK_N + 1, .step = 1};
        r[i].array = w.array;
        r[i].dst = destination(w.out);
        r[i].dst.shape = one;
        r[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axes[i]};
    }
    hr_read_options o = HR_READ_OPTIONS_INIT;
    hr_batch *batch = NULL;
    o.on_error = HR_ON_ERROR_STOP;
    assert_int_equal(hr_read_submit(w.context, r, 2, NULL, &o, &batch, &w.err), HR_OK);
    assert_int_equal(hr_batch_wait(batch, -1, &w.err), HR_ERR_DATA);
    assert_int_equal(hr_batch_error(batch, 0, &w.err), HR_ERR_CANCELLED);
    assert_string_equal(w.err.message,
                        "the batch was stopped by the failure of request 1");
    hr_batch_unref(batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_v3_chain_has_known_and_unknown_sizes),
        TEST(v2_takes_it_as_filter_and_as_compressor),
        TEST(v3_knows_it_by_its_name_of_numcodecs),
        TEST(it_may_make_the_bytes_of_the_array),
        TEST(shards_may_have_it_inside),
        TEST(another_context_does_not_know_it),
        TEST(explanations_and_strict_reads_name_it),
        TEST(a_decoder_that_was_stopped_says_by_what),
        TEST(threads_decode_while_others_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
