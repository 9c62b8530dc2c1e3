/* Chunks for a device of which the host decodes a share. SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"
#include "shard_world.h"

static const hr_device simt = {.type = HR_DEVICE_SIMT};

static hr_request request_of(world *w) {
    static const int64_t shape[] = {NCHUNKS * CHUNK_NBYTES};
    hr_request r = request(w->node, w->got, 1, shape);
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    r.dst.device = simt;
    return r;
}

/* All bytes are right, whoever decoded them. */
static void read_with(world *w, int32_t host_share, int32_t strict) {
    hr_request r = request_of(w);
    hr_read_options o = HR_READ_OPTIONS_INIT;
    hr_batch *batch = NULL;
    o.host_share = host_share;
    o.strict = strict;
    memset(w->got, 0xA5, sizeof w->got);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err), HR_OK);
    hr_status status = hr_batch_wait(batch, -1, &w->err);
    w->stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_batch_get_stats(batch, &w->stats, &w->err), HR_OK);
    hr_batch_unref(batch);
    if (status != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    assert_memory_equal(w->got, w->expected, sizeof w->got);
    assert_int_equal(w->stats.ndecoded_cpu, w->stats.nchunks_host_share);
    assert_int_equal(w->stats.ndecoded_cpu + w->stats.ndecoded_device, NCHUNKS);
}

static uint64_t explained(world *w) {
    hr_request r = request_of(w);
    hr_explanation *explanation = NULL;
    hr_plan_totals totals = HR_PLAN_TOTALS_INIT;
    assert_int_equal(hr_plan_explain(w->context, &r, 1, &explanation, &w->err), HR_OK);
    assert_int_equal(hr_explanation_totals(explanation, &totals, &w->err), HR_OK);
    hr_explanation_free(explanation);
    return totals.nchunks_host_share;
}

static void so_many_per_cent_as_are_asked_for(void **state) {
    world *w = *state;
    const int32_t shares[] = {0, 50, 13, 99, 100, 1};
    const uint64_t expected[] = {0, 4, 1, 7, 8, 0};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        read_with(w, shares[i], 0);
        assert_int_equal(w->stats.nchunks_host_share, expected[i]);
    }
}

static void strict_sends_none(void **state) {
    world *w = *state;
    read_with(w, 100, 1);
    assert_int_equal(w->stats.ndecoded_device, NCHUNKS);
}

static void other_shares_are_refused(void **state) {
    world *w = *state;
    const int32_t shares[] = {-2, 101};
    for (size_t i = 0; i < 2; i++) {
        hr_request r = request_of(w);
        hr_read_options o = HR_READ_OPTIONS_INIT;
        hr_batch *batch = NULL;
        o.host_share = shares[i];
        assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, &o, &batch, &w->err),
                         HR_ERR_ARGUMENT);
    }
}

/* As if earlier batches had taken so long. */
static void inject(world *w, uint64_t decode_ns, uint64_t kernels_ns) {
    hr__history *h = &w->context->history;
    h->n = 1;
    h->next = 1;
    h->entries[0] =
        (hr__past){.key = {.alike = w->node->source.alike, .device = simt},
                   .decoded_nbytes = UINT64_C(2) << 30, /* half here, half there */
                   .host_nbytes = UINT64_C(1) << 30,
                   .copied_nbytes = UINT64_C(3) << 29,
                   .ns = {[HR_STAGE_DECODE] = decode_ns, [HR_STAGE_KERNELS] = kernels_ns},
                   .kernels_rate = (double)kernels_ns / (double)(UINT64_C(1) << 30)};
}

static void measured_does_what_the_model_says(void **state) {
    world *w = *state;
    const uint64_t decode[] = {1000000, 1000000, 1000000, 9000000};
    const uint64_t kernels[] = {1000000, 500000, 100, 3000000};
    const uint64_t expected[] = {5, 4, 0, 2}; /* of 8, on two threads */
    for (size_t i = 0; i < 4; i++) {
        inject(w, decode[i], kernels[i]);
        assert_int_equal(explained(w), expected[i]);
        inject(w, decode[i], kernels[i]);
        read_with(w, HR_HOST_SHARE_MEASURED, 0);
        assert_int_equal(w->stats.nchunks_host_share, expected[i]);
    }
}

static void it_learns_from_one_chunk_first(void **state) {
    world *w = *state;
    assert_int_equal(explained(w), 0);
    read_with(w, HR_HOST_SHARE_MEASURED, 0);
    assert_int_equal(w->stats.nchunks_host_share, 0);
    assert_int_equal(explained(w), 1);
    read_with(w, HR_HOST_SHARE_MEASURED, 0);
    assert_int_equal(w->stats.nchunks_host_share, 1);
    const hr__history_key key = {.alike = w->node->source.alike, .device = simt};
    hr__host_share_costs costs;
    assert_true(hr__history_costs(&w->context->history, key, CHUNK_NBYTES, &costs));
    assert_true(costs.decode > 0 && costs.kernels > 0);
    assert_true(costs.copy_encoded > 0 && costs.copy_encoded <= 2 * costs.copy_decoded);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(so_many_per_cent_as_are_asked_for), TEST(strict_sends_none),
        TEST(other_shares_are_refused),          TEST(measured_does_what_the_model_says),
        TEST(it_learns_from_one_chunk_first),
    };
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe(simt, &info, NULL) != HR_OK) {
        print_message("skipped: this build has no simt device\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
