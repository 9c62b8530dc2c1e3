/* Times of stages: how they are counted, and which one bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/run.h"

/* Events of this device are numbers: the times at which they were passed. */
static hr_status elapsed(hr__device *d, hr__event from, hr__event to, uint64_t *ns,
                         hr_error *err) {
    (void)d;
    (void)err;
    *ns = (uint64_t)((uintptr_t)to - (uintptr_t)from);
    return HR_OK;
}

static const hr__device_ops ops = {.event_elapsed = elapsed};
static hr__device device = {.ops = &ops};
static hr__ring ring = {.device = &device};

#define AT(n) ((hr__event)(uintptr_t)(n))

static void land(hr__run *run, int copy, int kernels, int store, int end) {
    const hr__ring_slot slot = {.marks = {AT(copy), AT(kernels), AT(store)},
                                .copied = AT(kernels),
                                .event = AT(end)};
    hr__stages_landed(run, &ring, &slot, false);
}

static void slabs_that_overlap_count_once(void **state) {
    (void)state;
    hr_context context = {.nthreads = 4};
    hr__run run = {.context = &context,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .nstarts = 1,
                   .starts = {{.ring = &ring, .event = AT(1000)}}};
    land(&run, 1000, 1010, 1040, 1050);
    land(&run, 1005, 1020, 1060, 1070); /* its copy waited for the first one's */
    land(&run, 1200, 1201, 1202, 1203);
    hr_stage_times t = HR_STAGE_TIMES_INIT;
    hr__stages_tell(&run, &t);
    assert_int_equal(t.ns[HR_STAGE_COPY], 20 + 1);
    assert_int_equal(t.ns[HR_STAGE_KERNELS], 50 + 1); /* 1010 … 1060 */
    assert_int_equal(t.ns[HR_STAGE_STORE], 20 + 1);
    assert_int_equal(t.ndevices, 1);
    assert_int_equal(t.bound, HR_STAGE_KERNELS);
}

static int32_t bound_of(uint32_t nthreads, const uint64_t ns[HR_NSTAGES]) {
    hr_stage_times t = HR_STAGE_TIMES_INIT;
    t.nthreads = nthreads;
    t.ndevices = 1;
    t.wall_ns = 1000;
    for (int i = 0; i < HR_NSTAGES; i++) {
        t.ns[i] = ns[i];
    }
    int32_t bound = HR_NSTAGES;
    (void)hr__stages_busiest(&t, &bound);
    return bound;
}

static void threads_bound_by_what_they_spend_most_in(void **state) {
    (void)state;
    const uint64_t host[HR_NSTAGES] = {
        [HR_STAGE_READ] = 900, [HR_STAGE_DECODE] = 1000, [HR_STAGE_COPY] = 800};
    assert_int_equal(bound_of(2, host), HR_STAGE_DECODE);
    assert_int_equal(bound_of(4, host), HR_STAGE_COPY); /* 475 of each thread */
    const uint64_t plan[HR_NSTAGES] = {[HR_STAGE_PLAN] = 500, [HR_STAGE_READ] = 900};
    assert_int_equal(bound_of(2, plan), HR_STAGE_PLAN);
    const uint64_t none[HR_NSTAGES] = {0};
    assert_int_equal(bound_of(2, none), -1);
    const uint64_t unknown[HR_NSTAGES] = {
        [HR_STAGE_READ] = HR_UNKNOWN, [HR_STAGE_STORE] = 1};
    assert_int_equal(bound_of(2, unknown), HR_STAGE_STORE);
}

static int per_mille(const hr_stage_times *t, hr_stage stage) {
    return (int)(1000 * hr_stage_share(t, stage) + 0.5);
}

static void shares_are_of_what_works_at_the_stage(void **state) {
    (void)state;
    hr_stage_times t = HR_STAGE_TIMES_INIT;
    t.nthreads = 4;
    t.ndevices = 2;
    t.wall_ns = 1000;
    t.ns[HR_STAGE_PLAN] = 100;
    t.ns[HR_STAGE_READ] = 2000;
    t.ns[HR_STAGE_COPY] = 1500;
    t.ns[HR_STAGE_STORE] = HR_UNKNOWN;
    assert_int_equal(per_mille(&t, HR_STAGE_PLAN), 100);
    assert_int_equal(per_mille(&t, HR_STAGE_READ), 500);
    assert_int_equal(per_mille(&t, HR_STAGE_COPY), 750);
    assert_int_equal(per_mille(&t, HR_STAGE_STORE), 0);
    assert_int_equal(per_mille(&t, HR_NSTAGES), 0);
    assert_int_equal(per_mille(NULL, HR_STAGE_READ), 0);
}

static void every_stage_has_a_name_of_its_own(void **state) {
    (void)state;
    for (int i = 0; i < HR_NSTAGES; i++) {
        assert_true(hr_stage_name((hr_stage)i)[0] != '\0');
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(hr_stage_name((hr_stage)i),
                                    hr_stage_name((hr_stage)j));
        }
    }
    assert_string_equal(hr_stage_name(HR_NSTAGES), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slabs_that_overlap_count_once),
        cmocka_unit_test(threads_bound_by_what_they_spend_most_in),
        cmocka_unit_test(shares_are_of_what_works_at_the_stage),
        cmocka_unit_test(every_stage_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
