/* A listing as text. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_STORE_NAMES_H
#define HR_TESTS_STORE_NAMES_H

#include <stdio.h>
#include <string.h>

#include "store/store.h"

typedef struct names {
    hr_store *store;
    char text[512]; /* "value;prefix/;" */
    int left;       /* refuse after so many */
} names;

static inline bool add_name(void *user, const char *name, bool is_prefix) {
    names *n = user;
    if (n->left-- == 0) {
        return false;
    }
    size_t used = strlen(n->text);
    (void)snprintf(n->text + used, sizeof n->text - used, "%s%s;", name,
                   is_prefix ? "/" : "");
    hr__object *o = NULL; /* a sink may use the store */
    (void)hr__store_open(n->store, name, &o, NULL);
    hr__object_close(o);
    return true;
}

static inline hr_status list_names(hr_store *store, const char *prefix, int most,
                                   names *n, hr_error *err) {
    *n = (names){.store = store, .left = most};
    const hr__list_sink sink = {.user = n, .entry = add_name};
    return hr__store_list(store, prefix, &sink, err);
}

#endif
