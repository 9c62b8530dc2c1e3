/* Where an opened array's bytes come from. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_SOURCE_H
#define HR_EXEC_SOURCE_H

#include <headrace/node.h>

#include "format/array.h"
#include "store/store.h"

/* Immutable while any run uses it. */
typedef struct hr__source {
    uint64_t id; /* unique in the context: names the array in caches */
    hr_store *store;
    const char *path; /* of the array in the store, "" = root */
    const char *url;  /* for messages */
    const hr__array *array;
    uint64_t alike;           /* equal for arrays whose chunks are: see exec/history.h */
    const hr_node_info *info; /* what people are told of it */
} hr__source;

#endif
