/* Which runs stay on the cores of a node, and where their staging memory lies.
 * SPDX-License-Identifier: Apache-2.0 */
#include <linux/mempolicy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/near.h"
#include "support/place.h"

enum { NTARGETS = 2 };

typedef struct world {
    hr_store store;
    hr__array array;
    hr__source source;
    hr__device devices[NTARGETS];
    hr__ring rings[NTARGETS];
    hr__target targets[NTARGETS];
    hr__run run;
} world;

/* Two destinations on devices of one node, of which all chunks are uncompressed. */
static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return 1;
    }
    w->source = (hr__source){.store = &w->store, .array = &w->array};
    for (int i = 0; i < NTARGETS; i++) {
        w->devices[i].node = (hr__numa_node){.is_known = true, .id = 1};
        w->rings[i].device = &w->devices[i];
        w->targets[i] = (hr__target){.source = &w->source, .ring = &w->rings[i]};
    }
    w->run = (hr__run){.targets = w->targets, .ntargets = NTARGETS};
    *state = w;
    return 0;
}

static int drop_world(void **state) {
    free(*state);
    return 0;
}

static void a_run_for_devices_of_one_node_stays_there(void **state) {
    world *w = *state;
    assert_ptr_equal(hr__run_cores(&w->run), &w->devices[0].node.cores);
}

static void a_run_for_several_nodes_goes_anywhere(void **state) {
    world *w = *state;
    w->devices[1].node.id = 0;
    assert_null(hr__run_cores(&w->run));
}

static void a_run_for_a_node_that_is_not_known_goes_anywhere(void **state) {
    world *w = *state;
    w->devices[1].node.is_known = false;
    assert_null(hr__run_cores(&w->run));
}

static void a_run_for_the_host_too_goes_anywhere(void **state) {
    world *w = *state;
    w->targets[0].ring = NULL;
    assert_null(hr__run_cores(&w->run));
    w->run.ntargets = 0;
    assert_null(hr__run_cores(&w->run));
}

static void decoding_on_the_host_takes_all_cores(void **state) {
    world *w = *state;
    w->run.nhost_share = 1;
    assert_null(hr__run_cores(&w->run));
    w->run.nhost_share = 0;
    w->array.stored.kind = HR_KIND_STRUCT;
    assert_null(hr__run_cores(&w->run));
}

static void code_of_others_is_run_anywhere(void **state) {
    world *w = *state;
    w->store.runs_foreign_code = true;
    assert_null(hr__run_cores(&w->run));
}

/* --- memory --- */

static int seen; /* while memory was allocated */

static hr_status alloc_and_look(hr__device *d, uint64_t nbytes, void **out,
                                hr_error *err) {
    (void)d;
    (void)nbytes;
    (void)err;
    seen = memory_policy();
    *out = &seen;
    return HR_OK;
}

static void *hook(void *user, hr_device device, size_t nbytes) {
    (void)device;
    (void)nbytes;
    seen = memory_policy();
    return user;
}

static void pinned_memory_of_the_drivers_lies_on_the_node(void **state) {
    (void)state;
    const hr__device_ops ops = {.alloc_pinned = alloc_and_look};
    hr__device d = {.ops = &ops, .node = {.is_known = true, .id = 0}};
    hr_device_allocator hooks = {.user = &seen, .alloc_pinned = hook};
    void *out = NULL;
    if (memory_policy() != MPOL_DEFAULT || !hr__numa_prefer(&d.node)) {
        print_message("skipped: the memory policy may not be changed here\n");
        skip();
    }
    hr__numa_prefer_usual();
    assert_int_equal(hr__device_alloc_pinned(&d, 1, &out, NULL), HR_OK);
    assert_int_equal(seen, MPOL_PREFERRED);
    assert_int_equal(memory_policy(), MPOL_DEFAULT);
    d.hooks = &hooks; /* theirs lies where they say */
    assert_int_equal(hr__device_alloc_pinned(&d, 1, &out, NULL), HR_OK);
    assert_int_equal(seen, MPOL_DEFAULT);
    d.hooks = NULL;
    d.node.is_known = false;
    assert_int_equal(hr__device_alloc_pinned(&d, 1, &out, NULL), HR_OK);
    assert_int_equal(seen, MPOL_DEFAULT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_for_devices_of_one_node_stays_there,
                                        make_world, drop_world),
        cmocka_unit_test_setup_teardown(a_run_for_several_nodes_goes_anywhere, make_world,
                                        drop_world),
        cmocka_unit_test_setup_teardown(a_run_for_a_node_that_is_not_known_goes_anywhere,
                                        make_world, drop_world),
        cmocka_unit_test_setup_teardown(a_run_for_the_host_too_goes_anywhere, make_world,
                                        drop_world),
        cmocka_unit_test_setup_teardown(decoding_on_the_host_takes_all_cores, make_world,
                                        drop_world),
        cmocka_unit_test_setup_teardown(code_of_others_is_run_anywhere, make_world,
                                        drop_world),
        cmocka_unit_test(pinned_memory_of_the_drivers_lies_on_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
