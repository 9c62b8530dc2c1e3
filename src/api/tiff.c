/* Opening the array of a TIFF file. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/node.h"

static hr_status read_bytes(void *user, uint64_t offset, uint64_t nbytes, void *dst,
                            hr_error *err) {
    return hr__object_read(user, offset, nbytes, dst, err);
}

static hr__byte_source source_of(hr__object *object) {
    return (hr__byte_source){
        .user = object, .nbytes = object->nbytes, .read = read_bytes};
}

/* The file that may have the overviews; NULL where none are asked for or there is none.
 */
static hr__object *open_beside(hr_node *node, const char *key, const char *fragment) {
    hr__object *object = NULL;
    if (fragment == NULL || strncmp(fragment, "level=", 6) == 0) {
        const char *name = hr__arena_printf(&node->arena, "%s.ovr", key);
        if (name != NULL && hr__store_open(node->store, name, &object, NULL) != HR_OK) {
            object = NULL;
        }
    }
    return object;
}

static hr_status open_object(hr_node *node, hr__object *object, const char *key,
                             const char *fragment, hr_error *err) {
    const hr__byte_source source = source_of(object);
    hr__object *beside = open_beside(node, key, fragment);
    const hr__byte_source other =
        beside == NULL ? (hr__byte_source){0} : source_of(beside);
    hr_status status = hr__tiff_open(&source, beside == NULL ? NULL : &other, key,
                                     fragment, node->store->context->metadata_max_nbytes,
                                     &node->arena, &node->tiff, err);
    if (beside != NULL) {
        hr__object_close(beside);
    }
    return status;
}

hr_status hr__node_open_tiff(hr_node *node, const char *key, const char *fragment,
                             bool *is_tiff, hr_error *err) {
    hr__object *object;
    HR__TRY(hr__store_open(node->store, key, &object, err));
    const hr__byte_source source = source_of(object);
    *is_tiff = hr__tiff_detect(&source);
    hr_status status =
        *is_tiff ? open_object(node, object, key, fragment, err)
                 : hr__fail(err, HR_ERR_METADATA,
                            "the file is no TIFF: it begins with none of the headers");
    if (status != HR_OK) {
        hr__error_add_place(err, node->url, key, 0);
    }
    hr__object_close(object);
    return status;
}
