/* Stores as the caller sees them: shared objects that hold their context.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <stdatomic.h>

#include "exec/context.h"

/* A new store holds its context. */
static hr_status adopt(hr_status status, hr_store **store, hr_store **out) {
    if (status == HR_OK) {
        hr_context_ref((*store)->context);
        *out = *store;
    }
    return status;
}

hr_status hr_store_open_directory(hr_context *context, const char *path, hr_store **out,
                                  hr_error *err) {
    if (context == NULL || path == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, path or out is NULL");
    }
    hr_store *store = NULL;
    return adopt(hr__store_open_directory(context, &context->records.allocator, path,
                                          context->io, &context->log, &store, err),
                 &store, out);
}

hr_status hr_store_create_memory(hr_context *context, hr_store **out, hr_error *err) {
    if (context == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context or out is NULL");
    }
    hr_store *store = NULL;
    return adopt(hr__store_create_memory(context, &context->allocator, &store, err),
                 &store, out);
}

hr_status hr_store_create_custom(hr_context *context, const hr_custom_store *functions,
                                 hr_store **out, hr_error *err) {
    if (context == NULL || functions == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, functions or out is NULL");
    }
    hr_store *store = NULL;
    return adopt(hr__store_create_custom(context, &context->records.allocator, functions,
                                         &store, err),
                 &store, out);
}

hr_status hr_store_create_overlay(hr_store *below, hr_store **out, hr_error *err) {
    if (below == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "below or out is NULL");
    }
    hr_store *store = NULL;
    return adopt(hr__store_create_overlay(below, &store, err), &store, out);
}

hr_status hr_store_set(hr_store *store, const char *key, const void *data, size_t nbytes,
                       hr_error *err) {
    if (store == NULL || key == NULL || (data == NULL && nbytes > 0)) {
        return hr__fail(err, HR_ERR_ARGUMENT, "store, key or data is NULL");
    }
    return hr__store_set(store, key, data, nbytes, err);
}

hr_store *hr_store_ref(hr_store *store) {
    if (store != NULL) {
        atomic_fetch_add(&store->refs, 1);
    }
    return store;
}

void hr_store_unref(hr_store *store) {
    if (store != NULL && atomic_fetch_sub(&store->refs, 1) == 1) {
        hr_context *context = store->context;
        hr__store_destroy(store);
        hr_context_unref(context);
    }
}
