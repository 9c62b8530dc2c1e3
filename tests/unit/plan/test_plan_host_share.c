/* How many chunks the host decodes. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/host_share.h"

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double model(const hr__host_share_costs *c, uint64_t n, uint64_t k,
                    uint32_t nthreads) {
    const double turns = (double)((k + nthreads - 1) / nthreads);
    const double threads = (double)n * c->thread / nthreads + turns * c->decode;
    const double copies = (double)(n - k) * c->copy_encoded + (double)k * c->copy_decoded;
    const double kernels = k < n ? larger((double)(n - k) * c->kernels, c->latency) : 0;
    return larger(larger(threads, copies), kernels + (double)n * c->store);
}

static double drawn(void) {
    return (double)(rand() % 1000);
}

static void the_choice_is_the_best_of_all(void **state) {
    (void)state;
    int nsplit = 0;
    srand(7);
    for (int i = 0; i < 20000; i++) {
        const double encoded = drawn() / 10;
        const hr__host_share_costs c = {.thread = drawn() / 10,
                                        .decode = drawn() * 4,
                                        .copy_encoded = encoded,
                                        .copy_decoded = encoded + drawn() / 4,
                                        .kernels = drawn(),
                                        .store = drawn() / 10,
                                        .latency = drawn() * 4};
        const uint64_t n = (uint64_t)(rand() % 40);
        const uint32_t nthreads = (uint32_t)(1 + rand() % 16);
        double best = model(&c, n, 0, nthreads);
        const double none = best;
        for (uint64_t k = 1; k <= n; k++) {
            const double t = model(&c, n, k, nthreads);
            best = t < best ? t : best;
        }
        const uint64_t k = hr__host_share_choose(&c, n, nthreads);
        assert_true(k <= n);
        if (best < 0.8 * none) {
            assert_true(model(&c, n, k, nthreads) <= best * (1 + 1e-12));
            nsplit++;
        } else {
            assert_int_equal(k, 0);
        }
    }
    assert_in_range(nsplit, 1000, 19000); /* both happen */
}

static void slow_kernels_and_idle_cores_share_the_work(void **state) {
    (void)state;
    const hr__host_share_costs c = {.decode = 1000, .kernels = 1000};
    assert_int_equal(hr__host_share_choose(&c, 16, 1), 8);
    assert_int_equal(hr__host_share_choose(&c, 16, 3), 12); /* 4 turns, 4 on the device */
    assert_int_equal(hr__host_share_choose(&c, 0, 4), 0);
}

static void what_bounds_elsewhere_is_left_alone(void **state) {
    (void)state;
    hr__host_share_costs c = {.decode = 1000, .kernels = 10};
    assert_int_equal(hr__host_share_choose(&c, 50, 16), 0);
    c = (hr__host_share_costs){.thread = 8000, .decode = 10, .kernels = 1000};
    assert_int_equal(hr__host_share_choose(&c, 50, 4), 0); /* threads are busy */
    c = (hr__host_share_costs){
        .decode = 10, .kernels = 1000, .copy_encoded = 990, .copy_decoded = 3000};
    assert_int_equal(hr__host_share_choose(&c, 50, 16), 0); /* and so is the bus */
}

/* Sixteen zstd chunks of 1 MiB on sixteen cores and a GPU that they do not fill: 14 of
 * them on the host took 4.1 ms, none 2.5. */
static void kernels_that_are_not_full_gain_nothing(void **state) {
    (void)state;
    hr__host_share_costs c = {.thread = 260e3,
                              .decode = 1730e3,
                              .copy_encoded = 6e3,
                              .copy_decoded = 22e3,
                              .kernels = 10e3,
                              .store = 4e3,
                              .latency = 2190e3};
    assert_int_equal(hr__host_share_choose(&c, 16, 16), 0);
    assert_int_equal(hr__host_share_choose(&c, 2048, 16), 0);
    c.latency = 20000e3; /* then the host does all, or nothing is gained */
    assert_int_equal(hr__host_share_choose(&c, 16, 16), 16);
}

/* 64 KiB of LZ4, for which kernels took 270 us. */
static void one_small_chunk_is_left_to_the_host(void **state) {
    (void)state;
    const hr__host_share_costs c = {
        .thread = 20e3, .decode = 30e3, .copy_decoded = 2e3, .latency = 270e3};
    assert_int_equal(hr__host_share_choose(&c, 1, 16), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_the_best_of_all),
        cmocka_unit_test(slow_kernels_and_idle_cores_share_the_work),
        cmocka_unit_test(what_bounds_elsewhere_is_left_alone),
        cmocka_unit_test(kernels_that_are_not_full_gain_nothing),
        cmocka_unit_test(one_small_chunk_is_left_to_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
