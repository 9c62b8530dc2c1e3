/* What a context learns from its batches. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/run.h"

static hr__array array;
static hr__source source = {.array = &array, .alike = 7};
static hr__source other = {.array = &array, .alike = 8};
static const hr_device host = {.type = HR_DEVICE_CPU};

static void learn(hr__history *h, hr__target *targets, size_t n, uint64_t nbytes,
                  uint64_t decode_ns) {
    hr__run run = {.targets = targets, .ntargets = n};
    atomic_store(&run.decoded_nbytes, nbytes);
    atomic_store(&run.stages.ns[HR_STAGE_DECODE], decode_ns);
    hr__history_learn(h, &run);
}

static uint64_t decode_ns_of(hr__history *h, uint64_t alike, uint64_t nbytes) {
    uint64_t ns[HR_NSTAGES] = {0};
    const hr__history_key key = {.alike = alike, .device = host};
    return hr__history_foretell(h, key, nbytes, ns) ? ns[HR_STAGE_DECODE] : HR_UNKNOWN;
}

static void batches_add_up(void **state) {
    (void)state;
    hr__history h;
    hr__target t[2] = {{.source = &source}, {.source = &source}};
    hr__history_init(&h);
    assert_true(decode_ns_of(&h, 7, 100) == HR_UNKNOWN);
    learn(&h, t, 2, 1000, 3000);
    assert_int_equal(decode_ns_of(&h, 7, 100), 300);
    learn(&h, t, 2, 1000, 1000);
    assert_int_equal(decode_ns_of(&h, 7, 100), 200);
    assert_true(decode_ns_of(&h, 8, 100) == HR_UNKNOWN);
    hr__history_destroy(&h);
}

static void what_cannot_be_told_apart_teaches_nothing(void **state) {
    (void)state;
    hr__history h;
    hr__target mixed[2] = {{.source = &source}, {.source = &other}};
    hr__target failed = {.source = &source};
    atomic_store(&failed.status, HR_ERR_DATA);
    hr__history_init(&h);
    learn(&h, mixed, 2, 1000, 1000);
    learn(&h, &failed, 1, 1000, 1000);
    learn(&h, mixed, 1, 0, 1000);
    hr__run run = {.targets = mixed, .ntargets = 1};
    atomic_store(&run.decoded_nbytes, 1000);
    atomic_store(&run.nkept_decoded, 1);
    hr__history_learn(&h, &run);
    assert_int_equal(h.n, 0);
    hr__history_destroy(&h);
}

static void old_batches_weigh_less(void **state) {
    (void)state;
    hr__history h;
    hr__target t = {.source = &source};
    hr__history_init(&h);
    for (int i = 0; i < 100; i++) {
        learn(&h, &t, 1, UINT64_C(1) << 36, UINT64_C(1) << 36);
    }
    for (int i = 0; i < 12; i++) {
        learn(&h, &t, 1, UINT64_C(1) << 36, UINT64_C(3) << 36);
    }
    assert_in_range(decode_ns_of(&h, 7, 1000), 2900, 3000);
    hr__history_destroy(&h);
}

static void the_oldest_of_many_is_forgotten(void **state) {
    (void)state;
    hr__history h;
    hr__source sources[HR__HISTORY_SIZE + 1];
    hr__history_init(&h);
    for (uint64_t i = 0; i <= HR__HISTORY_SIZE; i++) {
        sources[i] = (hr__source){.array = &array, .alike = i};
        hr__target t = {.source = &sources[i]};
        learn(&h, &t, 1, 10, 10);
    }
    assert_true(decode_ns_of(&h, 0, 10) == HR_UNKNOWN);
    for (uint64_t i = 1; i <= HR__HISTORY_SIZE; i++) {
        assert_int_equal(decode_ns_of(&h, i, 10), 10);
    }
    hr__history_destroy(&h);
}

static void chunks_are_alike_by_codecs_items_and_about_size(void **state) {
    (void)state;
    hr__array a = {.stored = {.itemsize = 4}, .chain = {.decoded = {.nbytes = 1000}}};
    const uint64_t first = hr__history_alike(&a, "[zstd]");
    a.chain.decoded.nbytes = 1023;
    assert_int_equal(hr__history_alike(&a, "[zstd]"), first);
    assert_true(hr__history_alike(&a, "[lz4]") != first);
    a.chain.decoded.nbytes = 1024;
    assert_true(hr__history_alike(&a, "[zstd]") != first);
    a.chain.decoded.nbytes = 1000;
    a.stored.itemsize = 2;
    assert_true(hr__history_alike(&a, "[zstd]") != first);
    (void)hr__history_alike(&a, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_add_up),
        cmocka_unit_test(what_cannot_be_told_apart_teaches_nothing),
        cmocka_unit_test(old_batches_weigh_less),
        cmocka_unit_test(the_oldest_of_many_is_forgotten),
        cmocka_unit_test(chunks_are_alike_by_codecs_items_and_about_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
