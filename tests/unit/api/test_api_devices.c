/* One batch for several devices and the host. SPDX-License-Identifier: Apache-2.0 */
#include "shard_world.h"

#define NBYTES ((int64_t)(NCHUNKS * CHUNK_NBYTES))
#define MAX_PARTS 3

/* Bytes [start, stop) to a device. */
typedef struct part {
    hr_device device;
    int64_t start, stop;
} part;

static const hr_device host = {.type = HR_DEVICE_CPU};
static const hr_device first = {.type = HR_DEVICE_SIMT};
static const hr_device second = {.type = HR_DEVICE_SIMT, .index = 1};

typedef struct outcome {
    hr_status status, each[MAX_PARTS];
    hr_batch_stats stats;
    uint8_t got[MAX_PARTS][NCHUNKS * CHUNK_NBYTES];
} outcome;

static void read_parts(world *w, const part *parts, size_t n, int32_t strict,
                       outcome *o) {
    hr_request requests[MAX_PARTS];
    hr_axis axes[MAX_PARTS];
    int64_t shapes[MAX_PARTS];
    hr_read_options options = HR_READ_OPTIONS_INIT;
    hr_batch *batch = NULL;
    options.strict = strict;
    *o = (outcome){.stats = HR_BATCH_STATS_INIT};
    for (size_t i = 0; i < n; i++) {
        const part *p = &parts[i];
        shapes[i] = p->stop - p->start;
        axes[i] = (hr_axis){
            .kind = HR_AXIS_SLICE, .start = p->start, .stop = p->stop, .step = 1};
        requests[i] = request(w->node, o->got[i], 1, &shapes[i]);
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axes[i]};
        requests[i].dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
        requests[i].dst.device = p->device;
    }
    assert_int_equal(
        hr_read_submit(w->context, requests, n, NULL, &options, &batch, &w->err), HR_OK);
    o->status = hr_batch_wait(batch, -1, &w->err);
    for (size_t i = 0; i < n; i++) {
        o->each[i] = hr_batch_error(batch, i, NULL);
    }
    assert_int_equal(hr_batch_get_stats(batch, &o->stats, NULL), HR_OK);
    hr_batch_unref(batch);
}

static void all_are_right(world *w, const part *parts, size_t n, int32_t strict,
                          outcome *o) {
    read_parts(w, parts, n, strict, o);
    if (o->status != HR_OK) {
        fail_msg("%s", w->err.message);
    }
    for (size_t i = 0; i < n; i++) {
        assert_memory_equal(o->got[i], w->expected + parts[i].start,
                            (size_t)(parts[i].stop - parts[i].start));
    }
}

/* Neighbours in a shard are read together. */
static void halves_of_a_shard_are_decoded_on_their_devices(void **state) {
    world *w = *state;
    const part parts[] = {{first, 0, NBYTES / 2}, {second, NBYTES / 2, NBYTES}};
    outcome o;
    all_are_right(w, parts, 2, 1, &o);
    assert_int_equal(o.stats.ndecoded_device, NCHUNKS);
    assert_int_equal(o.stats.ndecoded_cpu, 0);
    assert_int_equal(o.stats.nreads, 2); /* the index, and the chunks in one */
}

static void what_two_devices_and_the_host_want_is_read_once(void **state) {
    world *w = *state;
    const part parts[] = {{first, 0, NBYTES}, {host, 5, NBYTES}, {second, 0, NBYTES - 7}};
    outcome o;
    for (int32_t strict = 0; strict < 2; strict++) {
        all_are_right(w, parts, 3, strict, &o);
        assert_int_equal(o.stats.nchunks, NCHUNKS);
        assert_int_equal(o.stats.ndecoded_device, 2 * NCHUNKS);
        assert_int_equal(o.stats.ndecoded_cpu, NCHUNKS);
        assert_true(o.stats.nreads <= 2);
    }
}

static void a_device_and_the_host_share_a_shard(void **state) {
    world *w = *state;
    const part parts[] = {{host, 0, 3 * CHUNK_NBYTES}, {first, 2 * CHUNK_NBYTES, NBYTES}};
    outcome o;
    all_are_right(w, parts, 2, 1, &o);
    assert_int_equal(o.stats.ndecoded_cpu, 3);
    assert_int_equal(o.stats.ndecoded_device, NCHUNKS - 2);
}

static void a_damaged_chunk_fails_those_who_want_it(void **state) {
    world *w = *state;
    put_shard(w, 5);
    const part parts[] = {{first, 0, 6 * CHUNK_NBYTES},
                          {host, 0, 5 * CHUNK_NBYTES},
                          {second, 5 * CHUNK_NBYTES, NBYTES}};
    outcome o;
    read_parts(w, parts, 3, 1, &o);
    assert_true(o.each[0] == HR_ERR_DATA || o.each[0] == HR_ERR_CHECKSUM);
    assert_int_equal(o.each[1], HR_OK);
    assert_true(o.each[2] == HR_ERR_DATA || o.each[2] == HR_ERR_CHECKSUM);
    assert_memory_equal(o.got[1], w->expected, 5 * CHUNK_NBYTES);
    assert_memory_equal(o.got[2] + CHUNK_NBYTES, w->expected + 6 * CHUNK_NBYTES,
                        2 * CHUNK_NBYTES);
}

/* No kernel decodes bzip2. */
static void strict_refuses_what_the_host_would_decode_for_both(void **state) {
    world *w = *state;
    static const char meta[] =
        "{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"|u1\",\"order\":"
        "\"C\","
        "\"fill_value\":0,\"filters\":null,\"compressor\":{\"id\":\"bz2\",\"level\":1}}";
    const uint8_t wrong[] = {'B', 'Z', 'h'};
    const part parts[] = {{first, 0, 4}, {second, 0, 4}};
    outcome o;
    put(w->store, "b/.zarray", meta, sizeof meta - 1);
    put(w->store, "b/0", wrong, sizeof wrong);
    hr_node_unref(w->node);
    assert_int_equal(hr_open_store(w->store, "b", NULL, &w->node, &w->err), HR_OK);
    read_parts(w, parts, 2, 1, &o);
    assert_int_equal(o.each[0], HR_ERR_STRICT);
    assert_int_equal(o.each[1], HR_ERR_STRICT);
    read_parts(w, parts, 2, 0, &o);
    assert_int_equal(o.each[0], HR_ERR_DATA);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void) {
    if (!has_simt()) {
        print_message("skipped: several devices, for want of the simt device\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        TEST(halves_of_a_shard_are_decoded_on_their_devices),
        TEST(what_two_devices_and_the_host_want_is_read_once),
        TEST(a_device_and_the_host_share_a_shard),
        TEST(a_damaged_chunk_fails_those_who_want_it),
        TEST(strict_refuses_what_the_host_would_decode_for_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
