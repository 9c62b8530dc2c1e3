/* An opened array or group. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_NODE_H
#define HR_API_NODE_H

#include <stdatomic.h>

#include "exec/context.h"
#include "exec/source.h"
#include "format/zarr/zarr.h"

struct hr_node {
    atomic_uint refs;
    hr_store *store; /* held; it holds the context */
    hr_node *parent; /* held: the group whose consolidated metadata it came through */
    hr_open_options options;
    hr__arena arena; /* all below */
    const char *url;
    hr__zarr_node zarr;
    hr__source source;
    int64_t grid_shape[HR_MAX_NDIM]; /* in chunks as the caller sees them */
};

/* Where metadata documents of a store come from. */
hr__doc_source hr__node_documents(hr_store *store);

/* HR_ERR_ARGUMENT unless node is an array (group). */
hr_status hr__node_check(const hr_node *node, hr_node_kind kind, hr_error *err);

#endif
