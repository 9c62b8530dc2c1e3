/* A store of functions that the caller gave. SPDX-License-Identifier: Apache-2.0
 *
 * Nothing that they return is believed: lengths, names and statuses are checked here. */
#include <inttypes.h>
#include <string.h>

#include "store/store.h"

typedef struct custom {
    hr_store base;
    hr_custom_store functions;
    char url[];
} custom;

typedef struct custom_object {
    hr__object base;
    const custom *store;
    void *handle;
} custom_object;

static hr_status custom_open(hr_store *self, const char *key,
                             const hr_read_context *reading, hr__object **out,
                             hr_error *err) {
    const custom *c = (custom *)self;
    custom_object *o = hr__alloc(self->allocator, sizeof *o);
    if (o == NULL) {
        return hr__fail_memory(err, sizeof *o);
    }
    hr_custom_value value = {0};
    hr_error own = HR_ERROR_INIT;
    hr_status status = c->functions.open(c->functions.user, key, reading, &value, &own);
    if (status != HR_OK) {
        hr__free(self->allocator, o, sizeof *o);
        return hr__error_adopt(err, &own, status,
                               status == HR_ERR_NOT_FOUND ? status : HR_ERR_IO,
                               "open of the custom store");
    }
    *o = (custom_object){.base = {.ops = self->ops,
                                  .nbytes = value.nbytes,
                                  .version = value.version,
                                  .device_bytes = value.device_bytes,
                                  .device = value.device},
                         .store = c,
                         .handle = value.handle};
    *out = &o->base;
    return HR_OK;
}

static hr_status custom_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                             const hr_read_context *reading, void *dst, hr_error *err) {
    const custom_object *o = (custom_object *)object;
    const hr_custom_store *f = &o->store->functions;
    hr_error own = HR_ERROR_INIT;
    uint64_t nread = 0;
    hr_status status =
        f->read(f->user, o->handle, offset, nbytes, dst, reading, &nread, &own);
    if (status != HR_OK) {
        return hr__error_adopt(err, &own, status, HR_ERR_IO, "read of the custom store");
    }
    return nread == nbytes ? HR_OK
                           : hr__fail(err, HR_ERR_IO,
                                      "the custom store gave %" PRIu64
                                      " bytes at offset %" PRIu64 ", expected %" PRIu64,
                                      nread, offset, nbytes);
}

static void custom_close(hr__object *object) {
    custom_object *o = (custom_object *)object;
    const custom *c = o->store;
    if (c->functions.close != NULL) {
        c->functions.close(c->functions.user, o->handle);
    }
    hr__free(c->base.allocator, o, sizeof *o);
}

typedef struct names {
    const hr__list_sink *sink;
    enum { NAMES_GOOD, NAMES_BAD, NAMES_STOPPED } state;
} names;

static int pass_entry(void *sink, const char *name, int is_prefix) {
    names *n = sink;
    if (n->state != NAMES_GOOD) {
        return 0;
    }
    if (name == NULL || strnlen(name, HR__KEY_MAX + 1) > HR__KEY_MAX ||
        strchr(name, '/') != NULL) {
        n->state = NAMES_BAD;
    } else if (!n->sink->entry(n->sink->user, name, is_prefix != 0)) {
        n->state = NAMES_STOPPED;
    }
    return n->state == NAMES_GOOD;
}

static hr_status custom_list(hr_store *self, const char *prefix,
                             const hr__list_sink *sink, hr_error *err) {
    const hr_custom_store *f = &((custom *)self)->functions;
    if (f->list == NULL) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "the store cannot be listed");
    }
    names n = {.sink = sink};
    hr_error own = HR_ERROR_INIT;
    hr_status status = f->list(f->user, prefix, pass_entry, &n, &own);
    if (n.state == NAMES_BAD) {
        return hr__fail(err, HR_ERR_IO,
                        "the custom store listed a name that is NULL, longer than %d "
                        "bytes or has a '/'",
                        HR__KEY_MAX);
    }
    if (n.state == NAMES_STOPPED) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for the list");
    }
    return status == HR_OK || status == HR_ERR_NOT_FOUND
               ? HR_OK
               : hr__error_adopt(err, &own, status, HR_ERR_IO,
                                 "list of the custom store");
}

static void custom_destroy(hr_store *self) {
    custom *c = (custom *)self;
    if (c->functions.destroy != NULL) {
        c->functions.destroy(c->functions.user);
    }
    hr__free(self->allocator, c, sizeof *c + strlen(c->url) + 1);
}

static const hr__store_ops custom_ops = {
    .abi_version = 1,
    .open = custom_open,
    .read = custom_read,
    .close = custom_close,
    .list = custom_list,
    .destroy = custom_destroy,
};

hr_status hr__store_create_custom(hr_context *context, const hr_allocator *a,
                                  const hr_custom_store *functions, hr_store **out,
                                  hr_error *err) {
    if (functions->abi_version != HR_CUSTOM_STORE_VERSION) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "custom store: abi_version is %" PRIu32 ", this version knows %d",
                        functions->abi_version, HR_CUSTOM_STORE_VERSION);
    }
    if (functions->open == NULL || functions->read == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "custom store: open or read is NULL");
    }
    const char *url = functions->url != NULL ? functions->url : "custom:";
    const size_t url_nbytes = strlen(url) + 1;
    custom *c = hr__alloc(a, sizeof *c + url_nbytes);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c + url_nbytes);
    }
    memcpy(c->url, url, url_nbytes);
    c->functions = *functions;
    c->functions.url = c->url;
    c->base = (hr_store){.ops = &custom_ops,
                         .context = context,
                         .allocator = a,
                         .url = c->url,
                         .refs = 1,
                         .gap_nbytes = functions->gap_nbytes,
                         .runs_foreign_code = true};
    *out = &c->base;
    return HR_OK;
}
