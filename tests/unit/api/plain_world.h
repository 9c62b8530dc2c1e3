/* A context, a store and the plain array of the fixture. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_API_PLAIN_WORLD_H
#define HR_TESTS_API_PLAIN_WORLD_H

#include <stdlib.h>

#include "fixture.h"

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *array;
    hr_error err;
} world;

static inline int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 3;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put_plain_array(w->store, "a");
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->array, &w->err), HR_OK);
    *state = w;
    return 0;
}

static inline int end_world(void **state) {
    world *w = *state;
    hr_context_unref(w->context); /* any order */
    hr_store_unref(w->store);
    hr_node_unref(w->array);
    free(w);
    return 0;
}

#endif
