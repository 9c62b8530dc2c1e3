/* An opened array or group. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_NODE_H
#define HR_API_NODE_H

#include <stdatomic.h>

#include "exec/context.h"
#include "exec/source.h"
#include "format/tiff/tiff.h"
#include "format/zarr/zarr.h"

struct hr_node {
    atomic_uint refs;
    hr_store *store; /* held; it holds the context */
    hr_node *parent; /* held: the group whose consolidated metadata it came through */
    hr_open_options options;
    hr__arena arena; /* all below */
    const char *url;
    hr_node_info info;
    hr__zarr_node zarr; /* not of a TIFF */
    hr__tiff_node tiff; /* of a TIFF */
    hr__source source;
    int64_t grid_shape[HR_MAX_NDIM]; /* in chunks as the caller sees them */
};

/* Open the array of a TIFF file: `key` of the node's store, with a fragment ("ifd=1")
 * that says which, or NULL. *is_tiff is set where the file is one, whatever comes of
 * it. HR_ERR_NOT_FOUND where there is no such file. */
hr_status hr__node_open_tiff(hr_node *node, const char *key, const char *fragment,
                             bool *is_tiff, hr_error *err);

/* Open the node at `path` of the store; a file (perhaps with "#…") where is_file, else a
 * node of Zarr or a file. */
hr_status hr__node_open(hr_store *store, hr_node *parent, const char *path, bool is_file,
                        const hr_open_options *options, hr_node **out, hr_error *err);

/* Where metadata documents of a store come from. */
hr__doc_source hr__node_documents(hr_store *store);

/* HR_ERR_ARGUMENT unless node is an array (group). */
hr_status hr__node_check(const hr_node *node, hr_node_kind kind, hr_error *err);

#endif
