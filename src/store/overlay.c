/* A store in memory before another store. SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

typedef struct overlay {
    hr_store base;
    hr_store *front; /* in memory; owned */
    hr_store *below; /* held */
} overlay;

static hr_status overlay_open(hr_store *self, const char *key,
                              const hr_read_context *reading, hr__object **out,
                              hr_error *err) {
    overlay *o = (overlay *)self;
    hr_error own = HR_ERROR_INIT;
    hr_status status = o->front->ops->open(o->front, key, reading, out, &own);
    if (status == HR_ERR_NOT_FOUND) {
        return o->below->ops->open(o->below, key, reading, out, err);
    }
    if (status != HR_OK) {
        hr__error_copy(err, &own);
    }
    return status;
}

static hr_status overlay_list(hr_store *self, const char *prefix,
                              const hr__list_sink *sink, hr_error *err) {
    return hr__store_list(((overlay *)self)->below, prefix, sink, err);
}

static hr_status overlay_set(hr_store *self, const char *key, const void *data,
                             size_t nbytes, hr_error *err) {
    return hr__store_set(((overlay *)self)->front, key, data, nbytes, err);
}

static void overlay_destroy(hr_store *self) {
    overlay *o = (overlay *)self;
    hr__store_destroy(o->front);
    hr_store_unref(o->below);
    hr__free(self->allocator, o, sizeof *o);
}

/* Objects are those of the stores that they come from. */
static const hr__store_ops overlay_ops = {.abi_version = 1,
                                          .open = overlay_open,
                                          .list = overlay_list,
                                          .set = overlay_set,
                                          .destroy = overlay_destroy};

hr_status hr__store_create_overlay(hr_store *below, hr_store **out, hr_error *err) {
    const hr_allocator *a = below->allocator;
    overlay *o = hr__calloc(a, sizeof *o);
    if (o == NULL) {
        return hr__fail_memory(err, sizeof *o);
    }
    hr_status status = hr__store_create_memory(below->context, a, &o->front, err);
    if (status != HR_OK) {
        hr__free(a, o, sizeof *o);
        return status;
    }
    o->base = (hr_store){.ops = &overlay_ops,
                         .context = below->context,
                         .allocator = a,
                         .url = below->url,
                         .refs = 1,
                         .gap_nbytes = below->gap_nbytes,
                         .runs_foreign_code = below->runs_foreign_code};
    o->below = hr_store_ref(below);
    *out = &o->base;
    return HR_OK;
}
