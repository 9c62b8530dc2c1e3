/* Opening the array of a TIFF file. SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

static hr_status read_bytes(void *user, uint64_t offset, uint64_t nbytes, void *dst,
                            hr_error *err) {
    return hr__object_read(user, offset, nbytes, dst, err);
}

hr_status hr__node_open_tiff(hr_node *node, const char *key, const char *fragment,
                             bool *is_tiff, hr_error *err) {
    hr__object *object;
    HR__TRY(hr__store_open(node->store, key, &object, err));
    const hr__byte_source source = {
        .user = object, .nbytes = object->nbytes, .read = read_bytes};
    *is_tiff = hr__tiff_detect(&source);
    hr_status status =
        *is_tiff ? hr__tiff_open(&source, key, fragment,
                                 node->store->context->metadata_max_nbytes, &node->arena,
                                 &node->tiff, err)
                 : hr__fail(err, HR_ERR_METADATA,
                            "the file is no TIFF: it begins with none of the headers");
    if (status != HR_OK) {
        hr__error_add_place(err, node->url, key, 0);
    }
    hr__object_close(object);
    return status;
}
