/* Objects of several devices are taken in turn. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/order.h"

enum { NMOST = 400 };

static hr__ring rings[2];
static hr__target targets[3] = {{.ring = &rings[0]}, {.ring = NULL}, {.ring = &rings[1]}};
static hr__object_plan objects[NMOST];
static hr__chunk chunks[NMOST];
static hr__use uses[NMOST];

/* So many objects of each target, one target's after another's, as plans have them. */
static hr__run planned(const uint32_t *counts) {
    hr__run run = {.targets = targets, .ntargets = 3};
    hr__object_plan **place = &run.plan.objects;
    uint32_t n = 0;
    for (uint32_t t = 0; t < 3; t++) {
        for (uint32_t i = 0; i < counts[t]; i++, n++) {
            uses[n] = (hr__use){.request = t};
            chunks[n] = (hr__chunk){.uses = &uses[n]};
            objects[n] = (hr__object_plan){.chunks = &chunks[n], .nchunks = 1};
            *place = &objects[n];
            place = &objects[n].next;
        }
    }
    run.plan.nobjects = n;
    return run;
}

/* Every object once, those of a target in their order, and each target's part of what has
 * been taken so far within `slack` objects of its part of all. */
static void check(const uint32_t *counts, double slack) {
    hr__run run = planned(counts);
    const uint64_t total = run.plan.nobjects;
    uint32_t taken[3] = {0};
    const hr__object_plan *last[3] = {NULL};
    uint64_t n = 0;
    hr__run_order(&run);
    for (const hr__object_plan *o = run.plan.objects; o != NULL; o = o->next) {
        const uint32_t t = o->chunks->uses->request;
        assert_true(last[t] < o || last[t] == NULL);
        last[t] = o;
        taken[t]++;
        n++;
        for (uint32_t k = 0; k < 3; k++) {
            const double even = (double)n * counts[k] / (double)total;
            assert_true((double)taken[k] >= even - slack);
            assert_true((double)taken[k] <= even + slack);
        }
    }
    assert_int_equal(n, total);
}

static void halves_on_two_devices_alternate(void **state) {
    (void)state;
    check((const uint32_t[]){64, 0, 64}, 0.5);
}

static void shares_of_any_size_end_together(void **state) {
    (void)state;
    check((const uint32_t[]){300, 7, 93}, 2.0);
    check((const uint32_t[]){1, 1, 1}, 1.0);
}

static void one_device_keeps_its_order(void **state) {
    (void)state;
    check((const uint32_t[]){0, 0, 50}, 0.0);
    check((const uint32_t[]){0, 0, 0}, 0.0);
}

/* An object with many chunks, a shard, is as much as many objects with one. */
static void shards_count_by_their_chunks(void **state) {
    (void)state;
    hr__run run = planned((const uint32_t[]){3, 0, 6});
    for (int i = 0; i < 3; i++) {
        objects[i].nchunks = 2;
    }
    hr__run_order(&run);
    int n = 0;
    for (const hr__object_plan *o = run.plan.objects; o != NULL; o = o->next, n++) {
        assert_int_equal(o->chunks->uses->request, n % 3 == 0 ? 0 : 2);
    }
    assert_int_equal(n, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_on_two_devices_alternate),
        cmocka_unit_test(shares_of_any_size_end_together),
        cmocka_unit_test(one_device_keeps_its_order),
        cmocka_unit_test(shards_count_by_their_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
